"""Which compiler wrote a dump, and a note when it is not the one the rules here follow."""

from __future__ import annotations

from ge_explorer.issue import Issue
from ge_explorer.loaders.report import LoadResult
from ge_explorer.provenance import GE_RULES_VERSION
from ge_explorer.text import Text

KEYS = (
    "opp_version", "atc_version", "compiler_version", "framework_version", "cann_version", "ge_version", "runtime_version",
    "om_version", "soc_version", "ge.socVersion", "producer_version",
)  # fmt: skip
"""Attributes and options that state a version (graph_metadef debug/ge_attr_define: ATTR_MODEL_OPP_VERSION and its kin)."""
_HARDWARE = frozenset({"soc_version", "ge.socVersion"})


def stated_versions(result: LoadResult) -> tuple[tuple[str, str], ...]:
    """(key, text) of every version a source states, in a fixed order; the ONNX opset and producer for a model."""
    out: dict[str, str] = {}
    held = [result.graph.attrs, result.report.counts]
    if result.recorded is not None:
        held += [result.recorded.model, result.recorded.options]
    for values in held:
        for key in KEYS:
            value = values.get(key)
            if isinstance(value, str | int) and not isinstance(value, bool) and str(value).strip():
                out.setdefault(key, str(value).strip())
    for domain, version in result.graph.attrs.get("_gx_opsets", ()):
        out[f"opset {domain}"] = str(version)
    return tuple(out.items())


def version_issues(result: LoadResult) -> list[Issue]:
    """One note when a dump states the version of its compiler: the rules here follow one snapshot of GE's sources."""
    if result.recorded is None:
        return []
    stated = [f"{k} {v}" for k, v in stated_versions(result) if k not in _HARDWARE]
    if not stated:
        return []
    return [Issue("GX340", "note", Text(
        "The dump was written by {v}; the rules here follow GE's sources of {r}. Where both differ, the dump shows what your "
        "version does.",
        "该转储由 {v} 写出；此处规则依据 {r} 的 GE 源码。两者不同时，以转储为准。").format(
            v=", ".join(s if len(s) <= 60 else s[:59] + "…" for s in stated[:3]), r=GE_RULES_VERSION))]  # fmt: skip

"""Real ONNX files of other people against figures computed by separate scripts (shared/data/real/expected.json)."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from ge_explorer.errors import InputError
from ge_explorer.loaders import load

SHARED = Path(os.environ.get("GX_SHARED", Path(__file__).resolve().parents[2].parent / "shared"))
REAL = SHARED / "data" / "real"
CASES: dict[str, Any] = {}
if (REAL / "expected.json").is_file():
    CASES = {
        k: v["expected"] for k, v in json.loads((REAL / "expected.json").read_text()).items() if v["kind"] == "onnx"
    }
pytestmark = pytest.mark.skipif(not CASES, reason="shared real files are not on this machine")

COMPARED = [
    "opsets", "nodes", "nodes_all", "depth", "subgraphs", "types", "domains", "unnamed", "empty_inputs",
    "inputs", "outputs", "init", "functions_count", "functions_nodes", "dynamic_inputs", "outer_refs",
    "topo_sorted", "external",
]  # fmt: skip


@pytest.mark.parametrize("path", sorted(CASES) or ["none"])
def test_figures(path: str) -> None:
    expected = CASES[path]
    if expected.get("format") == "side file":
        with pytest.raises(InputError):
            load(REAL / path)
        return
    counts = load(REAL / path).report.counts
    got = {k: counts[k] for k in COMPARED}
    want = {k: expected[k] for k in COMPARED}
    got["external"], want["external"] = (
        sorted(map(repr, got["external"])),
        sorted(repr(tuple(e)) for e in want["external"]),
    )
    if expected.get("types_cut"):
        got["types"] = {k: v for k, v in got["types"].items() if k in want["types"]}
    assert got == want


@pytest.mark.parametrize("path", sorted(p for p, e in CASES.items() if e.get("format") != "side file") or ["none"])
def test_every_operator_of_the_file_is_in_the_graph(path: str) -> None:
    """Counted on the graph, not on the file: operators without functions appear once each, by their ONNX type."""
    expected = CASES[path]
    result = load(REAL / path)
    if expected["functions_count"] or expected.get("types_cut"):
        pytest.skip("functions are expanded, the file's own types disappear")
    seen: dict[str, int] = {}
    for n in result.graph:
        if n.source_op and n.source_op != "Initializer":
            seen[n.source_op] = seen.get(n.source_op, 0) + 1
    assert seen == expected["types"]
    assert sum(s is not None for s in result.graph.scopes) - 1 == expected["subgraphs"]


def test_function_expansion_matches_onnx_inliner() -> None:
    onnx = pytest.importorskip("onnx")
    from onnx import inliner

    path = REAL / "onnx" / "irpy_resnet18_dynamo.onnx"
    inlined = inliner.inline_local_functions(onnx.load(path))

    def types(g: Any) -> dict[str, int]:
        out: dict[str, int] = {}
        for n in g.node:
            out[n.op_type] = out.get(n.op_type, 0) + 1
            for a in n.attribute:
                if a.type == onnx.AttributeProto.GRAPH:
                    for k, v in types(a.g).items():
                        out[k] = out.get(k, 0) + v
        return out

    want = types(inlined.graph)
    got: dict[str, int] = {}
    for n in load(path).graph:
        if n.source_op and n.source_op != "Initializer":
            got[n.source_op] = got.get(n.source_op, 0) + 1
    assert got == want


def test_text_and_binary_form_give_the_same_graph() -> None:
    a, b = (load(REAL / "onnx" / f"irpy_resnet18_dynamo.{e}").graph for e in ("onnx", "textproto"))
    assert [(n.name, n.op, n.inputs, n.outputs) for n in a] == [(n.name, n.op, n.inputs, n.outputs) for n in b]
    assert a.edges == b.edges

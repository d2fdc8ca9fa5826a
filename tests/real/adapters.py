"""From our load reports to the names of a corpus's ``expected.json``.

An adapter reads one kind of file and returns the values under the corpus's names. Every name the corpus gives is compared,
named in ``IGNORED`` (with the reason there), or listed as not compared at the end of the run; a name in ``REQUIRED`` that an
adapter does not return is a failure. A kind of another module: a file ``adapter_*.py`` here that registers itself::

    @adapter("memory")
    def memory(path: Path, expected: dict[str, Any]) -> dict[str, Any]: ...
"""

import hashlib
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from ge_explorer.errors import InputError
from ge_explorer.loaders import load

Adapter = Callable[[Path, dict[str, Any]], dict[str, Any]]
ADAPTERS: dict[str, Adapter] = {}
REQUIRED: dict[str, frozenset[str]] = {
    "ge_dump": frozenset({
        "format", "root_graph", "graphs", "nodes_total", "op_types", "stream_id_histogram", "data_edges", "control_edges",
        "ops_with_output_offsets", "max_output_offset", "model_attrs", "event_attrs", "stream_labels", "must",
    }),
    "onnx": frozenset({
        "opsets", "nodes", "nodes_all", "depth", "subgraphs", "types", "domains", "unnamed", "empty_inputs", "inputs", "outputs",
        "init", "functions_count", "functions_nodes", "dynamic_inputs", "outer_refs", "topo_sorted", "external",
    }),
    "torchair": frozenset({"graph_starts", "placeholders", "call_functions", "targets"}),
    "memory": frozenset({"buffers", "lower_bound_bytes", "sum_sizes", "rows", "graphs", "devices"}),
    "logs": frozenset({"imas_lines", "imas_set", "imas_var", "malloc_memory"}),
}  # fmt: skip
"""The names the corpus's README says to compare."""
IGNORED: dict[str, frozenset[str]] = {
    "ge_dump": frozenset(),
    "onnx": frozenset({
        "prod_ver", "meta",  # the README says so
        "checker",  # the verdict of the onnx version that made the corpus
        "types_cut",  # says that ``types`` is cut
    }),
    "torchair": frozenset({"lines"}),  # how a trailing line end counts is a matter of taste
    "memory": frozenset({"reached_at_time"}),  # one of several moments of the peak
    "logs": frozenset({
        "levels", "components", "pids", "first_ts", "last_ts", "in_file_order_sorted", "lines",  # as the README says
        "error_codes",  # counted in the whole text, so that the address 0X1080800E4000 gives the code E4000
    }),
}  # fmt: skip
NOT_COMPARED: Counter[str] = Counter()
"""Kind and name of what a corpus gives and nobody looked at -> number of files; printed at the end of the run."""


@dataclass(frozen=True)
class Case:
    path: str
    file: Path
    kind: str
    expected: dict[str, Any]
    digest: str

    def check_file(self) -> None:
        """The file is the one the values were computed from."""
        found = hashlib.sha256(self.file.read_bytes()).hexdigest()[: len(self.digest)]
        assert found == self.digest, f"{self.path} is another file than the corpus describes"

    def check_values(self) -> None:
        """Compare every name of the corpus; remember what was left out."""
        got = ADAPTERS[self.kind](self.file, self.expected)
        ignored = IGNORED.get(self.kind, frozenset())
        want = {k: v for k, v in self.expected.items() if k in got and k not in ignored}
        left = sorted(self.expected.keys() - want.keys() - ignored)
        lost = REQUIRED.get(self.kind, frozenset()).intersection(left)
        assert not lost, f"the adapter returns nothing for {sorted(lost)}"
        assert want, "nothing was compared"
        NOT_COMPARED.update(f"{self.kind}.{name}" for name in left)
        if "external" in want:
            want["external"] = sorted(want["external"], key=repr)
        assert {k: got[k] for k in want} == want


def adapter(kind: str) -> Callable[[Adapter], Adapter]:
    def register(f: Adapter) -> Adapter:
        ADAPTERS[kind] = f
        return f

    return register


def cases(folder: Path) -> list[Case]:
    """All files of a corpus whose kind has an adapter; files of other kinds are noted as not compared."""
    for extra in sorted(Path(__file__).parent.glob("adapter_*.py")):
        import_module(f"tests.real.{extra.stem}")
    listing = folder / "expected.json"
    if not listing.is_file():
        return []
    found = json.loads(listing.read_text(encoding="utf-8"))
    NOT_COMPARED.update({
        f"files of kind {kind}": n
        for kind, n in Counter(v["kind"] for v in found.values()).items()
        if kind not in ADAPTERS and f"files of kind {kind}" not in NOT_COMPARED
    })  # fmt: skip
    return [
        Case(path, folder / path, v["kind"], v["expected"], v.get("sha256_16", ""))
        for path, v in sorted(found.items())
        if v["kind"] in ADAPTERS
    ]


def _refused(path: Path, expected: dict[str, Any]) -> str:
    """The one sentence of a refusal: what, where, and what to do."""
    with pytest.raises(InputError) as e:
        load(path)
    assert e.value.todo and "\n" not in str(e.value)
    return str(e.value)


@adapter("ge_dump")
def ge_dump(path: Path, expected: dict[str, Any]) -> dict[str, Any]:
    if "must" in expected:  # a clear refusal that names the format
        said = _refused(path, expected)
        assert "not a text dump" in said and path.name in said
        found = {
            "magic": next((m for m in ("IMOD", "PICO") if m in said), ""),
            "format": "OM binary" if ".om" in said else said,
        }
        return {**found, "must": expected["must"], "bytes": path.stat().st_size}
    out = dict(load(path).report.counts)
    out["model_attrs"] = {k: out["model_attrs"].get(k) for k in expected.get("model_attrs", {})}
    return out


@adapter("torchair")
def torchair(path: Path, expected: dict[str, Any]) -> dict[str, Any]:
    return dict(load(path).report.counts)


@adapter("logs")
def logs(path: Path, expected: dict[str, Any]) -> dict[str, Any]:
    result = load(path)
    counts = result.report.counts
    assert result.recorded is not None
    buffers = [
        {"graph": b.graph, "name": b.name, "optype": b.op, "slot": f"{b.kind}[{b.index}]", "offset": b.offset,
         "stream": b.stream, "size": b.size, "realsize": b.real_size, "noalign": b.no_align_size, "begin": b.begin, "end": b.end}
        for b in result.recorded.buffers
    ]  # fmt: skip
    return {
        "imas_lines": counts["imas_lines"],
        "imas_set": buffers,
        "imas_var": [{k: v[k] for k in ("name", "offset", "size")} for v in counts.get("imas_var", [])],
        "malloc_memory": counts.get("malloc_memory", []),
    }


FORMATS = {"ONNX text": "ONNX text proto"}
"""Our name of a form -> the corpus's, where they differ."""


@adapter("onnx")
def onnx(path: Path, expected: dict[str, Any]) -> dict[str, Any]:
    if expected.get("format") == "side file":
        _refused(path, expected)
        return {"format": "side file", "bytes": path.stat().st_size}
    out = dict(load(path).report.counts)
    out["format"] = FORMATS.get(out["format"], out["format"])
    out["external"] = sorted([[a, b] for a, b in out["external"]], key=repr)
    if expected.get("types_cut"):
        out["types"] = {k: v for k, v in out["types"].items() if k in expected["types"]}
    if "functions" in expected:  # the corpus lists the first five
        assert len(expected["functions"]) == min(5, out["functions_count"])
        out["functions"] = out["functions"][: len(expected["functions"])]
    return out

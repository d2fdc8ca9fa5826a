"""From our load reports to the names of a corpus's ``expected.json``.

An adapter reads one kind of file and returns the values under the corpus's names; only names it returns and the corpus
gives are compared. A kind of another module: a file ``adapter_*.py`` here that registers itself::

    @adapter("memory")
    def memory(path: Path, expected: dict[str, Any]) -> dict[str, Any]: ...
"""

import hashlib
import json
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
IGNORED = {"producer", "lines", "levels", "components", "pids", "first_ts", "last_ts", "in_file_order_sorted", "error_codes",
           "prod_ver", "meta", "must"}  # fmt: skip


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


def adapter(kind: str) -> Callable[[Adapter], Adapter]:
    def register(f: Adapter) -> Adapter:
        ADAPTERS[kind] = f
        return f

    return register


def cases(folder: Path) -> list[Case]:
    """All files of a corpus whose kind has an adapter."""
    for extra in sorted(Path(__file__).parent.glob("adapter_*.py")):
        import_module(f"tests.real.{extra.stem}")
    listing = folder / "expected.json"
    if not listing.is_file():
        return []
    found = json.loads(listing.read_text(encoding="utf-8"))
    return [
        Case(path, folder / path, v["kind"], v["expected"], v.get("sha256_16", ""))
        for path, v in sorted(found.items())
        if v["kind"] in ADAPTERS
    ]


@adapter("ge_dump")
def ge_dump(path: Path, expected: dict[str, Any]) -> dict[str, Any]:
    if "must" in expected:  # a clear refusal that names the format
        with pytest.raises(InputError) as e:
            load(path)
        assert expected["magic"] in str(e.value) and "not a text dump" in str(e.value) and e.value.todo
        return {"magic": expected["magic"]}
    out = dict(load(path).report.counts)
    out["model_attrs"] = {k: out["model_attrs"].get(k) for k in expected.get("model_attrs", {})}
    return out


@adapter("torchair")
def torchair(path: Path, expected: dict[str, Any]) -> dict[str, Any]:
    return {**load(path).report.counts, "format": "fx graph text"}


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


@adapter("onnx")
def onnx(path: Path, expected: dict[str, Any]) -> dict[str, Any]:
    if expected.get("format") == "side file":
        with pytest.raises(InputError):
            load(path)
        return {"format": "side file"}
    names = {
        "opsets", "nodes", "nodes_all", "depth", "subgraphs", "types", "domains", "unnamed", "empty_inputs", "inputs", "outputs",
        "init", "functions_count", "functions_nodes", "dynamic_inputs", "outer_refs", "topo_sorted", "external",
    }  # fmt: skip
    counts = load(path).report.counts
    out = {k: counts[k] for k in names}
    out["external"] = sorted([[a, b] for a, b in counts["external"]], key=repr)
    if expected.get("types_cut"):
        out["types"] = {k: v for k, v in out["types"].items() if k in expected["types"]}
    return out

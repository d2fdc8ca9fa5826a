"""GE's static memory planner: sizes, lifetimes, blocks, offsets."""

from __future__ import annotations

from typing import Any

from conformance.build import build_graph
from conformance.registry import Case
from ge_explorer.graph.edit import GraphEditor
from ge_explorer.graph.model import Graph
from ge_explorer.memory.aliases import REUSE_FLAG, REUSE_INDEX
from ge_explorer.memory.ge.view import SIZE
from ge_explorer.memory.problem import WORKSPACE

DTYPES = {"float32": "float"}


def memory_graph(case: Case) -> Graph:
    """Graph of a case with sizes, shapes, workspaces and references on it. Sizes that are not stated are 0, as in GE."""
    raw = dict(case.raw)
    graphs = {"": dict(case.graph), **{k: dict(v) for k, v in case.graph.get("subgraphs", {}).items()}}
    for g in graphs.values():
        g["nodes"] = [_counted(n) for n in g.get("nodes", [])]
    raw["graph"] = graphs.pop("") | ({"subgraphs": graphs} if graphs else {})
    counted = Case(raw, case.file)
    graph = build_graph(counted)
    e = GraphEditor(graph)
    for g in (raw["graph"], *graphs.values()):
        for n in g["nodes"]:
            i = graph.by_name[n["name"]]
            for o, t in enumerate(graph.node(i).outputs):
                sizes, shapes = n.get("output_sizes", ()), n.get("output_shapes", ())
                attrs: dict[str, Any] = {**graph.tensor(t).attrs, SIZE: sizes[o] if o < len(sizes) else 0}
                source = n.get("output_reuse_input", {}).get(str(o))
                if source is not None:
                    attrs |= {REUSE_FLAG: True, REUSE_INDEX: int(source)}
                shape = tuple(shapes[o]) if o < len(shapes) else None
                e.set_tensor(t, shape=shape, dtype=DTYPES.get(n.get("dtype", ""), n.get("dtype")), attrs=attrs)
    return e.freeze()


def _counted(n: dict[str, Any]) -> dict[str, Any]:
    """Node with its numbers of inputs and outputs filled in from the listed sizes, and its workspaces as an attribute."""
    out = dict(n)
    out["inputs"] = max(int(n.get("inputs", 0)), len(n.get("input_sizes", ())))
    out["outputs"] = max(int(n.get("outputs", 0)), len(n.get("output_sizes", ())))
    if n.get("workspace"):
        out["attrs"] = {**n.get("attrs", {}), WORKSPACE: list(n["workspace"])}
    return out

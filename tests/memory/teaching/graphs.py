"""Small graphs on streams with their order and memory problem, shared by the tests of this folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ge_explorer.graph.edit import GraphEditor
from ge_explorer.graph.happens_before import HappensBefore, dependency_orders, happens_before
from ge_explorer.graph.model import Graph
from ge_explorer.memory.model import MemoryPlan, MemoryProblem
from ge_explorer.memory.planner import PLANNERS
from ge_explorer.memory.problem import build_problem
from ge_explorer.memory.verify import Race, find_races, verify


@dataclass(frozen=True)
class Case:
    graph: Graph
    stream: np.ndarray
    order: np.ndarray
    hb: HappensBefore
    problem: MemoryProblem

    def plan(self, name: str) -> MemoryPlan:
        return PLANNERS.get(name)(self.problem)

    def races(self, plan: MemoryPlan) -> list[Race]:
        return list(find_races(self.problem.buffers, plan.offsets, self.hb))

    def issues(self, plan: MemoryPlan) -> list[str]:
        found = verify(self.problem, plan, self.hb, self.graph.unique_names, self.stream.tolist())
        return [i.message.en for i in found]


def case(
    nodes: Sequence[str | tuple[str, str]],
    edges: str,
    side: str = "",
    size: int = 4096,
    sizes: Mapping[str, int] | None = None,
) -> Case:
    """``nodes``: names, or (name, type); ``edges``: "AB BC"; those named in ``side`` run on stream 1. GE sizes in bytes."""
    e = GraphEditor.empty("t")
    ids: dict[str, int] = {}
    for n in nodes:
        name, op = (n, "Op") if isinstance(n, str) else n
        ins = [e.output(ids[x[0]]) for x in edges.split() if x[1] == name]
        ids[name] = e.add_node(name, op, inputs=ins, outputs=[(((sizes or {}).get(name, size) - 32,), "int8")])
    graph = e.freeze()
    stream = np.array([1 if n.name in side else 0 for n in graph], dtype=np.int32)
    order = np.arange(len(graph), dtype=np.int32)
    hb = happens_before(range(len(graph)), stream, dependency_orders(graph, stream))
    return Case(graph, stream, order, hb, build_problem(graph, range(len(graph)), stream, order, hb))

"""Small graphs with exact GE sizes and their plan by GE's planner, shared by the tests of this folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ge_explorer.graph.edit import GraphEditor
from ge_explorer.graph.happens_before import Order, dependency_orders, happens_before
from ge_explorer.graph.model import Graph
from ge_explorer.memory.ge.planner import plan_ge
from ge_explorer.memory.ge.result import GeBlock, GeMember, GeMemoryResult
from ge_explorer.memory.ge.view import SIZE
from ge_explorer.memory.model import MemoryProblem
from ge_explorer.memory.verify import verify

PRIORITY = {"ge.exec.memoryOptimizationPolicy": "MemoryPriority"}


@dataclass(frozen=True)
class Planned:
    """A graph, the streams of its nodes and GE's plan."""

    graph: Graph
    stream: np.ndarray
    result: GeMemoryResult

    @property
    def offsets(self) -> dict[str, int]:
        """Offset of output 0 by node name."""
        return {n.name: self.result.offsets[n.id][0] for n in self.graph if n.outputs}

    @property
    def lives(self) -> dict[str, tuple[int, int]]:
        """(begin, end on the own stream) of output 0 by node name."""
        return {m.name: (m.begin, m.end) for _, m in self.members if m.kind == "output" and m.index == 0}

    @property
    def members(self) -> list[tuple[GeBlock, GeMember]]:
        """All buffers with their block."""
        return [(b, m) for b in self.result.blocks for m in b.members]

    def peaks(self) -> dict[str, int]:
        """Size of every candidate by name."""
        return {c.name: c.size for c in self.result.candidates}


def plan(
    nodes: Sequence[tuple[str, int] | tuple[str, Sequence[int]]],
    edges: Sequence[str],
    streams: Mapping[str, int] | None = None,
    options: Mapping[str, str] | None = None,
    workspace: Mapping[str, Sequence[int]] | None = None,
    attrs: Mapping[str, Mapping[str, Any]] | None = None,
    types: Mapping[str, str] | None = None,
    references: Mapping[str, int] | None = None,
    safe: bool = True,
) -> Planned:
    """``nodes``: (name, size or sizes) in GE's order; ``edges``: "A>B", "A:1>B:2", or "A~B" for control. ``references``: output 0
    of the node is written over that input. The plan must pass the independent verifier unless ``safe`` is False.
    """
    e = GraphEditor.empty("g")
    ids: dict[str, int] = {}
    wired: dict[str, dict[int, tuple[str, int]]] = {}
    for text in edges:
        if "~" in text:
            continue
        a, b = text.split(">")
        (a, _, o), (b, _, i) = a.partition(":"), b.partition(":")
        slots = wired.setdefault(b, {})
        slots[int(i) if i else len(slots)] = (a, int(o or 0))
    for name, size in nodes:
        sizes = [size] if isinstance(size, int) else list(size)
        slots = wired.get(name, {})
        ins = [
            e.output(ids[slots[k][0]], slots[k][1]) if k in slots else None for k in range(max(slots, default=-1) + 1)
        ]
        own = dict((attrs or {}).get(name, {}))
        if workspace and name in workspace:
            own["workspace_bytes"] = list(workspace[name])
        ids[name] = e.add_node(
            name,
            (types or {}).get(name, "Op"),
            inputs=ins,
            outputs=[((max(s - 32, 0),), "int8") for s in sizes],
            attrs=own,
        )
        for k, s in enumerate(sizes):
            extra = (
                {"reuse_input": True, "reuse_input_index": references[name]}
                if k == 0 and name in (references or {})
                else {}
            )
            e.set_tensor(e.output(ids[name], k), attrs={SIZE: s, **extra})
    for text in edges:
        if "~" in text:
            a, b = text.split("~")
            e.add_control(ids[a], ids[b])
    graph = e.freeze()
    stream = np.array([(streams or {}).get(n.name, 0) for n in graph], dtype=np.int32)
    result = plan_ge(graph, stream.tolist(), None, options)
    planned = Planned(graph, stream, result)
    if safe:
        assert result.failure == ""
        assert races(planned) == ()
    return planned


def races(p: Planned, extra: Sequence[tuple[int, int]] = ()) -> tuple[Any, ...]:
    """Issues the independent verifier finds in a plan."""
    orders = dependency_orders(p.graph, p.stream) + [Order(a, b, "event") for a, b in extra]
    hb = happens_before(p.graph.walk(), p.stream, orders)
    problem = MemoryProblem(p.result.buffers, (), ())
    return verify(problem, p.result.plan, hb, p.graph.unique_names, p.stream.tolist())


def same(names: str, size: int = 4096) -> list[tuple[str, int]]:
    """One node per letter, all of one size."""
    return [(n, size) for n in names]


def on(stream: int, names: str) -> dict[str, int]:
    """All letters on one stream."""
    return dict.fromkeys(names, stream)

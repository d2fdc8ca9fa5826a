"""A snapshot as a ``Problem``, and a schedule back as streams and a node order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

import numpy as np

from ge_explorer.device.chips import Chip
from ge_explorer.device.cost import cost_table
from ge_explorer.graph.model import Graph
from ge_explorer.passes.streams.concurrency import task_graph
from ge_explorer.passes.streams.max_concurrency import PINNED
from ge_explorer.passes.streams.schedule.build import Schedule
from ge_explorer.passes.streams.schedule.problem import FREE, Problem
from ge_explorer.simulator import LaunchModel
from ge_explorer.trace.state import NO_STREAM, Snapshot, StreamAssignment, int_array


@dataclass(frozen=True, eq=False)
class Tasks:
    """``nodes``: node id of each task of ``problem``; ``lanes``: stream of each lane from K on, those of pinned tasks."""

    nodes: tuple[int, ...]
    problem: Problem
    lanes: tuple[int, ...]


def tasks_of(s: Snapshot, streams: int, chip: Chip, launch: LaunchModel, *, cores: bool = True) -> Tasks:
    """Problem of a snapshot on K free streams.

    Free are nodes of the root graph that have a stream and neither a stream label nor a runtime label; all others stay on their
    streams, in their order. ``launch``: event and dispatch times; ``cores`` False: as many as anybody asks for.
    """
    assert s.streams is not None
    stream = s.streams.node.tolist()
    g = task_graph(s)
    costs = cost_table(s.graph, s.placement, chip)
    lanes: dict[int, int] = {}
    fixed, pred = [], []
    last: dict[int, int] = {}
    for k, i in enumerate(g.nodes):
        row = list(g.pred[k])
        n = s.graph.node(i)
        if n.scope == 0 and not any(n.attrs.get(a) for a in PINNED):
            fixed.append(FREE)
        else:
            lane = lanes.setdefault(stream[i], streams + len(lanes))
            fixed.append(lane)
            if lane in last:
                row.append(last[lane])
            last[lane] = k
        pred.append(row)
    found = [costs.of(i) for i in g.nodes]
    pools = (chip.aic, chip.aiv if chip.split else 0)
    lead = [(launch.dispatch_ns if c.aic or c.aiv else launch.dispatch_other_ns) if c.task else 0 for c in found]
    problem = Problem.of(
        [c.ns for c in found], pred, streams, lead=lead, fixed=fixed, pools=pools,
        aic=[min(c.aic, pools[0]) if cores else 0 for c in found],
        aiv=[min(c.aiv, pools[1]) if cores else 0 for c in found],
        event=launch.record_ns + launch.signal_ns + launch.wait_ns,
    )  # fmt: skip
    return Tasks(g.nodes, problem, tuple(lanes))


def scheduled(s: Snapshot, tasks: Tasks, found: Schedule) -> Snapshot:
    """``s`` with one new stream per lane in use and the root graph's nodes in the order the schedule starts them."""
    assert s.streams is not None
    old, p = s.streams, tasks.problem
    stream = old.node.tolist()
    name: dict[int, int] = {}
    for k, i in enumerate(tasks.nodes):
        if p.fixed[k] == FREE:
            stream[i] = name.setdefault(found.stream[k], old.next_stream + len(name))
    graph = s.graph.with_scope_order({0: _root_order(s, tasks, found)})
    sequence = tuple(graph.walk())
    order = np.full(graph.id_bound, NO_STREAM, dtype=np.int32)
    order[list(sequence)] = np.arange(len(sequence), dtype=np.int32)
    order.setflags(write=False)
    return s.evolve(
        graph=graph, order=order, sequence=sequence, scope_order=tuple(graph.subgraph_order()),
        streams=StreamAssignment(
            int_array(stream), old.cluster, old.next_stream + len(name), old.main_count, old.attached, old.custom
        ),
    )  # fmt: skip


def _root_order(s: Snapshot, tasks: Tasks, found: Schedule) -> list[int]:
    """Nodes of the root graph by start time; nodes that run nothing just before what reads them. No node before one it
    needs, pinned tasks of a stream in their old order.
    """
    graph, root = s.graph, s.graph.root.nodes
    sequence = s.sequence or ()
    place = {i: k for k, i in enumerate(sequence)}
    above = _ancestors(graph, sequence)
    late = (max(found.end, default=0) + 1, 0)
    key: dict[int, tuple[int, int]] = {}
    for i, a, b in zip(tasks.nodes, found.start, found.end, strict=True):
        holder = above[i]
        key[holder] = min(key.get(holder, late), (a, b))
    own = {above[i] for i in tasks.nodes}
    for i in reversed(root):
        if i not in own:
            key[i] = min((key.get(j, late) for j in graph.succ[i] if place[j] > place[i]), default=late)
    before: dict[int, set[int]] = {i: {u for u in graph.pred[i] if place[u] < place[i]} for i in root}
    for v, row in enumerate(tasks.problem.pred):
        for u in row:
            a, b = above[tasks.nodes[u]], above[tasks.nodes[v]]
            if a != b and place[a] < place[b]:
                before[b].add(a)
    after: dict[int, list[int]] = {i: [] for i in root}
    left = {i: len(row) for i, row in before.items()}
    for i, needs in before.items():
        for u in needs:
            after[u].append(i)
    heap = [(key[i], place[i], i) for i in root if not left[i]]
    heapify(heap)
    out: list[int] = []
    while heap:
        i = heappop(heap)[2]
        out.append(i)
        for j in after[i]:
            left[j] -= 1
            if not left[j]:
                heappush(heap, (key[j], place[j], j))
    return out


def _ancestors(graph: Graph, sequence: Sequence[int]) -> dict[int, int]:
    """Node -> itself or the node of the root graph it lies below. Holders come before their bodies in a traversal."""
    above: dict[int, int] = {}
    for i in sequence:
        n = graph.node(i)
        above[i] = i if not n.scope else above[graph.scope(n.scope).parent]
    return above

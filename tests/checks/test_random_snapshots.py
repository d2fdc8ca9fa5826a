"""Random graphs, random streams, some events missing or turned round: the checks agree with a plain networkx closure."""

from __future__ import annotations

from itertools import pairwise

import networkx as nx
from hypothesis import given, settings
from hypothesis import strategies as st

from ge_explorer.checks import check_snapshot
from ge_explorer.graph.edit import GraphEditor
from ge_explorer.memory.model import MemoryPlan
from ge_explorer.memory.planner import plan_hb
from ge_explorer.memory.problem import build_problem
from ge_explorer.trace.state import Event, MemoryState, Snapshot, StreamAssignment, SyncPlan, int_array


@st.composite
def snapshots(draw: st.DrawFn, backward: bool = False) -> Snapshot:
    """Up to 18 nodes on up to 3 streams; each cross-stream dependency has its event with a chance of 3 in 4."""
    n = draw(st.integers(2, 18))
    e = GraphEditor.empty("g")
    for v in range(n):
        ins = [e.output(u) for u in draw(st.lists(st.integers(0, v - 1), max_size=2))] if v else []
        e.add_node(f"n{v}", "Op", inputs=ins, outputs=[((draw(st.sampled_from([100, 600, 1500])),), "int8")])
    g = e.freeze()
    streams = draw(st.lists(st.integers(0, 2), min_size=n, max_size=n))
    events: list[Event] = []
    for u, v in g.dependencies:
        if streams[u] != streams[v] and draw(st.integers(0, 3)):
            a, b = (v, u) if backward and draw(st.integers(0, 5)) == 0 else (u, v)
            events.append(Event(len(events), len(events), a, b, streams[a], streams[b]))
    return Snapshot(
        g, order=int_array(range(n)), sequence=tuple(range(n)), streams=StreamAssignment(int_array(streams)),
        sync=SyncPlan(tuple(events)),
    )  # fmt: skip


def real_graph(s: Snapshot) -> nx.DiGraph:
    """Program order plus events, written down independently."""
    assert s.streams is not None
    assert s.sync is not None
    g = nx.DiGraph()
    g.add_nodes_from(range(len(s.graph)))
    for k in range(3):
        g.add_edges_from(pairwise(i for i in range(len(s.graph)) if s.streams.node[i] == k))
    g.add_edges_from((e.send, e.recv) for e in s.sync.events)
    return g


@settings(max_examples=80, deadline=None, derandomize=True)
@given(snapshots())
def test_unordered_dependencies_are_exactly_those_without_a_path(s: Snapshot) -> None:
    g = real_graph(s)
    expected = {(u, v) for u, v in s.graph.dependencies if u not in nx.ancestors(g, v)}
    found = {(i.refs[0].id, i.refs[1].id) for i in check_snapshot(s) if i.code == "GX110"}
    assert found == expected


@settings(max_examples=80, deadline=None, derandomize=True)
@given(snapshots(backward=True))
def test_a_deadlock_is_reported_exactly_for_a_circle_and_the_chain_is_one(s: Snapshot) -> None:
    g = real_graph(s)
    found = [i for i in check_snapshot(s) if i.code == "GX111"]
    assert bool(found) == (not nx.is_directed_acyclic_graph(g))
    for issue in found:
        chain = [r.id for r in issue.refs if r.kind == "node"]
        assert all(g.has_edge(b, a) for a, b in pairwise([*chain, chain[0]]))


@settings(max_examples=80, deadline=None, derandomize=True)
@given(snapshots(), st.data())
def test_memory_races_are_exactly_the_unproven_overlaps(s: Snapshot, data: st.DataObject) -> None:
    """Plan made for all dependencies, checked over the events that are left; sometimes with one offset changed by hand."""
    assert s.streams is not None
    problem = build_problem(s.graph, s.sequence or (), s.streams.node)
    plan = plan_hb(problem)
    offsets = list(plan.offsets)
    if data.draw(st.booleans()):
        offsets[data.draw(st.integers(0, len(offsets) - 1))] = 0
    s = s.evolve(memory=MemoryState(problem, MemoryPlan(tuple(offsets), 2 * plan.peak, "hand"), 0))
    g = real_graph(s)
    before = {v: nx.ancestors(g, v) for v in g}
    expected = set()
    for y in problem.buffers:
        for x in problem.buffers[: y.id]:
            apart = offsets[x.id] + x.size <= offsets[y.id] or offsets[y.id] + y.size <= offsets[x.id]
            if apart or all(a in before[d] for a in x.accessors for d in y.producers):
                continue
            if not all(a in before[d] for a in y.accessors for d in x.producers):
                expected.add(frozenset((x.id, y.id)))
    found = {frozenset((i.refs[0].id, i.refs[1].id)) for i in check_snapshot(s) if i.code == "GX201"}
    assert found == expected

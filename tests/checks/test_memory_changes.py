"""Edits of events and plans: what breaks is named with bytes, reader, producer and the event that is gone."""

from __future__ import annotations

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ge_explorer as gx
from ge_explorer.checks.memory import events_behind_plan, verify_change, verify_plan, with_offsets, without_events
from ge_explorer.checks.ordering import event_orders, sequence_of
from ge_explorer.checks.schedule import streams_of
from ge_explorer.errors import OptionError
from ge_explorer.graph.edit import GraphEditor
from ge_explorer.graph.model import Graph
from ge_explorer.pipelines import mode_options
from ge_explorer.trace.state import Snapshot
from tests.property.graphs import graphs


def two_labels() -> Graph:
    """A1 A2 A3 on one stream, B1 B2 on another; A2 waits for B1's result and comes before B2's bytes are taken over by A3."""
    e = GraphEditor.empty("two")
    spec = [((1024,), "float")]

    def add(name: str, label: str, *ins: int) -> int:
        return e.add_node(
            name, "Relu", inputs=[e.output(i) for i in ins], outputs=spec,
            attrs={"_stream_label": label, "_gx_engine": "AIcoreEngine", "_gx_core": "AIV"},
        )  # fmt: skip

    a1 = add("A1", "a")
    b1 = add("B1", "b", a1)
    b2 = add("B2", "b", b1)
    a2 = add("A2", "a", a1, b2)
    a3 = add("A3", "a", a2)
    e.add_node("NetOutput", "NetOutput", inputs=[e.output(a3)])
    return e.freeze()


@pytest.fixture(scope="module")
def state() -> Snapshot:
    trace = gx.compile(two_labels())
    assert trace.failed is None
    s = next(step.after for step in reversed(trace.steps) if step.name == "insert-events")
    assert s.memory is not None
    assert verify_plan(s) == ()
    return s


def buffer(s: Snapshot, name: str) -> int:
    assert s.memory is not None
    return next(b.id for b in s.memory.problem.buffers if b.name == f"{name}:0")


def event(s: Snapshot, send: str, recv: str) -> int:
    assert s.sync is not None
    names = s.graph.unique_names
    return next(e.uid for e in s.sync.events if (names[e.send], names[e.recv]) == (send, recv))


def test_removing_an_event_a_reuse_depends_on(state: Snapshot) -> None:
    """A2 takes B1's bytes; that is safe because B2 (B1's reader) is done before A2, by the event B2 -> A2."""
    assert state.memory is not None
    at = state.memory.plan.offsets[buffer(state, "B1")]
    s = with_offsets(state, {buffer(state, "A2"): at})
    assert verify_plan(s) == ()
    uid = event(s, "B2", "A2")
    found = verify_change(s, without_events(s, [uid]))
    issue = next(i for i in found if {r.id for r in i.refs if r.kind == "buffer"} == {buffer(s, "A2"), buffer(s, "B1")})
    size = state.memory.problem.buffers[0].size
    assert issue.code == "GX201"
    assert f"share bytes {at}..{at + size}" in issue.message.en
    assert "nothing orders B2 (stream" in issue.message.en
    assert "before A2 (stream" in issue.message.en
    assert "from B2 to A2 kept them apart and is gone" in issue.message.en
    assert issue.fix is not None
    assert "from B2 to A2" in issue.fix.en
    assert issue.fix.zh
    assert uid in [r.id for r in issue.refs if r.kind == "event"]
    assert uid in events_behind_plan(s)


def test_an_event_that_no_reuse_needs_is_not_listed(state: Snapshot) -> None:
    assert state.memory is not None
    apart = with_offsets(state, {b.id: k * 8192 for k, b in enumerate(state.memory.problem.buffers)})
    assert events_behind_plan(apart) == {}
    assert state.sync is not None
    assert verify_change(apart, without_events(apart, [e.uid for e in state.sync.events])) == ()


def test_moving_a_buffer(state: Snapshot) -> None:
    assert state.memory is not None
    a1, b1 = buffer(state, "A1"), buffer(state, "B1")
    moved = with_offsets(state, {b1: state.memory.plan.offsets[a1]})
    assert moved.memory is not None
    assert moved.memory.plan.origin == "user"
    (issue,) = verify_change(state, moved)[:1]
    assert issue.code == "GX201"
    assert [i.code for i in verify_change(state, with_offsets(state, {a1: 7}))][:1] == ["GX202"]
    assert verify_change(state, state) == ()


def test_bad_edits(state: Snapshot) -> None:
    with pytest.raises(OptionError, match="no such event"):
        without_events(state, [999])
    for wrong in ({999: 0}, {0: -512}):
        with pytest.raises(OptionError, match="buffer id"):
            with_offsets(state, wrong)
    with pytest.raises(OptionError, match="no memory plan"):
        with_offsets(state.evolve(memory=None), {})


SEEN: list[int] = []


def racing_pairs(s: Snapshot) -> set[tuple[int, int]]:
    """By brute force: overlapping buffers and paths in a graph of stream neighbours and events."""
    assert s.memory is not None
    stream = streams_of(s).node
    g = nx.DiGraph()
    last: dict[int, int] = {}
    for v in sequence_of(s):
        if stream[v] >= 0:
            g.add_node(v)
            if int(stream[v]) in last:
                g.add_edge(last[int(stream[v])], v)
            last[int(stream[v])] = v
    g.add_edges_from((o.first, o.second) for o in event_orders(s))
    after = {v: nx.descendants(g, v) for v in g}

    def first(x: int, y: int) -> bool:
        return all(d in after[u] for u in buffers[x].accessors if u in g for d in buffers[y].producers if d in g)

    buffers, at = s.memory.problem.buffers, s.memory.plan.offsets
    return {
        (x, y)
        for x in range(len(buffers))
        for y in range(x + 1, len(buffers))
        if at[x] < at[y] + buffers[y].size and at[y] < at[x] + buffers[x].size and not first(x, y) and not first(y, x)
    }


@settings(max_examples=25, deadline=None, derandomize=True)
@given(graphs(max_nodes=30, branches=False), st.sampled_from(["default", "LoadBalance:3"]), st.data())
def test_every_removed_event_is_judged_as_by_brute_force(graph: Graph, mode: str, data: st.DataObject) -> None:
    trace = gx.compile(graph, options={**mode_options(mode), "gx.memoryPlanner": "hb"})
    assert trace.failed is None
    steps = [x.after for x in trace if x.after.sync is not None and x.after.sync.events and x.after.memory is not None]
    if not steps:
        return
    s = steps[0]
    assert s.sync is not None
    had = racing_pairs(s)
    uid = data.draw(st.sampled_from([e.uid for e in s.sync.events]))
    cut = without_events(s, [uid])
    expected = racing_pairs(cut) - had
    SEEN.append(len(expected))
    found = verify_change(s, cut)
    pairs = {tuple(sorted(r.id for r in i.refs if r.kind == "buffer")) for i in found if i.code == "GX201" and i.refs}
    assert pairs == expected
    assert all(uid in [r.id for r in i.refs if r.kind == "event"] for i in found if i.code == "GX201" and i.refs)
    assert verify_change(cut, s) == ()


def test_the_property_saw_both_kinds() -> None:
    """Runs after the property above: some removed events broke the plan, some did not."""
    if SEEN:
        assert any(SEEN)
        assert not all(SEEN)

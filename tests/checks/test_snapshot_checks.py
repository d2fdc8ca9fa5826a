"""Every check fires on a tiny graph made for it, and stays quiet on the healthy twin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from ge_explorer.checks import check_snapshot, verify_plan
from ge_explorer.graph.builder import GraphBuilder
from ge_explorer.graph.edit import GraphEditor
from ge_explorer.graph.model import Graph
from ge_explorer.issue import Issue
from ge_explorer.memory.bounds import serial_live
from ge_explorer.memory.planner import plan_hb
from ge_explorer.memory.problem import build_problem
from ge_explorer.trace.state import Event, MemoryState, Placement, Snapshot, StreamAssignment, SyncPlan, int_array


def graph_of(edges: str, ops: Mapping[str, str] | None = None, attrs: Mapping[str, dict[str, Any]] | None = None,
             control: str = "") -> Graph:  # fmt: skip
    """Nodes are letters in order of the alphabet used; edges like "AB BC"."""
    e = GraphEditor.empty("g")
    ids: dict[str, int] = {}
    names = sorted(set((edges + control).replace(" ", "")) | set(ops or {}))
    for name in names:
        ins = [e.output(ids[x[0]]) for x in edges.split() if x[1] == name and x[0] in ids]
        op = (ops or {}).get(name, "Op")
        ids[name] = e.add_node(name, op, inputs=ins, outputs=[((480,), "int8")], attrs=(attrs or {}).get(name))
    for x in control.split():
        e.add_control(ids[x[0]], ids[x[1]])
    return e.freeze()


def event(g: Graph, streams: Mapping[str, int], pair: str, i: int, uid: int | None = None) -> Event:
    a, b = g.by_name[pair[0]], g.by_name[pair[1]]
    return Event(i if uid is None else uid, i, a, b, streams[pair[0]], streams[pair[1]])


def snapshot(g: Graph, streams: Mapping[str, int], pairs: Sequence[str] = (), active: Mapping[str, tuple[int, ...]] | None = None,
             ids: Sequence[int] | None = None, **sync: Any) -> Snapshot:  # fmt: skip
    walk = g.walk()
    order = np.full(g.id_bound, -1)
    order[walk] = range(len(walk))
    events = tuple(event(g, streams, p, (ids or range(len(pairs)))[k], k) for k, p in enumerate(pairs))
    plan = SyncPlan(events, active_streams={g.by_name[n]: s for n, s in (active or {}).items()}, **sync)
    assignment = StreamAssignment(int_array([streams[n.name] for n in g]))
    return Snapshot(g, order=int_array(order), sequence=tuple(walk), streams=assignment, sync=plan)


def codes(s: Snapshot) -> list[str]:
    return sorted({i.code for i in check_snapshot(s)})


def only(s: Snapshot, code: str) -> Issue:
    return next(i for i in check_snapshot(s) if i.code == code)


def streams(text: str) -> dict[str, int]:
    """ "A0 B1" -> {"A": 0, "B": 1}; "-" stands for none."""
    return {x[0]: -1 if x[1] == "-" else int(x[1]) for x in text.split()}


FORK = graph_of("AB AC BD CD")
FORK_STREAMS = streams("A0 B0 C1 D0")


def test_healthy_fork_join_has_no_findings() -> None:
    assert codes(snapshot(FORK, FORK_STREAMS, ["AC", "CD"])) == []


def test_gx110_dependency_without_event() -> None:
    s = snapshot(FORK, FORK_STREAMS, ["AC"])
    issue = only(s, "GX110")
    assert "D (stream 0) needs C (stream 1)" in issue.message.en
    assert issue.message.zh
    assert issue.fix is not None
    assert "from C to D" in issue.fix.en
    assert codes(s) == ["GX110"]


def test_gx110_is_about_reachability_not_about_events() -> None:
    # A -> D is implied by A -> C (event), C -> D (event) although no event joins A and D
    g = graph_of("AC CD AD")
    assert codes(snapshot(g, streams("A0 C1 D2"), ["AC", "CD"])) == []
    assert codes(snapshot(g, streams("A0 C1 D2"), ["AC"])) == ["GX110"]


def test_gx110_without_any_sync_facet() -> None:
    s = snapshot(FORK, FORK_STREAMS)
    assert codes(s.evolve(sync=None)) == ["GX110"]


def test_gx110_control_edges_count() -> None:
    g = graph_of("", control="AB")
    assert codes(snapshot(g, streams("A0 B1"))) == ["GX110"]
    assert codes(snapshot(g, streams("A0 B1"), ["AB"])) == []


def test_gx110_enter_needs_no_event_but_its_activator_does() -> None:
    g = graph_of("AB", ops={"A": "Enter"})
    assert codes(snapshot(g, streams("A0 B1"))) == []
    g = graph_of("AB", ops={"A": "Enter", "B": "StreamActive"})
    assert codes(snapshot(g, streams("A0 B1"))) == ["GX110"]


HELD = {"_switch_branch_node_label": "x"}


def test_activation_orders_a_stream() -> None:
    # A runs before B on stream 0; B activates stream 1, where C runs
    g = graph_of("AB AC", ops={"B": "StreamActive"}, attrs={"B": HELD})
    assert codes(snapshot(g, streams("A0 B0 C1"), active={"B": (1,)})) == []
    assert codes(snapshot(g, streams("A0 B0 C1"))) == ["GX110"]


def test_a_loop_activation_proves_nothing() -> None:
    g = graph_of("AB AC", ops={"B": "StreamActive"}, attrs={"B": {"is_loop_active": True}})
    assert codes(snapshot(g, streams("A0 B0 C1"), active={"B": (1,)})) == ["GX110"]


def test_one_of_two_activators_covers_its_own_branch() -> None:
    # X (stream 2) and Y (stream 3) are exclusive branches that both start stream 1
    g = graph_of("AX BY AC BC", ops={"X": "StreamActive", "Y": "StreamActive"})
    placed = streams("A2 B3 C1 X2 Y3") | {"C": 1}
    s = snapshot(g, placed, active={"X": (1,), "Y": (1,)})
    assert "GX110" not in codes(s)


def test_gx110_subgraph_borders() -> None:
    b = GraphBuilder("g")
    pre = b.op("Relu", b.data("x", (8,)), name="pre")
    holder = b.op("PartitionedCall", pre, name="call", shape=(8,))
    with b.subgraph(holder, "body") as (inner,):
        b.op("LabelSet", name="entry", outputs=[])
        b.outputs(b.op("Relu", inner, name="r"))
    g = b.build(b.op("Relu", holder, name="post"))
    g = g.with_attrs({g.by_name["body/Node_Output"]: {"_subgraph_end_node": True}})
    placed = {n.name: -1 if n.is_source else 1 if n.name.startswith("body/") else 0 for n in g}
    walk = tuple(g.walk())
    s = Snapshot(g, sequence=walk, streams=StreamAssignment(int_array([placed[n.name] for n in g])), sync=SyncPlan())
    assert {i.code for i in check_snapshot(s)} >= {"GX110", "GX121"}
    messages = [i.message.en for i in check_snapshot(s) if i.code == "GX110"]
    assert any("subgraph entry" in m for m in messages)
    assert any("subgraph end" in m for m in messages)
    n = g.by_name
    mended = SyncPlan((
        Event(0, 0, n["pre"], n["body/entry"], 0, 1),
        Event(1, 1, n["body/Node_Output"], n["post"], 1, 0),
    ))  # fmt: skip
    assert codes(s.evolve(sync=mended)) == []


def test_gx111_deadlock_names_the_chain() -> None:
    g = graph_of("AB CD AD CB")
    s = snapshot(g, streams("A0 B0 C1 D1"), ["DA", "BC"])
    issue = only(s, "GX111")
    assert "event" in issue.message.en
    assert {r.kind for r in issue.refs} == {"node", "event"}
    assert issue.fix is not None
    assert codes(snapshot(g, streams("A0 B0 C1 D1"), ["AD", "CB"])) == []


def test_gx111_activation_counts() -> None:
    # stream 1 is started by C, but C waits for B, which runs on stream 1
    g = graph_of("BC", ops={"C": "StreamActive"}, attrs={"C": HELD})
    assert "GX111" in codes(snapshot(g, streams("B1 C0"), ["BC"], active={"C": (1,)}))


def test_gx112_event_inside_one_stream() -> None:
    g = graph_of("AB")
    assert codes(snapshot(g, streams("A0 B0"), ["AB"])) == ["GX112"]
    assert codes(snapshot(g, streams("A0 B0"))) == []


@pytest.mark.parametrize(("ids", "fires"), [([0, 1], False), ([0, 2], True), ([1, 2], True), ([0, 0], True)])
def test_gx113_event_ids(ids: list[int], fires: bool) -> None:
    assert codes(snapshot(FORK, FORK_STREAMS, ["AC", "CD"], ids=ids)) == (["GX113"] if fires else [])


def test_gx114_stream_ids() -> None:
    assert codes(snapshot(graph_of("AB"), streams("A0 B2"), ["AB"])) == ["GX114"]


def test_gx115_side_stream_not_joined() -> None:
    g = graph_of("AB AN", ops={"N": "NetOutput"})
    assert codes(snapshot(g, streams("A0 B1 N0"), ["AB"])) == ["GX115"]
    assert codes(snapshot(g, streams("A0 B1 N0"), ["AB", "BN"])) == []


def test_gx116_two_events_that_say_the_same() -> None:
    g = graph_of("AC AD CD")
    assert codes(snapshot(g, streams("A0 C1 D1"), ["AC", "AD"])) == ["GX116"]
    g = graph_of("AB AC BC")
    assert codes(snapshot(g, streams("A0 B0 C1"), ["AC", "BC"])) == ["GX116"]


def test_gx117_switch_sends() -> None:
    g = graph_of("AB", ops={"A": "StreamSwitch"})
    assert codes(snapshot(g, streams("A0 B1"), ["AB"])) == ["GX117"]


def test_gx118_node_without_stream() -> None:
    g = graph_of("AB")
    s = snapshot(g, streams("A0 B-"))
    assert codes(s) == ["GX118"]
    local = Placement(("AIcoreEngine", "DNN_VM_GE_LOCAL"), ("AIV", "NONE"))
    assert codes(s.evolve(placement=local)) == []


def test_gx119_activation_lists() -> None:
    g = graph_of("AB", ops={"A": "StreamActive"}, attrs={"A": HELD})
    assert codes(snapshot(g, streams("A0 B1"), active={"A": (1,)})) == []
    assert codes(snapshot(g, streams("A0 B1"), ["AB"], active={"A": (0,)})) == ["GX119"]
    assert codes(snapshot(g, streams("A0 B1"), ["AB"], active={"A": (5,)})) == ["GX119"]


def test_gx120_event_that_does_not_fit_its_nodes() -> None:
    s = snapshot(graph_of("AB"), streams("A0 B1"), ["AB"])
    stale = SyncPlan((Event(0, 0, 0, 1, 1, 0),))
    assert codes(s.evolve(sync=stale)) == ["GX110", "GX120"]
    gone = SyncPlan((*(s.sync.events if s.sync else ()), Event(1, 1, 0, 99, 0, 1)))
    assert "GX120" in codes(s.evolve(sync=gone))


def test_gx122_and_gx123_order() -> None:
    s = snapshot(graph_of("AB BC"), streams("A0 B0 C0"))
    assert codes(s.evolve(sequence=(0, 2, 1))) == ["GX122"]
    assert codes(s.evolve(sequence=(0, 1))) == ["GX123"]
    assert codes(s.evolve(order=int_array([0, 2, 1]))) == ["GX122"]


def with_plan(s: Snapshot, offsets: tuple[int, ...] | None = None) -> Snapshot:
    """The snapshot with a plan made before its events, or with the given offsets."""
    assert s.sequence is not None
    assert s.streams is not None
    problem = build_problem(s.graph, s.sequence, s.streams.node, s.order)
    plan = plan_hb(problem)
    if offsets is not None:
        plan = type(plan)(offsets, plan.peak, "hand")
    return s.evolve(memory=MemoryState(problem, plan, serial_live(problem).bytes))


CHAIN = graph_of("AB BC CD")


def test_plan_made_before_events_holds_over_the_real_events() -> None:
    s = with_plan(snapshot(CHAIN, streams("A0 B1 C0 D1"), ["AB", "BC", "CD"]))
    assert verify_plan(s) == ()
    assert codes(s) == []


def test_gx201_a_missing_event_turns_the_plan_into_a_race() -> None:
    s = with_plan(snapshot(CHAIN, streams("A0 B1 C0 D1"), ["AB", "CD"]))
    assert codes(s) == ["GX110", "GX201"]


def test_gx201_overlapping_offsets() -> None:
    s = with_plan(snapshot(CHAIN, streams("A0 B0 C0 D0")), (0, 0, 512, 512))
    assert codes(s) == ["GX201"]

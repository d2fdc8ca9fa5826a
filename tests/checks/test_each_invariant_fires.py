"""Every one of the 14 invariants: a good compile passes it, and one change to the result makes exactly that one complain."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "passes" / "physical"))

from physical_cases import chain, compile_from_events, graph

import ge_explorer as gx
from ge_explorer.checks import INVARIANTS, check_invariants
from ge_explorer.graph.edit import GraphEditor
from ge_explorer.trace.state import Event, Snapshot, int_array

Change = Callable[[Snapshot], Snapshot]


def crossing() -> Snapshot:
    """Three streams with events both ways."""
    return gx.compile("three_stream_crossing").final


def split() -> Snapshot:
    """A chain cut into two parts, with a group that stays together."""
    attrs = {f"n{i}": {"_continuous_stream_label": "c"} for i in range(340, 350)}
    return compile_from_events(chain(400, attrs)).final


def attached() -> Snapshot:
    """Two operators that share an attached stream."""
    row = {
        "_attached_resource_name": "g",
        "_attached_resource_reuse_key": "k",
        "_attached_resource_required_flag": True,
    }
    e = GraphEditor.empty("g")
    x = e.output(e.add_node("x", "Data", outputs=[((8, 8), "float")]))
    for name in "ab":
        attrs = {"_attached_stream_info_list": [row]}
        x = e.output(e.add_node(name, "MatMul", inputs=[x, x], outputs=[((8, 8), "float")], attrs=attrs))
    e.add_node("out", "NetOutput", inputs=[x])
    return gx.compile(e.freeze()).final


def switched() -> Snapshot:
    """A StreamSwitch that starts the stream of its label."""
    labels = {"switch": {"_active_label_list": ["L"]}, "x": {"_stream_label": "L"}, "y": {"_stream_label": "L"}}
    types = {"switch": "StreamSwitch", "out": "NetOutput"}
    g = graph("a:0 switch:1 x:2 y:2 out:0", "a>switch x>y a>out y>out", control="switch>x", attrs=labels, types=types)
    return compile_from_events(g).final


def branches() -> Snapshot:
    """An If whose branches wait on other streams."""
    return gx.compile("control_flow_if", mode="LoadBalance:4").final


def with_events(s: Snapshot, change: Callable[[tuple[Event, ...]], tuple[Event, ...]]) -> Snapshot:
    assert s.sync is not None
    return s.evolve(sync=replace(s.sync, events=change(s.sync.events)))


def reversed_event(s: Snapshot) -> Snapshot:
    """The last event also the other way round: a circle."""
    assert s.sync is not None
    e = s.sync.events[0]
    back = Event(s.sync.next_uid, s.sync.event_num, e.recv, e.send, e.recv_stream, e.send_stream)
    return s.evolve(sync=replace(s.sync, events=(*s.sync.events, back), next_uid=back.uid + 1, event_num=back.id + 1))


def without_first(s: Snapshot) -> Snapshot:
    return with_events(s, lambda events: events[1:])


def without_cover(s: Snapshot) -> Snapshot:
    return with_events(s, lambda events: tuple(e for e in events if e.cause != "attached-end"))


def hole(s: Snapshot) -> Snapshot:
    return with_events(s, lambda events: (*events[:-1], replace(events[-1], id=events[-1].id + 5)))


def same_id(s: Snapshot) -> Snapshot:
    return with_events(s, lambda events: (*events[:-1], replace(events[-1], id=events[0].id)))


def wrong_stream(s: Snapshot) -> Snapshot:
    """A Send stands on another stream than the node it follows."""
    assert s.streams is not None and s.physical is not None
    i = next(n.id for n in s.graph if n.op == "Send")
    node, physical = s.streams.node.copy(), s.physical.node.copy()
    node[i] = physical[i] = (int(physical[i]) + 1) % 3
    return s.evolve(
        streams=replace(s.streams, node=int_array(node)), physical=replace(s.physical, node=int_array(physical))
    )  # fmt: skip


def doubled(s: Snapshot) -> Snapshot:
    assert s.sync is not None
    e = s.sync.events[0]
    twin = replace(e, uid=s.sync.next_uid, id=s.sync.event_num)
    return s.evolve(sync=replace(s.sync, events=(*s.sync.events, twin), next_uid=twin.uid + 1, event_num=twin.id + 1))


def switch_sends(s: Snapshot) -> Snapshot:
    assert s.sync is not None and s.streams is not None
    a, b = s.graph.node("switch").id, s.graph.node("out").id
    e = Event(s.sync.next_uid, s.sync.event_num, a, b, int(s.streams.node[a]), int(s.streams.node[b]))
    return s.evolve(sync=replace(s.sync, events=(*s.sync.events, e), next_uid=e.uid + 1, event_num=e.id + 1))


def starts_itself(s: Snapshot) -> Snapshot:
    assert s.sync is not None and s.streams is not None and s.physical is not None
    i = s.graph.node("switch").id
    lists = MappingProxyType({i: (int(s.streams.node[i]),)})
    physical = replace(s.physical, sync=replace(s.physical.sync, active_streams=lists))
    return s.evolve(sync=replace(s.sync, active_streams=lists), physical=physical)


def too_long(s: Snapshot) -> Snapshot:
    """The first part gets the nodes of the second."""
    assert s.physical is not None
    node = s.physical.node.copy()
    node[node == 1] = 0
    return s.evolve(physical=replace(s.physical, node=int_array(node)))


def no_chain(s: Snapshot) -> Snapshot:
    assert s.physical is not None
    return s.evolve(physical=replace(s.physical, sync=replace(s.physical.sync, events=())))


def too_many(s: Snapshot) -> Snapshot:
    assert s.sync is not None and s.physical is not None
    sync = replace(s.physical.sync, notify_num=1025, notify_types=(0,) * 1025)
    return s.evolve(physical=replace(s.physical, sync=sync))


def streamless(s: Snapshot) -> Snapshot:
    assert s.streams is not None and s.physical is not None
    i = s.graph.node("A1").id
    node, physical = s.streams.node.copy(), s.physical.node.copy()
    node[i] = physical[i] = -1
    return s.evolve(
        streams=replace(s.streams, node=int_array(node)), physical=replace(s.physical, node=int_array(physical))
    )  # fmt: skip


def turned_around(s: Snapshot) -> Snapshot:
    assert s.sequence is not None
    return s.evolve(sequence=tuple(reversed(s.sequence)))


CASES: tuple[tuple[int, Callable[[], Snapshot], Change], ...] = (
    (1, crossing, reversed_event),
    (2, crossing, without_first),
    (3, attached, without_cover),
    (4, crossing, hole),
    (5, crossing, same_id),
    (6, crossing, wrong_stream),
    (7, crossing, doubled),
    (8, switched, switch_sends),
    (9, switched, starts_itself),
    (11, split, too_long),
    (11, split, no_chain),
    (12, crossing, too_many),
    (13, crossing, streamless),
    (14, crossing, turned_around),
)


@pytest.mark.parametrize(("number", "good", "change"), CASES, ids=[f"{n}-{c.__name__}" for n, _, c in CASES])
def test_a_broken_result_fails_its_invariant(number: int, good: Callable[[], Snapshot], change: Change) -> None:
    s = good()
    before = {r.number: r for r in check_invariants(s)}
    assert before[number].status in ("pass", "warning"), before[number].issues
    after = {r.number: r for r in check_invariants(change(s))}[number]
    assert after.status == "fail" or (after.status == "warning" and before[number].status == "pass"), after
    new = [i for i in after.issues if i.severity in ("error", "warning")]
    assert {i.code for i in new} <= set(INVARIANTS[number].codes)
    assert all(i.message.en and i.message.get("zh") and i.message.get("zh") != i.message.en for i in new)
    assert all(i.fix is None or i.fix.en for i in new)


def test_exclusive_branches_need_their_own_waits() -> None:
    """10: A1 waits inside branch 0 only; the tail behind branch 1 is not ordered after the producer."""
    e = GraphEditor.empty("g")
    src = e.add_node("src", "Op", outputs=1, attrs={"stream": 0})
    case = e.add_node("case", "Case", attrs={"stream": 1})
    for k in (0, 1):
        scope = e.add_scope(f"b{k}", case)
        e.add_node(f"in{k}", "Op", outputs=1, attrs={"stream": 1}, scope=scope)
    e.add_node("after", "Op", inputs=[e.output(src)], attrs={"stream": 1})
    s = compile_from_events(e.freeze()).final
    assert s.sync is not None and s.streams is not None
    uid, inner = s.sync.next_uid, s.graph.node("in0").id
    moved = tuple(replace(x, uid=uid, recv=inner) if x.recv == s.graph.node("after").id else x for x in s.sync.events)
    broken = s.evolve(sync=replace(s.sync, events=moved, next_uid=uid + 1))
    after = {r.number: r for r in check_invariants(broken)}[10]
    assert after.status in ("fail", "warning"), after
    assert {i.code for i in after.issues} == {"GX142"}


def test_every_invariant_has_a_case_here() -> None:
    assert {n for n, _, _ in CASES} | {10} == set(INVARIANTS)

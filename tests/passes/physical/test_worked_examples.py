"""The worked examples of the split and of activation, with their numbers."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import itertools

from physical_cases import chain, compile_from_events, graph, parts

from ge_explorer.graph.edit import GraphEditor


def test_example_6_a_label_on_several_streams_costs_one_more() -> None:
    nodes = "A:0 switch:1 C:2 D:3 E:4"
    labels = {n: {"_stream_label": "label1"} for n in "CDE"} | {"switch": {"_active_label_list": ["label1"]}}
    g = graph(nodes, "A>switch", control="switch>C switch>D switch>E", attrs=labels, types={"switch": "StreamSwitch"})
    t = compile_from_events(g)
    s = t.final
    assert s.sync is not None and s.streams is not None
    active = s.graph.node("switch_StreamActive_0")
    assert s.streams.next_stream == 6
    assert s.streams.node[active.id] == 5
    switch = s.graph.node("switch")
    assert s.sync.active_streams[switch.id] == (5,)
    assert s.sync.active_streams[active.id] == (2, 3, 4)
    assert switch.attrs["_active_label_list"] == ["switch_StreamActive_0"]
    assert {s.graph.node(i).name for i in s.graph.control_out[active.id]} == {"C", "D", "E"}
    assert [(e.send, e.recv) for e in s.sync.events] == [(s.graph.node("A").id, switch.id)]


def test_example_6_one_stream_needs_no_active_node() -> None:
    labels = {"C": {"_stream_label": "label1"}, "switch": {"_active_label_list": ["label1"]}}
    g = graph("A:0 switch:1 C:2", "A>switch", control="switch>C", attrs=labels, types={"switch": "StreamSwitch"})
    t = compile_from_events(g)
    assert t.final.streams is not None
    assert t.final.streams.next_stream == 3
    assert not any(n.op == "StreamActive" for n in t.final.graph)


def case_graph(*, more: bool = False) -> GraphEditor:
    e = GraphEditor.empty("g")
    attrs = {"stream": 0, "_batch_num": 2}
    if more:
        a = e.add_node("a", "Op", outputs=1, attrs={"stream": 0})
        e.add_node("b", "Op", inputs=[e.output(a)], attrs={"stream": 1})
    case = e.add_node("case", "Case", attrs=attrs)
    for k, side in ((0, 1), (1, 2)):
        scope = e.add_scope(f"batch_{k}", case)
        x = e.add_node(f"relu{2 * k + 1}", "Relu", outputs=1, attrs={"stream": 0}, scope=scope)
        y = e.add_node(f"relu{2 * k + 2}", "Relu", inputs=[e.output(x)], outputs=1, attrs={"stream": side}, scope=scope)
        if more and k == 0:
            e.add_node("relu5", "Relu", inputs=[e.output(y)], attrs={"stream": 0}, scope=scope)
    return e


@pytest.mark.parametrize("mode", ["", "notify"])
def test_example_7_gears_share_their_ids(mode: str) -> None:
    t = compile_from_events(case_graph().freeze(), {"ge.event": mode} if mode else {})
    s = t.final
    assert s.sync is not None
    assert (s.sync.event_num, s.sync.notify_num) == ((0, 1) if mode else (1, 0))
    assert [e.id for e in s.sync.events] == [0, 0]
    infix = "Notify_" if mode else ""
    made = {n.name for n in s.graph if n.op.startswith(("Send", "Recv"))}
    assert made == {f"g_{w}_{infix}0{x}" for w in ("Send", "Recv") for x in ("", "_Reuse_1")}


def test_example_7_an_event_outside_the_gears_comes_after_the_longest() -> None:
    s = compile_from_events(case_graph(more=True).freeze()).final
    assert s.sync is not None
    names = s.graph.unique_names
    ids = {names[e.send]: e.id for e in s.sync.events}
    assert s.sync.event_num == 3
    assert ids == {"a": 2, "relu1": 0, "relu2": 1, "relu3": 0}


def test_example_8_the_333rd_node_opens_a_stream() -> None:
    t = compile_from_events(chain(344))
    p = t.final.physical
    assert p is not None
    where = parts(t)
    assert [where[f"n{i}"] for i in (0, 331, 332, 343)] == [0, 0, 1, 1]
    assert p.logic_of == (0, 0)
    assert p.sync.event_num == 1
    names = t.final.graph.unique_names
    assert [(names[e.send], names[e.recv]) for e in p.sync.events] == [("n331", "n332")]
    members = t.final.graph.root.nodes
    order = [names[i] for i in members]
    at = order.index("n332")
    assert order[at - 3 : at + 1] == ["n331", "g_Send_0", "g_Recv_0", "n332"]
    assert max(p.tasks) + 27 <= 1024


@pytest.mark.parametrize(("beside", "streams", "events"), [((1,), 4, 3), ((1, 2), 6, 5)])
def test_example_8_attached_streams_are_split_too(beside: tuple[int, ...], streams: int, events: int) -> None:
    attrs = {f"n{i}": {"attached": beside} for i in range(344)}
    p = compile_from_events(chain(344, attrs)).final.physical
    assert p is not None
    assert (p.count, p.sync.event_num) == (streams, events)
    assert p.logic_of == ((0, 1, 0, 1) if len(beside) == 1 else (0, 1, 2, 0, 1, 2))


def test_example_9_an_oversize_node_makes_the_next_one_split_as_well() -> None:
    attrs = {"n1": {"_node_sqe_num": 1003}}
    where = parts(compile_from_events(chain(4, attrs)))
    assert [where[f"n{i}"] for i in range(4)] == [0, 1, 2, 2]


def test_example_10_a_continuous_group_moves_as_a_whole() -> None:
    attrs = {f"n{i}": {"_continuous_stream_label": "c"} for i in range(331, 350)}
    t = compile_from_events(chain(350, attrs))
    where = parts(t)
    assert [where[f"n{i}"] for i in (330, 331, 332, 349)] == [0, 1, 1, 1]
    assert t.final.physical is not None
    names = t.final.graph.unique_names
    assert [(names[e.send], names[e.recv]) for e in t.final.physical.sync.events] == [("n330", "n331")]


def test_a_continuous_group_that_starts_its_stream_fails_as_in_ge() -> None:
    attrs = {f"n{i}": {"_continuous_stream_label": "c"} for i in range(400)}
    failed = compile_from_events(chain(400, attrs)).failed
    assert failed is not None and failed.error is not None
    assert failed.name == "split-streams"
    assert failed.ge_status == "PARAM_INVALID"
    assert "n0" in str(failed.error)


def test_example_11_the_activator_starts_the_new_parts() -> None:
    names = [f"x{i}" for i in range(400)]
    attrs = {n: {"_stream_label": "1"} for n in names} | {"B": {"_active_label_list": ["1"]}}
    edges = " ".join(f"{a}>{b}" for a, b in itertools.pairwise(names))
    g = graph("A:0 B:1 " + " ".join(f"{n}:2" for n in names), "A>B " + edges, control="B>x0", attrs=attrs)
    t = compile_from_events(g)
    p = t.final.physical
    assert p is not None and t.final.sync is not None
    b = t.final.graph.node("B").id
    assert t.final.sync.active_streams[b] == (2,)
    assert p.sync.active_streams[b] == (2, 3)
    assert p.parts == {2: (3,)}
    assert {2, 3} <= p.sync.activated


def hccl(count: int, tasks: int) -> dict[str, dict[str, int]]:
    return {f"n{i}": {"_node_sqe_num": tasks} for i in range(1, count + 1)}


def test_example_12_a_single_stream_becomes_huge_where_the_chip_has_them() -> None:
    single = {"ge.enableSingleStream": "true", "gx.tasksPerNode": "3"}
    g = chain(6, hccl(5, 245))
    assert parts(compile_from_events(g))["n5"] == 1
    huge = compile_from_events(g, single).final.physical
    assert huge is not None
    assert (huge.huge, huge.count) == ((0,), 1)
    without = compile_from_events(g, {**single, "gx.maxTasksPerHugeStream": "none"}).final.physical
    assert without is not None
    assert (without.huge, without.count) == ((), 2)
    long = compile_from_events(chain(40, hccl(39, 245)), single).final.physical
    assert long is not None
    assert (long.huge, long.count) == ((0,), 2)


def test_unlimited_depth_splits_nothing_and_puts_the_rest_on_stream_0() -> None:
    t = compile_from_events(chain(400), {"gx.unlimitedStreamDepth": "true"})
    assert set(parts(t).values()) == {0}
    assert t.step("split-streams").status == "skipped"


def test_a_loop_waits_for_its_streams_before_it_starts_them_again() -> None:
    attrs = {"again": {"is_loop_active": True}}
    types = {"switch": "StreamSwitch", "again": "StreamActive"}
    labels = {"switch": {"_active_label_list": ["none"]}, "x": {"_stream_label": "none"}}
    g = graph("a:0 b:1 switch:2 again:3 x:4", "a>b", control="switch>again switch>x", attrs=attrs | labels, types=types)
    s = compile_from_events(g).step("activate-loop").after
    assert s.sync is not None
    names = s.graph.unique_names
    assert s.sync.active_streams[s.graph.node("again").id] == (0, 1, 2, 3)  # the switch starts stream 4
    loop = [(names[e.send], names[e.recv]) for e in s.sync.events if e.cause == "loop-end"]
    assert loop == [("a", "switch"), ("b", "switch"), ("again", "switch")]


def test_ten_thousand_nodes_on_one_stream_are_cut_in_seconds() -> None:
    p = compile_from_events(chain(10_000)).final.physical
    assert p is not None
    assert p.count == 31
    assert max(p.tasks) + 27 <= 1024
    assert len(p.sync.events) == 30

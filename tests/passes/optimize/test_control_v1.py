"""Switch, Merge and loops of TensorFlow 1: from operators to streams that start one another."""

from __future__ import annotations

from ge_explorer import pipelines
from ge_explorer.graph.builder import GraphBuilder
from ge_explorer.graph.edit import GraphEditor
from ge_explorer.graph.model import Graph
from ge_explorer.trace.runner import run_trace
from ge_explorer.trace.trace import Trace
from tests.passes.optimize.helpers import rules, run, source
from tests.passes.optimize.test_optimize_properties import sound

S = ((8,), "float")
BOTH = "merge-input-memcpy,switch-bypass,merge-to-stream-merge,switch-to-stream-switch"


def branches(*, empty: bool = False, two: bool = False) -> Graph:
    """``x -> Switch -> {Neg, Relu} -> Merge``; ``empty``: nothing on the false side; ``two``: two Switch nodes, one predicate."""
    b = GraphBuilder("g")
    x, p = b.data("x", (8,), "float"), b.data("p", (), "bool")
    v = b.op("Tanh", x, name="v")
    s = b.op("Switch", v, p, name="switch", outputs=[S, S])
    no = s[0] if empty else b.op("Neg", s[0], name="no")
    yes = b.op("Relu", s[1], name="yes")
    ends = [b.op("Merge", no, yes, name="merge", outputs=[S, ((), "int32")])]
    if two:
        other = b.op("Switch", b.op("Abs", x, name="w"), p, name="other", outputs=[S, S])
        ends.append(
            b.op("Merge", b.op("Exp", other[0], name="e"), b.op("Log", other[1], name="l"), name="m2", outputs=[S])
        )
    return b.build(*(b.op("Sqrt", e, name=f"end{k}") for k, e in enumerate(ends)))


def edges(g: Graph) -> set[tuple[str, str]]:
    return {(g.node(a).name, g.node(b).name) for a, b in g.control}


def test_each_branch_ends_in_a_copy() -> None:
    t = run(branches(), "merge-input-memcpy")
    g = t.final.graph
    assert [source(g, "merge", k) for k in (0, 1)] == ["merge_input_0_memcpy", "merge_input_1_memcpy"]
    assert source(g, "merge_input_1_memcpy") == "yes"
    assert run(g, "merge-input-memcpy").steps[0].status == "unchanged"
    sound(g)


def test_data_goes_round_a_switch_and_the_condition_stays() -> None:
    t = run(branches(), "switch-bypass")
    g = t.final.graph
    assert (source(g, "yes"), source(g, "no")) == ("v", "v")
    assert edges(g) == {("switch_Identity_0", "no"), ("switch_Identity_1", "yes")}
    assert run(g, "switch-bypass").steps[0].status == "unchanged"
    assert (
        run(branches(), "switch-bypass", {"ge.optimizationSwitch": "SwitchDataEdgesBypass:off"}).steps[0].status
        == "skipped"
    )
    sound(g)


def test_switch_and_merge_become_streams_that_start_one_another() -> None:
    t = run(branches(), f"{BOTH},branch-labels,identity-remove")
    g = t.final.graph
    assert not {"Switch", "Merge", "Identity"} & {n.op for n in g}
    switches = {n.attrs["_switch_true_branch_flag"]: n for n in g if n.op == "StreamSwitch"}
    assert set(switches) == {True, False}
    cast = g.node(source(g, switches[True].name))
    assert (cast.op, g.tensor(cast.outputs[0]).dtype) == ("Cast", "int32")
    assert (switches[True].name, "yes") in edges(g)
    assert (switches[False].name, "no") in edges(g)
    assert (source(g, "yes"), source(g, "no")) == ("v", "v")
    for k in (0, 1):
        a = f"merge_input_{k}_StreamActive"
        assert g.node(a).attrs["_active_label_list"] == ["merge"]
        assert {(f"merge_input_{k}_memcpy", a), (a, "merge")} <= edges(g)
    assert g.node("yes").attrs["_stream_label"] == f"{cast.name}_t"
    assert g.node("merge").attrs["_stream_label"] == "merge"
    sound(g)
    again = run(g, f"{BOTH},branch-labels")
    assert {s.status for s in again} <= {"skipped", "unchanged"}


def test_switches_with_one_predicate_share_their_stream_switches() -> None:
    t = run(branches(two=True), BOTH)
    g = t.final.graph
    assert len([n for n in g if n.op == "StreamSwitch"]) == 2
    assert len([n for n in g if n.op == "Cast"]) == 1
    yes = next(n for n in g if n.op == "StreamSwitch" and n.attrs["_switch_true_branch_flag"])
    reached = {g.node(i).name for i in g.control_out[yes.id]}
    assert reached == {"switch_Identity_1", "other_Identity_1"}


def test_a_branch_that_does_nothing_is_a_copy_under_the_switch() -> None:
    g = run(branches(empty=True), "merge-to-stream-merge,switch-to-stream-switch").final.graph
    value = source(g, "merge", 0)
    assert (g.node(value).op, source(g, value)) == ("MemcpyAsync", "v")
    assert any(a.endswith("StreamSwitch_f") and b == value for a, b in edges(g))
    sound(g)


def loop() -> Graph:
    """``while x < limit: x = x + 1`` as TensorFlow 1 writes it."""
    e = GraphEditor.empty("loop")
    x = e.add_node("x", "Data", outputs=[S])
    limit = e.add_node("limit", "Const", outputs=[S])
    enter = e.add_node("enter", "Enter", inputs=[e.output(x)], outputs=[S], attrs={"frame_name": "f"})
    bound = e.add_node("bound", "Enter", inputs=[e.output(limit)], outputs=[S], attrs={"frame_name": "f"})
    merge = e.add_node("merge", "Merge", inputs=[e.output(enter), None], outputs=[S])
    less = e.add_node("less", "Less", inputs=[e.output(merge), e.output(bound)], outputs=[((), "bool")])
    cond = e.add_node("cond", "LoopCond", inputs=[e.output(less)], outputs=[((), "bool")])
    switch = e.add_node("switch", "Switch", inputs=[e.output(merge), e.output(cond)], outputs=[S, S])
    body = e.add_node("body", "Exp", inputs=[e.output(switch, 1)], outputs=[S])
    following = e.add_node("next", "NextIteration", inputs=[e.output(body)], outputs=[S])
    e.connect(e.output(following), merge, 1)
    leave = e.add_node("exit", "Exit", inputs=[e.output(switch, 0)], outputs=[S])
    tail = e.add_node("tail", "Neg", inputs=[e.output(leave)], outputs=[S])
    e.add_node("out", "NetOutput", inputs=[e.output(tail)])
    return e.freeze()


def test_the_back_edge_of_a_loop_becomes_activation() -> None:
    t = run(loop(), "next-iteration")
    g = t.final.graph
    sound(g)
    assert g.node("merge").inputs[1] is None
    assert g.node("merge").attrs["_next_iteration_node"] == "next"
    first, again = "cond_Enter_StreamActive", "cond_Next_StreamActive"
    assert edges(g) == {("enter", first), ("bound", first), (first, "merge"), ("next", again)}
    assert g.node(first).attrs["_active_label_list"] == g.node(again).attrs["_active_label_list"] == ["cond"]
    assert run(g, "next-iteration").steps[0].status == "unchanged"
    assert rules(t)["back-edge"] == {"merge"}


def test_a_loop_without_its_condition_is_left_alone() -> None:
    e = GraphEditor(loop())
    e.change(loop().by_name["cond"], op="Identity")
    t = run(e.freeze(), "next-iteration")
    assert t.steps[0].status == "unchanged"
    assert rules(t) == {"no-condition": {"next"}}


def compiled(g: Graph) -> Trace:
    t = run_trace(g, pipelines.static(), {}, strict=True)
    assert t.failed is None, t.failed and t.failed.error
    return t


def test_the_streams_of_two_branches_are_started_by_their_switches() -> None:
    t = compiled(branches())
    s, g = t.final, t.final.graph
    assert s.sync is not None and s.streams is not None
    sound(g)
    yes, no, merge = (next(n for n in g if n.name == k or k in n.attrs.get("_datadump_original_op_names", ())) for k in
                      ("yes", "no", "merge"))  # fmt: skip
    streams = {int(s.streams.node[n.id]) for n in (yes, no, merge)}
    assert len(streams) == 3
    for flag, n in ((True, yes), (False, no)):
        switch = next(m for m in g if m.op == "StreamSwitch" and m.attrs["_switch_true_branch_flag"] is flag)
        assert s.sync.active_streams[switch.id] == (int(s.streams.node[n.id]),)
        assert not [e for e in s.sync.events if e.send == switch.id]
    for n in g:
        if n.op == "StreamActive":
            assert s.sync.active_streams[n.id] == (int(s.streams.node[merge.id]),)


def test_a_loop_compiles_to_streams_without_a_cycle() -> None:
    t = compiled(loop())
    g, sync = t.final.graph, t.final.sync
    assert sync is not None and t.final.streams is not None
    sound(g)
    body = next(n for n in g if n.op == "Exp")
    stream = {n.name: int(t.final.streams.node[n.id]) for n in g}
    round_again = [n.name for n in g if n.op in ("StreamMerge", "LoopCond", "StreamSwitch")]
    assert len({stream[n] for n in round_again}) == 1  # one stream is started again and runs all of them
    assert [g.node(e.recv).op for e in sync.events] == ["NetOutput"]  # everything else is started, not waited for
    again = next(n for n in g if n.name == "cond_Next_StreamActive")
    assert int(t.final.streams.node[again.id]) not in sync.active_streams[again.id]
    assert int(t.final.streams.node[body.id]) in {s for k in sync.active_streams.values() for s in k}


def test_the_optimisation_goes_on_behind_our_own_stream_control() -> None:
    t = compiled(branches())
    assert t.step("remove-isolated-const").status == "unchanged"
    assert all("already" not in (s.reason.en if s.reason else "") for s in t)

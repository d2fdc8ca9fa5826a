"""Labels and jumps of If, Case, While and PartitionedCall, as GE's label makers name and connect them."""

from __future__ import annotations

import pytest

import ge_explorer as gx
from ge_explorer.graph.builder import GraphBuilder
from ge_explorer.graph.model import Graph
from ge_explorer.passes.partition.label_bodies import LabelBodies
from ge_explorer.trace.passes import PassContext
from ge_explorer.trace.state import Snapshot


def branches(op: str, count: int, attrs: dict[str, object] | None = None) -> Graph:
    """A holder with ``count`` bodies of two operators each."""
    b = GraphBuilder("g")
    x, which = b.data("x", (4, 4)), b.data("which", (), "int32")
    holder = b.op(op, which, x, name="h", shape=(4, 4), dtype="float16")
    for k in range(count):
        with b.subgraph(holder, f"body{k}") as inner:
            first = b.op("Relu", inner[-1], name="a", attrs=attrs or {})
            b.outputs(b.op("Tanh", first, name="z"))
    return b.build(b.op("Abs", holder, name="after"))


def labelled(graph: Graph) -> Graph:
    """Graph after the pass alone."""
    return LabelBodies().run(Snapshot(graph), context()).graph


def context() -> PassContext:
    """Context of the pass without options."""
    return PassContext(LabelBodies.rules, {}, LabelBodies.option_keys)


def shape(graph: Graph, scope: int) -> list[tuple[str, str]]:
    """New nodes of a body in list order: name without the holder's, type."""
    nodes = [graph.node(i) for i in graph.scope(scope).nodes]
    return [(n.name.removeprefix("h/"), n.op) for n in nodes if n.name.startswith("h/")]


def edge(graph: Graph, src: str, dst: str) -> bool:
    """True if there is a control edge."""
    ids = {n.name: n.id for n in graph if n.name.startswith("h/")}
    return (ids[src], ids[dst]) in set(graph.control)


def test_if_switches_to_then_or_else_and_both_meet_at_the_end() -> None:
    g = labelled(branches("If", 2))
    then, other = g.node("h").subgraphs
    assert shape(g, then) == [
        ("SwitchIndexData", "Data"),
        ("LabelSwitch", "LabelSwitchByIndex"),
        ("ThenLabelSet", "LabelSet"),
        ("ThenStreamActive", "StreamActive"),
        ("LabelGoto", "LabelGotoEx"),
    ]
    assert shape(g, other) == [
        ("ElseLabelSet", "LabelSet"),
        ("ElseStreamActive", "StreamActive"),
        ("LeaveLabelSet", "LabelSet"),
    ]
    number = {n.name: n.attrs.get("_label_switch_index") for n in g}
    assert (number["h/ThenLabelSet"], number["h/ElseLabelSet"], number["h/LeaveLabelSet"]) == (0, 1, 2)
    assert number["h/LabelGoto"] == 2
    assert g.node("h/LabelSwitch").attrs["_label_switch_list"] == [1, 0], "false goes to else, true to then"
    assert g.attrs["label_num"] == 3
    assert edge(g, "h/LabelSwitch", "h/ThenLabelSet") and edge(g, "h/ThenLabelSet", "h/ThenStreamActive")
    assert [n.name for n in g if n.attrs.get("_subgraph_end_node")] == ["h/LeaveLabelSet"]


def test_the_switch_reads_the_condition_the_holder_reads() -> None:
    g = labelled(branches("If", 2))
    data = g.node("h/SwitchIndexData")
    assert data.attrs["_parent_node_index"] == 0
    assert g.tensors[data.outputs[0]].dtype == "int32"
    assert g.node("h/LabelSwitch").inputs == (data.outputs[0],)


def test_case_numbers_the_end_first_and_jumps_from_every_branch_but_the_last() -> None:
    g = labelled(branches("Case", 3))
    number = {n.name: n.attrs.get("_label_switch_index") for n in g}
    assert [number[f"h/LabelSet_{k}"] for k in range(3)] == [1, 2, 3]
    assert number["h/LabelSet_Last"] == number["h/LabelGoto_0"] == number["h/LabelGoto_1"] == 0
    assert "h/LabelGoto_2" not in number
    assert g.node("h/LabelSwitch").attrs["_label_switch_list"] == [1, 2, 3]


def test_a_case_of_one_branch_needs_no_label() -> None:
    g = branches("Case", 1)
    assert labelled(g) is g


def test_while_jumps_back_to_its_condition() -> None:
    t = gx.compile("while_loop")
    g = t.final.graph
    names = {n.name: n for n in g}
    assert names["loop/LabelSwitch"].attrs["_label_switch_list"] == [2, 1], "false leaves, true enters the body"
    assert (
        names["loop/LabelGoto"].attrs["_label_switch_index"] == names["loop/CondLabelSet"].attrs["_label_switch_index"]
    )
    assert edge_named(g, "body/Node_Output", "loop/LabelGoto") and edge_named(g, "loop/LabelGoto", "loop/LeaveLabelSet")
    assert names["loop/LabelSwitch"].inputs == names["cond/more"].outputs


def edge_named(graph: Graph, src: str, dst: str) -> bool:
    """True if there is a control edge between two names."""
    ids = {n.name: n.id for n in graph}
    return (ids[src], ids[dst]) in set(graph.control)


def test_a_called_graph_gets_a_head_and_ends_at_its_output() -> None:
    g = labelled(branches("PartitionedCall", 1))
    assert shape(g, g.node("h").subgraphs[0]) == [("StreamActive", "StreamActive")]
    assert [n.op for n in g if n.attrs.get("_subgraph_end_node")] == ["NetOutput"]
    assert "label_num" not in g.attrs


def test_the_head_starts_labelled_streams_that_nothing_else_starts() -> None:
    g = labelled(branches("If", 2, {"_stream_label": "side"}))
    assert g.node("h/ThenStreamActive").attrs["_active_label_list"] == ["side"]
    assert "_active_label_list" not in labelled(branches("If", 2)).node("h/ThenStreamActive").attrs


def test_only_first_computing_nodes_wait_for_the_head() -> None:
    g = labelled(branches("If", 2))
    head = g.node("h/ThenStreamActive").id
    assert [g.node(b).op for a, b in g.control if a == head] == ["Relu"]


def test_nothing_is_added_twice() -> None:
    g = labelled(branches("If", 2))
    assert LabelBodies().skip_reason(Snapshot(g), context()) is not None


@pytest.mark.parametrize("name", ["control_flow_if", "while_loop"])
@pytest.mark.parametrize("mode", ["default", "LoadBalance:4", "cv"])
def test_all_label_nodes_of_a_holder_share_a_stream(name: str, mode: str) -> None:
    t = gx.compile(name, mode=mode)
    assert t.final.streams is not None
    stream, g = t.final.streams.node, t.final.graph
    of: dict[int, set[int]] = {}
    for n in g:
        if n.attrs.get("_rts_label_node"):
            of.setdefault(g.scope(n.scope).parent, set()).add(int(stream[n.id]))
    assert of
    for holder, used in of.items():
        assert len(used) == 1
        if mode == "default":
            assert used == {int(stream[holder])}
    assert [i.code for i in gx.check(t) if i.severity == "error"] == []

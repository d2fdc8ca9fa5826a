"""Branches of a switch and of a merge are labelled and started by label."""

from __future__ import annotations

import ge_explorer as gx
from ge_explorer.graph.edit import GraphEditor
from ge_explorer.graph.model import Graph

SHAPE = ((8, 8), "float")


def switched() -> Graph:
    e = GraphEditor.empty("g")
    x = e.add_node("x", "Data", outputs=[SHAPE])
    p = e.add_node("p", "Less", inputs=[e.output(x)], outputs=[SHAPE])
    for flag, name in ((True, "yes"), (False, "no")):
        attrs = {"_switch_true_branch_flag": flag}
        s = e.add_node(f"switch_{name}", "StreamSwitch", inputs=[e.output(p)], attrs=attrs)
        e.add_node(name, "Relu", inputs=[e.output(x)], outputs=[SHAPE], control=[s])
    yes, no = e.output(2 + 1), e.output(4 + 1)
    m = e.add_node("merge", "StreamMerge", inputs=[yes, no], outputs=[SHAPE])
    tail = e.add_node("tail", "Relu", inputs=[e.output(m)], outputs=[SHAPE])
    e.add_node("out", "NetOutput", inputs=[e.output(tail)])
    return e.freeze()


def test_labels_of_both_branches_and_of_the_merge() -> None:
    t = gx.compile(switched())
    step = t.step("attach-stream-labels")
    g = step.after.graph
    labels = {n.name: n.attrs.get("_stream_label") for n in g if n.attrs.get("_stream_label")}
    assert labels == {"yes": "p_t", "no": "p_f", "merge": "merge", "tail": "merge"}
    assert g.node("switch_yes").attrs["_active_label_list"] == ["p_t"]
    assert t.why("yes", "label")[0].decision.rule == "switch"


def test_the_switches_start_the_streams_of_their_labels() -> None:
    t = gx.compile(switched())
    assert t.failed is None, t.failed.error
    s = t.final
    assert s.sync is not None and s.streams is not None
    for name in ("yes", "no"):
        switch = s.graph.node(f"switch_{name}").id
        assert s.sync.active_streams[switch] == (int(s.streams.node[s.graph.node(name).id]),)
        assert not [e for e in s.sync.events if e.send == switch]


def test_plain_graphs_skip_it() -> None:
    assert gx.compile("fork_join").step("attach-stream-labels").status == "skipped"

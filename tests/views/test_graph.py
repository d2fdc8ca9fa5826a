import json

import numpy as np
import pytest

from ge_explorer.graph.edit import GraphEditor
from ge_explorer.views.graph import build
from ge_explorer.views.picture import NO_COMPARE
from ge_explorer.views.svg_graph import MAX_NODES, svg
from tests.ui.canvas_page import moe, moe_trace
from tests.views import small_trace


@pytest.fixture(scope="module")
def picture():
    return build(moe_trace(), compare=1)


def at(p, name):
    return p.names.index(name)


def test_every_step_has_its_colours(picture):
    side = [at(picture, n) for n in ("sh.quant", "sh.gate_up", "sh.swiglu", "sh.down")]
    assert (picture.palette[0] == picture.no_stream).all()
    assert picture.palette[1][side].tolist() == [1] * 4
    assert picture.palette[3][at(picture, "gate")] == 0
    assert picture.palette[3][at(picture, "x")] == picture.no_stream


def test_steps_of_one_structure_share_one_frame(picture):
    assert len(picture.frames) == 1
    assert {s.frame for s in picture.steps} == {0}


def test_events_follow_identity_through_renumbering(picture):
    before = {picture.events[e].uid: n for e, n in picture.state(1).events}
    after = {picture.events[e].uid: n for e, n in picture.state(2).events}
    assert before == {0: 0, 1: 1, 2: 2}
    assert after == {0: 0, 2: 1}
    assert picture.rules[1].zh == "同一发送者"


def test_weights_are_folded_in_lanes_and_drawn_in_layers(picture):
    f = picture.frames[0]
    weights = [i for i, op in enumerate(picture.ops) if op.startswith("Const")]
    assert len(weights) == 6
    assert np.isnan(f.positions[0, weights]).all()
    assert not np.isnan(f.positions[1, weights]).any()
    assert f.folds[0].text.zh == "6 个常量已折叠"
    assert sorted(f.folds[0].nodes) == weights


def test_nodes_lie_in_the_lane_of_their_stream(picture):
    f = picture.frames[0]
    bands = {b.key: b for b in f.lanes}
    for i, c in enumerate(picture.palette[3].tolist()):
        if c < picture.no_stream:
            assert bands[c].top < f.positions[0, i, 1] < bands[c].bottom


def test_sentence_names_streams_in_both_languages(picture):
    text = picture.alt(2)
    assert "B side, GE id 0, label 22, 4 nodes" in text.en
    assert "标签 22，4 个节点" in text.zh
    assert "2 events" in text.en
    assert "尚未分配流" in picture.alt(-1).zh


def test_traits_are_json_and_sizes_agree(picture):
    t = picture.traits()
    meta = json.loads(json.dumps(t["meta"]))
    n = len(meta["ids"])
    assert len(t["palette"]) == n * len(meta["steps"])
    assert len(t["positions"]) == 4 * 2 * 2 * n * len(meta["frames"])
    index = np.frombuffer(t["route_index"], "<u4")
    assert index[-1] == len(t["routes"]) // 8
    assert (np.diff(index.astype(int)) >= 0).all()
    m = meta["frames"][0]["edges"][1]
    assert len(index) - 1 == 2 * (m + len(meta["events"]))
    assert picture.compare == 1
    assert build(moe_trace()).compare == NO_COMPARE


def test_a_removed_node_keeps_the_lane_of_its_heir():
    from ge_explorer.trace.state import Snapshot
    from ge_explorer.trace.trace import Step, Trace
    from tests.ui.canvas_page import Assign

    trace = moe_trace()
    g = moe()
    editor = GraphEditor(g)
    old = g.node("sh.swiglu")
    tensor = old.inputs[0]
    new = editor.add_node("sh.fused", "Swiglu", inputs=[tensor], outputs=1, origin=[old.id])
    editor.redirect(old.outputs[0], editor.output(new))
    editor.remove_node(old.id)
    after = editor.freeze()
    placed = Assign().run(Snapshot(after), None) if all(n is not None for n in after.nodes) else None
    if placed is None:
        from ge_explorer.trace.state import Placement, StreamAssignment, int_array

        streams = [-1 if n is None or n.is_source else int("sh." not in n.name) for n in after.nodes]
        placed = Snapshot(
            after,
            placement=Placement(("AIcoreEngine",) * len(streams), ("AIC",) * len(streams)),
            streams=StreamAssignment(int_array(streams), next_stream=2),
        )
    p = build(Trace(Snapshot(g), (Step(0, trace.steps[0].pass_, "changed", Snapshot(g), placed, name="fuse"),)))
    assert len(p.frames) == 2
    gone, fused = at(p, "sh.swiglu"), at(p, "sh.fused")
    assert p.palette[1][gone] == p.absent
    assert p.palette[0][fused] == p.absent
    lane = next(b for b in p.frames[0].lanes if b.key == p.palette[1][fused])
    assert lane.top < p.frames[0].positions[0, gone, 1] < lane.bottom


def test_svg_is_escaped_and_carries_references():
    trace = small_trace.trace() if hasattr(small_trace, "trace") else None
    graph = small_trace.graph()
    from ge_explorer.trace.state import Snapshot
    from ge_explorer.trace.trace import Trace

    p = build(trace if trace is not None else Trace(Snapshot(graph), ()))
    for layout in ("lanes", "layered"):
        text = svg(p, layout=layout)
        assert "<img" not in text
        assert "onerror=&quot;" in text or "&lt;img" in text
        assert 'data-ref="node:' in text
        import xml.etree.ElementTree as ET

        ET.fromstring(text)


def test_svg_shows_the_removed_event_only_against_the_compare_step(picture):
    assert "removed: same sender" in svg(picture)
    assert "removed" not in svg(picture, compare=NO_COMPARE)
    assert "已删：同一发送者" in svg(picture, lang="zh")
    assert MAX_NODES >= 1000


def test_a_body_stands_between_its_holder_and_the_consumers():
    from ge_explorer import examples
    from ge_explorer.trace.state import Snapshot
    from ge_explorer.trace.trace import Trace

    g = examples.control_flow_if()
    p = build(Trace(Snapshot(g), ()))
    holder = next(n for n in g if n.subgraphs)
    x = p.frames[0].positions[:, :, 0]
    row = {i: k for k, i in enumerate(p.ids)}
    for layout in (0, 1):
        for s in holder.subgraphs:
            body = [row[i] for i in g.scope(s).nodes if not g.node(i).is_source]
            assert (x[layout, body] > x[layout, row[holder.id]]).all()
            assert (x[layout, body] < x[layout, row[g.succ[holder.id][0]]]).all()

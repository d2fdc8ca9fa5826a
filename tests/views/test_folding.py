"""Folding of functions, modules and scopes: boxes per stream, never a cycle, everything else as it was."""

from __future__ import annotations

import networkx as nx
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import ModelProto, TensorProto, helper

import ge_explorer as gx
from ge_explorer.graph.builder import GraphBuilder
from ge_explorer.graph.model import Graph
from ge_explorer.ids import Ref
from ge_explorer.trace.state import SYNC_OPS
from ge_explorer.views import dot, graph, mermaid, svg_graph
from ge_explorer.views.fold_instances import Folding, instances
from ge_explorer.views.fold_pieces import pieces
from ge_explorer.views.folding import fold, fold_state


def blocks(layers: int = 3) -> ModelProto:
    """A chain of calls of one function that calls another."""
    own, std = helper.make_opsetid("my", 1), helper.make_opsetid("", 17)
    norm = helper.make_function("my", "Norm", ["x"], ["y"], [
        helper.make_node("Neg", ["x"], ["n"], name="neg"), helper.make_node("Exp", ["n"], ["y"], name="exp")], [std])  # fmt: skip
    block = helper.make_function("my", "Block", ["a", "w"], ["b"], [
        helper.make_node("MatMul", ["a", "w"], ["m"], name="proj"), helper.make_node("Relu", ["m"], ["r"], name="act"),
        helper.make_node("Norm", ["r"], ["b"], domain="my", name="norm")], [std, own])  # fmt: skip
    nodes, x = [], "x"
    for k in range(layers):
        nodes.append(helper.make_node("Block", [x, "W"], [f"h{k}"], domain="my", name=f"layers/{k}/block"))
        x = f"h{k}"
    nodes.append(helper.make_node("Softmax", [x], ["y"], name="head"))
    w = helper.make_tensor("W", TensorProto.FLOAT, [8, 8], np.ones(64).tolist())
    ends = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [4, 8]) for n in ("x", "y")]
    g = helper.make_graph(nodes, "blocks", ends[:1], ends[1:], [w])
    return helper.make_model(g, functions=[block, norm], opset_imports=[std, own])


def session() -> gx.Session:
    return gx.open_session(blocks())


def test_calls_are_instances_with_their_nesting() -> None:
    s = session()
    known = instances([s.trace.initial])
    assert known.kinds == ("functions", "scopes")
    assert known.found["f:layers/0/block/norm"].parent == "f:layers/0/block"
    assert known.found["f:layers/0/block"].type == "my::Block"
    assert known.sizes["f:layers/1/block"] == 4
    assert known.sizes["f:layers/1/block/norm"] == 2


def test_each_call_is_one_box_and_the_sentence_still_counts_nodes() -> None:
    s = session()
    plain = graph.build(s.trace, identities=s.identities, folding=Folding())
    p = graph.build(s.trace, identities=s.identities, folding=Folding("functions"))
    assert [b.title for b in p.boxes.values()] == [f"layers/{k}/block" for k in range(3)]
    assert all("Block" in p.ops[row] and p.ops[row].startswith("×") for row in p.boxes)
    assert plain.boxes == {}
    assert [x.alt for x in p.steps] == [x.alt for x in plain.steps], "counts are those of the graph, not of the picture"
    assert "layers/0/block/act" in plain.names
    assert not any(n.startswith("layers/0/block/") for n in p.names)
    drawing = svg_graph.svg(p)
    assert "layers/1/block" in drawing
    assert "layers/1/block/act" not in drawing


def test_one_call_unfolded_shows_its_nodes_and_folds_the_calls_inside() -> None:
    s = session()
    p = graph.build(s.trace, identities=s.identities, folding=Folding("functions", frozenset({"f:layers/1/block"})))
    assert "layers/1/block/proj" in p.names or any(n.startswith("layers/1/block/") for n in p.names)
    assert {b.title for b in p.boxes.values()} >= {"layers/0/block", "layers/2/block"}
    assert "layers/1/block" not in {b.title for b in p.boxes.values()}


def test_one_call_folded_alone() -> None:
    s = session()
    p = graph.build(s.trace, identities=s.identities, folding=Folding("", frozenset({"f:layers/2/block"})))
    assert [b.title for b in p.boxes.values()] == ["layers/2/block"]


def test_scope_that_holds_most_of_the_graph_stays_open() -> None:
    s = session()
    p = graph.build(s.trace, identities=s.identities, folding=Folding("scopes"))
    assert {b.title for b in p.boxes.values()} == {"layers/0", "layers/1", "layers/2"}


def two_streams() -> Graph:
    """Scope ``m``: a → (side s) → b, with s outside of the main stream."""
    b = GraphBuilder("g")
    x = b.data("x", shape=(4, 4))
    a = b.op("Relu", x, name="m/a")
    one = b.op("Relu", a, name="m/s1", attrs={"_user_stream_label": "side"})
    two = b.op("Relu", one, name="m/s2", attrs={"_user_stream_label": "side"})
    c = b.op("Relu", a, name="m/c")
    d = b.op("Add", c, two, name="m/d")
    e = b.op("Relu", d, name="o/e")
    f = b.op("Relu", e, name="o/f")
    return b.build(f)


def test_a_scope_on_two_streams_is_a_box_per_stream_and_no_cycle() -> None:
    s = gx.open_session(two_streams())
    final = s.trace.final
    assert final.streams is not None
    assert final.streams.count == 2
    folded = fold([final], Folding("", frozenset({"s:m"})))
    g = folded.states[0].graph
    assert nx.is_directed_acyclic_graph(nx.DiGraph(g.dependencies))
    streams = folded.states[0].streams
    assert streams is not None
    for box in folded.boxes.values():
        assert len({int(final.streams.node[i]) for i in box.members if g.id_bound > i}) == 1
        assert int(streams.node[box.id]) == int(final.streams.node[box.members[0]])
    inside = {i for b in folded.boxes.values() for i in b.members}
    assert {final.graph.node(i).name for i in inside} <= {"m/a", "m/s1", "m/s2", "m/c", "m/d"}
    assert len(folded.boxes) >= 2


def test_edges_and_events_of_a_folded_graph_are_those_that_leave_its_boxes() -> None:
    final = gx.open_session(two_streams()).trace.final
    folded = fold([final], Folding("", frozenset({"s:m"})))
    g, at = folded.states[0].graph, folded.of
    wanted = {(at.get(a, a), at.get(b, b)) for a, b in final.graph.dependencies}
    assert set(g.dependencies) == {(a, b) for a, b in wanted if a != b}
    assert final.sync is not None
    sync = folded.states[0].sync
    assert sync is not None
    ends = {(at.get(e.send, e.send), at.get(e.recv, e.recv)) for e in final.sync.events}
    assert {(e.send, e.recv) for e in sync.events} == {(a, b) for a, b in ends if a != b}
    for n in g:
        assert all(g.tensor(t).producer == n.id and g.tensor(t).index == k for k, t in enumerate(n.outputs))


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_folding_any_groups_of_any_graph_gives_no_cycle(data: st.DataObject) -> None:
    n = data.draw(st.integers(3, 14))
    b = GraphBuilder("g")
    values = [b.data("x", shape=(2,))]
    for k in range(n):
        ends = data.draw(st.lists(st.integers(0, len(values) - 1), min_size=1, max_size=3))
        values.append(b.op("AddN", *[values[i] for i in ends], name=f"n{k}"))
    g = b.build(*values[1:])
    group = {g.by_name[f"n{k}"]: data.draw(st.integers(0, 3)) for k in range(n)}
    out = pieces(g, {i: (0, str(k), 0, 0) for i, k in group.items() if k})
    folded = nx.DiGraph((out.get(a, a), out.get(c, c)) for a, c in g.dependencies if out.get(a, a) != out.get(c, c))
    assert nx.is_directed_acyclic_graph(folded)
    assert all(group[i] and str(group[i]) == piece[1] for i, piece in out.items())
    whole = {k: [i for i in group if group[i] == k] for k in (1, 2, 3)}
    quotient = nx.DiGraph(
        (group.get(a) or -a, group.get(c) or -c)
        for a, c in g.dependencies
        if (group.get(a) or -a) != (group.get(c) or -c)
    )
    for k, members in whole.items():
        if len(members) > 1 and (k not in quotient or not _on_cycle(quotient, k)):
            assert len({out[i] for i in members}) == 1, "a group that closes no cycle is never cut"


def _on_cycle(g: nx.DiGraph, k: int) -> bool:
    return any(k in part and len(part) > 1 for part in nx.strongly_connected_components(g))


def test_mermaid_and_dot_follow_the_fold() -> None:
    s = session()
    final, last = s.trace.final, len(s.trace) - 1
    at = {k: s.identities.items[i] for k, i in s.identities.by_step[-1].items()}
    chosen = next(n.id for n in final.graph if n.name.startswith("layers/1/block/") and n.op not in SYNC_OPS)
    text = mermaid.build(final, at, folding=Folding("functions"), selected=(Ref("node", chosen),)).text
    assert "layers/1/block<br/>" in text
    assert "layers/1/block/" not in text.replace("layers/1/block<br/>", "")
    assert "layers/1/block/" in mermaid.build(final, at).text
    source = dot.build(final, s.identities, last, Folding("functions")).source
    assert "layers/1/block" in source
    assert "layers/1/block/" not in source


def test_nothing_to_fold_changes_nothing() -> None:
    s = gx.open_session("fork_join")
    for folding in (Folding(), Folding("functions"), Folding("", frozenset({"f:unknown"}))):
        same = fold_state(s.trace.final, folding, {})
        assert same.boxes == {}
        assert same.states[0].graph is s.trace.final.graph

"""Gears: options, branches, shapes, shared constants, and that events are shared between branches."""

from __future__ import annotations

import pytest

from ge_explorer import pipelines
from ge_explorer.checks import check_trace
from ge_explorer.graph.builder import GraphBuilder
from ge_explorer.graph.model import Graph
from ge_explorer.trace.pipeline import parse_pipeline
from ge_explorer.trace.runner import run_trace
from ge_explorer.trace.trace import Trace

BATCHES = {"ge.inputShape": "x:-1,3,8,8", "ge.dynamicBatchSize": "1,4,8"}


def net(dim: int | str | None = -1) -> Graph:
    b = GraphBuilder("net")
    x = b.data("x", (dim, 3, 8, 8), "float")
    w = b.const("w", (4, 3, 3, 3), "float")
    c = b.op("Conv2D", x, w, name="conv", shape=(dim, 4, 8, 8), attrs={"pads": [1, 1, 1, 1], "strides": [1, 1]})
    with b.label("side"):
        r = b.op("Relu", c, name="relu")
    return b.build(b.op("Add", r, c, name="add"))


def split(g: Graph, options: dict[str, str], passes: str = "gears-split,subgraph-constants") -> Trace:
    return run_trace(g, parse_pipeline(passes, pipelines.PASSES.get, {}), options)


def test_structure_and_names() -> None:
    t = split(net(), BATCHES, "gears-split")
    assert t.failed is None
    g = t.final.graph
    case = g.node("ascend_mbatch_shape_case")
    assert case.attrs["_batch_num"] == 3
    assert [case.attrs[f"_pred_value_{i}"] for i in range(3)] == [[1], [4], [8]]
    assert [g.node(i).op for i in g.root.nodes] == ["Data", "NetOutput", "Data", "Const", "MapIndex", "Case"]
    for i, s in enumerate(case.subgraphs):
        names = {g.node(j).name for j in g.scope(s).nodes}
        assert f"conv_ascend_mbatch_batch_{i}" in names
        assert {g.node(j).attrs["_batch_label"] for j in g.scope(s).nodes} == {f"Batch_{i}"}
        assert all(len(g.node(j).origin) == 1 for j in g.scope(s).nodes)


@pytest.mark.parametrize("dim", [-1, None, "N"])
def test_shapes_of_every_branch_follow_the_gear(dim: int | str | None) -> None:
    g = split(net(dim), BATCHES).final.graph
    for i, batch in enumerate((1, 4, 8)):
        for name in ("conv", "relu", "add"):
            n = g.node(f"{name}_ascend_mbatch_batch_{i}")
            assert g.tensor(n.outputs[0]).shape == (batch, 4, 8, 8)
    assert g.tensor(g.node("x").outputs[0]).shape == (8, 3, 8, 8)
    assert g.tensor(g.node("ascend_mbatch_shape_case").outputs[0]).shape == (8, 4, 8, 8)


def test_image_gears_follow_the_convolution() -> None:
    g = GraphBuilder("g")
    x = g.data("x", (1, 3, -1, -1), "float")
    c = g.op("Conv2D", x, g.const("w", (4, 3, 3, 3), "float"), name="conv", shape=(1, 4, -1, -1),
             attrs={"pads": [0, 0, 0, 0], "strides": [2, 2]})  # fmt: skip
    t = split(g.build(c), {"ge.dynamicImageSize": "9,9;17,33"})
    after = t.final.graph
    shapes = [after.tensor(after.node(f"conv_ascend_mbatch_batch_{i}").outputs[0]).shape for i in range(2)]
    assert shapes == [(1, 4, 4, 4), (1, 4, 8, 16)]
    assert not t.issues


def test_constants_are_shared_and_unused_inputs_dropped() -> None:
    b = GraphBuilder("g")
    x, unused = b.data("x", (-1, 16), "float"), b.data("unused", (-1, 4), "float")
    m = b.op("MatMulV2", x, b.const("w", (16, 16), "float"), name="m", shape=(-1, 16))
    del unused
    g = split(b.build(m), {"ge.dynamicDims": "1,1;2,2"}).final.graph
    case = g.node("ascend_mbatch_shape_case")
    assert [n.name for n in g if n.op == "Const"] == ["ascend_mbatch_shape_const", "w"]
    fed = [g.node(g.tensor(t).producer).name for t in case.inputs if t is not None]
    assert fed == ["ascend_mbatch_shape_mapindex", "x", "w"]
    for s in case.subgraphs:
        datas = {g.node(i).attrs["_parent_node_index"] for i in g.scope(s).nodes if g.node(i).op == "Data"}
        assert datas == {1, 2}


def test_unknown_sizes_are_counted_not_hidden() -> None:
    b = GraphBuilder("g")
    y = b.op("NonZero", b.data("x", (-1, 4), "float"), name="nz", shape=(2, None), dtype="int64")
    t = split(b.build(y), {"ge.dynamicBatchSize": "1,2"})
    assert [i.code for i in t.issues] == ["GX345"]


def test_inner_subgraphs_are_copied_too() -> None:
    b = GraphBuilder("g")
    p, x = b.data("p", (), "bool"), b.data("x", (-1, 8), "float")
    branch = b.op("If", p, x, name="if", shape=(-1, 8))
    for k in range(2):
        with b.subgraph(branch, f"b{k}") as (inner,):
            b.outputs(b.op("Relu", inner, name="r"))
    g = split(b.build(branch), {"ge.dynamicBatchSize": "1,2"}, "gears-split").final.graph
    relus = [n for n in g if n.op == "Relu"]
    assert len(relus) == 4
    assert {g.tensor(n.outputs[0]).shape for n in relus} == {(1, 8), (2, 8)}
    assert g.tensor(g.node("ascend_mbatch_shape_case").outputs[0]).shape == (2, 8)
    assert all(g.scope(s).parent == n.id for n in g for s in n.subgraphs)


def test_whole_compile_is_sound_and_branches_reuse_events() -> None:
    t = run_trace(net(), pipelines.static(), BATCHES)
    assert t.failed is None, t.failed and t.failed.error
    assert not [i for i in check_trace(t) if i.severity == "error"]
    s = t.final
    assert s.sync is not None
    inside = [
        e
        for e in s.sync.events
        if s.graph.node(e.send).scope and s.graph.node(e.send).scope == s.graph.node(e.recv).scope
    ]
    by_id: dict[int, set[int]] = {}
    for e in inside:
        by_id.setdefault(e.id, set()).add(s.graph.node(e.send).scope)
    assert inside
    assert max(len(scopes) for scopes in by_id.values()) == 3  # one event number in all three gears


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"ge.dynamicBatchSize": "4"}, "2 to 100 gears"),
        ({"ge.dynamicBatchSize": "4,4"}, "equal"),
        ({"ge.dynamicBatchSize": "1,-2"}, "positive"),
        ({"ge.dynamicBatchSize": "1,2", "ge.dynamicDims": "1;2"}, "only one"),
        ({"ge.dynamicBatchSize": "1,2", "ge.inputShape": "y:-1,3,8,8"}, "no input named"),
        ({"ge.dynamicBatchSize": "1,2", "ge.inputShape": "x:-1,3,8"}, "4 dimensions"),
        ({"ge.dynamicBatchSize": "1,2", "ge.inputShape": "x:1,3,-1,8"}, "dimension 0"),
        ({"ge.dynamicBatchSize": "1,2", "ge.inputShape": "x:1,3,8,8"}, "no input has a dynamic"),
        ({"ge.dynamicDims": "1,2;3"}, "same number"),
        ({"ge.dynamicDims": "1,2;3,4"}, "are -1 but"),
        ({"ge.dynamicImageSize": "8,8;9,9"}, "height and width"),
    ],
)
def test_bad_gears_are_refused_with_the_option_named(options: dict[str, str], says: str) -> None:
    t = split(net(), options)
    assert t.failed is not None
    assert says in str(t.failed.error)
    assert "ge." in str(t.failed.error)

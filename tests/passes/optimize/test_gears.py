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


def split(g: Graph, options: dict[str, str], passes: str = "gears-split,subgraph-constants,unused-args") -> Trace:
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


# ---------------------------------------------------------------- what moves out of the gears
MOVE = "gears-split,subexpression-migration,unused-args"


def masked(*, fixed: bool = True, also: bool = False) -> Graph:
    """x [-1, 8] (gear) times Cast(mask [8]) (the same for every gear)."""
    b = GraphBuilder("net")
    x, mask = b.data("x", (-1, 8), "float"), b.data("mask", (8 if fixed else -1,), "bool")
    c = b.op("Cast", mask, name="cast", dtype="float")
    y = b.op("Mul", x, c, name="mul", shape=(-1, 8))
    outs = [y, b.op("Relu", mask, name="other")] if also else [y]
    return b.build(*outs)


def test_an_equal_beginning_moves_to_the_root_in_place_of_its_input() -> None:
    options = {"ge.inputShape": "x:-1,8;mask:8", "ge.dynamicDims": "1;2;4"}
    t = split(masked(), options, MOVE)
    g = t.final.graph
    casts = [n for n in g if n.op == "Cast"]
    assert [(n.name, n.scope) for n in casts] == [("cast_ascend_mbatch_batch_2", 0)]
    case = g.node("ascend_mbatch_shape_case")
    assert [g.node(g.tensor(i).producer).name for i in case.inputs if i is not None] == [
        "ascend_mbatch_shape_mapindex", "x", "cast_ascend_mbatch_batch_2",
    ]  # fmt: skip
    assert len(casts[0].origin) == len({o for n in casts for o in n.origin}) >= 1
    for s in case.subgraphs:
        rows = {g.node(i).name.partition("_ascend")[0]: g.node(i) for i in g.scope(s).nodes}
        assert g.tensor(rows["mask"].outputs[0]).dtype == "float"  # the branch input now is the result of the Cast
        assert rows["mul"].inputs[1] == rows["mask"].outputs[0]


def test_an_input_that_others_read_too_stays_and_a_new_one_is_added() -> None:
    options = {"ge.inputShape": "x:-1,8;mask:8", "ge.dynamicDims": "1;2"}
    g = split(masked(also=True), options, MOVE).final.graph
    case = g.node("ascend_mbatch_shape_case")
    assert len(case.inputs) == 4
    assert {g.node(i).name for s in case.subgraphs for i in g.scope(s).nodes} >= {
        "net_ascend_mbatch_batch_0_data_3", "net_ascend_mbatch_batch_1_data_3",
    }  # fmt: skip


def test_what_differs_between_gears_or_runs_on_the_device_stays() -> None:
    t = split(masked(fixed=False), {"ge.dynamicDims": "1,1;2,8"}, MOVE)
    assert {n.scope for n in t.final.graph if n.op == "Cast"} != {0}
    assert "differs" in {d.rule for s in t.steps for d in s.decisions}
    b = GraphBuilder("net")
    x, m = b.data("x", (-1, 8), "float"), b.data("m", (8,), "float")
    g = b.build(b.op("Mul", x, b.op("Exp", m, name="exp"), name="mul", shape=(-1, 8)))
    options = {"ge.inputShape": "x:-1,8;m:8", "ge.dynamicDims": "1;2"}
    assert all(n.scope for n in split(g, options, MOVE).final.graph if n.op == "Exp")
    moved = split(g, {**options, "gx.migrate": "all"}, MOVE).final.graph
    assert [n.scope for n in moved if n.op == "Exp"] == [0]


def test_chains_move_link_by_link_and_the_compile_stays_sound() -> None:
    b = GraphBuilder("net")
    x, m = b.data("x", (-1, 8), "float"), b.data("m", (2, 4), "float16")
    c = b.op("Cast", b.op("Reshape", m, name="flat", shape=(8,)), name="cast", dtype="float")
    g = b.build(b.op("Mul", x, c, name="mul", shape=(-1, 8)))
    options = {"ge.inputShape": "x:-1,8;m:2,4", "ge.dynamicDims": "1;2"}
    after = split(g, options, MOVE).final.graph
    assert {n.op for n in map(after.node, after.root.nodes)} >= {"Reshape", "Cast"}
    t = run_trace(g, pipelines.static(), options)
    assert t.failed is None, t.failed and t.failed.error
    assert not [i for i in check_trace(t) if i.severity == "error"]


def test_constants_with_different_values_stay_in_their_gears() -> None:
    import numpy as np

    from ge_explorer.graph.constant import VALUE, ConstantValue

    b = GraphBuilder("g")
    x = b.data("x", (-1, 4), "float")
    y = b.op(
        "Add",
        x,
        b.const("c", (1,), "float", **{VALUE: ConstantValue.of(np.zeros(1), "float")}),
        name="add",
        shape=(-1, 4),
    )
    g = split(b.build(y), {"ge.dynamicBatchSize": "1,2"}, "gears-split").final.graph
    one = next(n for n in g if n.name == "c_ascend_mbatch_batch_1")
    g = g.with_attrs({one.id: {VALUE: ConstantValue.of(np.ones(1), "float")}})
    t = run_trace(g, parse_pipeline("subgraph-constants", pipelines.PASSES.get, {}), {})
    assert t.steps[0].status == "unchanged"
    assert [d.rule for d in t.steps[0].decisions] == ["values-differ"]


# ---------------------------------------------------------------- hybrid
HYBRID = {
    "ge.inputShape": "x:-1,3,8,8", "ge.dynamicDims": "1;4", "ge.dynamicNodeType": "1", "ge.compileHybridMode": "1",
}  # fmt: skip


def test_hybrid_mode_compiles_a_second_graph_for_other_sizes() -> None:
    from ge_explorer.session import Session

    s = Session(net(None), options=HYBRID)
    assert s.trace.failed is None
    assert "GX346" in {i.code for i in s.trace.issues}
    twin = s.dynamic_twin
    assert twin is not None
    assert twin.graph.name == "net_dynamic"
    assert twin.graph.root.dynamic
    assert twin.options == {
        "ge.AllowMultiGraphParallelCompile": "1",
        "ge.compileHybridMode": "1",
        "ge.externalWeight": "1",
    }
    assert twin.trace.failed is None
    assert twin.dynamic_twin is None
    assert not [n for n in twin.trace.final.graph if n.op == "Case"]


@pytest.mark.parametrize("missing", sorted(HYBRID))
def test_all_four_options_are_needed(missing: str) -> None:
    from ge_explorer.passes.optimize.gears_hybrid import dynamic_twin

    assert dynamic_twin(net(), {k: v for k, v in HYBRID.items() if k != missing}) is None


def test_the_graph_that_runs_follows_the_sizes() -> None:
    from ge_explorer.passes.optimize.gears_hybrid import chosen_graph

    assert [chosen_graph(net(), HYBRID, {"x": (n, 3, 8, 8)}) for n in (1, 4, 3)] == [0, 1, None]


@pytest.mark.parametrize(
    ("gears", "code"),
    [("4", "E10035"), ("1,1", "E10039"), ("1,0", "E10038"), (",".join(map(str, range(1, 102))), "100")],
)
def test_gear_errors_carry_ges_code(gears: str, code: str) -> None:
    t = split(net(), {"ge.dynamicBatchSize": gears})
    assert t.failed is not None
    assert code in str(t.failed.error)


def test_a_hundred_gears_are_fine() -> None:
    b = GraphBuilder("g")
    g = b.build(b.op("Relu", b.data("x", (-1, 4), "float"), name="r"))
    t = split(g, {"ge.dynamicBatchSize": ",".join(map(str, range(1, 101)))})
    assert t.failed is None
    assert len(t.final.graph.node("ascend_mbatch_shape_case").subgraphs) == 100

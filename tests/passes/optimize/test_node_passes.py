"""Single passes: what they change, and what they leave alone with a reason."""

from __future__ import annotations

import pytest

from ge_explorer.graph.builder import GraphBuilder
from ge_explorer.graph.model import Graph
from tests.passes.optimize.helpers import compute, const, formats, rules, run, source


def chain(*ops: str, shape: tuple[int, ...] = (4, 4), **attrs: object) -> Graph:
    b = GraphBuilder("g")
    v = b.op("Relu", b.data("x", shape, "float"), name="first")
    for k, op in enumerate(ops):
        v = b.op(op, v, name=f"n{k}", attrs=attrs)
    return b.build(b.op("Neg", v, name="last"))


@pytest.mark.parametrize(
    ("op", "name"),
    [
        ("Identity", "identity-remove"), ("StopGradient", "stop-gradient-remove"), ("PreventGradient", "prevent-gradient-remove"),
        ("Snapshot", "snapshot-remove"), ("GuaranteeConst", "guarantee-const-remove"), ("Dropout", "dropout-remove"),
        ("PlaceholderWithDefault", "placeholder-with-default-remove"), ("AddN", "add-n-remove"), ("Reshape", "no-use-reshape"),
    ],
)  # fmt: skip
def test_operators_that_hand_their_input_on(op: str, name: str) -> None:
    g = run(chain(op, op), name).final.graph
    assert compute(g) == ["first", "last"]
    assert source(g, "last") == "first"


def test_identity_in_front_of_the_result_goes_but_not_at_the_edge_of_a_subgraph() -> None:
    b = GraphBuilder("g")
    p, x = b.data("p", (), "bool"), b.data("x", (8,), "float")
    branch = b.op("If", p, x, name="if", shape=(8,), dtype="float")
    for name in ("then", "else"):
        with b.subgraph(branch, name) as (inner,):
            b.outputs(b.op("Identity", b.op("Relu", inner, name="relu"), name="edge"))
    y = b.op("Neg", x, name="y")
    t = run(b.build(b.op("Identity", y, name="end"), b.op("Identity", branch, name="behind")), "identity-remove")
    left = {n.name for n in t.final.graph if n.op == "Identity"}
    assert left == {"then/edge", "else/edge", "behind"}
    assert rules(t)["identity-needed"] == left


def test_control_order_survives_a_bypass() -> None:
    b = GraphBuilder("g")
    x = b.data("x", (4,), "float")
    before = b.op("Tanh", x, name="before")
    i = b.op("Identity", b.op("Relu", x, name="relu"), name="i", control=[before])
    after = b.op("Neg", x, name="after", control=[i])
    g = run(b.build(b.op("Abs", i, name="reader"), after), "identity-remove").final.graph
    edges = {(g.node(a).name, g.node(c).name) for a, c in g.control}
    assert edges == {("before", "reader"), ("before", "after"), ("relu", "after")}


def test_dropout_stays_in_training_and_while_its_mask_is_read() -> None:
    assert run(chain("Dropout"), "dropout-remove", {"ge.graphRunMode": "1"}).steps[0].status == "unchanged"
    b = GraphBuilder("g")
    d = b.op("Dropout", b.data("x", (4,), "float"), name="d", outputs=[((4,), "float"), ((4,), "bool")])
    assert run(b.build(d, d[1]), "dropout-remove").steps[0].status == "unchanged"


def test_assert_goes_with_what_only_fed_it() -> None:
    b = GraphBuilder("g")
    x = b.data("x", (4,), "float")
    test = b.op("Equal", x, b.const("c", (4,), "float"), name="test", dtype="bool")
    b.op("Assert", test, name="assert", outputs=[])
    g = run(b.build(b.op("Relu", x, name="relu")), "assert-remove").final.graph
    assert [n.name for n in g] == ["x", "relu", "Node_Output"]


@pytest.mark.parametrize(
    ("shape", "perm", "gone"), [((1, 1, 5), (1, 0, 2), True), ((4, 5), (0, 1), True), ((1, 5), (1, 0), False)]
)
def test_a_transpose_that_moves_nothing(shape: tuple[int, ...], perm: tuple[int, ...], gone: bool) -> None:
    b = GraphBuilder("g")
    out = tuple(shape[p] for p in perm)
    t = b.op("Transpose", b.data("x", shape, "float"), const(b, "perm", perm), name="t", shape=out)
    g = run(b.build(b.op("Relu", t, name="relu")), "unchanged-transpose").final.graph
    assert ("t" not in g.by_name) == gone
    assert ("perm" not in g.by_name) == gone


def test_a_transpose_of_ones_becomes_squeeze_and_unsqueeze() -> None:
    b = GraphBuilder("g")
    t = b.op(
        "Transpose", b.data("x", (1, 8, 1, 4), "float"), const(b, "perm", (1, 0, 3, 2)), name="t", shape=(8, 1, 4, 1)
    )
    g = run(b.build(b.op("Relu", t, name="relu")), "dim1-transpose").final.graph
    assert compute(g) == ["relu", "t_replaced_Squeeze", "t_replaced_Unsqueeze"]
    assert g.tensor(g.node("t_replaced_Squeeze").outputs[0]).shape == (8, 4)
    assert g.node("t_replaced_Unsqueeze").attrs["axes"] == (1, 3)
    assert compute(run(chain("Transpose", shape=(4, 5), perm=(1, 0)), "dim1-transpose").final.graph) == [
        "first",
        "n0",
        "last",
    ]


def test_reshape_goes_and_comes_back_once_per_reader() -> None:
    b = GraphBuilder("g")
    r = b.op("Relu", b.data("x", (2, 6), "float"), name="r")
    one = b.op("Reshape", r, const(b, "s1", (12,)), name="one", shape=(12,))
    two = b.op("Reshape", one, const(b, "s2", (3, 4)), name="two", shape=(3, 4))
    g0 = b.build(b.op("Neg", two, name="a"), b.op("Abs", two, name="b"))
    out = run(g0, "reshape-remove").final.graph
    assert sorted(compute(out)) == ["a", "b", "r"]
    assert not [n for n in out if n.op == "Const"]
    t = run(g0, "reshape-remove,reshape-recovery")
    g = t.final.graph
    assert sorted(n.name for n in g if n.op == "Reshape") == [
        "Reshape_ReshapeRecoveryPass_0",
        "Reshape_ReshapeRecoveryPass_1",
    ]
    assert len([n for n in g if n.op == "Const"]) == 1
    assert not any("_gx_input_shapes" in n.attrs for n in g)


def test_reshape_to_and_fro_vanishes() -> None:
    b = GraphBuilder("g")
    r = b.op("Relu", b.data("x", (2, 6), "float"), name="r")
    u = b.op("Unsqueeze", r, name="u", shape=(1, 2, 6), attrs={"axes": (0,)})
    s = b.op("Squeeze", b.op("Tanh", u, name="t"), name="s", shape=(2, 6), attrs={"axes": (0,)})
    flat = b.op(
        "Reshape",
        b.op("Unsqueeze", s, name="u2", shape=(2, 1, 6), attrs={"axes": (1,)}),
        const(b, "c", (2, 6)),
        shape=(2, 6),
    )
    g = run(b.build(b.op("Neg", flat, name="n"))).final.graph
    assert sorted(n.op for n in g if not n.is_source and n.op != "NetOutput") == [
        "Neg",
        "Relu",
        "Reshape",
        "Reshape",
        "Tanh",
    ]


def test_reshape_stays_in_dynamic_graphs_at_subgraph_ends_and_before_gather_nd() -> None:
    b = GraphBuilder("g", dynamic=True)
    b2 = GraphBuilder("g")
    for builder in (b, b2):
        r = builder.op("Reshape", builder.op("Relu", builder.data("x", (4,), "float")), name="r", shape=(2, 2))
        reader = "Neg" if builder is b else "GatherNd"
        builder.outputs(builder.op(reader, r, name="n"))
    assert run(b.build(), "reshape-remove").steps[0].status == "unchanged"
    assert rules(run(b2.build(), "reshape-remove"))["reshape-needed"] == {"r"}


def test_the_layout_family_on_formats() -> None:
    b = GraphBuilder("g")
    x = b.op("Relu", b.data("x", (1, 8, 8, 16), "float"), name="x5")
    t = b.op("Transpose", x, const(b, "p", (0, 3, 1, 2)), name="t", shape=(1, 16, 8, 8))
    d = b.op("TransData", t, name="d", shape=(1, 1, 8, 8, 16))
    g = formats(b.build(b.op("Neg", d, name="n")), {"x5": "NHWC", "t": "NCHW", "d": "NC1HWC0"})
    after = run(g, "transpose-transdata").final.graph
    assert compute(after) == ["x5", "td", "n"]
    assert source(after, "td") == "x5"
    assert set(after.node("td").origin) == {g.node("t").id, g.node("d").id}

    b = GraphBuilder("g")
    x = b.op("Relu", b.data("x", (1, 16, 8, 8), "float"), name="first")
    d = b.op("TransData", x, name="there", shape=(1, 1, 8, 8, 16))
    e = b.op("TransData", d, name="back", shape=(1, 16, 8, 8))
    g = formats(b.build(b.op("Neg", e, name="n")), {"first": "NCHW", "there": "NC1HWC0", "back": "NCHW"})
    for name in ("transop-direct", "transop-symmetry"):
        assert compute(run(g, name).final.graph) == ["first", "n"]


def test_transdata_around_an_all_reduce() -> None:
    b = GraphBuilder("g")
    x = b.op("Relu", b.data("x", (1, 1, 8, 8, 16), "float"), name="x5")
    d = b.op("TransData", x, name="d", shape=(1, 16, 8, 8))
    a = b.op("HcomAllReduce", d, name="ar")
    e = b.op("TransData", a, name="e", shape=(1, 1, 8, 8, 16))
    g = formats(b.build(b.op("Neg", e, name="n")), {"x5": "NC1HWC0", "d": "NCHW", "ar": "NCHW", "e": "NC1HWC0"})
    after = run(g, "transop-allreduce").final.graph
    assert compute(after) == ["x5", "ar", "n"]
    assert after.tensor(after.node("ar").outputs[0]).shape == (1, 1, 8, 8, 16)


def test_two_casts_become_one_when_that_is_shorter() -> None:
    b = GraphBuilder("g")
    x = b.op("Relu", b.data("x", (4,), "float"), name="r")
    c = b.op("Cast", b.op("Cast", x, name="c1", dtype="float16"), name="c2", dtype="bfloat16")
    g = run(b.build(b.op("Neg", c, name="n")), "transop-direct").final.graph
    assert compute(g) == ["r", "n", "fusion_cast_op_0"]


def test_equal_casts_of_one_output_merge_but_not_across_stream_labels() -> None:
    b = GraphBuilder("g")
    x = b.op("Relu", b.data("x", (4,), "float"), name="r")
    made = [
        b.op("Cast", x, name=f"c{k}", dtype="float16", attrs={"_stream_label": "s"} if k == 2 else {}) for k in range(3)
    ]
    g = run(b.build(*(b.op("Neg", c, name=f"n{k}") for k, c in enumerate(made))), "transop-breadth").final.graph
    assert [source(g, f"n{k}") for k in range(3)] == ["c0", "c0", "c2"]


def test_equal_constants_merge_by_content() -> None:
    b = GraphBuilder("g")
    x = b.data("x", (3,), "int64")
    a, c, d = const(b, "a", [1, 2, 3]), const(b, "c", [1, 2, 3]), const(b, "d", [1, 2, 4])
    y = b.op("Add", b.op("Mul", b.op("Add", x, a, name="n0"), c, name="n1"), d, name="n2")
    g = run(b.build(y), "remove-same-const").final.graph
    assert [source(g, f"n{k}", 1) for k in range(3)] == ["a", "a", "d"]
    off = run(b.build(), "remove-same-const", {"ge.disableOptimizations": "RemoveSameConstPass"})
    assert off.steps[0].status == "skipped"


def test_prune_keeps_inputs_and_what_control_edges_reach() -> None:
    b = GraphBuilder("g")
    x, unused = b.data("x", (4,), "float"), b.data("unused", (4,), "float")
    lost = b.op("Tanh", b.op("Neg", x, name="lost"), name="lost2")
    needed = b.op("Abs", x, name="needed")
    del lost
    g = run(b.build(b.op("Relu", x, name="r", control=[needed])), "prune").final.graph
    assert [n.name for n in g] == ["x", "unused", "needed", "r", "Node_Output"]
    assert (g.node("unused").id, g.node("Node_Output").id) in g.control
    del unused


def test_a_constant_v1_switch_loses_one_side_and_its_merge() -> None:
    b = GraphBuilder("g")
    x, p = b.data("x", (4,), "float"), const(b, "p", True, "bool")
    s = b.op("Switch", x, p, name="switch", outputs=[((4,), "float")] * 2)
    dead, live = b.op("Neg", s[0], name="dead"), b.op("Relu", s[1], name="live")
    m = b.op("Merge", dead, live, name="merge", outputs=[((4,), "float"), ((), "int32")])
    g = run(b.build(b.op("Abs", m, name="last")), "optimise-while-inferring").final.graph
    assert [n.name for n in g] == ["x", "live", "last", "Node_Output"]
    assert source(g, "last") == "live"


def test_empty_results_become_empty_constants() -> None:
    b = GraphBuilder("g")
    x = b.op("Relu", b.data("x", (0, 4), "float"), name="r")
    g = run(b.build(b.op("ReduceSum", x, name="sum", shape=(4,))), "replace-with-empty-const").final.graph
    assert compute(g) == ["sum"]
    assert g.tensor(g.node("sum").inputs[0] or 0).shape == (0, 4)


def test_a_const_is_nothing_to_wait_for() -> None:
    b = GraphBuilder("g")
    c, x = const(b, "c", [1]), b.data("x", (1,), "int64")
    y = b.op("Add", x, c, name="add")
    lone = const(b, "lone", [2])
    g = run(b.build(b.op("Neg", y, name="neg", control=[c, lone])), "useless-control-out").final.graph
    assert not g.control
    assert "lone" not in g.by_name


def test_split_no_task_needs_aligned_slices_of_an_operator() -> None:
    def split(rows: int, cols: int, from_data: bool = False) -> str:
        b = GraphBuilder("g")
        x = b.data("x", (rows, cols), "float")
        x = x if from_data else b.op("Relu", x, name="r")
        s = b.op("SplitD", x, name="s", outputs=[((rows // 2, cols), "float")] * 2, attrs={"split_dim": 0})
        return run(b.build(b.op("Neg", s[0]), b.op("Abs", s[1])), "split-no-task").steps[0].status

    assert split(4, 64) == "changed"
    assert split(4, 3) == "unchanged"
    assert split(4, 64, from_data=True) == "unchanged"


def test_pack_no_task_needs_leading_ones() -> None:
    def pack(axis: int, shape: tuple[int, ...]) -> str:
        b = GraphBuilder("g")
        x = b.data("x", shape, "float")
        p = b.op("Pack", b.op("Relu", x), b.op("Tanh", x), name="p", shape=(2, *shape), attrs={"axis": axis})
        return run(b.build(b.op("Neg", p)), "pack-no-task").steps[0].status

    assert pack(0, (8, 64)) == "changed"
    assert pack(1, (8, 64)) == "unchanged"
    assert pack(1, (1, 64)) == "changed"

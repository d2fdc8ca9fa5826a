"""The worked examples of GE's optimisation that need no fusion: shapes, siblings, casts, transposes, branches, concatenation.

Example 6 (Conv-BN-Relu) is in test_fusion_graph.py and test_ub_fusion.py, example 8 (collectives) in test_hccl.py, gears in
test_gears.py.
"""

import pytest

from ge_explorer import pipelines
from ge_explorer.device.cost import cost_table
from ge_explorer.graph.builder import GraphBuilder
from ge_explorer.graph.constant import VALUE
from ge_explorer.graph.model import Graph
from ge_explorer.trace.runner import run_trace
from tests.passes.optimize.helpers import compute, const, formats, rules, run, source


def shape_chain(batch: int | None) -> Graph:
    """x -> Shape -> Gather(0) -> Concat with -1 -> Reshape(x) -> MatMul."""
    b = GraphBuilder("g")
    x = b.data("x", (batch, 3, 8, 8), "float16")
    zero, minus, w = const(b, "zero", [0]), const(b, "minus", [-1]), b.const("w", (192, 4), "float16")
    s = b.op("Shape", x, name="shape", shape=(4,), dtype="int64")
    g = b.op("GatherV2", s, zero, name="gather", shape=(1,), dtype="int64", attrs={"axis": 0})
    c = b.op("ConcatD", g, minus, name="concat", shape=(2,), dtype="int64", attrs={"axis": 0})
    r = b.op("Reshape", x, c, name="reshape", shape=(batch, 192))
    return b.build(b.op("MatMulV2", r, w, name="matmul", shape=(batch, 4)))


def test_a_shape_chain_leaves_one_recovered_reshape() -> None:
    t = run(shape_chain(2))
    g = t.final.graph
    assert sorted(compute(g)) == ["Reshape_ReshapeRecoveryPass_0", "matmul"]
    assert source(g, "matmul") == "Reshape_ReshapeRecoveryPass_0"
    target = g.node(source(g, "Reshape_ReshapeRecoveryPass_0", 1))
    assert target.attrs[VALUE].array().tolist() == [2, 192]
    first = next(s for s in t if s.name == "optimise-while-inferring").after.graph
    assert first.node(source(first, "reshape", 1)).attrs[VALUE].array().tolist() == [2, -1]
    assert first.node(source(first, "reshape", 1)).origin == (shape_chain(2).node("concat").id,)


def test_the_recovered_reshape_runs_nothing_and_four_nodes_are_gone() -> None:
    g = shape_chain(2)
    t = run_trace(g, pipelines.static(), {})
    assert t.failed is None, t.failed and t.failed.error
    s = t.final
    assert s.placement is not None
    n = s.graph.node("Reshape_ReshapeRecoveryPass_0")
    assert (s.placement.engine[n.id], s.placement.core[n.id]) == ("DNN_VM_GE_LOCAL", "NONE")
    assert not cost_table(s.graph, s.placement).of(n.id).task
    assert {"shape", "gather", "concat", "reshape"} & {x.name for x in s.graph} == set()
    assert len(compute(g)) - len(compute(run(g).final.graph)) == 3  # four gone, one Reshape back


def test_the_chain_folds_while_shapes_are_inferred() -> None:
    t = run(shape_chain(2), "optimise-while-inferring")
    assert [d.rule for s in t.steps for d in s.decisions if d.rule != "unread"][:3] == ["shape", "builtin", "builtin"]
    assert {n.op for n in t.final.graph if not n.is_source} == {"Reshape", "MatMulV2", "NetOutput"}


def test_an_unknown_batch_folds_nothing() -> None:
    g = run(shape_chain(None)).final.graph
    assert sorted(compute(g)) == ["concat", "gather", "matmul", "reshape", "shape"]


def test_rank_folds_even_with_an_unknown_batch() -> None:
    b = GraphBuilder("g")
    x = b.data("x", (None, 3), "float")
    g = run(b.build(b.op("Rank", x, name="rank", shape=(), dtype="int32"))).final.graph
    assert compute(g) == []


def casts(label: bool, op: str = "Cast", kinds: tuple[str, str] = ("float16", "float16")) -> Graph:
    b = GraphBuilder("g")
    x = b.data("x", (8, 8), "float")
    c1, c2 = b.const("c1", (8, 8), kinds[0]), b.const("c2", (8, 8), kinds[1])
    with b.label("s1" if label else "same") if label else b.attributes({}):
        a = b.op(op, x, name="a", dtype=kinds[0])
    with b.label("s2") if label else b.attributes({}):
        c = b.op(op, x, name="b", dtype=kinds[1])
    return b.build(b.op("Add", a, c1, name="add"), b.op("Mul", c, c2, name="mul"))


def test_equal_siblings_merge_unless_labels_differ() -> None:
    t = run(casts(False), "common-subexpression")
    g = t.final.graph
    assert sorted(compute(g)) == ["a", "add", "mul"]
    assert source(g, "mul") == "a"
    assert set(g.node("a").origin) == {casts(False).node("a").id, casts(False).node("b").id}
    assert run(casts(True), "common-subexpression").steps[0].status == "unchanged"


def test_a_type_without_a_host_kernel_never_merges() -> None:
    assert run(casts(False, "Relu", ("float", "float")), "common-subexpression").steps[0].status == "unchanged"
    g = run(casts(False, "Relu", ("float", "float")), "common-subexpression{variant=fingerprint}").final.graph
    assert len(compute(g)) == 3


def test_an_installed_host_kernel_makes_equal_relus_one() -> None:
    g = run(
        casts(False, "Relu", ("float", "float")), "common-subexpression", {"gx.hostKernels": "Gelu, Relu"}
    ).final.graph
    assert sorted(compute(g)) == ["a", "add", "mul"]


def test_the_fingerprint_variant_says_where_it_is_unsafe() -> None:
    t = run(casts(True), "common-subexpression{variant=fingerprint}")
    assert rules(t)["fingerprint-unsafe"] == {"b"}
    assert "fingerprint-unsafe" not in rules(run(casts(False), "common-subexpression{variant=fingerprint}"))


@pytest.mark.parametrize(
    ("middle", "left"), [("float16", []), ("int32", ["c1", "c2"]), ("bool", ["c1", "c2"]), ("bfloat16", [])]
)
def test_cast_pairs(middle: str, left: list[str]) -> None:
    b = GraphBuilder("g")
    a = b.op("Relu", b.data("x", (8,), "float"), name="relu")
    c2 = b.op("Cast", b.op("Cast", a, name="c1", dtype=middle), name="c2", dtype="float")
    t = run(b.build(b.op("Tanh", c2, name="tanh")), "cast-remove")
    assert sorted(compute(t.final.graph)) == [*left, "relu", "tanh"]
    if left:
        assert rules(t)["lossy"] == {"c1", "c2"}


def test_a_transpose_pair_keeps_the_first_for_its_other_reader() -> None:
    b = GraphBuilder("g")
    a = b.op("Relu", b.data("x", (2, 3, 4, 5), "float"), name="A")
    t1 = b.op("TransposeD", a, name="t1", shape=(2, 4, 5, 3), attrs={"perm": (0, 2, 3, 1)})
    t2 = b.op("TransposeD", t1, name="t2", shape=(2, 3, 4, 5), attrs={"perm": (0, 3, 1, 2)})
    g = b.build(b.op("Tanh", t2, name="B"), b.op("Neg", t1, name="C"))
    after = run(g, "transop-symmetry").final.graph
    assert sorted(compute(after)) == ["A", "B", "C", "t1"]
    assert (source(after, "B"), source(after, "C")) == ("A", "t1")
    plain = GraphBuilder("g")
    a = plain.op("Relu", plain.data("x", (2, 3), "float"), name="A")
    p = const(plain, "p", [1, 0])
    t2 = plain.op("Transpose", plain.op("Transpose", a, p, name="t1", shape=(3, 2)), p, name="t2", shape=(2, 3))
    assert run(plain.build(t2), "transop-symmetry").steps[0].status == "unchanged"


def test_a_plain_transpose_pair_goes_only_when_it_changes_the_format() -> None:
    b = GraphBuilder("g")
    a = b.op("Relu", b.data("x", (2, 3, 4, 5), "float"), name="A")
    there, back = const(b, "there", [0, 2, 3, 1]), const(b, "back", [0, 3, 1, 2])
    t1 = b.op("Transpose", a, there, name="t1", shape=(2, 4, 5, 3))
    t2 = b.op("Transpose", t1, back, name="t2", shape=(2, 3, 4, 5))
    g = b.build(b.op("Tanh", t2, name="B"))
    assert run(g, "transop-direct").steps[0].status == "unchanged"
    laid = formats(g, {"A": "NCHW", "t1": "NHWC", "t2": "NCHW"})
    assert compute(run(laid, "transop-direct").final.graph) == ["A", "B"]


@pytest.mark.parametrize(("value", "left"), [(True, "relu"), (False, "tanh")])
def test_a_constant_condition_leaves_one_branch_inlined(value: bool, left: str) -> None:
    b = GraphBuilder("g")
    p, x = const(b, "p", value, "bool"), b.data("x", (8,), "float")
    branch = b.op("If", p, x, name="if", shape=(8,), dtype="float")
    with b.subgraph(branch, "then_branch") as (inner,):
        b.outputs(b.op("Relu", inner, name="relu"))
    with b.subgraph(branch, "else_branch") as (inner,):
        b.outputs(b.op("Tanh", inner, name="tanh"))
    g = b.build(branch)
    called = run(g, "cond-remove").final.graph
    assert called.node("if").op == "PartitionedCall"
    assert len(called.node("if").subgraphs) == 1
    assert "p" not in called.by_name
    after = run(g).final.graph
    assert [n.name.rsplit("/", 1)[-1] for n in after if not n.is_source and n.op != "NetOutput"] == [left]
    assert len([x for x in after.scopes if x is not None]) == 1


def concat(shapes: tuple[int, ...], dtype: str = "float16", variant: str = "") -> Graph:
    b = GraphBuilder("g")
    x = b.data("x", shapes, dtype)
    a = x if variant == "data" else b.op("Relu", x, name="A")
    c = a if variant == "twice" else b.op("Tanh", x, name="B")
    out = b.op("ConcatD", a, c, name="concat", shape=(shapes[0], shapes[1] * 2), attrs={"concat_dim": 1})
    last = b.op("Neg", out, name="D")
    return b.build(last, a) if variant == "result" else b.build(last)


def test_a_concatenation_of_aligned_rows_needs_no_kernel() -> None:
    g = run(concat((1, 64)), "concat-no-task").final.graph
    n = g.node("concat")
    assert n.attrs["_no_task"] is True
    assert n.attrs["_no_padding_continuous_input"] is True
    assert n.attrs["_output_reuse_input"] is True


@pytest.mark.parametrize(
    ("graph", "rule"),
    [
        (concat((2, 64)), "kernel-axis"), (concat((1, 10)), "kernel-size"), (concat((1, 64), variant="data"), "kernel-source"),
        (concat((1, 64), variant="result"), "kernel-shared"), (concat((1, 64), variant="twice"), "kernel-shared"),
    ],
)  # fmt: skip
def test_concatenations_that_keep_their_kernel(graph: Graph, rule: str) -> None:
    t = run(graph, "concat-no-task")
    assert t.steps[0].status == "unchanged"
    assert set(rules(t)) == {rule}


@pytest.mark.parametrize("planner", ["hb", "ge"])
def test_inputs_of_a_concatenation_without_kernel_lie_back_to_back(planner: str) -> None:
    """A and B write into one buffer of 256 bytes, B 128 bytes behind A, and nothing runs for the concatenation."""
    t = run_trace(concat((1, 64)), pipelines.static(), {"gx.memoryPlanner": planner})
    assert t.failed is None, t.failed and t.failed.error
    s, g = t.final, t.final.graph
    assert s.memory is not None
    spot = {
        g.node(g.tensor(t).producer).name: offset + b.inside.get(t, 0)
        for b, offset in zip(s.memory.problem.buffers, s.memory.plan.offsets, strict=True)
        for t in b.tensors
    }
    assert spot["B"] - spot["A"] == 128
    n = g.node("concat")
    assert g.tensor(n.outputs[0]).nbytes == 256
    assert not cost_table(g, s.placement).of(n.id).task


@pytest.mark.parametrize("index", [1, 2, 3])
def test_a_constant_case_index_takes_its_branch_and_past_the_end_the_last(index: int) -> None:
    b = GraphBuilder("g")
    i, x = const(b, "i", index, "int32"), b.data("x", (8,), "float")
    case = b.op("Case", i, x, name="case", shape=(8,), dtype="float")
    for k, op in enumerate(("Relu", "Tanh", "Neg")):
        with b.subgraph(case, f"branch{k}") as (inner,):
            b.outputs(b.op(op, inner, name=op.lower()))
    after = run(b.build(case)).final.graph
    left = [n.op for n in after if not n.is_source and n.op != "NetOutput"]
    assert left == [("Relu", "Tanh", "Neg")[min(index, 2)]]

"""Conditions, branch inputs, variables, zero fill, and constants that are one scalar."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from ge_explorer import pipelines
from ge_explorer.exports.runnable import runnable_model
from ge_explorer.graph.builder import GraphBuilder
from ge_explorer.graph.model import Graph
from ge_explorer.loaders import load
from ge_explorer.trace.runner import run_trace
from tests.passes.optimize.helpers import const, rules, run, source
from tests.passes.optimize.test_optimize_properties import sound

ON = {"gx.insertOperators": "on"}


def branch(shape: tuple[int | None, ...] | None, dtype: str, op: str = "If") -> Graph:
    b = GraphBuilder("g")
    p, x = b.data("p", shape, dtype), b.data("x", (8,), "float")
    holder = b.op(op, p, x, x, name="if", shape=(8,), dtype="float")
    for name in ("then", "else"):
        with b.subgraph(holder, name) as (*_, one, two):
            b.outputs(b.op("Add", one, two, name="add"))
    return b.build(holder)


@pytest.mark.parametrize(
    ("shape", "dtype", "op", "rule"),
    [
        ((), "bool", "Cast", "to-int"), ((), "float", "Cast", "to-int"), ((), "string", "StringLength", "by-length"),
        ((1,), "bool", "Size", "by-size"), ((3, None), "int32", "Size", "by-size"),
    ],
)  # fmt: skip
def test_a_condition_becomes_one_int32(shape: tuple[int | None, ...], dtype: str, op: str, rule: str) -> None:
    t = run(branch(shape, dtype), "cond-normalise", ON)
    g = t.final.graph
    made = g.node(source(g, "if"))
    assert made.op == op
    assert (g.tensor(made.outputs[0]).shape, g.tensor(made.outputs[0]).dtype) == ((), "int32")
    assert rules(t) == {rule: {made.name}}
    sound(g)
    assert run(g, "cond-normalise", ON).steps[0].status == "unchanged"


@pytest.mark.parametrize(("shape", "dtype"), [((), "int32"), (None, "bool")])
def test_a_condition_that_is_a_number_or_unknown_stays(shape: tuple[int, ...] | None, dtype: str) -> None:
    assert run(branch(shape, dtype), "cond-normalise", ON).steps[0].status == "unchanged"


def test_hand_written_graphs_say_themselves_what_runs() -> None:
    assert run(branch((), "bool"), "cond-normalise").steps[0].status == "skipped"
    assert run(branch((), "int32", "PartitionedCall"), "cond-normalise", ON).steps[0].status == "skipped"


def test_the_condition_of_a_while_is_asked_at_the_end_of_its_condition_graph() -> None:
    b = GraphBuilder("g")
    x = b.data("x", (8,), "float")
    loop = b.op("While", x, name="loop", shape=(8,), dtype="float")
    with b.subgraph(loop, "cond") as (inner,):
        b.outputs(b.op("Less", inner, inner, name="less", shape=(), dtype="bool"))
    with b.subgraph(loop, "body") as (inner,):
        b.outputs(b.op("Neg", inner, name="neg"))
    g = run(b.build(loop), "cond-normalise", ON).final.graph
    made = next(n for n in g if n.op == "Cast")
    assert g.scope(made.scope).name == "cond"
    assert source(g, "cond/Node_Output") == made.name


def test_a_branch_of_onnx_computes_the_same_with_its_condition_cast() -> None:
    info = helper.make_tensor_value_info
    bodies = [
        helper.make_graph([helper.make_node(op, ["x"], [f"{op}_o"], name=op)], op, [], [info(f"{op}_o", 1, [4])])
        for op in ("Neg", "Abs")
    ]
    nodes = [
        helper.make_node("ReduceSum", ["x"], ["sum"], keepdims=0, name="sum"),
        helper.make_node("Greater", ["sum", "zero"], ["c"], name="c"),
        helper.make_node("If", ["c"], ["y"], name="if", then_branch=bodies[0], else_branch=bodies[1]),
    ]
    zero = numpy_helper.from_array(np.float32(0).reshape(()), "zero")
    m = helper.make_model(
        helper.make_graph(nodes, "g", [info("x", TensorProto.FLOAT, [4])], [info("y", TensorProto.FLOAT, [4])], [zero]),
        opset_imports=[helper.make_opsetid("", 17)],
    )
    g = load(m).graph
    after = run_trace(g, pipelines.pipeline("static"), {}, strict=True)
    assert after.failed is None
    assert source(after.final.graph, "if") == "if_cond_Cast"
    optimised = run(g, "cond-normalise,optimise-prepare,optimise-stage1").final.graph
    made = runnable_model(optimised, model=m, before=g)
    for x in (np.array([1, -2, 3, 4], np.float32), np.array([1, -2, -3, 0], np.float32)):
        want = ReferenceEvaluator(m).run(None, {"x": x})[0]
        np.testing.assert_array_equal(ReferenceEvaluator(made).run(None, {"x": x})[0], want)


def test_two_inputs_of_a_branch_that_are_one_value_become_one() -> None:
    t = run(branch((), "bool"), "branch-data")
    g = t.final.graph
    for name in ("then", "else"):
        assert len([n for n in g if n.op == "Data" and g.scope(n.scope).name == name]) == 1
        assert source(g, f"{name}/add", 0) == source(g, f"{name}/add", 1)
    assert len(g.node("if").inputs) == 3
    assert len(rules(t)["one-source"]) == 2
    sound(g)
    assert run(g, "branch-data").steps[0].status == "unchanged"
    assert run(branch((), "bool", "While"), "branch-data").steps[0].status == "skipped"
    assert run(branch((), "bool"), "branch-data", {"ge.oo.level": "O1"}).steps[0].status == "skipped"


def test_what_a_branch_computes_twice_of_one_value_is_computed_once() -> None:
    b = GraphBuilder("g")
    p, x = b.data("p", (), "bool"), b.data("x", (8,), "float")
    holder = b.op("If", p, x, x, name="if", shape=(8,), dtype="float")
    for name in ("then", "else"):
        with b.subgraph(holder, name) as (one, two):
            casts = [b.op("Cast", v, name=f"c{k}", dtype="float16") for k, v in enumerate((one, two))]
            b.outputs(b.op("Add", *casts, name="add"))
    g = b.build(holder)
    assert run(g, "common-subexpression").steps[0].status == "unchanged"
    after = run(g, "branch-data,branch-subexpression").final.graph
    assert len([n for n in after if n.op == "Cast"]) == 2
    sound(after)
    plain = GraphBuilder("g")
    y = plain.op("Relu", plain.data("x", (8,), "float"), name="r")
    assert run(plain.build(y), "branch-subexpression").steps[0].status == "skipped"


def assigned(*, read_beside: bool = False, twice: bool = False) -> Graph:
    b = GraphBuilder("g")
    v = b.op("Variable", name="w", outputs=[((8,), "float")])
    x = b.data("x", (8,), "float")
    reader = b.op("Neg", v, name="reader")
    new = b.op("Mul", x, x, name="new", control=[] if read_beside else [reader])
    a = b.op("Assign", v, new, name="assign")
    ends = [reader, b.op("Abs", x, name="after", control=[a])]
    return b.build(*ends, *([b.op("Exp", new, name="again")] if twice else []))


def test_the_producer_writes_the_variable_itself() -> None:
    t = run(assigned(), "optimise-stage2")
    g = t.final.graph
    assert "assign" not in g.by_name
    assert g.tensor(g.node("new").outputs[0]).attrs["_assign_var_name"] == "w"
    assert ("new", "after") in {(g.node(a).name, g.node(c).name) for a, c in g.control}
    assert rules(t)["direct-write"] == {"assign", "new"}
    sound(g)
    assert run(g, "assign-remove").steps[0].status == "unchanged"


@pytest.mark.parametrize("keep", [{"read_beside": True}, {"twice": True}])
def test_an_assign_stays_while_the_old_value_or_the_new_one_has_another_use(keep: dict[str, bool]) -> None:
    t = run(assigned(**keep), "assign-remove")
    assert "assign" in t.final.graph.by_name
    assert rules(t) == {"assign-needed": {"assign"}}


def accumulating(**attrs: object) -> Graph:
    b = GraphBuilder("g")
    x = b.data("x", (8,), "float")
    made = [b.op("UnsortedSegmentSum", x, name=f"sum{k}", attrs=attrs) for k in range(2)]
    return b.build(b.op("Add", *made, name="add"))


@pytest.mark.parametrize(("policy", "count"), [("", 1), ("0", 1), ("1", 2)])
def test_accumulating_kernels_wait_for_a_zero_fill(policy: str, count: int) -> None:
    options = {**ON, "ge.exec.atomicCleanPolicy": policy}
    t = run(accumulating(atomic_output_index=(0,)), "atomic-clean", options)
    g = t.final.graph
    made = [n for n in g if n.op == "MemSet"]
    assert len(made) == count
    assert {g.node(c).name for n in made for c in g.control_out[n.id]} == {"sum0", "sum1"}
    assert all(g.node(n).attrs["is_atomic_node"] is True for n in ("sum0", "sum1"))
    sound(g)
    assert run(g, "atomic-clean", options).steps[0].status == "unchanged"


def test_no_zero_fill_where_the_kernel_cleans_or_nothing_accumulates() -> None:
    t = run(accumulating(atomic_output_index=(0,), need_gentask_atomic=True), "atomic-clean", ON)
    assert t.steps[0].status == "unchanged"
    assert rules(t) == {"cleans-itself": {"sum0", "sum1"}}
    assert run(accumulating(), "atomic-clean", ON).steps[0].status == "skipped"


def expanded(values: tuple[float, float] | float, shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> Graph:
    b = GraphBuilder("g")
    x = b.data("x", (4, 4), "float")
    scalars = [const(b, f"c{k}", np.float32(v), "float") for k, v in enumerate(np.atleast_1d(values))]
    ends = []
    for k, shape in enumerate(shapes):
        big = b.op(
            "Expand", scalars[k % len(scalars)], const(b, f"s{k}", shape), name=f"e{k}", shape=shape, dtype="float"
        )
        ends.append(b.op("Add", x, big, name=f"add{k}"))
    return b.build(*ends)


@pytest.mark.parametrize(
    ("values", "shapes", "merged"),
    [
        (2.0, ((4, 4), (4, 4)), True),
        (2.0, ((4, 4), (1, 4)), False),  # other dimensions
        ((2.0, 2.0), ((4, 4), (4, 4)), False),  # equal content in two places is remove-same-const's job
    ],
)
def test_what_folding_made_of_one_scalar_is_one_constant(
    values: float | tuple[float, float], shapes: tuple[tuple[int, ...], tuple[int, ...]], merged: bool
) -> None:
    folded = run(expanded(values, shapes), "optimise-while-inferring").final.graph
    assert not [n for n in folded if n.op == "Expand"]
    t = run(folded, "constant-fuse-same")
    assert (source(t.final.graph, "add0", 1) == source(t.final.graph, "add1", 1)) == merged
    assert t.steps[0].status == ("changed" if merged else "unchanged")
    assert run(t.final.graph, "constant-fuse-same").steps[0].status == "unchanged"
    later = run(t.final.graph, "remove-same-const").final.graph
    assert (source(later, "add0", 1) == source(later, "add1", 1)) == (shapes[0] == shapes[1])

"""The small passes: variables, loop constants, ShapeN, clipping, control edges of constants."""

from __future__ import annotations

import numpy as np
import pytest

from ge_explorer.graph.builder import GraphBuilder
from ge_explorer.graph.constant import VALUE
from ge_explorer.graph.edit import GraphEditor
from ge_explorer.graph.model import Graph
from tests.passes.optimize.helpers import compute, const, rules, run, source
from tests.passes.optimize.test_control_v1 import loop
from tests.passes.optimize.test_optimize_properties import sound

S = ((8,), "float")


def settled(g: Graph, name: str, options: dict[str, str] | None = None) -> None:
    """A second run has nothing to do, and the graph is acyclic."""
    sound(g)
    assert run(g, name, options).steps[0].status in ("unchanged", "skipped")


def test_a_constant_needs_no_enter_but_a_loop_variable_does() -> None:
    t = run(loop(), "enter-const")
    g = t.final.graph
    assert source(g, "less", 1) == "limit"
    assert {n.name for n in g if n.op == "Enter"} == {"enter"}
    e = GraphEditor(loop())
    e.change(loop().by_name["x"], op="Const")
    kept = run(e.freeze(), "enter-const")
    assert rules(kept)["enter-variable"] == {"enter"}
    assert run(loop(), "optimise-prepare", {"ge.oo.level": "O1"}).final.graph.by_name.keys() >= {"bound"}


def printing() -> Graph:
    b = GraphBuilder("g")
    x = b.data("x", (8,), "float")
    y = b.op("Relu", b.op("Print", x, name="p"), name="y")
    b.op("PrintV2", y, name="p2", outputs=[])
    return b.build(y)


def test_print_goes_unless_it_is_wanted() -> None:
    t = run(printing(), "optimise-prepare")
    assert compute(t.final.graph) == ["y"]
    assert source(t.final.graph, "y") == "x"
    settled(t.final.graph, "print-remove")
    assert run(printing(), "print-remove", {"gx.keepPrint": "1"}).steps[0].status == "unchanged"


@pytest.mark.parametrize("before", [True, False])
def test_the_compiler_knows_whether_a_variable_was_written(before: bool) -> None:
    b = GraphBuilder("g")
    v = b.op("Variable", name="v", outputs=[S])
    x = b.data("x", (8,), "float")
    a = b.op("Assign", v, x, name="a")
    q = b.op("VarIsInitializedOp", v, name="q", shape=(), dtype="bool", control=[a] if before else [])
    g = run(b.build(b.op("LogicalNot", q, name="r"), a), "variable-is-initialized").final.graph
    value = g.node(source(g, "r")).attrs[VALUE].array()
    assert bool(value) is before
    settled(g, "variable-is-initialized")


def test_a_question_about_something_else_stays() -> None:
    b = GraphBuilder("g")
    q = b.op("VarIsInitializedOp", b.data("h", (), "resource"), name="q", shape=(), dtype="bool")
    assert run(b.build(q), "variable-is-initialized").steps[0].status == "unchanged"


def test_the_start_of_a_parallel_concat_is_a_constant_without_contents() -> None:
    b = GraphBuilder("g")
    s = b.op("ParallelConcatStart", name="s", outputs=[(None, None)], attrs={"shape": (4, 8), "dtype": "float"})
    g = run(b.build(b.op("Neg", s, name="n")), "optimise-prepare").final.graph
    c = g.node(source(g, "n"))
    t = g.tensor(c.outputs[0])
    assert (c.op, t.shape, t.dtype, VALUE in c.attrs) == ("Const", (4, 8), "float", False)
    settled(g, "parallel-concat-start")


@pytest.mark.parametrize(("shape", "gone"), [((2, 4), True), ((2, None), False)])
def test_trans_shape_is_the_shape_it_makes(shape: tuple[int | None, ...], gone: bool) -> None:
    b = GraphBuilder("g")
    t = b.op("TransShape", b.data("x", (8,), "float"), name="t", shape=shape)
    g = run(b.build(b.op("Neg", t, name="n")), "trans-shape-to-const").final.graph
    assert ("t" not in g.by_name) == gone
    if gone:
        assert g.node(source(g, "n")).attrs[VALUE].array().tolist() == [2, 4]
    settled(g, "trans-shape-to-const")


def shapes(*dims: tuple[int | None, ...]) -> Graph:
    b = GraphBuilder("g")
    xs = [b.data(f"x{k}", d, "float") for k, d in enumerate(dims)]
    n = b.op("ShapeN", *xs, name="shapes", outputs=[((len(d),), "int32") for d in dims])
    return b.build(*(b.op("Softplus", n[k], name=f"r{k}") for k in range(len(dims))))


def test_the_known_part_of_shape_n_folds_and_the_rest_stays() -> None:
    split = run(shapes((2, 3), (None, 3), (4,)), "split-shape-n").final.graph
    assert {n.name for n in split if n.op == "ShapeN"} == {"shapes_known", "shapes_unknown"}
    assert [source(split, f"r{k}") for k in range(3)] == ["shapes_known", "shapes_unknown", "shapes_known"]
    settled(split, "split-shape-n")
    whole = run(split, "merge-shape-n").final.graph
    assert [n.name for n in whole if n.op == "ShapeN"] == ["shapes"]
    settled(whole, "merge-shape-n")
    g = run(shapes((2, 3), (None, 3), (4,)), "optimise-while-inferring,merge-shape-n").final.graph
    assert [n.name for n in g if n.op == "ShapeN"] == ["shapes_unknown"]
    assert g.node(source(g, "r2")).op == "Const"
    for dims in (((2, 3), (4,)), ((None,), (None, 2))):
        assert run(shapes(*dims), "split-shape-n").steps[0].status == "unchanged"


def weights(value: float, target: str) -> Graph:
    b = GraphBuilder("g")
    c = const(b, "c", np.array([value, 1.0], np.float32), "float")
    return b.build(b.op("Neg", b.op("Cast", c, name="cast", dtype=target), name="n"))


@pytest.mark.parametrize(("option", "want"), [("1", 65504.0), ("", np.inf)])
def test_weights_are_clipped_before_they_are_narrowed(option: str, want: float) -> None:
    options = {"ge.is_weight_clip": option}
    b = GraphBuilder("g")
    c = const(b, "c", np.array([1e6, 1.0], np.float32), "float")
    x = b.data("x", (2,), "float16")
    g0 = b.build(b.op("Add", x, b.op("Cast", c, name="cast", dtype="float16", attrs={"to": 10}), name="add"))
    with np.errstate(over="ignore"):
        g = run(g0, "optimise-while-inferring", options).final.graph
    assert compute(g) == ["add"]
    assert g.node(source(g, "add", 1)).attrs[VALUE].array().tolist() == [want, 1.0]


def test_clipping_needs_its_option_and_a_narrower_type() -> None:
    options = {"ge.is_weight_clip": "1"}
    g = run(weights(1e6, "float16"), "constant-clip", options).final.graph
    assert source(g, "cast") == "cast_clip"
    settled(g, "constant-clip", options)
    assert run(weights(1e6, "float16"), "constant-clip").steps[0].status == "unchanged"
    assert run(weights(1.0, "double"), "constant-clip", options).steps[0].status == "unchanged"


def waiting(*, dynamic: bool) -> Graph:
    b = GraphBuilder("g", dynamic=dynamic)
    x = b.data("x", (8,), "float")
    a = b.op("Relu", x, name="a")
    c = b.const("c", (8,), "float")
    b.control(a, c)
    return b.build(b.op("Add", x, c, name="add"), a)


def test_readers_wait_in_the_place_of_a_constant_when_shapes_are_unknown() -> None:
    g = run(waiting(dynamic=True), "control-transfer").final.graph
    assert {(g.node(p).name, g.node(q).name) for p, q in g.control} == {("a", "add")}
    settled(g, "control-transfer")
    assert run(waiting(dynamic=False), "control-transfer").steps[0].status == "skipped"


def variable(*targets: str, written: bool = False) -> Graph:
    b = GraphBuilder("g")
    v = b.op("Variable", name="v", outputs=[((8,), "float")])
    casts = [b.op("Cast", v, name=f"cast{k}", dtype=t) for k, t in enumerate(targets)]
    ends = [b.op("Neg", c, name=f"n{k}") for k, c in enumerate(casts)]
    return b.build(*ends, *([b.op("Assign", v, b.data("x", (8,), "float"), name="a")] if written else []))


def test_a_variable_is_stored_as_everybody_reads_it() -> None:
    g = run(variable("float16", "float16"), "variable-format").final.graph
    assert g.tensor(g.node("v").outputs[0]).dtype == "float16"
    assert compute(g) == ["n0", "n1"]
    settled(g, "variable-format")


@pytest.mark.parametrize(
    ("graph", "options", "status"),
    [
        (variable("float16", "double"), {}, "unchanged"), (variable("float16", written=True), {}, "unchanged"),
        (variable("float16"), {"ge.exec.variable_acc": "False"}, "skipped"),
        (variable("float16"), {"ge.oo.level": "O1"}, "skipped"),
    ],
)  # fmt: skip
def test_a_variable_stays_as_it_is(graph: Graph, options: dict[str, str], status: str) -> None:
    assert run(graph, "variable-format", options).steps[0].status == status


def test_copies_by_reference_are_the_variable() -> None:
    b = GraphBuilder("g")
    v = b.op("Variable", name="v", outputs=[S])
    r = b.op("RefIdentity", v, name="r")
    new = b.op("Mul", r, r, name="new")
    ref = b.op("Variable", new, name="v_ref", attrs={"ref_var_src_var_name": "v"})
    g = run(b.build(b.op("Neg", ref, name="n")), "ref-identity-delete,variable-ref-delete").final.graph
    assert compute(g) == ["new", "n"]
    assert source(g, "new") == "v"
    assert source(g, "n") == "new"
    assert g.tensor(g.node("new").outputs[0]).attrs["ref_var_src_var_name"] == "v"
    settled(g, "ref-identity-delete")
    settled(g, "variable-ref-delete")

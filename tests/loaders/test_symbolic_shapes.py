"""Sizes as polynomials, and shapes that ONNX's data propagation loses."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

onnx = pytest.importorskip("onnx")
from onnx import helper, numpy_helper  # noqa: E402

from ge_explorer.loaders import load  # noqa: E402
from ge_explorer.loaders.onnx_exprs import Size, plain  # noqa: E402
from tests.loaders.test_onnx_forms import model, value  # noqa: E402

SYMBOLS = ("a", "b", "c d", "x*y")
sizes = st.recursive(
    st.one_of(st.integers(-9, 9).map(Size.of), st.sampled_from(SYMBOLS).map(Size.of)),
    lambda inner: st.tuples(inner, inner, st.sampled_from("+-*")).map(
        lambda t: t[0] + t[1] if t[2] == "+" else t[0] - t[1] if t[2] == "-" else t[0] * t[1]
    ),
    max_leaves=5,
)


def evaluated(s: Size, env: dict[str, int]) -> int:
    total = 0
    for symbols, factor in s.terms:
        for x in symbols:
            factor *= env[x]
        total += factor
    return total


ENV = {"a": 3, "b": 5, "c d": 7, "x": 2, "y": 11}


@given(sizes, sizes)
def test_arithmetic_is_that_of_numbers(p: Size, q: Size) -> None:
    a, b = evaluated(p, ENV), evaluated(q, ENV)
    assert evaluated(p + q, ENV) == a + b and evaluated(p - q, ENV) == a - b and evaluated(p * q, ENV) == a * b
    quotient = (p * q) // q
    if quotient is not None and q.terms:
        assert evaluated(quotient, ENV) * b == a * b


@given(sizes)
def test_a_spelling_comes_apart_again(p: Size) -> None:
    if plain(p) is not None and not any("c d" in m for m, _ in p.terms):
        assert Size.of(str(p)) == p


def shape(g: Any, node: str) -> Any:
    return g.tensor(g.node(node).outputs[0]).shape


def ints(name: str, *values: int) -> Any:
    return numpy_helper.from_array(np.array(values, np.int64), name)


def scalar(name: str, v: int) -> Any:
    return numpy_helper.from_array(np.array(v, np.int64), name)


def attention_split(reshape_input: str = "x") -> Any:
    """[batch, seq, 384] -> [batch, seq, 12, 32] as exporters write it: Shape, Gather, Div, Unsqueeze, Concat, Reshape."""
    n = helper.make_node
    nodes = [
        n("Shape", ["x"], ["s"]), n("Gather", ["s", "i0"], ["b"]), n("Gather", ["s", "i1"], ["q"]),
        n("Gather", ["s", "i2"], ["h"]), n("Div", ["h", "heads"], ["d"]), n("Cast", ["d"], ["d32"], to=6),
        n("Cast", ["d32"], ["d64"], to=7), n("Unsqueeze", ["b", "ax"], ["b1"]), n("Unsqueeze", ["q", "ax"], ["q1"]),
        n("Unsqueeze", ["d64", "ax"], ["d1"]), n("Concat", ["b1", "q1", "h1", "d1"], ["t"], axis=0),
        n("Reshape", [reshape_input, "t"], ["r"], name="split"), n("Transpose", ["r"], ["p"], name="perm", perm=[0, 2, 1, 3]),
        n("Softmax", ["p"], ["y"], name="soft"),
    ]  # fmt: skip
    init = (scalar("i0", 0), scalar("i1", 1), scalar("i2", 2), scalar("heads", 12), ints("ax", 0), ints("h1", 12))
    return model(nodes, [value("x", 1, ["batch", "seq", 384])], [value("y", 1, None)], init)


def test_attention_heads() -> None:
    g = load(attention_split()).graph
    assert shape(g, "split") == ("batch", "seq", 12, 32)
    assert shape(g, "soft") == ("batch", 12, "seq", 32)


def test_equal_symbols_stay_equal_through_a_product() -> None:
    n = helper.make_node
    nodes = [n("Reshape", ["x", "flat"], ["f"], name="flat"), n("Reshape", ["f", "back"], ["y"], name="back")]
    m = model(
        nodes, [value("x", 1, ["batch", "seq", 8])], [value("y", 1, None)], (ints("flat", -1, 8), ints("back", -1, 4))
    )
    g = load(m).graph
    assert shape(g, "flat") == ("batch*seq", 8)
    assert shape(g, "back") == ("2*batch*seq", 4)


def test_rank_of_a_reshape_whose_target_is_unknown() -> None:
    m = model([helper.make_node("Reshape", ["x", "t"], ["y"], name="r")],
              [value("x", 1, [2, 3]), value("t", 7, [4])], [value("y", 1, None)])  # fmt: skip
    assert shape(load(m).graph, "r") == (None,) * 4


def test_expand_to_a_masked_target() -> None:
    """Where(Equal(target, -1), Shape(x), target): how PyTorch writes ``expand(-1, n)``."""
    n = helper.make_node
    nodes = [
        n("Shape", ["x"], ["s"]), n("Equal", ["want", "minus"], ["e"]), n("Where", ["e", "s", "want"], ["t"]),
        n("Expand", ["x", "t"], ["y"], name="ex"),
    ]  # fmt: skip
    m = model(nodes, [value("x", 1, ["batch", 1])], [value("y", 1, None)], (ints("want", -1, 7), ints("minus", -1)))
    assert shape(load(m).graph, "ex") == ("batch", 7)


def test_open_dimensions_are_not_all_one() -> None:
    """``?`` and no name: equal to themselves only."""
    for mark in ("?", None):
        m = model([helper.make_node("Add", ["x", "z"], ["y"], name="a")],
                  [value("x", 1, [mark, 4]), value("z", 1, [mark, 4])], [value("y", 1, None)])  # fmt: skip
        assert shape(load(m).graph, "a") == (None, 4)


def test_inside_a_branch() -> None:
    n = helper.make_node
    init = [scalar("i0", 0), ints("ax", 0), ints("rest", 2, 192)]
    then = helper.make_graph(
        [n("Shape", ["x"], ["s"]), n("Gather", ["s", "i0"], ["b"]), n("Unsqueeze", ["b", "ax"], ["b1"]),
         n("Concat", ["b1", "rest"], ["t"], axis=0), n("Reshape", ["x", "t"], ["r"], name="inner")],
        "then", [], [value("r", 1, None)], init)  # fmt: skip
    other = helper.make_graph([n("Relu", ["x"], ["e"])], "else", [], [value("e", 1, None)])
    m = model([n("If", ["p"], ["y"], name="if", then_branch=then, else_branch=other)],
              [value("x", 1, ["batch", 384]), value("p", 9, [])], [value("y", 1, None)])  # fmt: skip
    g = load(m).graph
    inner = next(x for x in g if x.name.endswith("/inner"))
    assert g.tensor(inner.outputs[0]).shape == ("batch", 2, 192)


def test_given_shapes_reach_the_end_of_the_chain() -> None:
    g = load(attention_split(), input_shapes={"x": (2, 16, 384)}).graph
    assert shape(g, "soft") == (2, 12, 16, 32) and not g.root.dynamic


def test_large_constants_in_bodies_do_not_stop_inference() -> None:
    w = numpy_helper.from_array(np.zeros((64, 64), np.float32), "w")
    node = helper.make_node("Constant", [], ["w"], value=w)
    then = helper.make_graph(
        [node, helper.make_node("MatMul", ["x", "w"], ["r"], name="mm")], "t", [], [value("r", 1, None)]
    )
    other = helper.make_graph([helper.make_node("Relu", ["x"], ["e"])], "e", [], [value("e", 1, None)])
    m = model([helper.make_node("If", ["p"], ["y"], name="if", then_branch=then, else_branch=other)],
              [value("x", 1, [8, 64]), value("p", 9, [])], [value("y", 1, None)])  # fmt: skip
    r = load(m)
    assert shape(r.graph, "if") == (8, 64)
    assert "GX307" not in [i.code for i in r.report.issues]


def test_an_if_whose_condition_follows_from_shapes_has_the_shape_of_its_branch() -> None:
    """``if x.shape[1] == 1: squeeze`` as PyTorch writes it: the rank is known as soon as the size is."""
    squeeze = helper.make_graph([helper.make_node("Squeeze", ["x", "one"], ["r"])], "t", [], [value("r", 1, None)])
    keep = helper.make_graph([helper.make_node("Identity", ["x"], ["r"])], "e", [], [value("r", 1, None)])
    nodes = [
        helper.make_node("Shape", ["x"], ["s"]), helper.make_node("Gather", ["s", "one"], ["d"]),
        helper.make_node("Equal", ["d", "one"], ["c"]), helper.make_node("If", ["c"], ["y"], name="if", then_branch=squeeze,
                                                                         else_branch=keep),
        helper.make_node("Relu", ["y"], ["z"], name="after"),
    ]  # fmt: skip
    m = model(nodes, [value("x", 1, [2, "n", 8])], [value("z", 1, None)], (ints("one", 1),))
    assert shape(load(m, dims={"n": 1}).graph, "after") == (2, 8)
    assert shape(load(m, dims={"n": 5}).graph, "after") == (2, 5, 8)
    assert shape(load(m).graph, "after") is None


def test_pads_turned_around_in_a_table_and_a_slice_by_computed_ends() -> None:
    """PyTorch's way to write reflection padding: pairs to columns, reversed, transposed, flattened."""
    table = [
        helper.make_node("Reshape", ["pairs", "two"], ["t"]),
        helper.make_node("Slice", ["t", "m1", "far", "zero", "m1"], ["u"]),
        helper.make_node("Transpose", ["u"], ["v"], perm=[1, 0]), helper.make_node("Reshape", ["v", "m1"], ["w"]),
        helper.make_node("Pad", ["x", "w"], ["y"], name="pad"),
        helper.make_node("Slice", ["y", "one", "end", "one"], ["z"], name="cut"),
    ]  # fmt: skip
    init = (ints("pairs", 1, 2, 0, 3), ints("two", -1, 2), ints("m1", -1), ints("far", -(2**63) + 1), ints("zero", 0),
            ints("one", 1), ints("end", -1))  # fmt: skip
    m = model(table, [value("x", 1, ["n", 8])], [value("z", 1, None)], init)
    assert shape(load(m).graph, "pad")[1] == 11 and shape(load(m, dims={"n": 4}).graph, "pad") == (7, 11)
    assert shape(load(m, dims={"n": 4}).graph, "cut") == (7, 9)

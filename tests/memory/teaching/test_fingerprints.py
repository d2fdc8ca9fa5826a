"""Common subexpressions: what a short text hash confuses, and the graph without copies."""

from __future__ import annotations

from typing import Any

import pytest

from ge_explorer.graph.edit import GraphEditor
from ge_explorer.graph.model import Graph
from ge_explorer.memory.teaching.fingerprints import common_subexpressions, without_copies

F32 = ((8,), "float")


def twins(op: str = "Relu", one: dict[str, Any] | None = None, two: dict[str, Any] | None = None,
          specs: tuple[Any, Any] = (F32, F32), source: str = "Data") -> Graph:  # fmt: skip
    """Two nodes of a type on one input, both read by an Add."""
    e = GraphEditor.empty("g")
    d = e.add_node("d", source, outputs=[F32])
    a = e.add_node("a", op, inputs=[e.output(d)], outputs=[specs[0]], attrs=one)
    b = e.add_node("b", op, inputs=[e.output(d)], outputs=[specs[1]], attrs=two)
    e.add_node("s", "Add", inputs=[e.output(a), e.output(b)], outputs=[F32])
    return e.freeze()


def copies(g: Graph) -> list[tuple[str, str]]:
    return [(g.node(c.keep).name, g.node(x).name) for c in common_subexpressions(g) for x in c.copies]


def test_b4_equal_nodes_are_found_and_the_copy_is_removed() -> None:
    g = twins()
    assert copies(g) == [("a", "b")]
    h = without_copies(g, common_subexpressions(g))
    assert [n.name for n in h] == ["d", "a", "s"]
    a = h.node("a").outputs[0]
    assert h.node("s").inputs == (a, a), "readers are rewired, so nobody writes the buffer twice"


def test_b4_values_go_through_inputs_not_through_node_names() -> None:
    e = GraphEditor.empty("g")
    d = e.add_node("d", "Data", outputs=[F32])
    for k in "ab":
        x = e.add_node(f"x{k}", "Relu", inputs=[e.output(d)], outputs=[F32])
        e.add_node(f"y{k}", "Abs", inputs=[e.output(x)], outputs=[F32])
    g = e.freeze()
    assert copies(g) == [("xa", "xb"), ("ya", "yb")]
    assert [n.name for n in without_copies(g, common_subexpressions(g))] == ["d", "xa", "ya"]


def test_b4_sources_equal_only_themselves() -> None:
    """Two inputs or weights of equal shape are two values: the Q, K and V projections are not common subexpressions."""
    e = GraphEditor.empty("g")
    x = e.add_node("x", "Data", outputs=[F32])
    for k in "qkv":
        w = e.add_node(f"w{k}", "Const", outputs=[F32])
        e.add_node(k, "MatMulV2", inputs=[e.output(x), e.output(w)], outputs=[F32])
    assert copies(e.freeze()) == []


@pytest.mark.parametrize(
    ("one", "two"),
    [({"a": 1}, {"a": 2}), ({"a": 1}, {"a": 1.0}), ({"a": 1}, {"a": True}), ({"a": "1+b=2"}, {"a": "1", "b": "2"}),
     ({"a": [1, 2]}, {"a": [12]}),
     ({"_stream_label": "x"}, {})],
)  # fmt: skip
def test_b4_attributes_are_not_joined_into_a_text(one: dict[str, Any], two: dict[str, Any]) -> None:
    def text(attrs: dict[str, Any]) -> str:
        return "+".join(f"{k}={v}" for k, v in sorted(attrs.items()))

    if one == {"a": "1+b=2"}:
        assert text(one) == text(two), "the article's signature of both"
    assert copies(twins(one=one, two=two)) == []
    assert copies(twins(one=one, two=dict(one))) == [("a", "b")]


def test_b4_type_shape_and_control_inputs_count() -> None:
    assert copies(twins("Cast", specs=(F32, ((8,), "float16")))) == []
    e = GraphEditor.empty("g")
    d = e.add_node("d", "Data", outputs=[F32])
    z = e.add_node("z", "Op", outputs=[F32])
    e.add_node("a", "Relu", inputs=[e.output(d)], outputs=[F32])
    e.add_node("b", "Relu", inputs=[e.output(d)], outputs=[F32], control=[z])
    assert copies(e.freeze()) == []


def test_b4_output_index_counts() -> None:
    e = GraphEditor.empty("g")
    d = e.add_node("d", "Split", outputs=[F32, F32])
    for k in range(2):
        e.add_node(f"a{k}", "Relu", inputs=[e.output(d, k)], outputs=[F32])
    assert copies(e.freeze()) == []


@pytest.mark.parametrize("op", ["RandomUniform", "DropOutGenMask", "DropOutDoMask", "HcomAllReduce", "Assign", "VariableV2",
                                "ReduceSum",
                                "TopKV2", "GetNext", "Print"])  # fmt: skip
def test_b4_random_stateful_and_collective_operators_stay(op: str) -> None:
    assert copies(twins(op)) == []


def test_b4_what_followed_the_copy_follows_the_one_that_stays() -> None:
    e = GraphEditor.empty("g")
    d = e.add_node("d", "Data", outputs=[F32])
    a = e.add_node("a", "Relu", inputs=[e.output(d)], outputs=[F32])
    b = e.add_node("b", "Relu", inputs=[e.output(d)], outputs=[F32])
    e.add_node("t", "Op", outputs=[F32], control=[b])
    h = without_copies(g := e.freeze(), common_subexpressions(g))
    assert h.node("t").control_in == (a,)

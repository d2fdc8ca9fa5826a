"""Pieces of a concatenation without a task: one buffer, each piece behind the one before it, whatever the planner."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ge_explorer as gx
from ge_explorer.checks import check_snapshot
from ge_explorer.graph.builder import GraphBuilder, Value
from ge_explorer.graph.model import Graph
from ge_explorer.trace.state import Snapshot


def concat(widths: list[int], axis: int = 1, reads_again: bool = False) -> Graph:
    """Branches of several widths, joined along an axis; every width is 2 bytes an element."""
    b = GraphBuilder("g")
    parts = []
    for k, width in enumerate(widths):
        x = b.data(f"x{k}", (1, width))
        parts.append(b.op("Relu", b.op("Abs", x, name=f"abs{k}"), name=f"part{k}"))
    joined = b.op("ConcatD", *parts, name="join", shape=(1, sum(widths)), attrs={"concat_dim": axis, "N": len(widths)})
    last = b.op("Tanh", joined, name="after")
    if reads_again:
        last = b.op("Exp", b.op("Neg", parts[0], name="again"), name="more")
        return b.build(b.op("Sigmoid", joined, name="after2"), last)
    return b.build(b.op("Exp", last, name="end"))


def addresses(s: Snapshot) -> dict[str, int]:
    """Byte of every planned tensor, by the name of its producer."""
    assert s.memory is not None
    pairs = zip(s.memory.problem.buffers, s.memory.plan.offsets, strict=True)
    return {
        s.graph.node(s.graph.tensor(t).producer).name: at + b.inside.get(t, 0) for b, at in pairs for t in b.tensors
    }


@pytest.mark.parametrize("planner", ["hb", "ge"])
def test_the_second_input_begins_where_the_first_one_ends(planner: str) -> None:
    s = gx.compile(concat([64, 64, 32]), options={"gx.memoryPlanner": planner}).final
    at = addresses(s)
    assert s.graph.node("join").attrs["_no_task"] is True
    assert [at[f"part{k}"] - at["join"] for k in range(3)] == [0, 128, 256]


def test_a_concat_that_copies_keeps_buffers_of_their_own() -> None:
    s = gx.compile(concat([10, 64])).final  # 20 bytes are no multiple of 32
    assert "_no_task" not in s.graph.node("join").attrs
    assert s.memory is not None
    assert all(not b.inside for b in s.memory.problem.buffers)


def test_a_plan_that_tears_the_pieces_apart_is_an_error() -> None:
    s = gx.compile(concat([64, 64])).final
    assert s.memory is not None
    torn = [
        replace(b, inside=MappingProxyType({t: k + 32 for t, k in b.inside.items()})) for b in s.memory.problem.buffers
    ]
    wrong = s.evolve(memory=replace(s.memory, problem=replace(s.memory.problem, buffers=tuple(torn))))
    assert [i.code for i in check_snapshot(s) if i.severity == "error"] == []
    (issue,) = [i for i in check_snapshot(wrong) if i.code == "GX209"]
    assert "join has no task" in issue.message.en


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.sampled_from([16, 32, 64, 80, 128]), min_size=2, max_size=5),
    st.sampled_from(["default", "LoadBalance:3", "cv"]),
    st.booleans(),
)
def test_both_planners_agree_on_the_pieces_and_no_race_appears(widths: list[int], mode: str, again: bool) -> None:
    for planner in ("hb", "ge"):
        t = gx.compile(concat(widths, reads_again=again), mode=mode, options={"gx.memoryPlanner": planner})
        assert t.failed is None
        assert [i for i in gx.check(t) if i.severity == "error"] == []


def split(b: GraphBuilder, x: Value, name: str) -> tuple[Value, Value]:
    """Two halves of a row of 64."""
    attrs = {"split_dim": 1, "num_split": 2}
    two = b.op("SplitD", x, name=name, outputs=[((1, 32), "float16")] * 2, attrs=attrs)
    return two[0], two[1]


def joined_halves() -> Graph:
    """A half of a split goes into a concatenation without a task."""
    b = GraphBuilder("g")
    low, high = split(b, b.op("Abs", b.data("x", (1, 64)), name="a"), "cut")
    join = b.op("ConcatD", low, b.op("Relu", high, name="r"), b.op("Neg", b.data("y", (1, 64)), name="n"), name="join",
                shape=(1, 128), attrs={"concat_dim": 1, "N": 3})  # fmt: skip
    return b.build(b.op("Exp", join, name="end"))


def cut_twice() -> Graph:
    """Two splits of the same tensor."""
    b = GraphBuilder("g")
    whole = b.op("Abs", b.data("x", (1, 64)), name="a")
    parts = [*split(b, whole, "cut"), *split(b, whole, "again")]
    return b.build(*(b.op("Exp", p, name=f"end{k}") for k, p in enumerate(parts)))


@pytest.mark.parametrize("planner", ["hb", "ge"])
@pytest.mark.parametrize("graph", [joined_halves(), cut_twice()], ids=["joined halves", "cut twice"])
def test_no_tensor_is_asked_to_lie_in_two_places(graph: Graph, planner: str) -> None:
    t = gx.compile(graph, options={"gx.memoryPlanner": planner})
    assert t.failed is None
    assert any(n.attrs.get("_no_task") for n in t.final.graph)
    assert [i.message.en for i in gx.check(t) if i.severity == "error"] == []

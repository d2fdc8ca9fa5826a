"""Copies at the edges of subgraphs."""

from __future__ import annotations

import pytest

from ge_explorer import pipelines
from ge_explorer.checks import check_trace
from ge_explorer.graph.builder import GraphBuilder
from ge_explorer.graph.model import Graph
from ge_explorer.trace.pipeline import parse_pipeline
from ge_explorer.trace.runner import run_trace


def branches(kind: str) -> Graph:
    """An If whose first branch returns a constant, its input, one value twice, or a plain result."""
    b = GraphBuilder("g")
    p, x = b.data("p", (), "bool"), b.data("x", (8,))
    both = [((8,), "float16")] * 2
    holder = b.op("If", p, x, name="if", outputs=both)
    with b.subgraph(holder, "then") as (inner,):
        r, s = b.op("Relu", inner, name="r"), b.op("Abs", inner, name="s")
        special = {"constant": (r, b.const("k", (8,))), "input": (r, inner), "twice": (r, r), "plain": (r, s)}[kind]
        b.outputs(*special)
    with b.subgraph(holder, "else") as (inner,):
        b.outputs(b.op("Relu", inner, name="r"), b.op("Abs", inner, name="s"))
    return b.build(holder, holder[1])


@pytest.mark.parametrize(("kind", "copies"), [("constant", 1), ("input", 1), ("twice", 1), ("plain", 0)])
def test_what_a_branch_returns(kind: str, copies: int) -> None:
    t = run_trace(branches(kind), pipelines.static(), {"gx.subgraphMemcpy": "on"})
    assert t.failed is None
    made = [n for n in t.final.graph if n.op == "MemcpyAsync"]
    assert len(made) == copies
    if made:
        assert made[0].name == "then/Node_Output_input_1_Memcpy"
        rules = {d.rule for s in t.steps if s.pass_.name == "subgraph-memcpy" for d in s.decisions}
        assert rules == {kind}
        assert t.final.streams is not None
        assert t.final.streams.node[made[0].id] >= 0  # the copy is a task on a stream
    assert not [i for i in check_trace(t) if i.severity == "error"]


def loop(*, crossing: bool, fixed: bool = False) -> Graph:
    b = GraphBuilder("g")
    x, y = (b.const(n, (8,)) if fixed else b.data(n, (8,)) for n in "xy")
    w = b.op("While", x, y, name="while", outputs=[((8,), "float16")] * 2)
    with b.subgraph(w, "cond") as (p, _):
        b.outputs(b.op("ReduceAny", p, name="c", shape=(), dtype="bool"))
    with b.subgraph(w, "body") as (p, q):
        b.outputs(*((q, p) if crossing else (p, b.op("Relu", q, name="r"))))
    return b.build(w, w[1])


def copies(g: Graph) -> list[str]:
    t = run_trace(g, parse_pipeline("subgraph-memcpy", pipelines.PASSES.get, {}), {"gx.subgraphMemcpy": "on"})
    assert t.failed is None
    return sorted(n.name for n in t.final.graph if n.op == "MemcpyAsync")


def test_a_loop_may_pass_an_input_straight_but_not_across() -> None:
    assert copies(loop(crossing=False)) == []
    assert copies(loop(crossing=True)) == ["body/Node_Output_input_0_Memcpy", "body/Node_Output_input_1_Memcpy"]


def test_constants_fed_to_a_loop_are_copied() -> None:
    assert copies(loop(crossing=False, fixed=True)) == ["while_input_0_Memcpy", "while_input_1_Memcpy"]


def test_default_leaves_hand_made_graphs_alone() -> None:
    t = run_trace(branches("input"), parse_pipeline("subgraph-memcpy", pipelines.PASSES.get, {}), {})
    assert t.steps[0].status == "skipped"

"""The passes of the collective engine on random graphs: no loop, no lost reader, and after one more round nothing is left to do."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from ge_explorer import pipelines
from ge_explorer.graph.builder import GraphBuilder, Value
from ge_explorer.graph.model import Graph
from ge_explorer.passes.optimize.fusion_rewrite import acyclic
from ge_explorer.passes.optimize.hccl_segments import SHARES, Split, within
from ge_explorer.trace.pipeline import parse_pipeline
from ge_explorer.trace.runner import run_trace

CHAIN = "hccl-prepare,hccl-memcpy,hccl-fuse,hccl-group,hccl-memcpy,hccl-sequence,hccl-tailing,hccl-continuous-memcpy,hccl-chain"
OPTIONS = {
    "gx.hccl": "on", "ge.exec.isTailingOptimization": "1", "ge.exec.hccl_tailing_optimize": "1", "ge.graphRunMode": "1",
}  # fmt: skip
TYPES = ("HcomAllReduce", "HcomBroadcast", "HcomReduceScatter", "Relu", "Add", "Cast", "Shape")


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    b = GraphBuilder("g")
    values: list[Value] = [b.data("x", (8,)), b.const("c", (8,)), b.op("Variable", name="v", shape=(8,))]
    for k in range(draw(st.integers(2, 12))):
        op = draw(st.sampled_from(TYPES))
        ins = [values[draw(st.integers(0, len(values) - 1))] for _ in range(2 if op == "Add" else 1)]
        attrs = {}
        if op.startswith("Hcom"):
            attrs = {"group": draw(st.sampled_from("ab")), "reduction": "sum"}
            if draw(st.booleans()):
                attrs |= draw(st.sampled_from([{"fusion": 1, "fusion_id": -1}, {"fusion": 2, "fusion_id": 3}]))
        made = b.op(op, *ins, name=f"n{k}", shape=(8,), attrs=attrs)
        if len(values) > 4 and draw(st.integers(0, 3)) == 0:
            b.control(values[draw(st.integers(3, len(values) - 1))], made)
        values.append(made)
    return b.build(*values[-2:])


@settings(max_examples=60, deadline=None)
@given(graphs())
def test_random_graphs_stay_sound_and_settle(g: Graph) -> None:
    pipeline = parse_pipeline(CHAIN, pipelines.PASSES.get, {})
    t = run_trace(g, pipeline, OPTIONS, strict=True)
    assert t.failed is None, t.failed and t.failed.error
    once = t.final.graph
    assert acyclic(once)
    assert all(x is not None for n in once for x in n.inputs)
    for group in {n.attrs["_parallel_group"] for n in once if "_parallel_group" in n.attrs}:
        members = [n.id for n in once if n.attrs.get("_parallel_group") == group]
        assert all(_ordered(once, a, b) for a in members for b in members if a != b)
    # A copy for a continuous reader may move that reader behind a collective that writes in place; the next round protects it.
    graphs = [once]
    for _ in range(2):
        again = run_trace(graphs[-1], pipeline, OPTIONS, strict=True)
        assert again.failed is None
        new = {n.name for n in again.final.graph} - {n.name for n in graphs[-1]}
        assert all("_HcclMemcpyPass_Identity" in name for name in new)
        graphs.append(again.final.graph)
    assert {n.name for n in graphs[2]} == {n.name for n in graphs[1]}
    assert graphs[2].control == graphs[1].control


def _ordered(g: Graph, a: int, b: int) -> bool:
    """One communicator never overlaps itself."""
    from ge_explorer.passes.optimize.hccl_scope import has_path

    return has_path(g, a, b) or has_path(g, b, a)


@given(
    st.lists(st.integers(1, 1000), min_size=1, max_size=30),
    st.lists(st.integers(1, 50), min_size=1, max_size=8),
    st.integers(1, 3000),
)
def test_segments_keep_order_and_every_gradient(sizes: list[int], weights: list[int], limit: int) -> None:
    b = GraphBuilder("g")
    x = b.data("x", (4,))
    g = b.build(*(b.op("HcomAllReduce", x, name=f"a{k}") for k in range(len(sizes))))
    nodes = [g.node(f"a{k}") for k in range(len(sizes))]
    of = {n.id: s for n, s in zip(nodes, sizes, strict=True)}
    text = ",".join(repr(w * 100 / sum(weights)) for w in weights)
    split = Split.of(lambda key: text if key == SHARES else "")
    parts = [p for q in split.segments(nodes, of) for p in within(q, of, limit)]
    assert [n.id for p in parts for n in p] == [n.id for n in nodes]
    assert all(sum(of[n.id] for n in p) <= limit or len(p) == 1 for p in parts)
    assert len(split.segments(nodes, of)) <= len(weights)

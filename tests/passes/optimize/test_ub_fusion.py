"""Buffer fusion: names, originals, the cost criterion, and labels (worked example 6)."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ge_explorer import pipelines
from ge_explorer.device.cost import cost_table
from ge_explorer.graph.builder import GraphBuilder, Value
from ge_explorer.graph.constant import VALUE, ConstantValue
from ge_explorer.graph.model import Graph
from ge_explorer.passes.optimize.fusion_rewrite import acyclic
from ge_explorer.trace.pipeline import parse_pipeline
from ge_explorer.trace.runner import run_trace
from ge_explorer.trace.trace import Trace


def fuse(g: Graph, passes: str = "fuse-graph,fuse-buffers", **options: str) -> Trace:
    values = {"gx.fusion": "all", **{k.replace("__", "."): v for k, v in options.items()}}
    t = run_trace(g, parse_pipeline(passes, pipelines.PASSES.get, {}), values)
    assert t.failed is None, t.failed and t.failed.error
    return t


def work(g: Graph) -> list[tuple[str, str]]:
    return [(n.name, n.op) for n in map(g.node, g.root.nodes) if not n.is_source and n.op != "NetOutput"]


def const(b: GraphBuilder, name: str, shape: Any) -> Value:
    return b.const(name, shape, "float", **{VALUE: ConstantValue.of(np.ones(shape), "float")})


def conv_bn_relu(conv: str = "", relu: str = "") -> Graph:
    b = GraphBuilder("g")
    c = b.op("Conv2D", b.data("x", (1, 4, 8, 8), "float"), const(b, "w", (4, 4, 1, 1)), name="conv",
             attrs={"_user_stream_label": conv} if conv else {})  # fmt: skip
    y = b.op("BatchNorm", c, *(const(b, n, (4,)) for n in "abcd"), name="bn")
    return b.build(b.op("Relu", y, name="relu", attrs={"_user_stream_label": relu} if relu else {}))


def test_worked_example_6_names_types_and_originals() -> None:
    g = conv_bn_relu()
    after = fuse(g).final.graph
    assert work(after) == [("convrelu", "Conv2D")]
    n = after.node("convrelu")
    assert n.attrs["_datadump_original_op_names"] == ("conv", "bn", "relu")
    assert n.attrs["_datadump_original_op_types"] == ("Conv2D", "BatchNorm", "Relu")


def test_worked_example_6_labels_block_or_capture() -> None:
    t = fuse(conv_bn_relu("main", "aux"))
    assert [op for _, op in work(t.final.graph)] == ["Conv2D", "Relu"]
    assert "GX341" in {i.code for i in t.issues}
    t = fuse(conv_bn_relu("", "aux"))
    assert work(t.final.graph) == [("convrelu", "Conv2D")]
    assert t.final.graph.node("convrelu").attrs["_user_stream_label"] == "aux"
    assert [i.code for i in t.issues] == ["GX340"]


def test_a_captured_node_really_changes_stream() -> None:
    g = conv_bn_relu("", "aux")
    streams = {}
    for mode in ("off", "all"):
        t = run_trace(g, pipelines.static(), {"gx.fusion": mode})
        assert t.failed is None
        s = t.final
        assert s.streams is not None
        conv = next(n for n in s.graph if n.op == "Conv2D")
        relu = next(n for n in s.graph if "relu" in n.name)
        streams[mode] = int(s.streams.node[conv.id]) == int(s.streams.node[relu.id])
    assert streams == {"off": False, "all": True}


def test_names_above_512_characters_are_cut() -> None:
    b = GraphBuilder("g")
    c = b.op("Conv2D", b.data("x", (1, 4, 8, 8)), b.const("w", (4, 4, 1, 1)), name="c" * 510)
    after = fuse(b.build(b.op("Relu", c, name="relu"))).final.graph
    assert work(after)[0][0] == "c" * 510 + "_ub_fusion"
    assert after.node("c" * 510 + "_ub_fusion").attrs["_datadump_original_op_names"][1] == "relu"


def test_chain_behind_the_cube_stops_at_three_and_at_a_second_reader() -> None:
    b = GraphBuilder("g")
    y = b.op("MatMulV2", b.data("x", (64, 64)), b.const("w", (64, 64)), name="m")
    for k in range(5):
        y = b.op("Relu", y, name=f"r{k}")
    off = '{"Switch": {"UBFusion": {"TbeEltwiseFusionPass": "off"}}}'
    after = fuse(b.build(y), ge__fusionSwitchFile=off).final.graph
    assert [n for n, _ in work(after)] == ["mr0r1r2", "r3", "r4"]
    b = GraphBuilder("g")
    m = b.op("MatMulV2", b.data("x", (64, 64)), b.const("w", (64, 64)), name="m")
    after = fuse(b.build(b.op("Relu", m, name="a"), b.op("Sigmoid", m, name="b"))).final.graph
    assert len(work(after)) == 3


def chain(shape: tuple[int, ...] = (64, 1024), ops: int = 4) -> Graph:
    b = GraphBuilder("g")
    y = b.data("x", shape)
    for k in range(ops):
        y = b.op("Sigmoid", y, name=f"s{k}")
    return b.build(y)


def test_elementwise_chain_is_one_kernel_and_its_work_is_the_sum() -> None:
    g = chain()
    after = fuse(g).final.graph
    assert [n for n, _ in work(after)] == ["s0s1s2s3"]
    fused = after.node("s0s1s2s3")
    before_cost, after_cost = cost_table(g), cost_table(after)
    parts = [before_cost.of(g.node(f"s{k}").id) for k in range(4)]
    one = after_cost.of(fused.id)
    assert one.work is not None
    assert one.work.vops == sum(p.work.vops for p in parts if p.work)
    assert one.work.nbytes == 2 * 64 * 1024 * 2  # one read, one write: the three tensors between are gone
    assert one.ns < sum(p.ns for p in parts)


def test_gain_is_stated_and_is_what_the_model_says() -> None:
    g = chain(ops=2)
    t = fuse(g)
    d = next(d for s in t.steps for d in s.decisions if d.rule == "eltwise" and d.facet == "fusion")
    c = cost_table(g)
    alone = sum(c.of(g.node(n).id).ns for n in ("s0", "s1"))
    from ge_explorer.device.cost import kernel_ns

    work_of_pair = cost_table(t.final.graph).of(t.final.graph.node("s0s1").id).work
    assert work_of_pair is not None
    expected = (alone + 1250 - kernel_ns(work_of_pair, "AIV")) / 1000
    assert d.note is not None
    assert f"{expected:.1f} us" in d.note.en


def test_no_fusion_of_a_producer_with_two_readers() -> None:
    b = GraphBuilder("g")
    s = b.op("Sigmoid", b.data("x", (64, 1024)), name="s")
    g = b.build(b.op("Relu", s, name="r"), b.op("Tanh", s, name="t"))
    assert len(work(fuse(g).final.graph)) == 3


def test_expensive_producer_of_a_broadcast_is_not_repeated() -> None:
    b = GraphBuilder("g")
    small = b.op("Pow", b.data("x", (4096, 1)), b.data("e", (4096, 1)), name="pow", shape=(4096, 1))
    g = b.build(b.op("Add", small, b.data("y", (4096, 8192)), name="add", shape=(4096, 8192)))
    t = fuse(g)
    assert len(work(t.final.graph)) == 2
    assert any(d.rule == "no-gain" for s in t.steps for d in s.decisions)


def test_members_and_tiles_are_limited() -> None:
    after = fuse(chain(ops=20)).final.graph
    assert all(len(n.origin) <= 8 for n in after)
    b = GraphBuilder("g")
    y = b.data("x0", (512, 1024))
    for k in range(7):
        y = b.op("Add", y, b.data(f"x{k + 1}", (512, 1024)), name=f"a{k}")
    t = fuse(b.build(y))
    assert any(d.rule == "too-large" for s in t.steps for d in s.decisions)
    tensors = [len(n.inputs) + len(n.origin) for n in t.final.graph if n.origin]
    assert tensors
    assert all(2 * 16 * 1024 * k <= 192 * 1024 for k in tensors)


def test_reduction_joins_at_most_once() -> None:
    b = GraphBuilder("g")
    s = b.op("Sigmoid", b.data("x", (64, 1024)), name="s")
    m = b.op("ReduceMean", s, name="m", shape=(64, 1), attrs={"axes": [-1]})
    n = b.op("ReduceMean", b.op("Relu", m, name="r"), name="n", shape=(1, 1), attrs={"axes": [0]})
    t = fuse(b.build(n))
    assert all(sum(k == "ReduceMean" for k in n.attrs.get("_gx_fused_types", ())) <= 1 for n in t.final.graph)
    assert any(d.rule == "reduce-eltwise" for s in t.steps for d in s.decisions)


@pytest.mark.parametrize("name", ["TbeEltwiseFusionPass", "eltwise"])
def test_each_pass_has_its_switch(name: str) -> None:
    text = json.dumps({"Switch": {"UBFusion": {name: "off"}}})
    assert len(work(fuse(chain(), ge__fusionSwitchFile=text).final.graph)) == 4
    assert len(work(fuse(chain(), ge__optimizationSwitch=f"{name}:off").final.graph)) == 4


def test_rules_of_ours_are_off_unless_asked() -> None:
    assert len(work(fuse(chain(), gx__fusion="ge").final.graph)) == 4
    assert work(fuse(conv_bn_relu(), gx__fusion="ge").final.graph) == [("convrelu", "Conv2D")]


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_random_graphs_stay_acyclic_complete_and_settled(data: st.DataObject) -> None:
    b = GraphBuilder("g")
    values = [b.data("x", (64, 256)), b.data("y", (64, 256))]
    kinds = ["Add", "Mul", "Relu", "Sigmoid", "Cast", "MatMulV2", "ReduceMean"]
    made = []
    for k in range(data.draw(st.integers(2, 16))):
        op = data.draw(st.sampled_from(kinds))
        count = 2 if op in ("Add", "Mul", "MatMulV2") else 1
        ins = [values[data.draw(st.integers(0, len(values) - 1))] for _ in range(count)]
        label = data.draw(st.sampled_from(["", "", "", "a", "b"]))
        v = b.op(op, *ins, name=f"n{k}", shape=(64, 256), attrs={"_user_stream_label": label} if label else {})
        if made and data.draw(st.booleans()):
            b.control(made[data.draw(st.integers(0, len(made) - 1))], v)
        made.append(v)
        values.append(v)
    g = b.build()
    t = fuse(g)
    after = t.final.graph
    assert acyclic(after)
    names = [m for n in after for m in n.attrs.get("_datadump_original_op_names", (n.name,))]
    assert sorted(names) == sorted(n.name for n in g)  # every node is in exactly one kernel
    for n in after:
        labels = {
            g.node(m).attrs["_user_stream_label"]
            for m in n.attrs.get("_datadump_original_op_names", ())
            if "_user_stream_label" in g.node(m).attrs
        }
        assert len(labels) <= 1
        if labels:
            assert n.attrs["_user_stream_label"] == labels.pop()

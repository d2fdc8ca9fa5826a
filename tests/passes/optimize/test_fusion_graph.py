"""Graph fusion: what fuses, what stays, that values are kept, and what labels and limits do to it."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ge_explorer import pipelines
from ge_explorer.graph.builder import GraphBuilder, Value
from ge_explorer.graph.constant import VALUE, ConstantValue
from ge_explorer.graph.model import Graph
from ge_explorer.passes.optimize.fusion_table import RULES
from ge_explorer.trace.pipeline import parse_pipeline
from ge_explorer.trace.runner import run_trace
from ge_explorer.trace.trace import Trace
from tests.passes.optimize.numpy_graph import evaluate

RNG = np.random.default_rng(7)


def fuse(g: Graph, **options: str) -> Trace:
    t = run_trace(g, parse_pipeline("fuse-graph", pipelines.PASSES.get, {}), {"gx.fusion": "all", **_keys(options)})
    assert t.failed is None, t.failed and t.failed.error
    return t


def _keys(options: dict[str, str]) -> dict[str, str]:
    return {k.replace("__", "."): v for k, v in options.items()}


def const(b: GraphBuilder, name: str, values: Any, dtype: str = "float") -> Value:
    a = np.asarray(values)
    return b.const(name, a.shape, dtype, **{VALUE: ConstantValue.of(a, dtype)})


def work(g: Graph) -> list[str]:
    return [n.op for n in map(g.node, g.root.nodes) if not n.is_source and n.op != "NetOutput"]


def same(before: Graph, after: Graph, **shapes: tuple[int, ...]) -> None:
    feeds = {k: RNG.normal(size=s) for k, s in shapes.items()}
    for x, y in zip(evaluate(before, feeds), evaluate(after, feeds), strict=True):
        np.testing.assert_allclose(x, y, rtol=2e-5, atol=2e-5)


def conv_bn(
    *, bias: bool = True, mid: bool = False, label: tuple[str, str] = ("", ""), attrs: dict[str, Any] | None = None
) -> Graph:
    b = GraphBuilder("g")
    x = b.data("x", (2, 3, 6, 6), "float")
    ins = [x, const(b, "w", RNG.normal(size=(4, 3, 3, 3)))]
    if bias:
        ins.append(const(b, "bias", RNG.normal(size=4)))
    first = {"_user_stream_label": label[0]} if label[0] else {}
    second = {"_user_stream_label": label[1]} if label[1] else {}
    c = b.op("Conv2D", *ins, name="conv", shape=(2, 4, 6, 6), attrs={"pads": [1, 1, 1, 1], **first, **(attrs or {})})
    p = [const(b, n, RNG.uniform(0.5, 2, 4)) for n in ("gamma", "beta", "mean", "var")]
    y = b.op("BatchNorm", c, *p, name="bn", attrs={"epsilon": 1e-3, **second})
    r = b.op("Relu", y, name="relu")
    return b.build(r, c) if mid else b.build(r)


@pytest.mark.parametrize("bias", [True, False])
def test_conv_bn_becomes_conv_with_the_same_values(bias: bool) -> None:
    g = conv_bn(bias=bias)
    after = fuse(g).final.graph
    assert work(after) == ["Conv2D", "Relu"]
    n = after.node("conv")
    assert n.attrs["_datadump_original_op_names"] == ("conv", "bn")
    assert n.attrs["_datadump_original_op_types"] == ("Conv2D", "BatchNorm")
    assert set(n.origin) == {g.node("conv").id, g.node("bn").id}
    assert len([c for c in after if c.op == "Const"]) == 2  # the six old constants are gone
    same(g, after, x=(2, 3, 6, 6))


def test_weights_follow_the_formula_of_worked_example_6() -> None:
    g = conv_bn()
    v = {n.name: n.attrs[VALUE].array().astype(float) for n in g if n.op == "Const"}
    factor = v["gamma"] / np.sqrt(v["var"] + 1e-3)
    after = fuse(g).final.graph
    w, b = (
        after.node(after.tensor(t).producer).attrs[VALUE].array()
        for t in after.node("conv").inputs[1:]
        if t is not None
    )
    np.testing.assert_allclose(w, v["w"] * factor[:, None, None, None], rtol=1e-6)
    np.testing.assert_allclose(b, (v["bias"] - v["mean"]) * factor + v["beta"], rtol=1e-5, atol=1e-6)


def test_a_result_read_elsewhere_stops_the_fold() -> None:
    assert work(fuse(conv_bn(mid=True)).final.graph) == ["Conv2D", "BatchNorm", "Relu"]


def test_large_weights_fold_without_values() -> None:
    b = GraphBuilder("g")
    c = b.op("Conv2D", b.data("x", (1, 64, 8, 8)), b.const("w", (64, 64, 3, 3)), name="conv", shape=(1, 64, 8, 8))
    y = b.op("BatchNorm", c, *(b.const(n, (64,)) for n in "abcd"), name="bn")
    after = fuse(b.build(y)).final.graph
    assert work(after) == ["Conv2D"]
    made = after.node(after.tensor(after.node("conv").inputs[1] or 0).producer)
    assert after.tensor(made.outputs[0]).shape == (64, 64, 3, 3)
    assert VALUE not in made.attrs


def test_different_labels_block_and_are_reported() -> None:
    t = fuse(conv_bn(label=("main", "aux")))
    assert work(t.final.graph) == ["Conv2D", "BatchNorm", "Relu"]
    assert [i.code for i in t.issues] == ["GX341"]
    d = next(d for s in t.steps for d in s.decisions if d.rule == "label")
    assert not d.decisive
    assert "main ≠ aux" in d.note.en  # type: ignore[union-attr]


def test_an_unlabelled_node_is_captured_by_a_label() -> None:
    t = fuse(conv_bn(label=("", "aux")))
    n = t.final.graph.node("conv")
    assert n.attrs["_user_stream_label"] == "aux"
    assert [i.code for i in t.issues] == ["GX340"]
    assert "aux" in t.issues[0].message.en
    d = [d for s in t.steps for d in s.decisions if d.rule == "captured"]
    assert [(x.subject.id, x.after) for x in d] == [(t.initial.graph.node("conv").id, "aux")]


def test_capture_can_be_refused() -> None:
    t = fuse(conv_bn(label=("", "aux")), gx__labelCapture="off")
    assert "BatchNorm" in work(t.final.graph)
    assert [i.code for i in t.issues] == ["GX341"]


def test_core_limits_block_and_spread_as_labels_do() -> None:
    g = conv_bn(attrs={"_op_aicore_num": "8"})
    t = fuse(g)
    assert t.final.graph.node("conv").attrs["_op_aicore_num"] == "8"
    assert [i.code for i in t.issues] == ["GX343"]
    other = g.with_attrs({g.node("bn").id: {"_op_aicore_num": "16"}})
    assert "BatchNorm" in work(fuse(other).final.graph)


def test_one_mixed_inner_label_stops_the_legacy_pattern_for_the_graph() -> None:
    b = GraphBuilder("g")
    x = b.data("x", (1, 4, 4, 4), "float")
    for k in range(2):
        c = b.op("Conv2D", x, const(b, f"w{k}", np.ones((4, 4, 1, 1))), name=f"conv{k}",
                 attrs={"_stream_label": "a"} if k else {})  # fmt: skip
        x = b.op("BatchNorm", c, *(const(b, f"{n}{k}", np.ones(4)) for n in "abcd"), name=f"bn{k}")
    t = fuse(b.build(x))
    assert work(t.final.graph) == ["Conv2D", "BatchNorm"] * 2
    assert "GX342" in {i.code for i in t.issues}


def test_chains_fold_one_after_another() -> None:
    b = GraphBuilder("g")
    x = b.data("x", (1, 3, 5, 5), "float")
    for k in range(3):
        c = b.op("Conv2D", x, const(b, f"w{k}", RNG.normal(size=(3, 3, 1, 1))), name=f"conv{k}", shape=(1, 3, 5, 5))
        x = b.op("BatchNorm", c, *(const(b, f"{n}{k}", RNG.uniform(0.5, 1, 3)) for n in "abcd"), name=f"bn{k}")
        x = b.op("Mul", x, const(b, f"s{k}", RNG.normal(size=(3, 1, 1))), name=f"mul{k}")
    g = b.build(x)
    after = fuse(g).final.graph
    assert work(after) == ["Conv2D"] * 3
    assert after.node("conv1").attrs["_datadump_original_op_names"] == ("conv1", "bn1", "mul1")
    same(g, after, x=(1, 3, 5, 5))


@pytest.mark.parametrize(
    ("shape", "biased", "want"),
    [((4, 1, 1), False, ["Conv2D"]), ((4, 1, 1), True, ["Conv2D"]), ((1, 1, 6), False, ["Conv2D", "Add"])],
)
def test_a_channel_constant_becomes_the_bias_but_a_row_does_not(
    shape: tuple[int, ...], biased: bool, want: list[str]
) -> None:
    b = GraphBuilder("g")
    x, w = b.data("x", (1, 4, 6, 6), "float"), const(b, "w", RNG.normal(size=(4, 4, 1, 1)))
    c = b.op("Conv2D", x, w, *([const(b, "own", RNG.normal(size=4))] if biased else []), name="conv")
    g = b.build(b.op("Add", const(b, "k", RNG.normal(size=shape)), c, name="add"))
    after = fuse(g).final.graph
    assert work(after) == want
    same(g, after, x=(1, 4, 6, 6))


def test_zero_padding_joins_the_convolution() -> None:
    b = GraphBuilder("g")
    p = b.op(
        "PadV3",
        b.data("x", (1, 2, 4, 4), "float"),
        name="pad",
        shape=(1, 2, 7, 6),
        attrs={"pads": [0, 0, 2, 1, 0, 0, 1, 1]},
    )
    g = b.build(b.op("Conv2D", p, const(b, "w", RNG.normal(size=(2, 2, 3, 3))), name="conv", shape=(1, 2, 5, 4)))
    after = fuse(g).final.graph
    assert work(after) == ["Conv2D"]
    assert after.node("conv").attrs["pads"] == [2, 1, 1, 1]
    same(g, after, x=(1, 2, 4, 4))


def test_matmul_bias_and_transposes() -> None:
    b = GraphBuilder("g")
    x, y = b.data("x", (5, 4), "float"), b.data("y", (3, 4), "float")
    m = b.op(
        "MatMulV2", x, b.op("Transpose", y, name="t", shape=(4, 3), attrs={"perm": [1, 0]}), name="mm", shape=(5, 3)
    )
    g = b.build(b.op("Add", m, const(b, "k", RNG.normal(size=3)), name="add"))
    after = fuse(g).final.graph
    assert work(after) == ["MatMulV2"]
    assert after.node("mm").attrs["transpose_x2"] is True
    assert after.node("mm").attrs["_datadump_original_op_names"] == ("t", "mm", "add")
    same(g, after, x=(5, 4), y=(3, 4))


def gelu(b: GraphBuilder, x: Value, form: str) -> Value:
    def op(kind: str, *ins: Value) -> Value:
        return b.op(kind, *ins)

    half, one = const(b, f"half{form}", 0.5), const(b, f"one{form}", 1.0)
    if form.startswith("erf"):
        gate = op("Add", op("Erf", op("RealDiv", x, const(b, f"r{form}", math.sqrt(2)))), one)
    else:
        cube = op("Pow", x, const(b, f"three{form}", 3.0))
        inner = op("Add", x, op("Mul", cube, const(b, f"k{form}", 0.044715)))
        gate = op("Add", one, op("Tanh", op("Mul", inner, const(b, f"p{form}", math.sqrt(2 / math.pi)))))
    if form.endswith("1"):
        return op("Mul", op("Mul", x, gate), half)
    return op("Mul", op("Mul", half, x), gate) if form.endswith("2") else op("Mul", x, op("Mul", gate, half))


@pytest.mark.parametrize("form", ["erf1", "erf2", "erf3", "tanh1", "tanh2", "tanh3"])
def test_gelu_in_every_spelling(form: str) -> None:
    b = GraphBuilder("g")
    g = b.build(gelu(b, b.data("x", (4, 8), "float"), form))
    after = fuse(g).final.graph
    assert work(after) == ["Gelu"]
    if form.startswith("erf"):
        same(g, after, x=(4, 8))


def test_a_wrong_constant_is_no_gelu() -> None:
    b = GraphBuilder("g")
    x = b.data("x", (4, 8), "float")
    gate = b.op("Add", b.op("Erf", b.op("RealDiv", x, const(b, "r", 1.5))), const(b, "one", 1.0))
    after = fuse(b.build(b.op("Mul", b.op("Mul", x, gate), const(b, "h", 0.5)))).final.graph
    assert "Gelu" not in work(after)


@pytest.mark.parametrize("square", ["Pow", "Mul", "Square"])
def test_layer_norm_written_out(square: str) -> None:
    b = GraphBuilder("g")
    x = b.data("x", (3, 8), "float")
    axes = {"axes": [-1], "keepdims": 1}
    c = b.op("Sub", x, b.op("ReduceMean", x, shape=(3, 1), attrs=axes), name="sub")
    sq = b.op("Pow", c, const(b, "two", 2.0)) if square == "Pow" else b.op(square, *[c] * (2 if square == "Mul" else 1))
    d = b.op("Sqrt", b.op("Add", b.op("ReduceMean", sq, shape=(3, 1), attrs=axes), const(b, "eps", 1e-5)))
    y = b.op("Mul", b.op("RealDiv", c, d), const(b, "gamma", RNG.normal(size=8)))
    g = b.build(b.op("Add", y, const(b, "beta", RNG.normal(size=8)), name="out"))
    after = fuse(g).final.graph
    assert work(after) == ["LayerNorm"]
    assert after.node("out").attrs["begin_norm_axis"] == 1
    same(g, after, x=(3, 8))


def test_rms_norm_and_the_add_before_it() -> None:
    b = GraphBuilder("g")
    x, r = b.data("x", (3, 8), "float"), b.data("r", (3, 8), "float")
    s = b.op("Add", x, r, name="sum")
    mean = b.op("ReduceMean", b.op("Pow", s, const(b, "two", 2.0)), shape=(3, 1), attrs={"axes": [-1], "keepdims": 1})
    inv = b.op("Reciprocal", b.op("Sqrt", b.op("Add", mean, const(b, "eps", 1e-6))))
    y = b.op("Mul", const(b, "gamma", RNG.normal(size=8)), b.op("Mul", s, inv), name="norm")
    g = b.build(y, b.op("Relu", s, name="skip"))
    after = fuse(g).final.graph
    assert sorted(work(after)) == ["AddRmsNorm", "Relu"]
    same(g, after, x=(3, 8), r=(3, 8))


@pytest.mark.parametrize("scaled", ["Mul", "RealDiv", ""])
@pytest.mark.parametrize("masked", [True, False])
def test_attention_is_one_kernel(scaled: str, masked: bool) -> None:
    b = GraphBuilder("g")
    q, k, v = (b.data(n, (1, 2, 4, 8), "float") for n in "qkv")
    s = b.op("BatchMatMulV2", q, k, name="qk", shape=(1, 2, 4, 4), attrs={"adj_x2": True})
    s = b.op(scaled, s, const(b, "s", 8.0)) if scaled else s
    s = b.op("Add", s, b.data("mask", (1, 1, 4, 4), "float")) if masked else s
    g = b.build(
        b.op(
            "BatchMatMulV2",
            b.op("SoftmaxV2", s, name="softmax", attrs={"axes": [-1]}),
            v,
            name="pv",
            shape=(1, 2, 4, 8),
        )
    )
    after = fuse(g).final.graph
    assert work(after) == ["FusedInferAttentionScore"]
    shapes: dict[str, tuple[int, ...]] = dict.fromkeys("qkv", (1, 2, 4, 8))
    same(g, after, **shapes, **({"mask": (1, 1, 4, 4)} if masked else {}))


def test_slices_that_tile_an_axis_are_one_split() -> None:
    for cuts, want in (([0, 2, 5, 8], ["SplitVD"]), ([0, 2, 5, 7], ["StridedSliceV2"] * 3)):
        b = GraphBuilder("g")
        x = b.data("x", (3, 8), "float")
        parts = []
        for k, (i, j) in enumerate(itertools.pairwise(cuts)):
            ints = [const(b, f"{n}{k}", [v], "int64") for n, v in (("b", i), ("e", j), ("a", 1))]
            parts.append(b.op("StridedSliceV2", x, *ints, name=f"slice{k}", shape=(3, j - i)))
        g = b.build(*reversed(parts))
        after = fuse(g).final.graph
        assert work(after) == want
        same(g, after, x=(3, 8))


def test_two_fusions_that_would_wait_for_each_other_do_not_both_happen() -> None:
    """A -> relu' and B -> relu'' cross: fused pairs would each need the other first."""
    b = GraphBuilder("g")
    x = b.data("x", (1, 2, 3, 3), "float")
    convs = [b.op("Conv2D", x, const(b, f"w{k}", np.ones((2, 2, 1, 1))), name=f"conv{k}") for k in range(2)]
    muls = [b.op("Mul", c, const(b, f"s{k}", 2.0), name=f"mul{k}") for k, c in enumerate(convs)]
    b.control(convs[0], muls[1])
    b.control(convs[1], muls[0])
    after = fuse(b.build(*muls)).final.graph
    assert sorted(work(after)) == ["Conv2D", "Conv2D", "Mul"]


def test_control_edges_of_members_survive() -> None:
    b = GraphBuilder("g")
    first = b.op("Relu", b.data("z", (4,), "float"), name="first")
    c = b.op(
        "Conv2D", b.data("x", (1, 2, 3, 3), "float"), const(b, "w", np.ones((2, 2, 1, 1))), name="conv", control=[first]
    )
    m = b.op("Mul", c, const(b, "s", 2.0), name="mul")
    last = b.op("Relu", first, name="last", control=[m])
    after = fuse(b.build(m, last)).final.graph
    conv = after.node("conv")
    assert conv.control_in == (after.node("first").id,)
    assert after.node("last").control_in == (conv.id,)


# ---------------------------------------------------------------- switches
def test_default_touches_imported_models_only() -> None:
    g = conv_bn()
    t = run_trace(g, parse_pipeline("fuse-graph", pipelines.PASSES.get, {}), {})
    assert t.steps[0].status == "skipped"
    assert work(fuse(g, gx__fusion="ge").final.graph) == ["Conv2D", "Relu"]
    assert work(fuse(g, gx__fusion="off").final.graph) == ["Conv2D", "BatchNorm", "Relu"]


def test_switch_file_in_both_forms(tmp_path: Path) -> None:
    g = conv_bn()
    new, old = tmp_path / "new.cfg", tmp_path / "old.cfg"
    new.write_text(
        json.dumps({"Switch": {"GraphFusion": {"ConvBatchnormFusionPass": "off"}, "UBFusion": {"ALL": "on"}}})
    )
    old.write_text("ConvBatchnormFusionPass:off\n")
    for file in (new, old):
        assert "BatchNorm" in work(fuse(g, ge__fusionSwitchFile=str(file)).final.graph)
    text = json.dumps({"Switch": {"GraphFusion": {"ALL": "off", "ConvBatchnormFusionPass": "on"}}})
    assert "BatchNorm" not in work(fuse(g, ge__fusionSwitchFile=text).final.graph)


def test_optimisation_switch_beats_the_file_and_o1_turns_fusion_off() -> None:
    g = conv_bn()
    off = json.dumps({"Switch": {"GraphFusion": {"ALL": "off"}}})
    on = {"ge__fusionSwitchFile": off, "ge__optimizationSwitch": "ConvBatchnormFusionPass:on;nonsense"}
    assert "BatchNorm" not in work(fuse(g, **on).final.graph)
    assert "BatchNorm" in work(fuse(g, ge__oo__level="O1").final.graph)
    kept = json.dumps({"ExceptionalPassOfO1Level": ["ConvBatchnormFusionPass"]})
    assert "BatchNorm" not in work(fuse(g, ge__oo__level="O1", ge__fusionSwitchFile=kept).final.graph)


@pytest.mark.parametrize(
    "text", ["{", '{"Switch": 1}', '{"Switch": {"GraphFusion": {"A": "yes"}}}', "/no/such/file", "[1]"]
)
def test_bad_switches_are_refused_by_name(text: str) -> None:
    t = run_trace(conv_bn(), parse_pipeline("fuse-graph", pipelines.PASSES.get, {}), {"ge.fusionSwitchFile": text})
    assert t.failed is not None
    assert "ge.fusionSwitchFile" in str(t.failed.error)


def test_every_rule_has_its_own_switch_and_honest_status() -> None:
    assert len({r.id for r in RULES}) == len(RULES) >= 16
    for r in RULES:
        assert bool(r.ge_name) == (r.status != "A"), r.id
        assert r.ge_name or r.own_name.startswith("Explorer"), r.id
        assert r.text.en
        assert r.text.zh


def test_fusing_twice_changes_nothing_more() -> None:
    once = fuse(conv_bn()).final.graph
    assert fuse(once).final.graph is once

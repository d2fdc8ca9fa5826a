"""Constant folding: what folds, what stays, and that values are right (checked against ONNX's reference evaluator)."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ge_explorer import pipelines
from ge_explorer.graph.builder import GraphBuilder
from ge_explorer.graph.constant import VALUE, ConstantValue
from ge_explorer.graph.model import Graph
from ge_explorer.loaders import load
from ge_explorer.trace.pipeline import parse_pipeline
from ge_explorer.trace.runner import run_trace
from ge_explorer.trace.trace import Trace

onnx = pytest.importorskip("onnx")
from onnx import helper, numpy_helper  # noqa: E402

LIGHT = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"


def fold(g: Graph, options: dict[str, str] | None = None) -> Trace:
    t = run_trace(g, parse_pipeline("fold-constants", pipelines.PASSES.get, {}), options or {})
    assert t.failed is None, t.failed and t.failed.error
    return t


def const(b: GraphBuilder, name: str, values: Any, dtype: str) -> Any:
    a = np.asarray(values)
    return b.const(name, a.shape, dtype, **{VALUE: ConstantValue.of(a, dtype)})


def test_resnet50_loses_exactly_its_239_fills() -> None:
    r = load(LIGHT / "light_resnet50.onnx")
    assert r.report.counts["types"]["ConstantOfShape"] == 239
    g = fold(r.graph).final.graph
    made = [n for n in g if n.attrs.get("_is_from_constant_folding")]
    assert len(made) == 239
    assert not [n for n in g if n.op == "Fill"]
    assert all(len(n.origin) == 1 and r.graph.node(n.origin[0]).source_op == "ConstantOfShape" for n in made)
    assert sum(not n.is_source for n in g) == 415 - 239 + 1


def test_every_reader_keeps_its_input_shapes() -> None:
    before = load(LIGHT / "light_inception_v1.onnx").graph
    after = fold(before).final.graph
    for n in after:
        if n.id < before.id_bound and not n.is_source:
            old = before.node(n.id)
            assert len(old.inputs) == len(n.inputs)
            for a, b in zip(old.inputs, n.inputs, strict=True):
                assert a is not None
                assert b is not None
                assert before.tensor(a).shape == after.tensor(b).shape


def test_shape_chain_collapses_and_its_value_is_right() -> None:
    value = helper.make_tensor_value_info
    init = [numpy_helper.from_array(np.array(v, np.int64), n) for n, v in (("i", 1), ("ax", [0]), ("m", [-1]))]
    nodes = [
        helper.make_node("Shape", ["x"], ["s"], name="shape"),
        helper.make_node("Gather", ["s", "i"], ["g"], name="gather"),
        helper.make_node("Unsqueeze", ["g", "ax"], ["u"], name="unsqueeze"),
        helper.make_node("Mul", ["u", "u"], ["q"], name="mul"),
        helper.make_node("Concat", ["m", "q"], ["t"], name="concat", axis=0),
        helper.make_node("Reshape", ["y", "t"], ["z"], name="reshape"),
    ]
    g = helper.make_graph(nodes, "g", [value("x", 1, [2, 6]), value("y", 1, [72])], [value("z", 1, None)], init)
    m = helper.make_model(g, opset_imports=[helper.make_opsetid("", 17)])
    after = fold(load(m).graph).final.graph
    assert sorted(n.name for n in after if not n.is_source) == ["Node_Output", "reshape"]
    target = after.node(after.tensor(after.node("reshape").inputs[1] or 0).producer)
    assert target.attrs[VALUE].array().tolist() == [-1, 36]


@pytest.mark.parametrize("seed", range(12))
def test_values_agree_with_the_reference_evaluator(seed: int) -> None:
    """Random integer arithmetic on constants: the folded value equals what onnx.reference computes."""
    from onnx.reference import ReferenceEvaluator

    r = np.random.default_rng(seed)
    init = [numpy_helper.from_array(r.integers(-9, 9, (2, 3)).astype(np.int64), f"c{k}") for k in range(3)]
    names, nodes = [f"c{k}" for k in range(3)], []
    for k in range(8):
        op = str(r.choice(["Add", "Sub", "Mul", "Transpose2", "Max", "Neg", "Abs", "Div", "Mod", "Concat2"]))
        a, b = (str(x) for x in r.choice(names, 2))
        out = f"t{k}"
        if op == "Transpose2":
            nodes.append(helper.make_node("Transpose", [a], [f"{out}_a"], perm=[1, 0]))
            nodes.append(helper.make_node("Transpose", [f"{out}_a"], [out]))
        elif op == "Concat2":
            axes = numpy_helper.from_array(np.array([1], np.int64), f"ax{k}")
            ends = numpy_helper.from_array(np.array([-1], np.int64), f"en{k}")
            init += [axes, ends, numpy_helper.from_array(np.array([-4], np.int64), f"st{k}")]
            nodes.append(helper.make_node("Concat", [a, b], [f"{out}_c"], axis=1))
            nodes.append(helper.make_node("Slice", [f"{out}_c", f"st{k}", f"en{k}", f"ax{k}"], [out]))
        elif op in ("Neg", "Abs"):
            nodes.append(helper.make_node(op, [a], [out]))
        else:
            nodes.append(helper.make_node(op, [a, b], [out]))
        names.append(out)
    nodes.append(helper.make_node("Foo", [names[-1]], ["z"], domain="my", name="keep"))
    g = helper.make_graph(nodes, "g", [], [helper.make_tensor_value_info("z", 7, [2, 3])], init)
    m = helper.make_model(g, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("my", 1)])
    after = fold(load(m).graph).final.graph
    source = after.node(after.tensor(after.node("keep").inputs[0] or 0).producer)
    if source.op != "Const":
        assert any(n.source_op == "Div" or n.source_op == "Mod" for n in after), (
            "only a division by zero may stop folding"
        )
        return
    h = helper.make_graph(nodes[:-1], "g", [], [helper.make_tensor_value_info(names[-1], 7, [2, 3])], init)
    want = ReferenceEvaluator(helper.make_model(h, opset_imports=[helper.make_opsetid("", 17)])).run(None, {})[0]
    assert source.attrs[VALUE].array().tolist() == want.tolist()


def test_constant_nodes_become_const_only_when_the_step_is_on() -> None:
    node = helper.make_node("Constant", [], ["c"], name="c", value=numpy_helper.from_array(np.ones(3, np.float32)))
    add = helper.make_node("Add", ["x", "c"], ["y"], name="a")
    info = helper.make_tensor_value_info
    g = load(helper.make_model(helper.make_graph([node, add], "g", [info("x", 1, [3])], [info("y", 1, [3])]))).graph
    assert g.node("c").op == "Constant"
    assert fold(g).final.graph.node("c").op == "Const"
    off = run_trace(g, parse_pipeline("-fold-constants", pipelines.PASSES.get, {}), {})
    assert off.final.graph.node("c").op == "Constant"


def test_large_results_keep_no_values() -> None:
    b = GraphBuilder("g")
    shape = const(b, "shape", [4096, 4096], "int64")
    big = b.op("Fill", shape, name="fill", shape=(4096, 4096), dtype="float")
    g = fold(b.build(b.op("Relu", big, name="r"))).final.graph
    made = g.node("fill_const")
    assert VALUE not in made.attrs
    assert g.tensor(made.outputs[0]).nbytes == 4096 * 4096 * 4


def test_unknown_shape_and_user_marks_stop_folding() -> None:
    b = GraphBuilder("g")
    c = b.const("c", (4,), "float")
    open_ = b.op("Cast", c, name="open", shape=(None,))
    marked = b.op("Mul", c, c, name="marked", attrs={"_do_not_constant_folding": True})
    t = fold(b.build(open_, marked))
    assert t.steps[0].status == "unchanged"
    assert t.steps[0].ge_status == "NOT_CHANGED"


def test_memory_priority_keeps_shared_constants() -> None:
    b = GraphBuilder("g")
    c = b.const("c", (16,), "float")
    g = b.build(b.op("Cast", c, name="a"), b.op("Neg", c, name="b"))
    assert fold(g).steps[0].status == "changed"
    assert fold(g, {"ge.exec.memoryOptimizationPolicy": "MemoryPriority"}).steps[0].status == "unchanged"


def test_control_order_survives_folding() -> None:
    b = GraphBuilder("g")
    x = b.data("x", (4,), "float")
    first = b.op("Relu", x, name="first")
    c = b.const("c", (4,), "float")
    cast = b.op("Neg", c, name="cast", control=[first])
    last = b.op("Add", x, cast, name="last")
    other = b.op("Tanh", x, name="other", control=[cast])
    g = fold(b.build(last, other)).final.graph
    names = {(g.node(a).name, g.node(d).name) for a, d in g.control}
    assert names == {("first", "cast_const"), ("cast_const", "other")}


def test_folded_constants_stand_in_front() -> None:
    b = GraphBuilder("g")
    c = b.const("c", (4,), "float")
    x = b.data("x", (4,), "float")
    y = b.op("Add", b.op("Add", x, b.op("Neg", c, name="n1"), name="a1"), b.op("Abs", c, name="n2"), name="a2")
    g = fold(b.build(y)).final.graph
    assert [g.node(i).name for i in g.root.nodes] == ["n2_const", "n1_const", "x", "a1", "a2", "Node_Output"]


def test_why_names_the_rule_and_the_source() -> None:
    t = fold(load(LIGHT / "light_vgg19.onnx").graph)
    made = next(n for n in t.final.graph if n.attrs.get("_is_from_constant_folding"))
    (entry,) = t.why(made.name)
    assert entry.decision.rule == "fill"
    assert entry.decision.evidence[0].id == made.origin[0]

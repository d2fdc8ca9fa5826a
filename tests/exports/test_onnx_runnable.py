"""Optimised graphs compute what the original computes: onnx's reference evaluator on small models, onnxruntime on networks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ge_explorer import pipelines
from ge_explorer.errors import InputError
from ge_explorer.exports.runnable import runnable_model
from ge_explorer.graph.builder import GraphBuilder
from ge_explorer.loaders import load
from tests.passes.optimize.helpers import NODE_LEVEL, compute, run

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402

LIGHT = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
SHAPES = [(4, 6), (24,), (2, 3, 4), (1, 24), (1, 4, 1, 6)]


def model(nodes: list, inputs: dict, outputs: list[str], weights: dict, opset: int = 17) -> onnx.ModelProto:
    info = [helper.make_tensor_value_info(n, t, s) for n, (t, s) in inputs.items()]
    outs = [helper.make_tensor_value_info(n, 0, None) for n in outputs]
    init = [numpy_helper.from_array(np.asarray(v), n) for n, v in weights.items()]
    m = helper.make_model(
        helper.make_graph(nodes, "g", info, outs, init), opset_imports=[helper.make_opsetid("", opset)], ir_version=8
    )
    return onnx.shape_inference.infer_shapes(m)


def random_model(seed: int) -> onnx.ModelProto:
    """Shape-correct network with the operators the passes look for; float32, results of small whole numbers."""
    r = np.random.default_rng(seed)
    shape0 = SHAPES[r.integers(len(SHAPES))]
    pool, nodes, weights = [("x", shape0)], [], {}

    def const(values: object) -> str:
        name = f"w{len(weights)}"
        weights[name] = np.asarray(values)
        return name

    pool.append((const(r.integers(-3, 3, shape0).astype(np.float32)), shape0))
    for k in range(14):
        v, shape = pool[r.integers(max(0, len(pool) - 6), len(pool))]
        op = str(r.choice([
            "Neg", "Abs", "Identity", "Reshape", "Transpose", "Cast", "Add", "Mul", "Unsqueeze", "Squeeze", "ShapeOf", "Dropout",
            "Flatten", "ConcatSelf",
        ]))  # fmt: skip
        out, made = f"t{k}", shape
        if op in ("Add", "Mul"):
            same = [n for n, s in pool if s == shape]
            nodes.append(helper.make_node(op, [v, str(r.choice(same))], [out]))
        elif op == "Reshape":
            made = SHAPES[r.integers(len(SHAPES))] if np.prod(shape) == 24 else (int(np.prod(shape)),)
            nodes.append(helper.make_node(op, [v, const(np.array(made, np.int64))], [out]))
        elif op == "Transpose":
            perm = r.permutation(len(shape)).tolist()
            made = tuple(shape[p] for p in perm)
            nodes.append(helper.make_node(op, [v], [out], perm=perm))
        elif op == "Cast":
            middle = [TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.INT32][r.integers(3)]
            nodes.append(helper.make_node("Cast", [v], [f"{out}_c"], to=middle))
            nodes.append(helper.make_node("Cast", [f"{out}_c"], [out], to=TensorProto.FLOAT))
        elif op == "Unsqueeze" and len(shape) < 5:
            made = (1, *shape)
            nodes.append(helper.make_node(op, [v, const(np.array([0], np.int64))], [out]))
        elif op == "Squeeze" and shape and shape[0] == 1:
            made = shape[1:]
            nodes.append(helper.make_node(op, [v, const(np.array([0], np.int64))], [out]))
        elif op == "ShapeOf":
            nodes.append(helper.make_node("Shape", [v], [f"{out}_s"]))
            nodes.append(
                helper.make_node("Reshape", ["x", f"{out}_s"] if np.prod(shape) == 24 else [v, f"{out}_s"], [out])
            )
        elif op == "Flatten" and len(shape) > 1:
            made = (shape[0], int(np.prod(shape[1:])))
            nodes.append(helper.make_node(op, [v], [out], axis=1))
        elif op == "ConcatSelf" and np.prod(shape) < 100 and shape:
            made = (shape[0] * 2, *shape[1:])
            nodes.append(helper.make_node("Concat", [v, v], [out], axis=0))
        else:
            nodes.append(helper.make_node(op if op in ("Neg", "Abs", "Identity", "Dropout") else "Neg", [v], [out]))
        pool.append((out, made))
    ends = list(dict.fromkeys(pool[i][0] for i in r.integers(len(pool) - 6, len(pool), 3)))
    return model(nodes, {"x": (TensorProto.FLOAT, shape0)}, ends, weights)


def feeds(m: onnx.ModelProto, seed: int = 0) -> dict[str, np.ndarray]:
    r = np.random.default_rng(seed)
    weights = {t.name for t in m.graph.initializer}
    return {
        v.name: r.integers(-3, 4, [d.dim_value for d in v.type.tensor_type.shape.dim]).astype(np.float32)
        for v in m.graph.input
        if v.name not in weights
    }


@pytest.mark.parametrize("seed", range(60))
def test_small_models_compute_the_same_after_every_step(seed: int) -> None:
    m = random_model(seed)
    g = load(m).graph
    want = ReferenceEvaluator(m).run(None, feeds(m))
    t = run(g)
    seen = None
    for s in t:
        if s.after.graph is seen:
            continue
        seen = s.after.graph
        got = ReferenceEvaluator(runnable_model(seen, model=m, before=g)).run(None, feeds(m))
        for a, b in zip(want, got, strict=True):
            assert a.dtype == b.dtype, s.name
            assert a.shape == b.shape, s.name
            assert np.array_equal(a, b), s.name
    assert len(compute(t.final.graph)) <= len(compute(g))


@pytest.mark.parametrize("name", sorted(p.name for p in LIGHT.glob("*.onnx")))
def test_networks_compute_the_same(name: str) -> None:
    ort = pytest.importorskip("onnxruntime")
    options = ort.SessionOptions()
    options.log_severity_level = 3

    def evaluate(x: onnx.ModelProto) -> list[np.ndarray]:
        session = ort.InferenceSession(x.SerializeToString(), options, providers=["CPUExecutionProvider"])
        return session.run(None, feeds(m))

    m = onnx.load(LIGHT / name)
    g = load(LIGHT / name).graph
    after = runnable_model(run(g).final.graph, model=m, before=g)
    onnx.checker.check_model(after)
    for a, b in zip(evaluate(m), evaluate(after), strict=True):
        assert np.allclose(a, b, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("value", [True, False])
@pytest.mark.parametrize("known", [True, False])
def test_bodies_and_captured_names_survive(value: bool, known: bool) -> None:
    def branch(name: str, op: str) -> onnx.GraphProto:
        node = helper.make_node(op, ["y", "x"], [f"{name}_out"])
        return helper.make_graph([node], name, [], [helper.make_tensor_value_info(f"{name}_out", 1, [4])])

    nodes = [
        helper.make_node("Neg", ["x"], ["y"]),
        helper.make_node("If", ["p"], ["z"], then_branch=branch("then", "Add"), else_branch=branch("else", "Mul")),
    ]
    inputs = {"x": (1, [4])} if known else {"x": (1, [4]), "p": (TensorProto.BOOL, [])}
    m = model(nodes, inputs, ["z"], {"p": np.array(value)} if known else {})
    given = {"x": np.arange(4, dtype=np.float32), **({} if known else {"p": np.array(value)})}
    g = load(m).graph
    after = run(g).final.graph
    assert any(n.op == "If" for n in after) != known
    got = ReferenceEvaluator(runnable_model(after, model=m, before=g)).run(None, given)[0]
    assert got.tolist() == ReferenceEvaluator(m).run(None, given)[0].tolist()


def test_what_onnx_cannot_say_is_an_error() -> None:
    b = GraphBuilder("g")
    with pytest.raises(InputError, match="no operator"):
        runnable_model(b.build(b.op("Foo", b.data("x", (4,), "float"))))
    b = GraphBuilder("g")
    with pytest.raises(InputError, match="value of a constant"):
        runnable_model(b.build(b.op("Identity", b.const("c", (4,), "float"))))


def test_the_helpers_list_is_the_pipelines_order() -> None:
    ours = [i.pass_.name for i in pipelines.static() if i.pass_.chapter == "optimise" and i.pass_.name in NODE_LEVEL]
    assert ours == list(NODE_LEVEL)

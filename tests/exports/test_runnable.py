"""Any step of a compilation as a model that runs: fused nodes as functions, new weights, errors, the command line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import ge_explorer as gx
from ge_explorer.cli import main
from ge_explorer.errors import InputError, OptionError
from ge_explorer.exports.runnable import runnable_model, to_runnable_onnx
from ge_explorer.graph.builder import GraphBuilder
from ge_explorer.loaders import load

onnx = pytest.importorskip("onnx")
from onnx import helper, numpy_helper  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402


def conv_bn_relu(channels: int = 4, size: int = 3) -> onnx.ModelProto:
    """Conv → BatchNormalization → Relu with random weights."""
    r = np.random.default_rng(0)
    weights = {
        "w": r.normal(size=(channels, channels, size, size)), "b": r.normal(size=channels), "g": r.normal(size=channels),
        "s": r.normal(size=channels), "m": r.normal(size=channels), "v": r.uniform(0.5, 2, channels),
    }  # fmt: skip
    nodes = [
        helper.make_node("Conv", ["x", "w", "b"], ["c"], name="conv", kernel_shape=[size, size]),
        helper.make_node("BatchNormalization", ["c", "g", "s", "m", "v"], ["n"], name="bn", epsilon=0.01),
        helper.make_node("Relu", ["n"], ["y"], name="relu"),
    ]
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", 1, [1, channels, 6, 6])],
        [helper.make_tensor_value_info("y", 1, None)],
        [numpy_helper.from_array(v.astype(np.float32), k) for k, v in weights.items()],
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def run(model: onnx.ModelProto) -> np.ndarray:
    x = np.random.default_rng(1).normal(size=[d.dim_value for d in model.graph.input[0].type.tensor_type.shape.dim])
    return ReferenceEvaluator(model).run(None, {"x": x.astype(np.float32)})[0]


def close(a: onnx.ModelProto, b: onnx.ModelProto) -> bool:
    x, y = run(a), run(b)
    return np.allclose(x, y, rtol=1e-4, atol=1e-5 * np.abs(y).max())


@pytest.mark.parametrize("channels", [4, 64])
def test_a_fused_convolution_is_a_function_with_its_new_weights(channels: int) -> None:
    """64 channels: the weights are too large to be kept in the graph, so they are computed from the file."""
    model = conv_bn_relu(channels)
    trace = gx.open_session(load(model).graph).trace
    after = to_runnable_onnx(trace, None, model)
    onnx.checker.check_model(after)
    assert [(n.op_type, n.domain, n.name) for n in after.graph.node] == [("FusedConv2DRelu", "ge.fused", "convrelu")]
    assert [n.op_type for n in after.functions[0].node] == ["Conv", "Relu"]
    assert [o.name for o in after.graph.output] == ["y"] and [i.name for i in after.graph.input] == ["x"]
    assert not {t.name for t in after.graph.initializer} & {"w", "b", "g", "s", "m", "v"}
    assert close(after, model)


def test_every_step_has_its_own_model() -> None:
    model = conv_bn_relu()
    trace = gx.open_session(load(model).graph).trace
    kinds = {
        s: [n.op_type for n in to_runnable_onnx(trace, s, model).graph.node]
        for s in ("start", "fuse-graph", "fuse-buffers")
    }
    assert kinds == {
        "start": ["Conv", "BatchNormalization", "Relu"], "fuse-graph": ["Conv", "Relu"], "fuse-buffers": ["FusedConv2DRelu"],
    }  # fmt: skip
    with pytest.raises(OptionError, match="no step named"):
        to_runnable_onnx(trace, "fuse", model)


def test_a_function_each_with_the_names_of_its_members() -> None:
    model = conv_bn_relu()
    nodes = [
        helper.make_node("Conv", ["y", "w", "b"], ["c2"], name="conv2", kernel_shape=[3, 3]),
        helper.make_node("Relu", ["c2"], ["z"], name="relu2"),
    ]
    model.graph.node.extend(nodes)
    model.graph.output[0].name = "z"
    after = to_runnable_onnx(gx.open_session(load(model).graph).trace, None, model)
    assert [[n.name for n in f.node] for f in after.functions] == [["conv", "relu"], ["conv2", "relu2"]]
    assert [n.op_type for n in after.graph.node] == ["FusedConv2DRelu", "FusedConv2DRelu_2"]
    assert close(after, model)


def test_large_weights_need_the_file_or_the_steps() -> None:
    model = conv_bn_relu(64)
    trace = gx.open_session(load(model).graph).trace
    with pytest.raises(InputError, match="value of a constant"):
        to_runnable_onnx(trace)
    with pytest.raises(InputError, match="members of a fused node"):
        runnable_model(gx.open_session(load(conv_bn_relu()).graph).trace.final.graph)


def test_a_collective_cannot_run() -> None:
    b = GraphBuilder("g")
    x = b.op("HcomAllReduce", b.data("x", (4,), "float"), attrs={"group": "hccl_world_group"})
    with pytest.raises(InputError, match="collective") as e:
        runnable_model(b.build(x))
    assert "HcomAllReduce" in str(e.value)


def test_a_hand_made_graph_of_known_operators_runs() -> None:
    b = GraphBuilder("g")
    x = b.data("x", (4,), "float")
    after = runnable_model(b.build(b.op("RealDiv", b.op("Relu", x), b.op("Muls", x, attrs={"value": 2.0}))))
    assert ReferenceEvaluator(after).run(None, {"x": np.array([1, -2, 4, 8], np.float32)})[0].tolist() == [
        0.5,
        -0.0,
        0.5,
        0.5,
    ]


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, target = tmp_path / "m.onnx", tmp_path / "after.onnx"
    source.write_bytes(conv_bn_relu(64).SerializeToString())
    assert main(["export", str(source), "-o", str(target), "--runnable"]) == 0
    assert close(onnx.load(target), conv_bn_relu(64))
    assert main(["export", str(source), "-o", str(target), "--runnable", "--at", "fuse-graph"]) == 0
    assert [n.op_type for n in onnx.load(target).graph.node] == ["Conv", "Relu"]
    assert main(["export", str(source), "-o", str(tmp_path / "x.dot"), "--runnable"]) == 2
    assert "--runnable" in capsys.readouterr().err

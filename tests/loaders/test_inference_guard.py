"""A model on which ONNX's native shape inference crashes still loads, and the report says so."""

import pytest

onnx = pytest.importorskip("onnx")
from onnx import helper  # noqa: E402

from ge_explorer.loaders import load  # noqa: E402
from ge_explorer.loaders.onnx_guard import is_trusted  # noqa: E402


def crashing() -> "onnx.ModelProto":
    node = helper.make_node(
        "LabelEncoder", ["nowhere"], ["y"], domain="ai.onnx.ml", keys_strings=["a"], values_int64s=[1]
    )
    x, y = helper.make_tensor_value_info("x", 8, [5]), helper.make_tensor_value_info("y", 7, [5])
    return helper.make_model(
        helper.make_graph([node], "g", [x], [y]), opset_imports=[helper.make_opsetid("ai.onnx.ml", 4)]
    )


def test_crash_stays_in_the_second_process() -> None:
    r = load(crashing())
    assert len(r.graph) == 3
    assert not is_trusted(crashing())


def test_ordinary_models_are_inferred_in_place() -> None:
    x, y = helper.make_tensor_value_info("x", 1, [5]), helper.make_tensor_value_info("y", 1, [5])
    m = helper.make_model(helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", [x], [y]))
    assert is_trusted(m)

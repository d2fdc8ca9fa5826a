"""Shapes a user gives, and which models GE would compile as graphs of unknown shape."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

from ge_explorer.api import open_session  # noqa: E402
from ge_explorer.cli import main  # noqa: E402
from ge_explorer.errors import OptionError  # noqa: E402
from ge_explorer.loaders import load  # noqa: E402
from ge_explorer.loaders.onnx_inputs import parse_input_shapes  # noqa: E402
from ge_explorer.views.sentence import sentence  # noqa: E402
from tests.loaders.test_onnx_forms import model, value  # noqa: E402


def batch_model() -> Any:
    nodes = [
        helper.make_node("Relu", ["x"], ["a"], name="r"),
        helper.make_node("Add", ["a", "z"], ["y"], name="s"),
    ]
    return model(nodes, [value("x", 1, ["batch", 4]), value("z", 1, ["batch", 4])], [value("y", 1, ["batch", 4])])


def shape(g: Any, node: str) -> Any:
    return g.tensor(g.node(node).outputs[0]).shape


def test_open_dimension_makes_the_root_dynamic_and_a_given_shape_static() -> None:
    g = load(batch_model()).graph
    assert g.root.dynamic and g.attrs["_gx_unknown_shape"] == ("x", "z")
    fixed = load(batch_model(), input_shapes={"x": (8, 4)}).graph
    assert not fixed.root.dynamic
    assert shape(fixed, "s") == shape(fixed, "z") == (8, 4)  # one symbol is one number
    assert not load(batch_model(), dims={"batch": 8}).graph.root.dynamic


def test_open_dimension_stays_symbolic() -> None:
    g = load(batch_model(), input_shapes={"x": (-1, 4)}).graph
    assert shape(g, "x") == ("batch", 4) and g.root.dynamic


def test_given_numbers_replace_the_files_own_everywhere() -> None:
    nodes = [helper.make_node("Relu", ["x"], ["a"], name="r"), helper.make_node("Relu", ["a"], ["y"], name="s")]
    m = model(nodes, [value("x", 1, [1, 4])], [value("y", 1, [1, 4])])
    m.graph.value_info.append(value("a", 1, [1, 4]))
    r = load(m, input_shapes={"x": (6, 4)})
    assert shape(r.graph, "r") == shape(r.graph, "s") == (6, 4)
    assert "GX316" in [i.code for i in r.report.issues]


def test_two_values_for_one_symbol_are_said() -> None:
    r = load(batch_model(), input_shapes={"x": (8, 4), "z": (1, 4)})
    assert "GX315" in [i.code for i in r.report.issues]
    assert shape(r.graph, "z") == (1, 4) and shape(r.graph, "s") == (8, 4)


@pytest.mark.parametrize(
    ("given", "what"),
    [({"w": (8, 4)}, "no input named"), ({"x": (8,)}, "another rank"), ({"x": (8, -2)}, "no size"), ({"x": "8,4"}, "row of")],
)  # fmt: skip
def test_bad_shapes_are_refused(given: Any, what: str) -> None:
    with pytest.raises(OptionError, match=what):
        load(batch_model(), input_shapes=given)


def test_shapes_of_an_example_are_refused() -> None:
    with pytest.raises(OptionError, match="ONNX models only"):
        load("fork_join", input_shapes={"x": (1,)})
    with pytest.raises(OptionError, match="model files only"):
        open_session("fork_join", input_shapes={"x": (1,)})


@pytest.mark.parametrize("text", ["x", ":1", "x:1,,2", "x:a", "x:1~8", "x:1;x:2"])
def test_bad_texts_are_refused(text: str) -> None:
    with pytest.raises(OptionError):
        parse_input_shapes([text])


def test_result_sizes_that_depend_on_data_are_dynamic() -> None:
    m = model([helper.make_node("NonZero", ["x"], ["y"], name="nz")], [value("x", 1, [2, 4])], [value("y", 7, None)])
    g = load(m).graph
    assert g.root.dynamic and g.attrs["_gx_unknown_shape"] == ("nz",)


def test_operators_nobody_knows_do_not_make_a_graph_dynamic() -> None:
    m = model(
        [helper.make_node("Odd", ["x"], ["y"], name="o", domain="my")], [value("x", 1, [2, 4])], [value("y", 1, None)]
    )
    assert not load(m).graph.root.dynamic


def test_unknown_branch_makes_its_scope_and_the_root_dynamic() -> None:
    zero = numpy_helper.from_array(np.array([2, 4], np.int64), "k")
    then = helper.make_graph([helper.make_node("NonZero", ["x"], ["t"], name="nz")], "then", [], [value("t", 7, None)])
    other = helper.make_graph([helper.make_node("ConstantOfShape", ["k"], ["e"])], "else", [], [value("e", 1, [2, 4])])
    node = helper.make_node("If", ["p"], ["y"], name="if", then_branch=then, else_branch=other)
    g = load(model([node], [value("x", 1, [2, 4]), value("p", 9, [])], [value("y", 1, None)], (zero,))).graph
    dynamic = {g.scope(s).name for s in range(len(g.scopes)) if g.scope(s).dynamic}
    assert "g" in dynamic and any("then" in n for n in dynamic) and not any("else" in n for n in dynamic)


def test_dynamic_model_runs_on_stream_0_and_says_so() -> None:
    session = open_session(batch_model())
    trace = session.trace
    assert trace.failed is None and trace.final.streams is not None
    assert set(trace.final.streams.node.tolist()) == {0}
    told = sentence(trace)
    assert "every node is on stream 0" in told.en and "input_shapes" in told.en and "流 0" in told.get("zh")
    assert "every node is on stream 0" not in sentence(open_session(batch_model(), dims={"batch": 2}).trace).en


def test_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "m.onnx")
    onnx.save(batch_model(), path)
    assert main(["trace", path]) == 0
    assert "ENABLE_DYNAMIC_SHAPE_MULTI_STREAM=1" in capsys.readouterr().out
    assert main(["trace", path, "--input-shape", "x:8,4;z:8,4", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert any(s["name"] == "plan-memory" for s in report["steps"])
    assert main(["load", path, "--dim", "batch=3"]) == 0
    assert "shapes known for 4 of 4" in capsys.readouterr().out
    assert main(["load", path, "--dim", "batch"]) == 2
    assert main(["memory", path]) == 2
    assert "input_shapes" in capsys.readouterr().err


def test_an_unknown_dimension_is_named() -> None:
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 4])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 4])
    m = helper.make_model(helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", [x], [y]))
    with pytest.raises(OptionError, match="batch"):
        load(m, dims={"bacth": 2})
    assert load(m, dims={"batch": 2}).graph.tensors[0].shape == (2, 4)

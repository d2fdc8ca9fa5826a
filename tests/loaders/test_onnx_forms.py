"""The ways ONNX files differ from a tidy graph, one test each."""

from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

from ge_explorer.graph.constant import VALUE  # noqa: E402
from ge_explorer.graph.model import Graph  # noqa: E402
from ge_explorer.loaders import load  # noqa: E402

value = helper.make_tensor_value_info


def model(
    nodes: list[Any], inputs: list[Any], outputs: list[Any], init: tuple[Any, ...] = (), opset: int = 17, **kw: Any
) -> Any:
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("my", 1), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(helper.make_graph(nodes, "g", inputs, outputs, list(init)), opset_imports=opsets, **kw)


def named_edges(g: Graph) -> set[tuple[str, str]]:
    return {(g.node(e.src).name, g.node(e.dst).name) for e in g.edges}


X, Y = value("x", 1, [2, 4]), value("y", 1, [2, 4])


def test_absent_optional_inputs_make_no_edge_and_keep_their_place() -> None:
    m = model([helper.make_node("Clip", ["x", "", "hi"], ["y"], name="c")], [X, value("hi", 1, [])], [Y])
    g = load(m).graph
    assert g.node("c").inputs[1] is None
    assert [e.dst_in for e in g.edges if e.dst == g.node("c").id] == [0, 2]


def test_empty_output_name_is_never_an_input() -> None:
    m = model(
        [
            helper.make_node("Dropout", ["x"], ["d", ""], name="a"),
            helper.make_node("Clip", ["d", "", ""], ["y"], name="b"),
        ],
        [X],
        [Y],
    )
    assert named_edges(load(m).graph) == {("x", "a"), ("a", "b"), ("b", "Node_Output")}


def test_unnamed_and_duplicate_names_become_unique() -> None:
    nodes = [
        helper.make_node("Relu", ["x"], ["a"]),
        helper.make_node("Relu", ["a"], ["b"], name="same"),
        helper.make_node("Relu", ["b"], ["c"], name="same"),
        helper.make_node("Relu", ["c"], ["y"], name="Relu_0"),
    ]
    r = load(model(nodes, [X], [Y]))
    names = [n.name for n in r.graph]
    assert len(set(names)) == len(names)
    assert "Relu_0" in names
    assert "GX302" in [i.code for i in r.report.issues]


def test_unsorted_nodes() -> None:
    nodes = [
        helper.make_node("Relu", ["a"], ["y"], name="second"),
        helper.make_node("Sigmoid", ["x"], ["a"], name="first"),
    ]
    r = load(model(nodes, [X], [Y]))
    assert ("first", "second") in named_edges(r.graph)
    assert "GX301" in [i.code for i in r.report.issues]
    assert r.graph.tensor(r.graph.node("second").outputs[0]).shape == (2, 4)


def test_initialisers_that_are_also_inputs_are_weights() -> None:
    w = numpy_helper.from_array(np.ones((2, 4), np.float32), "w")
    m = model([helper.make_node("Add", ["x", "w"], ["y"], name="a")], [X, value("w", 1, [2, 4])], [Y], (w,))
    m.ir_version = 3
    g = load(m).graph
    assert [n.op for n in g] == ["Data", "Const", "Add", "NetOutput"]


def test_small_values_are_kept_and_large_ones_are_not() -> None:
    small = numpy_helper.from_array(np.arange(3, dtype=np.int64), "s")
    large = numpy_helper.from_array(np.zeros((300, 300), np.float32), "l")
    m = model([helper.make_node("Foo", ["s", "l"], ["y"], domain="my", name="f")], [], [Y], (small, large))
    g = load(m).graph
    kept = {g.tensor(n.outputs[0]).name: n.attrs.get(VALUE) for n in g if n.op == "Const"}
    assert kept["s"].array().tolist() == [0, 1, 2]
    assert kept["l"] is None
    assert g.tensor(g.node("f").inputs[1] or 0).nbytes == 360_000


def test_dynamic_dimensions_stay_symbols_until_bound() -> None:
    m = model(
        [helper.make_node("Relu", ["x"], ["y"], name="r")], [value("x", 1, ["batch", None, 4])], [value("y", 1, None)]
    )
    g = load(m).graph
    assert g.tensor(g.node("r").outputs[0]).shape == ("batch", None, 4)
    assert g.tensor(g.node("r").outputs[0]).nbytes is None
    bound = load(m, dims={"batch": 8}).graph
    assert bound.tensor(bound.node("r").outputs[0]).shape == (8, None, 4)


def test_if_branches_read_captured_tensors_through_data_nodes() -> None:
    then = helper.make_graph([helper.make_node("Relu", ["a"], ["t"])], "then", [], [value("t", 1, [2, 4])])
    other = helper.make_graph([helper.make_node("Add", ["a", "b"], ["e"])], "else", [], [value("e", 1, [2, 4])])
    nodes = [
        helper.make_node("Sigmoid", ["x"], ["b"], name="b"),
        helper.make_node("Tanh", ["x"], ["a"], name="a"),
        helper.make_node("If", ["p"], ["y"], name="if", then_branch=then, else_branch=other),
    ]
    g = load(model(nodes, [X, value("p", 9, [])], [Y])).graph
    owner = g.node("if")
    assert [g.tensor(t).name for t in owner.inputs if t is not None] == ["p", "a", "b"]
    by_attr = {g.scope(s).name: s for s in owner.subgraphs}
    assert set(by_attr) == {"if_0_else_branch", "if_1_then_branch"} or set(by_attr) == {
        "if_0_then_branch",
        "if_1_else_branch",
    }
    for name, s in by_attr.items():
        data = [g.node(i) for i in g.scope(s).nodes if g.node(i).op == "Data"]
        assert [d.attrs["_parent_node_index"] for d in data] == ([1] if "then" in name else [1, 2])
        assert all(g.tensor(d.outputs[0]).shape == (2, 4) for d in data)


def test_capture_from_two_levels_up_passes_every_level() -> None:
    inner = helper.make_graph([helper.make_node("Relu", ["a"], ["i"])], "inner", [], [value("i", 1, [2, 4])])
    inner2 = helper.make_graph([helper.make_node("Tanh", ["a"], ["i2"])], "inner2", [], [value("i2", 1, [2, 4])])
    outer = helper.make_graph(
        [helper.make_node("If", ["q"], ["o"], name="low", then_branch=inner, else_branch=inner2)],
        "outer",
        [],
        [value("o", 1, [2, 4])],
    )
    plain = helper.make_graph([helper.make_node("Neg", ["x"], ["n"])], "plain", [], [value("n", 1, [2, 4])])
    nodes = [
        helper.make_node("Exp", ["x"], ["a"], name="a"),
        helper.make_node("If", ["p"], ["y"], name="top", then_branch=outer, else_branch=plain),
    ]
    g = load(model(nodes, [X, value("p", 9, []), value("q", 9, [])], [Y])).graph
    assert [g.tensor(t).name for t in g.node("top").inputs if t is not None] == ["p", "a", "q", "x"]
    low = next(n for n in g if n.name.endswith("/low"))
    assert [g.tensor(t).name for t in low.inputs if t is not None] == ["q", "a"]
    assert all(g.node(g.tensor(t).producer).scope == low.scope for t in low.inputs if t is not None)


def test_functions_expand_with_prefixed_names_attributes_and_absent_inputs() -> None:
    body = [helper.make_node("LeakyRelu", ["a"], ["m"], name="act"), helper.make_node("Clip", ["m", "lo"], ["b"])]
    ref = onnx.AttributeProto(name="alpha", ref_attr_name="slope", type=onnx.AttributeProto.FLOAT)
    body[0].attribute.append(ref)
    f = helper.make_function("my", "F", ["a", "lo"], ["b"], body, [helper.make_opsetid("", 17)], ["slope"])
    call = helper.make_node("F", ["x", ""], ["y"], domain="my", name="call", slope=0.25)
    g = load(model([call], [X], [Y], functions=[f])).graph
    act = g.node("call/act")
    assert act.attrs["alpha"] == 0.25
    assert act.attrs["_gx_function"] == ("my::F",)
    clip = next(n for n in g if n.source_op == "Clip")
    assert clip.inputs[1] is None
    assert g.tensor(clip.outputs[0]).shape == (2, 4)


def test_collectives_get_one_group_per_communicator() -> None:
    nodes = [
        helper.make_node("AllReduce", ["x"], ["a"], domain="com.microsoft", name="r1"),
        helper.make_node("AllReduce", ["a"], ["b"], domain="com.microsoft", name="r2"),
        helper.make_node("HcomAllGather", ["b"], ["y"], domain="my", name="g2", group="other"),
    ]
    g = load(model(nodes, [X], [Y])).graph
    assert [g.node(n).attrs["_parallel_group"] for n in ("r1", "r2", "g2")] == ["hcom_op_1", "hcom_op_1", "hcom_op_2"]
    assert g.node("r1").op == "HcomAllReduce"


def test_what_ge_would_refuse_is_loaded_and_said() -> None:
    body = helper.make_graph(
        [helper.make_node("Identity", ["c"], ["c2"]), helper.make_node("Relu", ["v"], ["v2"])],
        "body",
        [value("i", 7, []), value("c", 9, []), value("v", 1, [2, 4])],
        [value("c2", 9, []), value("v2", 1, [2, 4])],
    )
    m = model(
        [helper.make_node("Loop", ["n", "", "x"], ["y"], name="loop", body=body)], [value("n", 7, []), X], [Y], opset=21
    )
    r = load(m)
    assert len([i for i in r.report.issues if i.code == "GX304"]) == 2
    assert len(r.graph.node("loop").subgraphs) == 1


def test_unresolved_input_is_left_open_and_said() -> None:
    r = load(model([helper.make_node("Add", ["x", "ghost"], ["y"], name="a")], [X], [Y]))
    assert r.graph.node("a").inputs[1] is None
    assert "GX308" in [i.code for i in r.report.issues]


def test_hostile_reserved_attributes_are_dropped() -> None:
    node = helper.make_node("Relu", ["x"], ["y"], name="r", _gx_duration_ns="soon", _gx_value=3, _user_stream_label=7)
    r = load(model([node], [X], [Y]))
    assert not {"_gx_duration_ns", "_gx_value", "_user_stream_label"} & set(r.graph.node("r").attrs)
    assert "GX311" in [i.code for i in r.report.issues]


def test_label_in_the_file_survives() -> None:
    node = helper.make_node("Relu", ["x"], ["y"], name="r", _user_stream_label="side")
    assert load(model([node], [X], [Y])).graph.node("r").attrs["_user_stream_label"] == "side"


def test_external_data_present_and_absent(tmp_path: Any) -> None:
    w = numpy_helper.from_array(np.ones((2, 4), np.float32), "w")
    m = model([helper.make_node("Add", ["x", "w"], ["y"], name="a")], [X], [Y], (w,))
    onnx.save(m, tmp_path / "m.onnx", save_as_external_data=True, location="w.bin", size_threshold=0)
    assert "GX309" not in [i.code for i in load(tmp_path / "m.onnx").report.issues]
    (tmp_path / "w.bin").unlink()
    r = load(tmp_path / "m.onnx")
    assert "GX309" in [i.code for i in r.report.issues]
    assert next(n.op for n in r.graph if n.op.endswith("Const") or n.op == "FileConstant") == "FileConstant"


def test_model_object_bytes_and_file_object_agree(tmp_path: Any) -> None:
    m = model([helper.make_node("Relu", ["x"], ["y"], name="r")], [X], [Y])
    (tmp_path / "m").write_bytes(m.SerializeToString())
    with open(tmp_path / "m", "rb") as f:
        graphs = [load(s).graph for s in (m, m.SerializeToString(), tmp_path / "m", str(tmp_path / "m"), f)]
    assert {tuple(n.name for n in g) for g in graphs} == {("x", "r", "Node_Output")}


def test_every_report_line_is_bilingual() -> None:
    r = load(model([helper.make_node("Loop", ["x"], ["y"], domain="my")], [X], [Y], opset=21))
    texts = [*r.report.found, *r.report.missing, *(i.message for i in r.report.issues)]
    assert all(any("一" <= c <= "鿿" for c in t.zh) or t.zh.startswith("ONNX") for t in texts)
    assert TensorProto.FLOAT == 1

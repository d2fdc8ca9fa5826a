"""Small versions of what files of other people held and our own did not, one test each."""

import subprocess
import sys
from pathlib import Path

import pytest

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper  # noqa: E402

import ge_explorer as gx  # noqa: E402
from ge_explorer.errors import InputError  # noqa: E402
from ge_explorer.loaders import load  # noqa: E402
from ge_explorer.views import markdown  # noqa: E402
from tests.loaders.ge_text import Op, ge_onnx  # noqa: E402

value = helper.make_tensor_value_info


def model(nodes: list[object], inputs: list[object], init: tuple[object, ...] = ()) -> "onnx.ModelProto":
    graph = helper.make_graph(nodes, "g", inputs, [value("y", 1, None)], list(init))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])


def test_a_side_file_with_a_name_no_file_system_takes(tmp_path: Path) -> None:
    w = TensorProto(name="w", data_type=1, dims=[4], data_location=TensorProto.EXTERNAL)
    w.external_data.add(key="location", value="a" * 5000)
    file = tmp_path / "m.onnx"
    add = helper.make_node("Add", ["x", "w"], ["y"])
    file.write_bytes(model([add], [value("x", 1, [4])], (w,)).SerializeToString())
    r = load(file)
    told = [i.message.en for i in r.report.issues if i.code == "GX309"]
    assert len(told) == 1 and len(told[0]) < 300


ROOT = Path(__file__).resolve().parents[2]
LONG_VECTOR = """
import onnx
from onnx import helper as h
from tests.loaders.fuzzing import peak_kib
from ge_explorer.loaders import load
v = h.make_tensor_value_info
nodes = [h.make_node("Constant", [], ["s"], value_ints=[-1]), h.make_node("Reshape", ["x", "s"], ["a"]),
         h.make_node("Add", ["a", "a"], ["b"]), h.make_node("Mul", ["b", "w"], ["y"])]
m = h.make_model(h.make_graph(nodes, "g", [v("x", 1, [6000, 4000]), v("w", 1, [24_000_000])], [v("y", 1, None)]),
                 opset_imports=[h.make_opsetid("", 17)])
before = peak_kib()
g = load(m).graph
assert g.tensor(g.node("Mul_3").outputs[0]).shape == (24_000_000,), g.tensor(g.node("Mul_3").outputs[0]).shape
print(peak_kib() - before)
"""


def test_long_vectors_cost_no_memory() -> None:
    """ONNX's data propagation would write out every element of them: 3 GB for these."""
    out = subprocess.run(
        [sys.executable, "-c", LONG_VECTOR], capture_output=True, text=True, timeout=120, check=True, cwd=ROOT
    )
    assert int(out.stdout) < 200 * 1024, f"{out.stdout} KiB"


@pytest.mark.parametrize("shape", [[2**62, 2**62], [2**40, 2**40], [2**43]])
def test_a_tensor_larger_than_any_memory_is_shown_with_unknown_sizes(shape: list[int]) -> None:
    m = model([helper.make_node("Relu", ["x"], ["y"])], [value("x", 1, shape)])
    r = load(m)
    assert {len(t.shape or ()) for t in r.graph.tensors if t is not None} == {len(shape)}
    assert all(t.nbytes is None for t in r.graph.tensors if t is not None)
    assert [i.refs for i in r.report.issues if i.code == "GX317"]
    session = gx.open_session(m)
    assert session.trace.failed is None and session.timeline.makespan_ns >= 0


def test_a_large_but_possible_tensor_keeps_its_size() -> None:
    r = load(model([helper.make_node("Relu", ["x"], ["y"])], [value("x", 1, [2**40])]))
    assert r.graph.tensor(r.graph.node("x").outputs[0]).nbytes == 2**42


FX_ANNOTATED = b"""graph():
    %arg0_1 : Tensor "f32[4, 128][128, 1]npu:0"[num_users=1] = placeholder[target=arg0_1]
    %s0 : Sym(s0) [num_users=1] = placeholder[target=s0]
    %pow_1 : Tensor "f32[4, 128][128, 1]npu:0"[num_users=1] = call_function[target=torch.ops.aten.pow.Scalar](args = (%arg0_1, 2))
    return (pow_1,)
"""


def test_fx_text_with_annotated_values() -> None:
    counts = load(FX_ANNOTATED).report.counts
    assert (counts["placeholders"], counts["targets"]) == (2, {"torch.ops.aten.pow.Scalar": 1})


def test_src_names_without_index_are_control_predecessors() -> None:
    text = b"""graph { name: "g"
      op { name: "a" type: "Data" } op { name: "b" type: "Variable" id: 1 }
      op { name: "c" type: "Relu" src_name: "a" src_name: "b" src_index: 0 id: 2 } }"""
    g = load(text).graph
    c = g.node("c")
    assert [g.node(e.src).name for e in g.data_in[c.id]] == ["a"] and [g.node(i).name for i in c.control_in] == ["b"]


def test_an_operator_without_a_stream_id_counts_as_stream_zero() -> None:
    ops = [Op("a", "Data", stream=None), Op("b", "Relu", ["a:0"], stream=None, attrs={"k": 1})]
    assert load(ge_onnx({"g": ops})).report.counts["stream_id_histogram"] == {"0": 2}


@pytest.mark.parametrize("text", ["alpha=6e", "axis=99999999999999999999999999"])
def test_numbers_the_notation_cannot_hold(text: str) -> None:
    """ONNX's parser leaves with errors of C++ there."""
    model_text = f'<ir_version: 8, opset_import: ["": 17]> g (float[4] x) => (float[4] y) {{ y = Softmax<{text}>(x) }}'
    with pytest.raises(InputError, match="cannot be parsed"):
        load(model_text.encode())


def test_a_name_in_the_sentence_is_no_markup_in_markdown(tmp_path: Path) -> None:
    """The sentence names the operators where unknown shapes start."""
    m = model([helper.make_node("NonZero", ["x"], ["y"], name="<b>n</b>")], [value("x", 1, [2, 4])])
    session = gx.open_session(m)
    text = markdown.build(session.trace, {}, timeline=session.timeline)
    assert "n\\<" in text and "<b>" not in text.replace("\\<", "")

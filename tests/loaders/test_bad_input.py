"""Anything that cannot become a graph gets one InputError that says what, where and what to do."""

import io
import random
import tarfile
import zipfile
from pathlib import Path

import pytest

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper  # noqa: E402

from ge_explorer.errors import InputError  # noqa: E402
from ge_explorer.loaders import load  # noqa: E402


def small_model() -> "onnx.ModelProto":
    value = helper.make_tensor_value_info
    nodes = [helper.make_node("Relu", ["x"], ["y"], name="r"), helper.make_node("Add", ["y", "w"], ["z"], name="a")]
    weight = helper.make_tensor("w", TensorProto.FLOAT, [4], [1.0, 2.0, 3.0, 4.0])
    graph = helper.make_graph(nodes, "g", [value("x", 1, [2, 4])], [value("z", 1, [2, 4])], [weight])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])


def tarred() -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as t:
        t.addfile(tarfile.TarInfo("model.onnx"), io.BytesIO(b""))
    return out.getvalue()


def zipped() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as z:
        z.writestr("data.pkl", b"x")
    return out.getvalue()


BAD = {
    "empty": b"",
    "spaces": b"  \n\t ",
    "text": b"hello, this is not a model\n",
    "json": b'{"graph": []}',
    "html": b"<!DOCTYPE html><html></html>",
    "zip": zipped(),
    "tar": tarred(),
    "om": b"IMOD" + bytes(256),
    "small om": b"PICO" + bytes(256),
    "pickle": b"\x80\x04\x95\x10",
    "gzip": b"\x1f\x8b\x08\x00",
    "zeros": bytes(1000),
    "png": b"\x89PNG\r\n\x1a\n" + bytes(40),
    "safetensors": (40).to_bytes(8, "little") + b'{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}',
    "lfs": b"version https://git-lfs.github.com/spec/v1\noid sha256:abc\nsize 12\n",
    "tensor": helper.make_tensor("t", TensorProto.FLOAT, [2], [1.0, 2.0]).SerializeToString(),
    "model without graph": onnx.ModelProto(ir_version=8).SerializeToString(),
    "empty graph": helper.make_model(onnx.GraphProto(name="g")).SerializeToString(),
    "ge dump": b'ir_version: 6\nproducer_name: "GE"\ngraph {\n  node { op_type: "ge:Data" }\n}\n',
    "broken text": b"ir_version: 8\ngraph { node { op_type: }\n",
    "notation": b'<ir_version: 8, opset_import: ["": 17]> g (float x) => (',
}


@pytest.mark.parametrize("name", BAD)
def test_refused_with_reason(name: str) -> None:
    with pytest.raises(InputError) as e:
        load(BAD[name])
    assert e.value.todo
    assert "\n" not in str(e.value)
    assert len(str(e.value)) < 600


def test_truncated_file_says_where() -> None:
    data = small_model().SerializeToString()
    with pytest.raises(InputError, match=r"byte \d+ of \d+"):
        load(data[:-20])


def test_every_truncation_and_many_mutations_end_in_a_graph_or_an_input_error() -> None:
    data = small_model().SerializeToString()
    r = random.Random(7)
    for cut in range(len(data)):
        try:
            load(data[:cut], check=False)
        except InputError:
            continue
    for _ in range(600):
        broken = bytearray(data)
        for _ in range(r.randrange(1, 4)):
            broken[r.randrange(len(broken))] = r.randrange(256)
        try:
            load(bytes(broken), check=False)
        except InputError:
            continue


def test_folder_missing_and_device(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "nothing.onnx", Path("/dev/null")):
        with pytest.raises(InputError):
            load(path)


def test_names_and_pseudo_files_no_file_system_takes(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    pseudo = tmp_path / "pseudo"
    pseudo.write_bytes(b"")  # as /proc/kmsg: says 0 bytes, and reading it would wait for ever
    for path in ("", "a" * 5000, "x\0y", "\x1b[31mred", "a\nb", "\udcff", tmp_path, tmp_path / "loop", pseudo):
        with pytest.raises(InputError) as e:
            load(path)
        assert str(e.value).isprintable() and len(str(e.value)) < 1200 and e.value.todo


def test_an_open_file_that_cannot_be_read() -> None:
    closed = io.BytesIO(b"x")
    closed.close()
    with pytest.raises(InputError, match="cannot be read"):
        load(closed)


def test_size_limit(tmp_path: Path) -> None:
    file = tmp_path / "m.onnx"
    file.write_bytes(small_model().SerializeToString())
    with pytest.raises(InputError, match="too large"):
        load(file, limit=10)


def test_extension_does_not_matter(tmp_path: Path) -> None:
    file = tmp_path / "model.txt"
    file.write_bytes(small_model().SerializeToString())
    assert load(file).report.format == "ONNX binary"


@pytest.mark.parametrize("thing", [None, 3, [], object()])
def test_wrong_object(thing: object) -> None:
    with pytest.raises(InputError):
        load(thing)


def test_unknown_name_is_a_missing_file() -> None:
    with pytest.raises(InputError, match="no such file"):
        load("no_such_example")


def test_cycle_is_named() -> None:
    m = small_model()
    m.graph.node[0].input[0] = "z"
    with pytest.raises(InputError, match="cycle") as e:
        load(m)
    assert "r" in e.value.where


def test_functions_in_a_circle() -> None:
    m = small_model()
    f = helper.make_function("my", "F", ["a"], ["b"], [helper.make_node("F", ["a"], ["b"], domain="my")],
                             [helper.make_opsetid("", 17), helper.make_opsetid("my", 1)])  # fmt: skip
    m.functions.append(f)
    m.graph.node.append(helper.make_node("F", ["z"], ["q"], domain="my"))
    with pytest.raises(InputError, match="circle"):
        load(m)


def test_exploding_functions_stop_at_the_node_limit() -> None:
    m = small_model()
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("my", 1)]
    m.functions.append(helper.make_function("my", "F0", ["a"], ["b"], [helper.make_node("Relu", ["a"], ["b"])], opsets))
    for k in range(1, 40):
        calls = [
            helper.make_node(f"F{k - 1}", ["a"], ["c"], domain="my"),
            helper.make_node(f"F{k - 1}", ["c"], ["b"], domain="my"),
        ]
        m.functions.append(helper.make_function("my", f"F{k}", ["a"], ["b"], calls, opsets))
    m.graph.node.append(helper.make_node("F39", ["z"], ["q"], domain="my"))
    with pytest.raises(InputError, match="too large"):
        load(m, node_limit=20_000)

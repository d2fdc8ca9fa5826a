"""The readable form, torchair's dumps and logs: what is in the text is in the graph; what is not is said."""

from pathlib import Path

import pytest

from ge_explorer.errors import InputError
from ge_explorer.loaders import load
from ge_explorer.loaders.plog_lines import set_line
from ge_explorer.loaders.plog_memory import plan_of_lines
from ge_explorer.memory.model import FOREVER
from ge_explorer.trace.recorded import snapshot_of

READABLE = b"""graph("g"):
  %x : [#users=2] = Node[type=Data] (attrs = {index: 0})
  %top : [#users=2] = Node[type=TopKV2] (inputs = (%x), attrs = {sorted: true, k: {1, 2}, s: "a, b}", e: <empty>})
  %ret : [#users=1] = get_element[node=%top](0)
  %ret_1 : [users=1] = get_element[node=%top](1)
  %if : [#users=1] = Node[type=If] (inputs = (cond=%ret_1, input_0=%ret), attrs = {then_branch: %then, else_branch: %else})

  return (output_0=%if, output_1=%ret)

graph("then"):
  %y : [#users=1] = Node[type=Data] (attrs = {index: 0})

  return (%y)

graph("else"):
  %y : [#users=1] = Node[type=Data] (attrs = {index: 0})

  return (%y)
"""


def test_readable_both_dialects_in_one() -> None:
    r = load(READABLE)
    g = r.graph
    top, branch = g.node("top"), g.node("if")
    assert top.attrs["k"] == (1, 2) and top.attrs["s"] == "a, b}" and top.attrs["sorted"] is True
    assert branch.inputs == (top.outputs[1], top.outputs[0])
    assert [g.scope(s).name for s in branch.subgraphs] == ["then", "else"]
    ends = [n for n in g if n.op == "NetOutput"]
    assert len(ends) == 3 and ends[0].inputs == (branch.outputs[0], top.outputs[0])
    assert r.report.counts["nodes_total"] == 5, "the implied NetOutput is no node of the file"
    assert any("streams" in t.en for t in r.report.missing)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("  %z : [#users=1] = Node[type=Add] (inputs = (x=%nobody))", "not above it.*line 2|line 2.*nobody"),
        ("  %z : [#users=1] = Node[type=Add] (inputs = (x=%x), attrs = {a: 1)", "line 2"),
        ("  %z : [#users=1] = Node[type=Add", "cut off.*line 2"),
        ("  %z : [#users=1] = Node[type=Add] (attrs = {a: " + "{" * 50 + "}" * 50 + "})", "nested deeper"),
    ],
)
def test_readable_damage(line: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        load(f'graph("g"):\n{line}\n'.encode())


FX = b"""[INFO] TORCHAIR(1,python):2025-11-07 15:45:40.989.644 [npu_fx_compiler.py:453]1   input 0: \
FakeTensor(..., device='npu:0', size=(s0, 8), dtype=torch.float16)
[INFO] TORCHAIR(1,python):2025-11-07 15:45:40.991.110 [npu_fx_compiler.py:454]1   graph: graph():
    %arg0_1 : [num_users=2] = placeholder[target=arg0_1]
    %w : [num_users=1] = get_attr[target=w]
    %enter : [num_users=0] = call_function[target=torch.ops.air.scope_enter.default]\
(args = ([_user_stream_label, _user_stream_priority], [22, 0]), kwargs = {})
    %mm : [num_users=1] = call_function[target=torch.ops.aten.mm.default](args = (%arg0_1, %w), kwargs = {})
    %exit : [num_users=0] = call_function[target=torch.ops.air.scope_exit.default](args = (), kwargs = {})
    %split : [num_users=2] = call_function[target=torch.ops.aten.split.Tensor](args = (%mm, 4, 1), kwargs = {})
    %getitem : [num_users=1] = call_function[target=operator.getitem](args = (%split, 0), kwargs = {})
    %getitem_1 : [num_users=1] = call_function[target=operator.getitem](args = (%split, 1), kwargs = {})
    %add : [num_users=1] = call_function[target=torch.ops.aten.add.Tensor](args = (%getitem, %getitem_1), kwargs = {})
    return (add, None)
"""


def test_fx_scopes_items_and_shapes() -> None:
    r = load(FX)
    g = r.graph
    assert g.node("mm").attrs["_user_stream_label"] == "22" and g.node("mm").op == "MatMulV2"
    assert "_user_stream_label" not in g.node("add").attrs
    assert g.node("add").inputs == g.node("split").outputs[:2]
    x = g.tensor(g.node("arg0_1").outputs[0])
    assert (x.shape, x.dtype) == (("s0", 8), "float16")
    assert r.report.counts["call_functions"] == 7 and g.node("w").op == "Const"


def test_fx_log_with_two_graphs_shows_the_last() -> None:
    r = load(FX + b"after optimization: " + FX.split(b"graph: ", 1)[1].replace(b"add", b"plus"))
    assert "plus" in r.graph.by_name and r.report.counts["graph_starts"] == 2
    with pytest.raises(InputError, match="return line is missing"):
        load(FX.rsplit(b"\n", 2)[0])


GE_GRAPH_DEF = """name: "g"
op { name: "x" type: "Data" output_desc { dtype: DT_FLOAT shape { dim: 4 } } }
op { name: "y" type: "Relu" input: "x:0" attr { key: "_user_stream_label" value { s: "22" } } output_desc { name: "y" } }
"""
PBTXT = r"""node {
  name: 'x'
  op: 'Data'
  attr { key: '[o]y' value { s: 'name: "y"\ndtype: DT_FLOAT16\nshape {\n  dim: 4\n  dim: -1\n}\n' } }
}
node {
  name: "y"
  op: "Relu"
  input: "x:0"
  input: "^x"
  attr { key: "_user_stream_label" value { s: "s: \"22\"\n" } }
  attr { key: "dst_type" value { s: "i: 1\n" } }
  attr { key: "[o]y" value { s: "name: \"y\"\ndtype: DT_FLOAT\n" } }
}
"""
PY = """# -*- coding: utf-8 -*-
from torch import tensor
from torchair._ge_concrete_graph import ge_apis as ge
from torchair.ge._ge_graph import get_default_ge_graph

# File "model.py", line 3
arg0_0 = ge.Data(index=0, shape=[4, 8], dtype=0, node_name="arg0")
Add_0 = ge.Add(arg0_0, arg0_0, node_name="Add")
a, b = ge.SplitD([Add_0], split_dim=0, num_split=2, node_name="Split")
__import__("os").system("touch HACKED")

out = ge.NetOutput([a, b], dependencies=[Add_0])
"""


def test_torchair_txt_pbtxt_py(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    txt = load(GE_GRAPH_DEF.encode())
    assert txt.graph.node("y").attrs["_user_stream_label"] == "22" and not (txt.recorded and txt.recorded.streams)
    p = load(PBTXT.encode())
    y = p.graph.node("y")
    assert p.report.format == "torchair pbtxt" and y.attrs["_user_stream_label"] == "22" and y.attrs["dst_type"] == 1
    assert y.control_in == (0,) and p.graph.tensor(0).shape == (4, None) and p.graph.tensor(0).dtype == "float16"
    r = load(PY.encode())
    assert [n.name for n in r.graph] == ["arg0", "Add", "Split", "out"]
    split, out = r.graph.node("Split"), r.graph.node("out")
    assert out.inputs == split.outputs and out.control_in == (1,) and split.attrs["num_split"] == 2
    assert not list(tmp_path.iterdir()), "a dump must never run"


def test_a_tensorflow_graph_is_not_a_torchair_dump() -> None:
    with pytest.raises(InputError, match="TensorFlow"):
        load(b'node { name: "a" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } } }')


SET = ("[INFO] GE(1,p):2023-07-13-07:41:25.168.028 [x.cc:1]1 F:[ContinuousMem]"
       "[IMAS]Set g_1 name[{name}] optype[Add] {kind}[0] offset to [{o}] "
       "streamid[{s}] memtype[2] size[{size}] realsize[100] noalignsize[100] life time begin[{b}] life time end[{e}] "
       "child[0:1:0:0:1] isref[0] batch[], block_type[data ]")  # fmt: skip


def line(name: str, o: int, b: str, e: str, s: str = "0", kind: str = "output", size: int = 512) -> str:
    return SET.format(name=name, o=o, b=b, e=e, s=s, kind=kind, size=size)


def test_memory_lines() -> None:
    b = set_line(line("odd] optype[x[1]", 1024, "3--12", "5--9--4294967295", "1--0"))
    assert b is not None
    assert (b.name, b.offset, b.begin, b.end, b.stream, b.first_stream) == ("odd] optype[x[1]", 1024, 3, FOREVER, 1, 0)
    assert [e for _, e in b.ends] == [5, 9, FOREVER] and b.block_type == "data"
    assert set_line(line("a", 0, "1", "2").replace("size[512]", "size[many]")) is None


def test_log_gives_a_plan() -> None:
    lines = [
        line("a", 0, "0", "1"),
        line("b", 512, "1", "3"),
        line("c", 0, "2", "3"),
        line("w", 1024, "2", "3", kind="workspace"),
    ]
    r = load("\n".join([*lines, "[IMAS]AfterAssignMemory : g_1 memoffset[1536], memtype[2], theory_min[1536], zero_copy[0], "
                        "total_size[2048], no_reuse[2048], streams[1], topo_mode[DFS], mop[0], io_reuse[1:1], alloc_mode[x], smp[0]"
                        ]).encode())  # fmt: skip
    assert r.recorded is not None
    problem, plan = plan_of_lines(r.recorded.buffers)
    assert plan.peak == 1536 == r.report.counts["summary"][0]["memoffset"]
    assert problem.before == (0, 0, 0b001, 0b001), "only a has ended when c and w begin"
    assert [x.kind for x in problem.buffers] == ["feature", "feature", "feature", "workspace"]
    s = snapshot_of(r)
    assert s.memory is not None and s.memory.plan.origin == "ge-log" and s.memory.lower_bound == 1536


def test_om_shows_its_header() -> None:
    data = bytearray(256)
    data[:4], data[76:80], data[84:88], data[82], data[193] = b"IMOD", (9).to_bytes(4, "little"), b"net\0", 1, 1
    with pytest.raises(InputError, match="IMOD.*'net', standard.*9 bytes, dynamic shapes.*atc --mode=1"):
        load(bytes(data))
    with pytest.raises(InputError, match="cut off inside its header"):
        load(b"IMOD1234")

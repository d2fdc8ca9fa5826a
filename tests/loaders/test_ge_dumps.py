"""GE's dumps give the graph, streams, events and offsets that are written in them, whatever the form."""

from typing import Any

import pytest

from ge_explorer.errors import InputError
from ge_explorer.loaders import LoadResult, load
from ge_explorer.trace.recorded import snapshot_of
from tests.loaders.ge_text import Op, ge_onnx, ge_proto, two_streams

FORMS = {"ge_proto": ge_proto, "ge_onnx": ge_onnx}


def names(r: LoadResult) -> dict[int, str]:
    return r.graph.unique_names


def recorded(r: LoadResult) -> Any:
    assert r.recorded is not None
    return r.recorded


@pytest.mark.parametrize("form", FORMS)
def test_streams_events_offsets(form: str) -> None:
    r = load(FORMS[form](two_streams()))
    by = r.graph.by_name
    assert {names(r)[i]: s for i, s in recorded(r).streams.items()} == {
        "x": -1, "a": 0, "b": 1, "c": 0, "out": 0, "g_Send_0": 0, "g_Recv_0": 1, "g_Send_1": 1, "g_Recv_1": 0
    }  # fmt: skip
    assert [(e.id, names(r)[e.send], names(r)[e.recv], e.send_stream, e.recv_stream) for e in recorded(r).events] == [
        (0, "a", "b", 0, 1), (1, "b", "c", 1, 0)
    ]  # fmt: skip
    assert {names(r)[r.graph.tensor(t).producer]: o for t, o in recorded(r).offsets.items()} == {
        "x": 0, "a": 512, "b": 1024, "c": 1536
    }  # fmt: skip
    assert recorded(r).workspace[by["b"]] == ((2048, 100),)
    assert r.graph.node("b").attrs["workspace_bytes"] == (100,)
    assert [names(r)[e.src] for e in r.graph.data_in[by["c"]]] == ["a", "b"]
    assert r.report.counts["control_edges"] == 4 and r.report.counts["event_attrs"] == 4
    assert r.report.counts["stream_labels"] == 1


@pytest.mark.parametrize("form", FORMS)
def test_snapshot_has_the_facets(form: str) -> None:
    s = snapshot_of(load(FORMS[form](two_streams())))
    assert s.streams is not None and s.streams.count == 2
    assert s.sync is not None and [(e.id, e.kind) for e in s.sync.events] == [(0, "event"), (1, "event")]
    assert s.memory is not None and s.memory.plan.origin == "dump"
    at = {b.name: o for b, o in zip(s.memory.problem.buffers, s.memory.plan.offsets, strict=True)}
    assert at["a:0"] == 512 and at["b:0"] == 1024
    assert at["b.workspace0"] == 2048
    assert s.memory.plan.peak == 2048 + 512
    assert s.order is not None and [int(s.order[i]) for i in s.sequence or ()] == list(range(9))


@pytest.mark.parametrize("form", FORMS)
def test_without_ids_events_come_from_names_and_control_edges(form: str) -> None:
    r = load(FORMS[form](two_streams(), level=3))
    assert not recorded(r).streams
    assert any("DUMP_GE_GRAPH=3" in t.en and "streams" in t.en for t in r.report.missing)
    assert [(e.id, names(r)[e.send], names(r)[e.recv]) for e in recorded(r).events] == [(0, "a", "b"), (1, "b", "c")]
    assert snapshot_of(r).sync is None


def test_without_control_edges_events_attach_to_neighbours_of_their_stream() -> None:
    graphs = two_streams()
    for op in graphs["g"]:
        op.inputs = [i for i in op.inputs if not i.endswith(":-1")]
    r = load(ge_proto(graphs))
    assert [(names(r)[e.send], names(r)[e.recv]) for e in recorded(r).events] == [("a", "b"), ("b", "c")]


def test_event_lists_at_the_operators() -> None:
    graphs = {
        "g": [
            Op("a", "Relu", [], 1, 0, {"send_event_id_list": [3]}),
            Op("b", "Relu", ["a:0"], 2, 1, {"recv_event_id_list": [3]}),
        ]
    }
    r = load(ge_onnx(graphs))
    assert [(e.id, names(r)[e.send], names(r)[e.recv], e.send_node) for e in recorded(r).events] == [(3, "a", "b", -1)]


def test_notifies_and_a_lone_send() -> None:
    graphs = {
        "g": [
            Op("a", "Relu", [], 1, 0),
            Op("g_Send_Notify_4", "SendNotify", ["a:-1"], 1, 1, {"notify_id": 4}, []),
            Op("g_Recv_Notify_4", "RecvNotify", [], 2, 2, {"notify_id": 4}, []),
            Op("b", "Relu", ["a:0", "g_Recv_Notify_4:-1"], 2, 3),
            Op("g_Send_9", "Send", ["b:-1"], 2, 4, {"event_id": 9}, []),
        ]
    }
    r = load(ge_proto(graphs))
    assert [(e.kind, e.id) for e in recorded(r).events] == [("notify", 4)]
    assert [i.code for i in r.report.issues] == ["GX333"]


def test_zero_streams_before_and_after_assignment() -> None:
    """proto3 writes no zero: only the model's count tells "not assigned yet" from "all on stream 0"."""
    graphs = {"g": [Op("a", "Relu", [], 0, 0), Op("b", "Relu", ["a:0"], 0, 1)]}
    before, after = load(ge_proto(graphs, {"stream_num": 0})), load(ge_proto(graphs, {"stream_num": 1}))
    assert not recorded(before).streams and any("before streams were assigned" in t.en for t in before.report.missing)
    assert set(recorded(after).streams.values()) == {0}
    assert before.report.counts["stream_id_histogram"] == after.report.counts["stream_id_histogram"] == {"0": 2}


def test_subgraphs_by_name_and_by_guess() -> None:
    graphs = {
        "root": [
            Op("x", "Data", stream=-1, id=0),
            Op("sub_0_PartitionedCall_0", "PartitionedCall", ["x:0"], 0, 1, subgraphs=["sub_0"]),
            Op("out", "NetOutput", ["sub_0_PartitionedCall_0:0"], 0, 2, outputs=[]),
        ],
        "sub_0": [Op("x", "Data", stream=-1, id=3), Op("y", "Relu", ["x:0"], 2, 4)],
    }
    named, guessed = load(ge_proto(graphs)), load(ge_onnx(graphs))
    for r in (named, guessed):
        owner = r.graph.node("sub_0_PartitionedCall_0")
        assert [r.graph.scope(s).name for s in owner.subgraphs] == ["sub_0"]
        assert {r.graph.node(i).name for i in r.graph.scope(1).nodes} == {"x", "y"}
    assert guessed.report.counts["pseudo_subgraph_nodes"] == 1
    assert any("names" in t.en for t in guessed.report.missing)


def test_subgraphs_that_hold_each_other_end_in_a_graph() -> None:
    graphs = {
        "root": [Op("x", "Data")],
        "a": [Op("ca", "PartitionedCall", subgraphs=["b"])],
        "b": [Op("cb", "PartitionedCall", subgraphs=["a", "root", "none", "b"])],
    }
    r = load(ge_proto(graphs))
    assert len(r.graph) == 3 and {"GX330", "GX331"} <= {i.code for i in r.report.issues}
    assert r.graph.walk() == [0]


def test_twenty_tensors_are_json_and_types_use_the_right_numbering() -> None:
    many = [("DT_INT32", [k]) for k in range(20)]
    r = load(ge_onnx({"g": [Op("s", "Split", outputs=many), Op("c", "Cast", ["s:19"], attrs={"dst_type": 9})]}))
    s = r.graph.node("s")
    assert [r.graph.tensor(t).shape for t in s.outputs] == [(k,) for k in range(20)]
    assert {r.graph.tensor(t).dtype for t in s.outputs} == {"int32"}
    by_number = b'graph { name: "g" op { name: "a" type: "Relu" output_desc { dtype: 7 shape { dim: -1 } } } }'
    t = load(by_number).graph.tensor(0)
    assert (t.dtype, t.shape) == ("int32", (None,))
    readable = b'graph("g"):\n  %x : [#users=1] = Node[type=Data] ()\n' \
               b"  %c : [#users=1] = Node[type=Cast] (inputs = (x=%x), attrs = {dst_type: 9})\n"  # fmt: skip
    assert load(readable).graph.tensor(1).dtype == "int64"


def test_names_hold_colons_markup_and_control_characters() -> None:
    odd = ["a:b:0", "<script>alert(1)</script>", "x\ny\t\"'\\", "节点/1", "$(rm -rf)", "=cmd()"]
    ops = [Op(odd[0], "Relu", id=0)]
    ops += [Op(n, "Relu", [f"{odd[k]}:0", f"{odd[k]}:-1"], id=k + 1) for k, n in enumerate(odd[1:])]
    for form in FORMS.values():
        r = load(form({"g": ops}))
        assert [n.name for n in r.graph] == odd
        assert len(r.graph.edges) == len(r.graph.control) == len(odd) - 1


def test_options_and_constants() -> None:
    text = (
        b'graph { name: "g" op { name: "c" type: "Const" attr { key: "value" value { t { desc { dtype: DT_INT32 shape { dim: 2 } }'
        b' data: "\\001\\000\\000\\000\\002\\000\\000\\000" } } } output_desc { dtype: DT_INT32 shape { dim: 2 } } }'
        b' attr { key: "GlobalOptions" value { func { name: "GlobalOptions" attr { key: "ge.socVersion" '
        b'value { s: "Ascend910B1" } }'
        b' } } } attr { key: "SessionOptions" value { func { attr { key: "ge.socVersion" value { s: "Ascend310P3" } } } } } }'
    )
    r = load(text)
    assert recorded(r).options == {"ge.socVersion": "Ascend310P3"}
    assert r.graph.node("c").attrs["value"].array().tolist() == [1, 2]
    assert snapshot_of(r).options.get("ge.socVersion") == "Ascend310P3"


def test_atc_json_is_the_same_model() -> None:
    text = (
        b'{"graph": [{"name": "g", "op": [{"name": "a", "type": "Data", "stream_id": -1, "output_desc": [{"dtype": "DT_FLOAT", '
        b'"shape": {"dim": ["4"]}}]}, {"name": "b", "type": "Relu", "input": ["a:0"], "id": "1", "stream_id": "3", '
        b'"attr": [{"key": "n", "value": {"i": "5"}}]}]}], "attr": [{"key": "stream_num", "value": {"i": "4"}}]}'
    )
    r = load(text)
    assert recorded(r).streams == {0: -1, 1: 3} and r.graph.node("b").attrs["n"] == 5
    assert r.graph.tensor(0).shape == (4,) and recorded(r).model["stream_num"] == 4


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b'graph { op { name: "a" type: "T" ' * 40, "nested|ends inside|no graph"),
        (b'graph { name: "g" op { name: "a" type: "T" input: "no:0" } }', "not in its graph.*node 'a'.*byte 18"),
        (
            b'graph { name: "g" op { name: "a" type: "T" } op { name: "a" type: "T" } }',
            "two operators are named 'a'.*byte",
        ),
        (b'graph { name: "g" op { name: "a" type: "T" input: "a:70000" } }', "impossible output"),
        (b'graph { name: "g" op { name: "a" type: "T" stream_id: 99999999999 } }', "32 bits.*node 'a'"),
        (b'graph { name: "g" op { name: "a" type: "T" id: 99999999999999999999999 } }', "64 bits.*byte 47 .line 1"),
        (b'graph { name: "g" op { type: "T" } }', "no name.*byte 18"),
        (b'graph { name: "g" }', "no operator"),
        (b'graph { name: "g"\n op { name: "a\n" } }', "not closed.*byte 30 .line 2"),
        (b'graph { name: "g"\n op { name: "a" type: "T" } \n', "ends inside .graph."),
        (b'graph { name: "g" op { name: "a" type: "T" > } }', "another kind"),
    ],
)
def test_damage_has_a_place(text: bytes, said: str) -> None:
    with pytest.raises(InputError, match=said) as e:
        load(text)
    assert e.value.todo and "\n" not in str(e.value)


def test_depth_is_bounded() -> None:
    with pytest.raises(InputError, match="nested deeper than 64.*byte"):
        load(b'graph { name: "g" op { name: "a" attr { key: "k" value { ' + b"list { na { attr { value { " * 100_000)


def test_a_dump_is_compiled_again_without_its_sync_nodes() -> None:
    from ge_explorer.api import open_session

    data = ge_proto(two_streams(), {"stream_num": 2})
    session = open_session(data)
    before = load(data).graph
    assert {n.name for n in before} - {n.name for n in session.graph} == {
        "g_Send_0",
        "g_Recv_0",
        "g_Send_1",
        "g_Recv_1",
    }
    assert all(before.node(n.id).name == n.name for n in session.graph)  # ids stay, so that both can be compared
    trace = session.trace
    assert trace.failed is None and trace.final.sync is not None
    sync_nodes = [n.name for n in trace.final.graph if n.op in ("Send", "Recv")]
    assert len(sync_nodes) == 2 * len(trace.final.sync.events) + 2 * len(
        trace.final.physical.sync.events if trace.final.physical else ()
    )

"""Two files against each other: pairs of nodes, and everything that differs."""

from collections.abc import Callable
from typing import Any

import pytest

from ge_explorer.api import diff_files
from ge_explorer.loaders import load
from ge_explorer.trace.compare_files import FilesDiff, translation
from tests.loaders.ge_text import Op, ge_onnx, ge_proto, two_streams

MODEL = {"stream_num": 2}


def changed(edit: Callable[[dict[str, list[Op]]], None]) -> FilesDiff:
    after = two_streams()
    edit(after)
    return diff_files(ge_proto(two_streams(), MODEL), ge_proto(after, MODEL))


def op(graphs: dict[str, list[Op]], name: str) -> Op:
    return next(o for o in graphs["g"] if o.name == name)


def test_two_forms_of_one_dump_are_equal() -> None:
    d = diff_files(ge_proto(two_streams(), MODEL), ge_onnx(two_streams()))
    assert d.empty and len(d.match.pairs) == 9 and d.moved == ()


def test_other_stream_numbers_are_the_same_streams() -> None:
    def swap(g: dict[str, list[Op]]) -> None:
        for o in g["g"]:
            o.stream = {0: 1, 1: 0, -1: -1}[o.stream or 0]

    d = changed(swap)
    assert d.moved == () and d.stream_of == {-1: -1, 0: 1, 1: 0}


def test_a_moved_node_and_a_lost_event() -> None:
    def move(g: dict[str, list[Op]]) -> None:
        op(g, "b").stream = 0
        g["g"] = [o for o in g["g"] if o.name not in ("g_Send_1", "g_Recv_1")]
        op(g, "c").inputs = ["a:0", "b:0"]

    d = changed(move)
    assert d.moved is not None and [(m.name, m.before, m.after) for m in d.moved] == [("b", 1, 0)]
    assert d.events_a == (("b", "c", "event"),) and d.events_b == ()
    assert len(d.match.only_a) == 2


def test_a_renamed_node_is_found_by_what_it_reads() -> None:
    def rename(g: dict[str, list[Op]]) -> None:
        op(g, "a").name = "other"
        op(g, "c").inputs[0] = "other:0"
        op(g, "g_Send_0").inputs = ["other:-1"]

    d = changed(rename)
    assert [(d.a.graph.node(i).name, d.b.graph.node(j).name) for i, j in d.match.renamed] == [("a", "other")]
    assert d.counts == {"renamed": 1}


def test_a_fused_node_names_what_it_was_made_of() -> None:
    def chain(fused: bool) -> bytes:
        ops = [Op("x", "Data"), Op("m", "MatMul", ["x:0"]), Op("r", "Relu", ["m:0"]), Op("out", "NetOutput", ["r:0"])]
        if fused:
            both = Op("m_r", "MatMulRelu", ["x:0"], attrs={"_datadump_original_op_names": ["m", "r"]})
            ops = [ops[0], both, Op("out", "NetOutput", ["m_r:0"])]
        return ge_proto({"g": ops}).replace(b"val_type: VT_LIST_INT", b"")

    d = diff_files(chain(False), chain(True))
    names = {d.b.graph.node(j).name: [d.a.graph.node(i).name for i in group] for j, group in d.match.merged.items()}
    assert names == {"m_r": ["m", "r"]} and d.match.only_a == d.match.only_b == ()


@pytest.mark.parametrize(
    ("name", "edit", "field"),
    [
        ("a", lambda o: setattr(o, "type", "Gelu"), "type"),
        ("a", lambda o: setattr(o, "outputs", [("DT_FLOAT", [5])]), "shape 0"),
        ("a", lambda o: setattr(o, "outputs", [("DT_FLOAT16", [4])]), "dtype 0"),
        ("c", lambda o: setattr(o, "inputs", ["b:0", "a:0", "g_Recv_1:-1"]), "input 0"),
        ("a", lambda o: o.attrs.update(mode=3), "attribute mode"),
    ],
)
def test_each_field_of_a_node(name: str, edit: Callable[[Op], Any], field: str) -> None:
    d = changed(lambda g: edit(op(g, name)))
    assert [c.name for c in d.changed] == [name]
    assert d.changed[0].fields[0].field == field


def test_offsets_and_versions() -> None:
    after = two_streams()
    op(after, "b").offsets = [4096]
    d = diff_files(
        ge_proto(two_streams(), {**MODEL, "opp_version": "7.3"}), ge_proto(after, {**MODEL, "opp_version": "8.0"})
    )
    assert [(m.name, m.before, m.after) for m in d.offsets] == [("b:0", 1024, 4096)]
    assert [(m.name, m.before, m.after) for m in d.versions] == [("opp_version", "7.3", "8.0")]


def test_a_dump_that_states_its_version_gets_a_note() -> None:
    stated = load(ge_proto(two_streams(), {**MODEL, "opp_version": "7.3.T1"})).report
    assert [i.message.en for i in stated.issues if i.code == "GX340" and "7.3.T1" in i.message.en]
    assert "GX340" not in [i.code for i in load(ge_proto(two_streams(), MODEL)).report.issues]


def test_constants_with_a_reused_number_are_not_one_node() -> None:
    def graph(rows: list[tuple[str, list[int]]]) -> bytes:
        ops = [Op(n, "Const", outputs=[("DT_FLOAT", s)]) for n, s in rows]
        return ge_proto({"g": [*ops, Op("add", "Add", [f"{n}:0" for n, _ in rows]), Op("out", "NetOutput", ["add:0"])]})

    d = diff_files(graph([("c_1", [4]), ("c_2", [8])]), graph([("c_0", [4]), ("c_1", [8])]))
    assert [(d.a.graph.node(i).name, d.b.graph.node(j).name) for i, j in d.match.renamed] == [
        ("c_1", "c_0"),
        ("c_2", "c_1"),
    ]
    assert d.counts == {"renamed": 2}


def test_streams_translate_one_to_one_by_what_they_share() -> None:
    assert translation([(0, 5), (0, 5), (1, 5), (1, 6), (-1, 2)]) == {-1: -1, 0: 5, 1: 6}

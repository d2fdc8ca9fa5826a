"""GE's stream allocation summary: fields, text form, JSON, panel; known and unknown shapes."""

from __future__ import annotations

import json
from types import MappingProxyType
from typing import Any

import ge_explorer as gx
from ge_explorer.graph.edit import GraphEditor
from ge_explorer.graph.model import Graph
from ge_explorer.trace.state import PhysicalStreams, Snapshot, StreamAssignment, SyncPlan, int_array
from ge_explorer.views import stream_summary_panel
from ge_explorer.views.stream_summary import StreamSummaryRow, build_summary


def chain(names: str, attrs: dict[str, dict[str, Any]] | None = None, *, dynamic: bool = False) -> Graph:
    """One Relu per letter, in order."""
    e = GraphEditor.empty("g", dynamic=dynamic)
    previous = None
    for name in names:
        i = e.add_node(name, "Relu", inputs=[] if previous is None else [e.output(previous)], outputs=1,
                       attrs=(attrs or {}).get(name))  # fmt: skip
        previous = i
    return e.freeze()


def streams(
    *node: int, attached: dict[int, tuple[int, ...]] | None = None, custom: tuple[int, ...] = ()
) -> StreamAssignment:
    return StreamAssignment(int_array(node), attached=MappingProxyType(attached or {}), custom=custom)


def test_text_form_is_ges() -> None:
    assert StreamSummaryRow(0, physical_model_stream_num=1).text() == (
        "logic_stream_id: 0, user_stream_label: , is_assigned_by_user_stream_pass: false, attached_stream_ids: , "
        "physical_model_stream_num: 1, hccl_followed_stream_num: 0."
    )
    assert StreamSummaryRow(3, "11", True, (4, 5), 2, 7).text() == (
        "logic_stream_id: 3, user_stream_label: 11, is_assigned_by_user_stream_pass: true, attached_stream_ids: 4 5 , "
        "physical_model_stream_num: 2, hccl_followed_stream_num: 7."
    )


def test_two_attached_streams_split_in_two_each() -> None:
    """The shape GE's system test MultiAttachedStreamWithHugeNodeSuccess checks: three logical streams, six physical ones."""
    attached = {0: (1, 2), 1: (1, 2)}
    physical = PhysicalStreams(
        int_array([0, 3]), (0, 1, 2, 0, 1, 2), (9,) * 6, attached=MappingProxyType({0: (1, 2), 1: (4, 5)}),
        sync=SyncPlan(event_num=5),
    )  # fmt: skip
    found = build_summary(Snapshot(chain("ab"), streams=streams(0, 0, attached=attached), physical=physical))
    assert (found.stream_num, found.event_num, found.split, found.notes) == (6, 5, True, ())
    assert [(r.logic_stream_id, r.physical_model_stream_num, r.attached_stream_ids, r.nodes) for r in found.rows] == [
        (0, 2, (1, 2), (0, 1)), (1, 2, (), (0, 1)), (2, 2, (), (0, 1)),
    ]  # fmt: skip


def test_before_the_split_the_physical_number_is_unknown_and_said_so() -> None:
    found = build_summary(Snapshot(chain("ab"), streams=streams(0, 1, attached={1: (2, -1)})))
    assert [r.physical_model_stream_num for r in found.rows] == [None] * 3
    assert found.rows[1].attached_stream_ids == (2,)
    assert "physical_model_stream_num: unknown" in found.text()
    assert len(found.notes) == 1 and found.notes[0].zh


def test_last_label_wins_and_custom_ids_are_marked() -> None:
    label = {"a": {"_user_stream_label": "x"}, "b": {"_user_stream_label": "y"}, "d": {"_user_stream_label": "z"}}
    found = build_summary(Snapshot(chain("abcd", label), streams=streams(0, 0, 0, -1, custom=(0, 9))))
    assert [(r.user_stream_label, r.is_assigned_by_user_stream_pass) for r in found.rows] == [("y", True)]
    assert found.rows[0].nodes == (0, 1, 2), "d has no stream"


def test_followed_streams_take_the_smallest_per_physical_stream_and_add_up() -> None:
    used = {n: {"used_stream_num": k} for n, k in zip("abcde", (4, 2, 5, 0, 3), strict=True)}
    physical = PhysicalStreams(int_array([0, 0, 2, 2, 1]), (0, 1, 0), (1, 1, 1))
    s = Snapshot(chain("abcde", used), streams=streams(0, 0, 0, 0, 1))
    assert [r.hccl_followed_stream_num for r in build_summary(s).rows] == [2, 3]
    assert [r.hccl_followed_stream_num for r in build_summary(s.evolve(physical=physical)).rows] == [7, 3]


def test_unknown_shape_has_one_physical_stream_each_and_no_collectives() -> None:
    graph = chain("ab", {"a": {"used_stream_num": 4}}, dynamic=True)
    found = build_summary(Snapshot(graph, streams=streams(0, 1, attached={0: (2,)})))
    assert not found.graphs[0].known_shape
    assert [(r.logic_stream_id, r.physical_model_stream_num, r.hccl_followed_stream_num) for r in found.rows] == [
        (0, 1, 0), (1, 1, 0), (2, 1, 0),
    ]  # fmt: skip
    assert found.rows[2].nodes == (0,), "an attached stream lists the nodes that own it"
    assert found.notes == ()


def nested(dynamic: bool) -> Graph:
    e = GraphEditor.empty("root", dynamic=dynamic)
    outer = e.add_node("call", "PartitionedCall")
    sub = e.add_scope("inner", outer)
    e.add_node("deep", "Relu", outputs=1, scope=sub)
    return e.freeze()


def test_streams_of_branches_only_are_missing_in_ges_summary_and_we_say_so() -> None:
    found = build_summary(Snapshot(nested(False), streams=streams(0, 1)))
    assert [r.logic_stream_id for r in found.rows] == [0]
    assert found.graphs[0].inner_only == (1,)
    assert any("streams 1 " in t.en for t in found.notes)


def test_a_static_part_of_a_dynamic_graph_is_a_model_of_its_own() -> None:
    found = build_summary(Snapshot(nested(True), streams=streams(0, 1)))
    assert [(g.name, g.known_shape, [r.logic_stream_id for r in g.rows]) for g in found.graphs] == [
        ("root", False, [0]), ("inner", True, [1]),
    ]  # fmt: skip
    assert found.text().splitlines()[0] == "root:"


def test_json_and_panel_say_the_same_of_a_real_trace() -> None:
    s = gx.open_session("fork_join").trace.final
    found = build_summary(s)
    data = json.loads(json.dumps(found.as_json()))
    rows = data["graphs"]["fork_join"]
    assert [r["logic_stream_id"] for r in rows] == [0, 1]
    assert list(rows[0])[:6] == [part.split(":")[0] for part in found.rows[0].text().split(", ")]
    assert rows[0]["user_stream_label"] == "1" and rows[0]["nodes"] == ["B1", "B2"]
    picture = stream_summary_panel.build(s)
    assert [c[0].text.en for c in (r.cells[0] for r in picture.tables[0].rows)] == ["0", "1"]
    assert len(picture.tables[0].columns) == len(picture.tables[0].rows[0].cells)


def test_no_stream_yet() -> None:
    s = Snapshot(chain("a"))
    assert build_summary(s).rows == () and build_summary(s).text() == ""
    assert stream_summary_panel.build(s).alt.en == "No stream is assigned yet."


def test_hostile_labels_stay_on_one_line() -> None:
    label = {"a": {"_user_stream_label": "x\nlogic_stream_id: 99\x1b[2J"}}
    found = build_summary(Snapshot(chain("a", label), streams=streams(0)))
    assert len(found.text().splitlines()) == 1 and "\x1b" not in found.text()

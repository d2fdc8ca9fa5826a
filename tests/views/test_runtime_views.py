"""From a compiled graph to a loaded model, and the table of device streams."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

import pytest

import ge_explorer as gx
from ge_explorer.errors import OptionError
from ge_explorer.graph.edit import GraphEditor
from ge_explorer.runtime import Activator, DeviceSession, DynamicModel, StaticModel
from ge_explorer.trace.state import (
    Event,
    PhysicalStreams,
    Placement,
    Snapshot,
    StreamAssignment,
    SyncPlan,
    TaskGroup,
    TaskTable,
    int_array,
)
from ge_explorer.views import runtime_table
from ge_explorer.views.loadable import model_of
from ge_explorer.views.table_html import picture_html


def test_two_examples_one_after_the_other() -> None:
    a, b = (model_of(gx.open_session(n).trace.final) for n in ("fork_join", "three_stream_crossing"))
    session = DeviceSession("A2").load_model(a).load_model(b)
    held = {
        m: [r.device_stream for r in session.rows() if r.model == m] for m in ("fork_join", "three_stream_crossing")
    }
    assert held == {"fork_join": [1, 2, 3], "three_stream_crossing": [4, 5, 6, 7]}
    assert session.state.device.events == a.events + b.events


def compiled() -> Snapshot:
    e = GraphEditor.empty("g")
    e.add_node("a", "Relu", outputs=1)
    e.add_node("sw", "StreamSwitch", attrs={"active_stream_list": [1]})
    e.add_node("r", "HcomAllReduce", attrs={"used_stream_num": 3})
    e.add_node("idle", "Relu")
    return Snapshot(e.freeze(), streams=StreamAssignment(int_array([0, 0, 1, 3])))


def test_static_numbers_come_from_the_facets() -> None:
    core = ("AIV", "NONE", "HCCL", "AIV")
    table = TaskTable({0: (TaskGroup(0, 2, 3),), 1: (TaskGroup(0, 1),), 2: (TaskGroup(2, 4, 1, True),)}, 1024)
    split = PhysicalStreams(
        int_array([0, 0, 2, 3]), (0, 1, 1, 3), (7, 0, 8, 0), huge=(0,),
        sync=SyncPlan(event_num=4, notify_num=1, active_streams=MappingProxyType({1: (1,)})), task_table=table,
    )  # fmt: skip
    s = replace(compiled(), placement=Placement(("x",) * 4, core), physical=split)
    assert model_of(s, "m") == StaticModel(
        "m", 4, 4, 1, huge=(0,), hcom=(2,), follow={2: (3,)}, activators=(Activator("StreamSwitch", (1,)),),
        task_order=(0, 2), tasks={0: 7, 2: 8}, logic_of=(0, 1, 1, 3),
    )  # fmt: skip
    rows = [r for r in DeviceSession("A2").load_model(model_of(s, "m")).rows() if r.role == "model"]
    assert [(r.logical, r.bind, r.flags) for r in rows] == [
        (0, "head", "PERSISTENT|HUGE"), (1, "unbound", "PERSISTENT"), (1, "head", "PERSISTENT|FORCE_COPY"),
        (3, "unbound", "PERSISTENT"),
    ]  # fmt: skip


def test_without_a_split_logical_streams_stand_for_physical_ones() -> None:
    m = model_of(compiled())
    assert isinstance(m, StaticModel)
    assert (m.name, m.streams, m.events, m.logic_of, m.task_order) == ("g", 4, 0, (0, 1, 2, 3), (0, 1, 3))


def test_a_dynamic_graph_becomes_a_dynamic_model() -> None:
    e = GraphEditor.empty("g", dynamic=True)
    a = e.add_node("a", "Relu", outputs=1)
    e.add_node("b", "Relu", inputs=[e.output(a)])
    e.add_node("alone", "Relu")
    streams = StreamAssignment(int_array([0, 1, 2]), attached=MappingProxyType({1: (3,)}))
    s = Snapshot(e.freeze(), streams=streams, sync=SyncPlan(events=(Event(0, 0, 0, 1, 0, 1),), event_num=1))
    m = model_of(s, external=("stream", "event", "notify"))
    assert isinstance(m, DynamicModel)
    assert (m.streams, m.attached, m.events) == (4, 1, 1)
    session = DeviceSession("A2").load_model(m)
    assert session.ok
    assert [(x.stage, x.src, x.dst, x.node) for x in session.state.models[0].extra_events] == [
        ("first-sync", 0, 2, "alone"), ("last-sync", 1, 0, "b"), ("last-sync", 2, 0, "alone"),
        ("last-resource-clean", 1, 0, ""), ("last-resource-clean", 2, 0, ""),
    ]  # fmt: skip


def test_no_streams_yet() -> None:
    with pytest.raises(OptionError, match="no stream is assigned yet"):
        model_of(Snapshot(compiled().graph))


def test_picture_shows_rows_steps_and_failure() -> None:
    session = DeviceSession("A2", limit=8).load("A<b>", streams=3, task_order=[0]).load("B", streams=90)
    picture = runtime_table.build(session, dead=True)
    assert picture.figures[-1].tone == "error"
    assert len(picture.tables[0].rows) == len(session.rows(dead=True))
    assert all(len(r.cells) == len(picture.tables[0].columns) for r in picture.tables[0].rows)
    assert "E19999" in picture.tables[1].rows[-1].cells[0][0].text.en
    assert runtime_table.build(DeviceSession("A2")).alt.en == "1 of 1984 streams in use; loaded: nothing."
    assert "A<b>" not in picture_html(picture)

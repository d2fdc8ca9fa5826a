"""The physical state before anything is split: every logical stream is its own only part."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

from ge_explorer.errors import PassFailed
from ge_explorer.trace.state import NO_STREAM, PhysicalStreams, Snapshot, SyncPlan, TaskTable, int_array

SA = "compiler/graph/build/stream/stream_allocator.cc"
CODE = "E19999"


def begin(s: Snapshot) -> PhysicalStreams:
    """Physical streams equal to the logical ones; those of an earlier physical step when there are some.

    A node with tasks but no stream is put on stream 0, as GE does with a warning.
    """
    if s.physical is not None:
        return s.physical
    streams, sync = s.streams, s.sync or SyncPlan()
    assert streams is not None
    main = streams.node.tolist()
    table = tasks_of(s)
    for i, groups in table.of.items():
        if groups and main[i] == NO_STREAM:
            main[i] = 0
    count = max(streams.next_stream, 0)
    plan = replace(sync, events=(), removed=(), sync_nodes=MappingProxyType({}))
    return PhysicalStreams(
        int_array(main), tuple(range(count)), (0,) * count, attached=streams.attached, sync=plan, task_table=table
    )  # fmt: skip


def tasks_of(s: Snapshot) -> TaskTable:
    """The task table; an empty one with no limit when the graph has none."""
    return s.tasks if s.tasks is not None else TaskTable(MappingProxyType({}), 1 << 30)


def failed(what: str, where: str, got: object = None, todo: str = "") -> PassFailed:
    """GE's answer to anything wrong here: FAILED inside, PARAM_INVALID at the entry point."""
    return PassFailed(
        what, code=CODE, ge_status="PARAM_INVALID", inner_status="FAILED", where=where, got=got, todo=todo
    )  # fmt: skip

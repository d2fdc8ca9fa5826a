"""From one reference to everything that belongs to it: node -> stream, events, buffers, tasks, and back."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ge_explorer.ids import Ref
from ge_explorer.simulator.timeline import Timeline
from ge_explorer.trace.state import Event, Snapshot
from ge_explorer.trace.trace import Trace
from ge_explorer.views.stream_budget import all_events, logical_of

MAX_LINKED = 20_000
"""Nodes of a stream beyond this are counted, not listed."""


@dataclass(frozen=True, slots=True)
class Related:
    """References linked to a selection, each kind ascending, the selection itself included.

    ``tasks`` are task ids of the timeline (they exist only when one was given).
    """

    nodes: tuple[int, ...] = ()
    streams: tuple[int, ...] = ()
    events: tuple[int, ...] = ()
    buffers: tuple[int, ...] = ()
    tasks: tuple[int, ...] = ()

    @property
    def refs(self) -> tuple[Ref, ...]:
        """All of them as references."""
        kinds = (("node", self.nodes), ("stream", self.streams), ("event", self.events), ("buffer", self.buffers))
        out = [Ref(kind, i) for kind, ids in kinds for i in ids]  # type: ignore[arg-type]  # four literal kinds
        return tuple(out) + tuple(Ref("task", i) for i in self.tasks)


def related(trace: Trace, refs: Iterable[Ref], step: int | None = None, timeline: Timeline | None = None) -> Related:
    """Everything linked to ``refs`` in the state after ``step`` (None: the last one).

    A node brings its stream, the events it records or waits for, the buffers it writes or reads, its tasks. A stream brings
    its nodes, their events and tasks; a part (physical stream) its nodes and logical stream; an event its two nodes and
    streams; a buffer its producers and readers and their streams; a task what its node brings. Links are followed once: the
    other nodes of a node's stream are not included.
    References that do not exist at ``step`` are ignored. Cost: linear in nodes, events and buffers.
    """
    s = trace.snapshot(len(trace.steps) - 1 if step is None else step)
    asked = list(refs)
    nodes: set[int] = set()
    streams: set[int] = set()
    events: set[int] = set()
    buffers: set[int] = set()
    tasks: set[int] = set()
    full: set[int] = set()
    by_uid = {e.uid: e for e in all_events(s)}
    for r in asked:
        if r.kind == "node":
            for heir in trace.forward(r, -1, len(trace.steps) - 1 if step is None else step):
                full.add(heir.id)
        elif r.kind == "task" and timeline is not None and 0 <= r.id < timeline.node.size:
            tasks.add(r.id)
            full.add(int(timeline.node[r.id]))
        elif r.kind == "tensor":
            _tensor(s, r.id, full, buffers)
        elif r.kind == "event" and r.id in by_uid:
            e = by_uid[r.id]
            events.add(e.uid)
            nodes.update((e.send, e.recv))
            streams.update(i for i in _ends(s, e) if i >= 0)
        elif r.kind == "stream" and s.streams is not None:
            members = stream_nodes(s, r.id)
            if members or any(r.id in ids for ids in s.streams.attached.values()):
                streams.add(r.id)
                nodes.update(members[:MAX_LINKED])
                events.update(e.uid for e in by_uid.values() if r.id in _ends(s, e))
                if timeline is not None:
                    tasks.update(np.flatnonzero(timeline.stream == r.id).tolist())
        elif r.kind == "part":
            nodes.update(part_nodes(s, r.id)[:MAX_LINKED])
            streams.update(_streams_of(s, nodes))
        elif r.kind == "buffer" and s.memory is not None and 0 <= r.id < len(s.memory.problem.buffers):
            buffers.add(r.id)
            users = s.memory.problem.buffers[r.id].accessors
            nodes.update(users)
            streams.update(_streams_of(s, users))
    full = {i for i in full if i < s.graph.id_bound and s.graph.nodes[i] is not None}
    nodes |= full
    streams.update(_streams_of(s, full))
    events.update(e.uid for e in by_uid.values() if e.send in full or e.recv in full)
    if full and s.memory is not None:
        buffers.update(b.id for b in s.memory.problem.buffers if not full.isdisjoint(b.accessors))
    wanted = full | (nodes if any(r.kind in ("event", "buffer") for r in asked) else set())
    if timeline is not None and wanted:
        tasks.update(np.flatnonzero(np.isin(timeline.node, list(wanted))).tolist())
    return Related(*(tuple(sorted(x)) for x in (nodes, streams, events, buffers, tasks)))


def stream_nodes(s: Snapshot, stream: int) -> tuple[int, ...]:
    """Ids of the existing nodes on GE stream ``stream``, ascending."""
    if s.streams is None:
        return ()
    found = np.flatnonzero(s.streams.node == stream).tolist()
    return tuple(i for i in found if i < s.graph.id_bound and s.graph.nodes[i] is not None)


def part_nodes(s: Snapshot, physical: int) -> tuple[int, ...]:
    """Ids of the existing nodes on physical stream ``physical`` that have a stream of their own, ascending."""
    if s.physical is None or s.streams is None:
        return ()
    found = np.flatnonzero(s.physical.node == physical).tolist()
    of = s.streams.node
    return tuple(
        i for i in found if i < s.graph.id_bound and s.graph.nodes[i] is not None and (i >= of.size or of[i] >= 0)
    )


def _ends(s: Snapshot, e: Event) -> tuple[int, int]:
    """Logical streams of an event; those of the split name physical ones."""
    if e.cause != "split":
        return e.send_stream, e.recv_stream
    return logical_of(s, e.send_stream), logical_of(s, e.recv_stream)


def _streams_of(s: Snapshot, nodes: Iterable[int]) -> set[int]:
    if s.streams is None:
        return set()
    out = {int(s.streams.node[i]) for i in nodes if i < s.streams.node.size}
    for i in nodes:
        out.update(s.streams.attached.get(i, ()))
    return {i for i in out if i >= 0}


def _tensor(s: Snapshot, tensor: int, full: set[int], buffers: set[int]) -> None:
    t = s.graph.tensors[tensor] if 0 <= tensor < len(s.graph.tensors) else None
    if t is None:
        return
    full.add(t.producer)
    if s.memory is not None:
        buffers.update(b.id for b in s.memory.problem.buffers if tensor in b.tensors)

"""What runs where in the end: the tasks of every stream in issue order, and the two ends of every event among them.

A node is a task on its main stream and one more on each attached stream. After the physical split the streams are the parts;
Send and Recv nodes are tasks of their own then, since a cut may fall between an operator and its Send.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from ge_explorer.checks.tasks import Tasks
from ge_explorer.graph.model import IntArray
from ge_explorer.ids import Ref
from ge_explorer.trace.state import SYNC_OPS, Event, PhysicalStreams, Snapshot, StreamAssignment, SyncPlan, int_array

CONTINUOUS = "_continuous_stream_label"
LOGICAL = "_logic_stream_id"
"""Attribute with the stream of a node before the split (stream_allocator.cc, SetLogicStreamIdAttr)."""


def streams_of(s: Snapshot) -> StreamAssignment:
    """The streams of a snapshot that must have them."""
    if s.streams is None:
        raise ValueError("snapshot has no streams yet")
    return s.streams


def name_of(s: Snapshot, node: int) -> str:
    """Unique name of a node; ``#id`` for one that is gone."""
    return s.graph.unique_names.get(node, f"#{node}")


@dataclass(frozen=True, eq=False)
class Schedule:
    """Final streams of a snapshot: physical where it was split, else logical.

    ``node`` and ``attached`` as in StreamAssignment (-1: runs nothing). ``events`` are those of both batches; ``second`` the uids
    of the second one. ``sends`` / ``recvs`` map an event's uid to its Send / Recv node where there is one.
    """

    s: Snapshot
    node: IntArray
    attached: Mapping[int, tuple[int, ...]]
    events: tuple[Event, ...]
    second: frozenset[int]
    sends: Mapping[int, int]
    recvs: Mapping[int, int]

    @staticmethod
    def of(s: Snapshot) -> Schedule:
        """Schedule of a snapshot that has streams."""
        streams, physical, sync = streams_of(s), s.physical, s.sync or SyncPlan()
        if physical is None:
            sends, recvs = _sync_nodes(s, sync.events, sync.sync_nodes)
            return Schedule(s, streams.node, streams.attached, sync.events, frozenset(), sends, recvs)
        more = physical.sync
        sends, recvs = _sync_nodes(s, (*sync.events, *more.events), {**sync.sync_nodes, **more.sync_nodes})
        return Schedule(
            s, _physical_tasks(s, physical), physical.attached, (*sync.events, *more.events),
            frozenset(e.uid for e in more.events), sends, recvs,
        )  # fmt: skip

    @property
    def split(self) -> bool:
        """True if the streams are physical ones."""
        return self.s.physical is not None

    @cached_property
    def of_node(self) -> list[int]:
        """``node`` as a list (much faster to read one by one)."""
        out: list[int] = self.node.tolist()
        return out

    @cached_property
    def logical_node(self) -> list[int]:
        """Logical stream of every node."""
        out: list[int] = streams_of(self.s).node.tolist()
        return out

    @property
    def active(self) -> Mapping[int, tuple[int, ...]]:
        """Activation lists over the final streams."""
        return self.s.physical.sync.active_streams if self.s.physical is not None else self._sync.active_streams

    @property
    def _sync(self) -> SyncPlan:
        return self.s.sync or SyncPlan()

    @property
    def count(self) -> int:
        """Number of final streams: those counted, or as many as are used."""
        if self.s.physical is not None:
            return self.s.physical.count
        return max([max(self.of_node, default=-1), *(x for ids in self.attached.values() for x in ids)]) + 1

    def logical(self, stream: int) -> int:
        """Logical stream that a final one is a part of; -1 for one made after the split."""
        if self.s.physical is None:
            return self._written.get(stream, stream)
        of = self.s.physical.logic_of
        return of[stream] if 0 <= stream < len(of) else -1

    @cached_property
    def _written(self) -> Mapping[int, int]:
        """Final stream -> logical one, as the nodes of a dump state it; empty for a graph of our own."""
        of = self.of_node
        pairs = {of[n.id]: n.attrs[LOGICAL] for n in self.s.graph if LOGICAL in n.attrs and of[n.id] >= 0}
        return {k: v for k, v in pairs.items() if isinstance(v, int) and v >= 0}

    def carried_off(self, node: int) -> bool:
        """True if a continuous group took the node to a part of another stream: GE moves all nodes with the label together."""
        n, whole = self.s.graph.node(node), self.logical_node[node]
        return self.split and CONTINUOUS in n.attrs and whole >= 0 and self.logical(self.of_node[node]) != whole

    def say(self, stream: int) -> str:
        """``3``, or ``3/12`` for part 12 of stream 3."""
        whole = self.logical(stream)
        return str(stream) if whole in (stream, -1) else f"{whole}/{stream}"

    def ref(self, stream: int) -> Ref:
        """Reference to a final stream by the logical one it belongs to."""
        whole = self.logical(stream)
        return Ref("stream", whole if whole >= 0 else stream)

    @cached_property
    def sequence(self) -> tuple[int, ...]:
        """All nodes in issue order; the graph's own walk where no pass has sorted it yet."""
        return self.s.sequence if self.s.sequence is not None else tuple(self.s.graph.walk())

    @cached_property
    def merged(self) -> Mapping[int, int]:
        """Final stream -> stream that stands for it in the order.

        Parts of one logical stream whose cuts are all closed by an event from the last task of one part to the first of the next
        keep the order of one stream, and are treated as one.
        """
        physical = self.s.physical
        if physical is None or not physical.parts:
            return {}
        first, last = self.cut_ends
        closed = {
            (self.sends.get(e.uid, e.send), self.recvs.get(e.uid, e.recv)) for e in self.events if e.uid in self.second
        }
        none = (-1, -1)
        out: dict[int, int] = {}
        for whole, parts in physical.parts.items():
            pairs = list(pairwise((whole, *parts)))
            cuts = [(last.get(a, none), first.get(b, none)) for a, b in pairs]
            if all(x < y and (x[1], y[1]) in closed for x, y in cuts):
                out.update(dict.fromkeys(parts, whole))
        return out

    @cached_property
    def cut_ends(self) -> tuple[dict[int, tuple[int, int]], dict[int, tuple[int, int]]]:
        """The same as seen by a cut: receives in front of the event of the cut and sends behind it change nothing, so the first
        node is that event's Recv where only receives precede it, the last one its Send (at the place of the last node that is no
        Send) where only sends follow it.
        """
        first, last = (dict(x) for x in self.ends)
        nodes, of = self.s.graph.nodes, self.of_node
        cuts = [e.uid for e in self.events if e.cause == "split"]
        into = {self.recvs[u] for u in cuts if u in self.recvs}
        out_of = {self.sends[u] for u in cuts if u in self.sends}
        begun: set[int] = set()
        closing: dict[int, int] = {}
        busy: dict[int, int] = {}
        for place, i in enumerate(self.sequence):
            n = nodes[i]
            if n is None or of[i] < 0:
                continue
            st, op = of[i], n.op
            if st not in begun:
                if i in into:
                    first[st] = (place, i)
                if i in into or not op.startswith("Recv") or op not in SYNC_OPS:
                    begun.add(st)
            if i in out_of:
                closing[st] = i
            elif not (op.startswith("Send") and op in SYNC_OPS):
                closing.pop(st, None)
                busy[st] = place
        last.update({st: (busy.get(st, -1), i) for st, i in closing.items()})
        return first, last

    @cached_property
    def ends(self) -> tuple[dict[int, tuple[int, int]], dict[int, tuple[int, int]]]:
        """(place, node) of the first and of the last node on every final stream."""
        first: dict[int, tuple[int, int]] = {}
        last: dict[int, tuple[int, int]] = {}
        of, attached = self.of_node, self.attached
        for place, i in enumerate(self.sequence):
            for st in (of[i], *attached.get(i, ())):
                if st >= 0:
                    last[st] = (place, i)
                    if st not in first:
                        first[st] = (place, i)
        return first, last

    @cached_property
    def tasks(self) -> Tasks:
        """Everything that takes part in the order."""
        return Tasks.of(self)


def _physical_tasks(s: Snapshot, physical: PhysicalStreams) -> IntArray:
    """Physical stream of every node that runs something: GE puts data and constants on stream 0 at the very end."""
    logical = streams_of(s).node
    node = np.full(s.graph.id_bound, -1, dtype=np.int32)
    known = min(s.graph.id_bound, physical.node.size)
    node[:known] = physical.node[:known]
    idle = np.ones(s.graph.id_bound, dtype=bool)
    idle[: logical.size] = logical[: s.graph.id_bound] < 0
    for i in np.flatnonzero(idle).tolist():
        n = s.graph.nodes[i]
        has_tasks = physical.task_table is not None and bool(physical.task_table.of.get(i))
        if n is None or not (has_tasks or n.op in SYNC_OPS or n.op == "StreamActive"):
            node[i] = -1
    return int_array(node)


def _sync_nodes(
    s: Snapshot, events: Sequence[Event], known: Mapping[int, int]
) -> tuple[dict[int, int], dict[int, int]]:
    """Send and Recv node of each event. A dump lists none: they are found by their id and the operator beside them."""
    sends: dict[int, int] = {}
    recvs: dict[int, int] = {}
    if known:
        for i, uid in known.items():
            n = s.graph.nodes[i] if 0 <= i < s.graph.id_bound else None
            if n is not None:
                (sends if n.op.startswith("Send") else recvs)[uid] = i
        return sends, recvs
    if not events:
        return sends, recvs
    by_id: dict[tuple[str, int, bool], list[int]] = {}
    for n in s.graph:
        number = sync_number(n.attrs) if n.op in SYNC_OPS else None
        if number is not None:
            by_id.setdefault((SYNC_OPS[n.op], number, n.op.startswith("Send")), []).append(n.id)
    for e in events if by_id else ():
        for send, table in ((True, sends), (False, recvs)):
            rows = by_id.get((e.kind, e.id, send), [])
            near = [i for i in rows if e.send in s.graph.pred[i] or e.recv in s.graph.succ[i]] or rows
            if near:
                table[e.uid] = near[0]
                rows.remove(near[0])
    return sends, recvs


def sync_number(attrs: Mapping[str, object]) -> int | None:
    """Event or notify id of a Send or Recv node."""
    for key in ("event_id", "notify_id"):
        value = attrs.get(key)
        value = value[0] if isinstance(value, tuple | list) and value else value
        if isinstance(value, int) and not isinstance(value, bool):
            return value
    return None

"""insert-events: one event for every edge between two streams."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from ge_explorer.errors import ContractError, PassFailed
from ge_explorer.graph.happens_before import ENTER_LIKE, UNSYNCED_HOLDERS
from ge_explorer.graph.model import Graph
from ge_explorer.ids import Ref, node
from ge_explorer.passes.sync.event_table import (
    CODE,
    EVENT_OPTION,
    SA,
    STREAM_LABEL,
    append_events,
    label,
    record,
    sync_kind,
)
from ge_explorer.text import Text
from ge_explorer.trace.passes import Pass, PassContext, Rule
from ge_explorer.trace.state import NO_STREAM, Event, Snapshot, SyncPlan

_SOURCE = f"{SA}: StreamAllocator::InsertSyncEvents"
_ONE = f"{SA}: StreamAllocator::InsertOneEventInTwoNodes"
_BORDER = f"{SA}: StreamAllocator::InsertEventsForSubgraph"
_FFTS = ("_ffts_sub_graph", "_ffts_plus_sub_graph")
_THREAD_SCOPE = "_thread_scope_id"
_END = "_subgraph_end_node"


@dataclass(frozen=True)
class InsertEvents(Pass):
    """The sender records after itself, the receiver waits before itself; edges inside one stream need nothing.

    Rule:
    1. Every data edge, then every control edge of every node in traversal order; parallel edges give several events.
    2. Then the borders of subgraphs: producers of the holder → entry nodes of its body; end node → consumers of the holder.
    3. None when the producer has no stream, when both share one, from Enter to anything but StreamActive, into an FFTS+
       thread, or when a node that activates the consumer's label runs later on the producer's stream.

    GE source: stream_allocator.cc (InsertSyncEvents, InsertOneEventInTwoNodes), exact. A consumer without a stream fails with
    E19999.
    Options: ``ge.event`` = notify inserts notifies instead, by the same rules.
    Example: A(S0) → B(S1), A → C(S1) → events 0 and 1.
    """

    name: ClassVar[str] = "insert-events"
    title: ClassVar[Text] = Text("Insert events", "插入事件")
    summary: ClassVar[Text] = Text("Puts an event on every edge between two streams.", "在每条跨流的边上插入事件。")
    chapter = "events"
    reads: ClassVar[frozenset[str]] = frozenset({"graph", "streams", "order", "sequence", "scope_order"})
    writes: ClassVar[frozenset[str]] = frozenset({"sync"})
    option_keys: ClassVar[frozenset[str]] = frozenset({EVENT_OPTION})
    ge_name: ClassVar[str] = "InsertSyncEvents"
    source: ClassVar[str] = _SOURCE
    rules = MappingProxyType(
        {
            "data": Rule(
                Text("The receiver reads what the sender wrote on another stream.", "接收方读取另一条流上写出的数据。"),
                _ONE,
            ),
            "control": Rule(Text("A control edge between two streams.", "跨流的控制边。"), _ONE),
            "boundary": Rule(
                Text(
                    "Edge of a subgraph: its first or last node runs on another stream than the outer neighbour.",
                    "子图边界：首尾节点与外部相邻节点不在同一条流上。",
                ),
                _BORDER,
            ),
            "from-enter": Rule(
                Text(
                    "No event after Enter: only a StreamActive waits for it.",
                    "Enter 之后不插事件：只有 StreamActive 会等待它。",
                ),
                _ONE,
            ),
            "activated-later": Rule(
                Text(
                    "No event: a later node of the producer's stream starts this stream.",
                    "不插事件：生产者所在流上较晚的节点会启动本流。",
                ),
                _ONE,
            ),
        }
    )

    def run(self, s: Snapshot, ctx: PassContext) -> Snapshot:
        """Snapshot with one event per pair that needs one, ids counting up. Status SUCCESS."""
        work = _Insertion(s, ctx)
        for u, v, cause in examined_pairs(s):
            work.one(u, v, cause)
        ctx.status = "SUCCESS"
        if not work.made:
            return s if s.sync is not None else s.evolve(sync=work.plan)
        return s.evolve(sync=append_events(work.plan, work.made))

    def ensures(self, before: Snapshot, after: Snapshot) -> None:
        """Every event joins two different streams."""
        for e in after.sync.events if after.sync is not None else ():
            if e.send_stream == e.recv_stream or NO_STREAM in (e.send_stream, e.recv_stream):
                raise ContractError("event inside one stream", where=label(after, e))


def examined_pairs(s: Snapshot) -> Iterator[tuple[int, int, str]]:
    """(producer, consumer, cause) in GE's order, one entry per edge; whether an event is needed is decided per pair.

    Cause is data, control or boundary. Source: stream_allocator.cc (InsertSyncEvents, InsertEventsForSubgraph).
    """
    graph = s.graph
    hidden = hidden_scopes(graph)
    for u in s.sequence or ():
        scope = graph.node(u).scope
        if scope in hidden or (graph.root.dynamic and scope):
            continue
        for e in graph.data_out[u]:
            yield u, e.dst, "data"
        for v in graph.control_out[u]:
            yield u, v, "control"
    assert s.streams is not None
    stream = s.streams.node
    for scope in s.scope_order or ():
        holder = graph.scope(scope).parent
        if any(k in graph.node(holder).attrs for k in UNSYNCED_HOLDERS):
            continue
        for i in graph.scope(scope).nodes:
            if stream[i] != NO_STREAM and not graph.pred[i]:
                for p in graph.pred[holder]:
                    yield p, i, "boundary"
            if graph.node(i).attrs.get(_END) is True:
                for x in graph.succ[holder]:
                    yield i, x, "boundary"
                break


def hidden_scopes(graph: Graph) -> set[int]:
    """Scopes inside FFTS holders, at any depth: their nodes are not walked."""
    hidden: set[int] = set()
    todo = [i for n in graph if any(k in n.attrs for k in _FFTS) for i in n.subgraphs]
    while todo:
        scope = todo.pop()
        if scope not in hidden:
            hidden.add(scope)
            todo.extend(i for v in graph.scope(scope).nodes for i in graph.node(v).subgraphs)
    return hidden


class _Insertion:
    """The per-pair rule, in GE's order of tests."""

    def __init__(self, s: Snapshot, ctx: PassContext) -> None:
        assert s.streams is not None
        assert s.order is not None
        self.s, self.ctx = s, ctx
        self.plan = s.sync or SyncPlan()
        self.stream: list[int] = s.streams.node.tolist()
        self.order: list[int] = s.order.tolist()
        self.made: list[Event] = []
        self.kind = sync_kind(ctx)
        self.first_id = self.plan.notify_num if self.kind == "notify" else self.plan.event_num

    def one(self, u: int, v: int, cause: str) -> None:
        """Append an event from ``u`` to ``v`` unless a rule says that none is needed."""
        a, b = self.stream[u], self.stream[v]
        if a in (NO_STREAM, b):
            return
        producer, consumer = self.s.graph.node(u), self.s.graph.node(v)
        if producer.op in ENTER_LIKE and consumer.op != "StreamActive":
            self.leave(u, v, "from-enter", ())
            return
        if b == NO_STREAM:
            if _THREAD_SCOPE not in consumer.attrs:
                self.fail(u, v)
            return
        later = self.activator(u, str(consumer.attrs.get(STREAM_LABEL, "")))
        if later >= 0:
            self.leave(u, v, "activated-later", (node(later),))
            return
        k = len(self.made)
        e = Event(self.plan.next_uid + k, self.first_id + k, u, v, a, b, self.kind, cause)
        self.made.append(e)
        record(self.ctx, self.s, e, None, label(self.s, e), cause)

    def activator(self, u: int, stream_label: str) -> int:
        """A node that activates ``stream_label`` on the stream of ``u``, not before it; -1 when there is none."""
        graph = self.s.graph
        for i in self.plan.label_activators.get(stream_label, ()) if stream_label else ():
            same = graph.node(i).scope == graph.node(u).scope and self.stream[i] == self.stream[u]
            if same and self.order[u] <= self.order[i]:
                return i
        return -1

    def leave(self, u: int, v: int, rule: str, evidence: tuple[Ref, ...]) -> None:
        """Say why an edge between two streams gets no event."""
        for i in (u, v):
            self.ctx.decide(node(i), "events", None, None, rule, (node(u), node(v), *evidence), decisive=False)

    def fail(self, u: int, v: int) -> None:
        """GE stops at a consumer that was given no stream."""
        names = self.s.graph.unique_names
        raise PassFailed(
            f"{names[v]} has no stream but needs {names[u]} on stream {self.stream[u]}", code=CODE,
            ge_status="PARAM_INVALID", inner_status="FAILED", where=f"node {names[v]}", got=NO_STREAM,
            todo="Give the node a stream, or an engine that GE assigns streams to.",
        )  # fmt: skip

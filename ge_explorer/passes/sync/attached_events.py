"""attached-events: an attached stream that needs the value of an input waits for who makes it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from ge_explorer.errors import PassFailed
from ge_explorer.graph.model import CONST_LIKE, VARIABLE_LIKE, Node
from ge_explorer.passes.streams.attached_keys import STREAM_INFO, STREAM_LIST, entries
from ge_explorer.passes.sync.activate_by_subgraph import FIRST_ACTIVE
from ge_explorer.passes.sync.event_table import CODE, SA, append_events, label, record
from ge_explorer.passes.sync.insert_events import hidden_scopes
from ge_explorer.text import Text
from ge_explorer.trace.passes import Pass, PassContext, Rule
from ge_explorer.trace.state import NO_STREAM, Event, EventEnd, Snapshot, SyncPlan

_SOURCE = f"{SA}: StreamAllocator::InsertSyncEventsWithAttachedStream"
_VARIABLES = VARIABLE_LIKE | {"RefData"}


@dataclass(frozen=True)
class AttachedEvents(Pass):
    """Events between attached streams, or between an attached stream and a main one, for declared value dependencies.

    Rule, for every input index a node names in its attached-stream attributes:
    1. The producer of that input is waited for. A variable stands for the latest earlier node that writes it in place.
    2. In a body with a head StreamActive, a producer before the head stands for the head.
    3. Nothing when both sit on the same attached stream (or none), or when the producer is Data or a constant. Otherwise the
       event joins the attached streams; a side without one uses its main stream.

    GE source: stream_allocator.cc (InsertSyncEventsWithAttachedStream, InsertOneEventInTwoNodesWithAttachedStream), exact; one IR
    input is taken as one input. Several producers of one node: in node order (GE: hash order). Always events.
    Example: A on main 0, B attached to 2 needs A's value → event from stream 0 to stream 2.
    """

    name = "attached-events"
    title = Text("Attached waits", "附属流事件")
    summary = Text("Adds events for values that attached streams need.", "为附属流依赖的数值添加事件。")
    chapter = "events"
    reads = frozenset({"graph", "streams", "order", "sequence", "sync"})
    writes = frozenset({"graph", "sync"})
    ge_name = "InsertSyncEventsWithAttachedStream"
    source = _SOURCE
    rules = MappingProxyType(
        {
            "attached-value": Rule(
                Text("The attached stream reads this value.", "附属流读取该值。"), _SOURCE
            ),
        }
    )  # fmt: skip

    def skip_reason(self, s: Snapshot, ctx: PassContext) -> Text | None:
        """Nobody has an attached stream."""
        if any(STREAM_LIST in n.attrs or STREAM_INFO in n.attrs for n in s.graph):
            return None
        return Text("no operator has an attached stream", "没有算子使用附属流")

    def run(self, s: Snapshot, ctx: PassContext) -> Snapshot:
        """Snapshot with the events appended; ``_attached_stream_info`` is taken off the nodes. Status SUCCESS."""
        graph, plan = s.graph, s.sync or SyncPlan()
        hidden, made, attrs = hidden_scopes(graph), list[Event](), dict[int, dict[str, Any]]()
        heads = {
            graph.node(i).scope: i
            for i in s.sequence or ()
            if graph.node(i).op == "StreamActive" and graph.node(i).attrs.get(FIRST_ACTIVE) is True
        }
        for i in s.sequence or ():
            n = graph.node(i)
            if n.scope in hidden or not (STREAM_LIST in n.attrs or STREAM_INFO in n.attrs):
                continue
            for producer in dict.fromkeys(sorted(_producers(s, n, heads))):
                e = attached_event(s, plan.next_uid + len(made), plan.event_num + len(made), producer, i)
                if e is not None:
                    made.append(e)
                    record(ctx, s, e, None, label(s, e), "attached-value")
            if STREAM_INFO in n.attrs:
                attrs[i] = {STREAM_INFO: None}
        ctx.status = "SUCCESS"
        return s.evolve(graph=graph.with_attrs(attrs) if attrs else graph, sync=append_events(plan, made))


def attached_event(s: Snapshot, uid: int, number: int, src: int, dst: int) -> Event | None:
    """Event from ``src`` to ``dst`` where at least one side sits on an attached stream; None when none is needed."""
    a, b = s.graph.node(src), s.graph.node(dst)
    if a.op == "Data" or a.op in CONST_LIKE:
        return None
    assert s.streams is not None
    sides: list[tuple[int, EventEnd]] = []
    own = [_only(s, a), _only(s, b)]
    if own[0] == own[1]:
        return None
    for i, attached in ((src, own[0]), (dst, own[1])):
        sides.append((int(s.streams.node[i]), "main") if attached == NO_STREAM else (attached, "attached"))
    (sent, send_on), (received, recv_on) = sides
    return Event(uid, number, src, dst, sent, received, "event", "attached-value", send_on, recv_on)


def _only(s: Snapshot, n: Node) -> int:
    """The attached stream of a node, -1 without one. GE asserts that there are not several."""
    assert s.streams is not None
    ids = s.streams.attached.get(n.id, ())
    if len(ids) > 1:
        raise PassFailed(
            "a node whose values are waited for has several attached streams", code=CODE, ge_status="PARAM_INVALID",
            inner_status="FAILED", where=f"node {n.name}", got=list(ids), todo="Let it ask for one attached stream only.",
        )  # fmt: skip
    return ids[0] if ids else NO_STREAM


def _producers(s: Snapshot, n: Node, heads: dict[int, int]) -> Iterator[int]:
    graph = s.graph
    assert s.order is not None
    for index in _named_inputs(n):
        edge = next((e for e in graph.data_in[n.id] if e.dst_in == index), None)
        if edge is None:
            raise PassFailed(
                f"input {index} is waited for, but nothing feeds it", code=CODE, ge_status="PARAM_INVALID",
                inner_status="FAILED", where=f"node {n.name}", todo="Correct the depend value list.",
            )  # fmt: skip
        found = edge.src
        if graph.node(found).op in _VARIABLES:
            writers = [
                e.dst
                for e in graph.data_out[found]
                if graph.node(e.dst).attrs.get("reference") is True
                and e.dst_in < max(1, len(graph.node(e.dst).outputs))
                and s.order[e.dst] <= s.order[n.id]
            ]
            found = max(writers, key=lambda i: int(s.order[i]), default=found)  # type: ignore[index]
        head = heads.get(graph.node(found).scope)
        if head is not None and s.order[found] < s.order[head]:
            found = head
        yield found


def _named_inputs(n: Node) -> Iterator[int]:
    """Input indices in the attributes: a list of integers (newer) or a comma list (older)."""
    if STREAM_LIST in n.attrs:
        for row in entries(n.attrs[STREAM_LIST], n, STREAM_LIST):
            yield from (int(x) for x in row.get("_attached_resource_depend_value_list_int", ()))
    for row in entries(n.attrs.get(STREAM_INFO, ()), n, STREAM_INFO):
        text = str(row.get("_attached_stream_depend_value_list", ""))
        for part in filter(None, (x.strip() for x in text.split(","))):
            if not part.isdecimal():
                raise PassFailed(
                    "the depend value list is not a list of numbers", code=CODE, ge_status="PARAM_INVALID",
                    where=f"node {n.name}", got=text, todo="Write input indices separated by commas.",
                )  # fmt: skip
            yield int(part)

"""dynamic-insert-events: one event for every edge between two streams of a dynamic-shape graph."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import ClassVar

from ge_explorer.errors import ContractError, PassFailed
from ge_explorer.passes.dynamic.chain import DSA
from ge_explorer.passes.dynamic.enable import ENABLE, off_reason
from ge_explorer.passes.dynamic.scopes import dynamic_nodes
from ge_explorer.passes.sync.event_table import CODE, label, record
from ge_explorer.text import Text
from ge_explorer.trace.passes import Pass, PassContext, Rule
from ge_explorer.trace.state import NO_STREAM, Event, Snapshot, SyncPlan

_SOURCE = f"{DSA}: DynamicStreamAllocator::ConvertEdgesToEvents"
_ONE = f"{DSA}: DynamicStreamAllocator::InsertEventBetweenTwoNodes"


@dataclass(frozen=True)
class DynamicInsertEvents(Pass):
    """The sender records after itself, the receiver waits before itself.

    Rule: the root, then the subgraphs of unknown shapes; per node every data edge, then every control edge; parallel edges give
    several events. No border of subgraphs (control flow sits on stream 0 with its inputs and outputs), no exception for Enter or
    labels, no notifies.

    GE source: dynamic_stream_allocator.cc, exact. A node without a stream fails with E19999. The result becomes the attributes
    ``_send_event_ids`` and ``_recv_event_ids``; no Send or Recv nodes are made.
    Example: data(0) → relu(1) → out(0) → events 0 and 1.
    """

    name: ClassVar[str] = "dynamic-insert-events"
    title: ClassVar[Text] = Text("Insert events", "插入事件")
    summary: ClassVar[Text] = Text("Puts an event on every edge between two streams.", "在每条跨流的边上插入事件。")
    chapter = "events"
    reads: ClassVar[frozenset[str]] = frozenset({"graph", "streams", "scope_order"})
    writes: ClassVar[frozenset[str]] = frozenset({"sync"})
    option_keys: ClassVar[frozenset[str]] = frozenset({ENABLE})
    ge_name: ClassVar[str] = "InsertEvents"
    source: ClassVar[str] = _SOURCE
    rules = MappingProxyType(
        {
            "data": Rule(
                Text("The receiver reads what the sender wrote on another stream.", "接收方读取另一条流上写出的数据。"),
                _ONE,
            ),
            "control": Rule(Text("A control edge between two streams.", "跨流的控制边。"), _ONE),
        }
    )

    def skip_reason(self, s: Snapshot, ctx: PassContext) -> Text | None:
        """Allocator off: one stream needs no event."""
        return off_reason(s, ctx)

    def run(self, s: Snapshot, ctx: PassContext) -> Snapshot:
        """Snapshot with one event per edge between streams, ids counting up. Status SUCCESS."""
        assert s.streams is not None
        graph, stream = s.graph, s.streams.node.tolist()
        plan = s.sync or SyncPlan()
        made: list[Event] = []
        for u in dynamic_nodes(graph, s.scope_order):
            edges = [(e.dst, "data") for e in graph.data_out[u]] + [(v, "control") for v in graph.control_out[u]]
            for v, cause in edges:
                self._needs_stream(s, u, v, stream)
                if stream[u] == stream[v]:
                    continue
                k = len(made)
                e = Event(plan.next_uid + k, plan.event_num + k, u, v, stream[u], stream[v], "event", cause)
                made.append(e)
                record(ctx, s, e, None, label(s, e), cause)
        ctx.status = "SUCCESS"
        return s.evolve(
            sync=replace(
                plan,
                events=(*plan.events, *made),
                next_uid=plan.next_uid + len(made),
                event_num=plan.event_num + len(made),
            )
        )

    @staticmethod
    def _needs_stream(s: Snapshot, u: int, v: int, stream: list[int]) -> None:
        names = s.graph.unique_names
        for i in (u, v):
            if stream[i] == NO_STREAM:
                raise PassFailed(
                    f"{names[i]} has no stream but an edge to or from another node", code=CODE, ge_status="PARAM_INVALID",
                    inner_status="FAILED", where=f"node {names[i]}", got=NO_STREAM,
                    todo="Switch dynamic-refresh-by-engine-priority on again.",
                )  # fmt: skip

    def ensures(self, before: Snapshot, after: Snapshot) -> None:
        """Every event joins two different streams."""
        for e in after.sync.events if after.sync is not None else ():
            if e.send_stream == e.recv_stream:
                raise ContractError("event inside one stream", where=label(after, e))

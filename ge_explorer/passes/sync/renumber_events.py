"""renumber-events: event ids 0, 1, 2 … without holes, in the order of the senders' names."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import ClassVar

from ge_explorer.errors import ContractError
from ge_explorer.passes.sync.event_table import SU, EventTable, label, record
from ge_explorer.text import Text
from ge_explorer.trace.passes import Pass, PassContext, Rule
from ge_explorer.trace.state import Event, EventKind, Snapshot, SyncPlan

_SOURCE = f"{SU}: RefreshContinuousEvents"


@dataclass(frozen=True)
class RenumberEvents(Pass):
    """Close the holes that the clean-up left. Events keep their identity (``uid``), only ``id`` changes.

    Rule: senders by name (byte order), then by graph name; each sender's events in order of insertion.

    GE source: stream_utils.cc (RefreshContinuousEvents, RefreshContinuousNotifies), inc/graph_metadef NodeCompareKey, exact.
    Example: events 0 z→x, 3 m→n → m→n becomes 0, z→x becomes 1.
    """

    name: ClassVar[str] = "renumber-events"
    title: ClassVar[Text] = Text("Renumber events", "事件号连续化")
    summary: ClassVar[Text] = Text(
        "Numbers the remaining events by the names of their senders.", "按发送节点名称为剩余事件连续编号。"
    )
    chapter = "events"
    reads: ClassVar[frozenset[str]] = frozenset({"graph", "sync"})
    writes: ClassVar[frozenset[str]] = frozenset({"sync"})
    ge_name: ClassVar[str] = "RefreshContinuousEvents"
    source: ClassVar[str] = _SOURCE
    rules = MappingProxyType(
        {
            "renumber": Rule(
                Text("Ids are made continuous, in the order of sender names.", "按发送节点名称顺序把事件号连续化。"),
                _SOURCE,
            ),
        }
    )

    def run(self, s: Snapshot, ctx: PassContext) -> Snapshot:
        """Snapshot with ids 0..event_num-1. Status SUCCESS."""
        table = EventTable(self, s, ctx)
        new_id: dict[EventKind, dict[int, int]] = {"event": {}, "notify": {}}
        for sender in table.senders_by_name():
            for e in table.sends_of(sender):
                new_id[e.kind].setdefault(e.id, len(new_id[e.kind]))
        events: list[Event] = []
        for e in table.plan.events:
            fresh = new_id[e.kind][e.id]
            now = e if fresh == e.id else replace(e, id=fresh)
            if now is not e:
                record(ctx, s, now, label(s, e), label(s, now), "renumber")
            events.append(now)
        ctx.status = "SUCCESS"
        plan = replace(
            table.plan, events=tuple(events), event_num=len(new_id["event"]), notify_num=len(new_id["notify"])
        )
        return s.evolve(sync=plan)

    def ensures(self, before: Snapshot, after: Snapshot) -> None:
        """Ids are exactly 0..event_num-1, those of notifies 0..notify_num-1."""
        sync = after.sync or SyncPlan()
        for kind, count in (("event", sync.event_num), ("notify", sync.notify_num)):
            if {e.id for e in sync.events if e.kind == kind} != set(range(count)):
                raise ContractError(f"{kind} ids have holes after renumbering")

"""renumber-events: event ids 0, 1, 2 … without holes, in the order of the senders' names."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import ClassVar

from ge_explorer.errors import ContractError
from ge_explorer.passes.sync.event_table import EVENT_OPTION, SU, EventTable, label, notify_reason, record
from ge_explorer.text import Text
from ge_explorer.trace.passes import Pass, PassContext, Rule
from ge_explorer.trace.state import Event, Snapshot

_SOURCE = f"{SU}: RefreshContinuousEvents"


@dataclass(frozen=True)
class RenumberEvents(Pass):
    """Close the holes that the clean-up left. Events keep their identity (``uid``), only ``id`` changes.

    Rule: senders by name (byte order), then by graph name; each sender's events in order of insertion.

    GE source: stream_utils.cc (RefreshContinuousEvents), inc/graph_metadef NodeCompareKey, exact.
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
    option_keys: ClassVar[frozenset[str]] = frozenset({EVENT_OPTION})
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

    def skip_reason(self, s: Snapshot, ctx: PassContext) -> Text | None:
        """Notify mode."""
        return notify_reason(ctx)

    def run(self, s: Snapshot, ctx: PassContext) -> Snapshot:
        """Snapshot with ids 0..event_num-1. Status SUCCESS."""
        table = EventTable(self, s, ctx)
        new_id: dict[int, int] = {}
        for sender in table.senders_by_name():
            for e in table.sends_of(sender):
                new_id.setdefault(e.id, len(new_id))
        events: list[Event] = []
        for e in table.plan.events:
            now = e if new_id[e.id] == e.id else replace(e, id=new_id[e.id])
            if now is not e:
                record(ctx, s, now, label(s, e), label(s, now), "renumber")
            events.append(now)
        ctx.status = "SUCCESS"
        return s.evolve(sync=replace(table.plan, events=tuple(events), event_num=len(new_id)))

    def ensures(self, before: Snapshot, after: Snapshot) -> None:
        """Ids are exactly 0..event_num-1."""
        if after.sync is not None and {e.id for e in after.sync.events} != set(range(after.sync.event_num)):
            raise ContractError("event ids have holes after renumbering")

"""switch-clean-up: a StreamSwitch sends no events, it starts streams."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from ge_explorer.errors import ContractError
from ge_explorer.passes.sync.event_table import SA, EventTable, label
from ge_explorer.text import Text
from ge_explorer.trace.passes import Pass, PassContext, Rule
from ge_explorer.trace.state import Snapshot

_SOURCE = f"{SA}: StreamAllocator::OptimizeSyncEvents"
_SWITCH = "StreamSwitch"


@dataclass(frozen=True)
class SwitchCleanUp(Pass):
    """Everything a StreamSwitch sends is dropped: the streams behind it start only when it says so.

    GE source: stream_allocator.cc (end of OptimizeSyncEvents), exact. Waits of a StreamSwitch stay.
    Example: switch(S1) → C(S2) → that event goes.
    """

    name: ClassVar[str] = "switch-clean-up"
    title: ClassVar[Text] = Text("Switch clean-up", "清理 Switch 事件")
    summary: ClassVar[Text] = Text("Drops the events that a StreamSwitch sends.", "删除 StreamSwitch 发送的事件。")
    chapter = "events"
    reads: ClassVar[frozenset[str]] = frozenset({"graph", "sync"})
    writes: ClassVar[frozenset[str]] = frozenset({"sync"})
    ge_name: ClassVar[str] = "OptimizeSyncEvents"
    source: ClassVar[str] = _SOURCE
    rules = MappingProxyType(
        {
            "switch-sends-nothing": Rule(
                Text(
                    "A StreamSwitch starts the streams behind it, so it sends no events.",
                    "StreamSwitch 直接启动后面的流，不发送事件。",
                ),
                _SOURCE,
            ),
        }
    )

    def run(self, s: Snapshot, ctx: PassContext) -> Snapshot:
        """Snapshot without events sent by a StreamSwitch. Status SUCCESS."""
        table = EventTable(self, s, ctx)
        for sender in table.senders_by_name():
            if s.graph.node(sender).op == _SWITCH:
                for e in table.sends_of(sender):
                    table.remove(e, "switch-sends-nothing")
        ctx.status = "SUCCESS"
        return table.result()

    def ensures(self, before: Snapshot, after: Snapshot) -> None:
        """No StreamSwitch is a sender."""
        for e in after.sync.events if after.sync is not None else ():
            if after.graph.node(e.send).op == _SWITCH:
                raise ContractError("a StreamSwitch still sends", where=label(after, e))

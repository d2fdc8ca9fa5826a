"""optimize-by-recv: a node waits once per stream, for the latest sender there."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from ge_explorer.errors import ContractError
from ge_explorer.ids import node
from ge_explorer.passes.sync.event_table import SU, EventTable, label, stream_nodes
from ge_explorer.text import Text
from ge_explorer.trace.passes import Pass, PassContext, Rule
from ge_explorer.trace.state import Event, Snapshot

_SOURCE = f"{SU}: OptimizeByRecvEvents"


@dataclass(frozen=True)
class OptimizeByRecv(Pass):
    """Per sending stream and receiving node only the latest send stays; earlier ones are done by then.

    Rule: streams ascending, nodes in order, their sends in order; a newer send to the same receiver replaces the older one.

    GE source: stream_utils.cc (OptimizeByRecvEvents), exact; linear in nodes and events. No transitive reduction.
    Example: A, B, C on one stream, all → D → only the event from C stays.
    """

    name: ClassVar[str] = "optimize-by-recv"
    title: ClassVar[Text] = Text("Same receiver", "同一接收者")
    summary: ClassVar[Text] = Text(
        "Drops waits of one node on earlier senders of the same stream.", "删除同一节点对同一条流上较早发送者的等待。"
    )
    chapter = "events"
    reads: ClassVar[frozenset[str]] = frozenset({"graph", "streams", "sequence", "sync"})
    writes: ClassVar[frozenset[str]] = frozenset({"sync"})
    ge_name: ClassVar[str] = "OptimizeByRecvEvents"
    source: ClassVar[str] = _SOURCE
    rules = MappingProxyType(
        {
            "later-send": Rule(
                Text(
                    "A later node of the sending stream already signals the same receiver.",
                    "发送流上较晚的节点已经通知同一接收节点。",
                ),
                _SOURCE,
            ),
        }
    )

    def run(self, s: Snapshot, ctx: PassContext) -> Snapshot:
        """Snapshot without the waits that a later send covers. Status SUCCESS."""
        assert s.streams is not None
        table = EventTable(self, s, ctx)
        for nodes in stream_nodes(s.sequence or (), s.streams.node).values():
            sent: dict[int, list[Event]] = {}
            for sender in nodes:
                for e in table.sends_of(sender):
                    sent.setdefault(e.recv, []).append(e)
            for events in sent.values():
                kept = events[-1]
                for e in events[:-1]:
                    table.remove(e, "later-send", (kept.uid,), (node(kept.send),))
        ctx.status = "SUCCESS"
        return table.result()

    def ensures(self, before: Snapshot, after: Snapshot) -> None:
        """At most one event per sending stream and receiver."""
        seen: set[tuple[int, int]] = set()
        for e in after.sync.events if after.sync is not None else ():
            if (e.send_stream, e.recv) in seen:
                raise ContractError("two events from one stream to one receiver", where=label(after, e))
            seen.add((e.send_stream, e.recv))

"""optimize-by-send: a node's event to a stream is needed once, at the earliest waiting node."""

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

_SOURCE = f"{SU}: OptimizeBySendEvents"


@dataclass(frozen=True)
class OptimizeBySend(Pass):
    """Per sending node and receiving stream only the earliest wait stays; later nodes of that stream come after it anyway.

    Rule: streams ascending, nodes in order, their waits in order; a wait on a sender already waited for on this stream goes.

    GE source: stream_utils.cc (OptimizeBySendEvents), exact; linear in nodes and events. No transitive reduction.
    Example: A → B, A → C with B, C on one stream → the event to C goes.
    """

    name: ClassVar[str] = "optimize-by-send"
    title: ClassVar[Text] = Text("Same sender", "同一发送者")
    summary: ClassVar[Text] = Text(
        "Drops repeated waits of one stream on the same sender.", "删除同一条流对同一发送节点的重复等待。"
    )
    chapter = "events"
    reads: ClassVar[frozenset[str]] = frozenset({"graph", "streams", "sequence", "sync"})
    writes: ClassVar[frozenset[str]] = frozenset({"sync"})
    ge_name: ClassVar[str] = "OptimizeBySendEvents"
    source: ClassVar[str] = _SOURCE
    rules = MappingProxyType(
        {
            "earlier-wait": Rule(
                Text(
                    "An earlier node of this stream already waits for the same sender.",
                    "本流上较早的节点已经等待同一发送节点。",
                ),
                _SOURCE,
            ),
        }
    )

    def run(self, s: Snapshot, ctx: PassContext) -> Snapshot:
        """Snapshot without the repeated waits. Status SUCCESS."""
        assert s.streams is not None
        table = EventTable(self, s, ctx)
        for nodes in stream_nodes(s.sequence or (), s.streams.node).values():
            first: dict[int, Event] = {}
            for receiver in nodes:
                for e in table.receives_of(receiver):
                    kept = first.setdefault(e.send, e)
                    if kept is not e:
                        table.remove(e, "earlier-wait", (kept.uid,), (node(kept.recv),))
        ctx.status = "SUCCESS"
        return table.result()

    def ensures(self, before: Snapshot, after: Snapshot) -> None:
        """At most one event per sender and receiving stream."""
        seen: set[tuple[int, int]] = set()
        for e in after.sync.events if after.sync is not None else ():
            if (e.send, e.recv_stream) in seen:
                raise ContractError("two events from one sender to one stream", where=label(after, e))
            seen.add((e.send, e.recv_stream))

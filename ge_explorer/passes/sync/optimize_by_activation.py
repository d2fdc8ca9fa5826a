"""optimize-by-activation: no event where starting the receiver's stream already orders both ends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from ge_explorer.graph.happens_before import NEXT_LIKE
from ge_explorer.ids import node
from ge_explorer.passes.sync.event_table import SA, STREAM_LABEL, EventTable
from ge_explorer.text import Text
from ge_explorer.trace.passes import Pass, PassContext, Rule
from ge_explorer.trace.state import Event, Snapshot

_SOURCE = f"{SA}: StreamAllocator::OptimizeByStreamActivate"
_LOOP = "is_loop_active"


@dataclass(frozen=True)
class OptimizeByActivation(Pass):
    """Drop an event when the receiver's stream is started by something that itself comes after the sender.

    Rule, for an event S → R where R has a stream label: follow the activators of R's stream, then those of their streams.
    1. An activator fed by a node of S's stream that is not before S, or by a direct consumer of S: the event goes.
    2. An activator of another graph, or fed by NextIteration only, proves nothing and is passed over.
    3. A loop activator, or one met before, ends the search: the event stays.

    GE source: stream_allocator.cc (OptimizeByStreamActivate, IsRecvNodeActivatedBySendNode), exact; activators are followed
    in node order (GE: by pointer).
    Example: A → active1 → active2, active2 starts C's stream, A → C → the event to C goes.
    """

    name: ClassVar[str] = "optimize-by-activation"
    title: ClassVar[Text] = Text("By activation", "按激活关系")
    summary: ClassVar[Text] = Text(
        "Drops events whose order follows from starting the stream.", "删除可由流激活关系保证顺序的事件。"
    )
    chapter = "events"
    reads: ClassVar[frozenset[str]] = frozenset({"graph", "streams", "order", "sync"})
    writes: ClassVar[frozenset[str]] = frozenset({"sync"})
    ge_name: ClassVar[str] = "OptimizeByStreamActivate"
    source: ClassVar[str] = _SOURCE
    rules = MappingProxyType(
        {
            "activated": Rule(
                Text(
                    "The receiver's stream starts only after the sender, so the wait is not needed.",
                    "接收方的流在发送方之后才被启动，无需再等待。",
                ),
                _SOURCE,
            ),
        }
    )

    def run(self, s: Snapshot, ctx: PassContext) -> Snapshot:
        """Snapshot without the events that activation covers. Status SUCCESS."""
        table = EventTable(self, s, ctx)
        search = _Search(s, table.plan.stream_activators)
        for sender in table.senders_by_name():
            for e in table.sends_of(sender):
                found = search.proof(e)
                if found is None:
                    continue
                activator, feeder = found
                links = {(feeder, activator), (e.send, feeder), (e.send, activator)}
                near = (*table.receives_of(activator), *table.receives_of(feeder))
                by = dict.fromkeys(x.uid for x in near if (x.send, x.recv) in links and x is not e)
                table.remove(e, "activated", by, (node(feeder), node(activator)))
        ctx.status = "SUCCESS"
        return table.result()


class _Search:
    """From a receiver back along activators. Predecessor sets are built once per node."""

    def __init__(self, s: Snapshot, activators: Mapping[int, tuple[int, ...]]) -> None:
        assert s.streams is not None
        assert s.order is not None
        self.graph, self.activators = s.graph, activators
        self.stream: list[int] = s.streams.node.tolist()
        self.order: list[int] = s.order.tolist()
        self.inputs: dict[int, frozenset[int]] = {}

    def fed_by(self, i: int) -> frozenset[int]:
        """Data and control producers of a node."""
        if i not in self.inputs:
            self.inputs[i] = frozenset(self.graph.pred[i])
        return self.inputs[i]

    def proof(self, e: Event) -> tuple[int, int] | None:
        """(activator, its producer that is not before the sender) when activation orders the event; else None."""
        graph, sender = self.graph, e.send
        if STREAM_LABEL not in graph.node(e.recv).attrs:
            return None
        frontier = list(self.activators.get(self.stream[e.recv], ()))
        visited = {e.recv}
        while frontier:
            following: dict[int, None] = {}
            for a in sorted(frontier, key=self.order.__getitem__):
                n = graph.node(a)
                if n.scope != graph.node(sender).scope:
                    continue
                if a in visited or n.attrs.get(_LOOP):
                    return None
                if n.control_in and all(graph.node(c).op in NEXT_LIKE for c in n.control_in):
                    continue
                visited.add(a)
                for p in graph.pred[a]:
                    later = self.stream[p] == self.stream[sender] and self.order[p] >= self.order[sender]
                    if later or sender in self.fed_by(p):
                        return a, p
                following.update(dict.fromkeys(self.activators.get(self.stream[a], ())))
            frontier = list(following)
        return None

"""cover-netoutput: the graph's output waits for the end of every attached stream."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType

from ge_explorer.passes.sync.event_table import SA, append_events, label, record
from ge_explorer.text import Text
from ge_explorer.trace.passes import Pass, PassContext, Rule
from ge_explorer.trace.state import NO_STREAM, Event, Snapshot, SyncPlan

_SOURCE = f"{SA}: StreamAllocator::CoverAllStreamByNetoutput"


@dataclass(frozen=True)
class CoverNetOutput(Pass):
    """One event per attached stream: from the last node that uses it to the NetOutput of that node's graph.

    GE source: stream_allocator.cc (CoverAllStreamByNetoutput), exact. A graph without NetOutput gets none.
    Example: a and b share attached stream 2 → b → NetOutput, sent on stream 2.
    """

    name = "cover-netoutput"
    title = Text("Join attached", "汇合附属流")
    summary = Text("Makes the output wait for every attached stream.", "让输出节点等待所有附属流。")
    chapter = "events"
    reads = frozenset({"graph", "streams", "sequence", "sync"})
    writes = frozenset({"sync"})
    ge_name = "CoverAllStreamByNetoutput"
    source = _SOURCE
    rules = MappingProxyType(
        {
            "attached-end": Rule(
                Text("Last use of an attached stream: the output waits for it.", "附属流的最后一次使用：输出需等待。"),
                _SOURCE,
            ),
        }
    )

    def skip_reason(self, s: Snapshot, ctx: PassContext) -> Text | None:
        """No attached stream."""
        assert s.streams is not None
        return None if s.streams.attached else Text("no attached stream", "没有附属流")

    def run(self, s: Snapshot, ctx: PassContext) -> Snapshot:
        """Snapshot with the events, attached streams ascending. Status SUCCESS."""
        graph, plan = s.graph, s.sync or SyncPlan()
        assert s.streams is not None
        last: dict[int, int] = {}
        for i in s.sequence or ():
            last.update(dict.fromkeys(s.streams.attached.get(i, ()), i))
        made: list[Event] = []
        for stream in sorted(last):
            i = last[stream]
            ends = [j for j in graph.scope(graph.node(i).scope).nodes if graph.node(j).op == "NetOutput"]
            if not ends or stream == NO_STREAM:
                continue
            k = len(made)
            e = Event(
                plan.next_uid + k, plan.event_num + k, i, ends[0], stream, int(s.streams.node[ends[0]]), "event",
                "attached-end", "by-stream",
            )  # fmt: skip
            made.append(e)
            record(ctx, s, e, None, label(s, e), "attached-end")
        ctx.status = "SUCCESS"
        return s.evolve(sync=append_events(plan, made))

"""post-process-streams: what still has no stream goes to stream 0; the number of notifies is checked."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import MappingProxyType

from ge_explorer.ids import node
from ge_explorer.passes.physical.state import SA, begin, failed
from ge_explorer.text import Text
from ge_explorer.trace.passes import Pass, PassContext, Rule
from ge_explorer.trace.state import NO_STREAM, Snapshot, int_array

MAX_NOTIFIES = 1024
_SOURCE = f"{SA}: StreamAllocator::PostProcessOfSplitStreams"


@dataclass(frozen=True)
class PostProcessStreams(Pass):
    """Every node without a stream is put on stream 0; there is at least one stream; at most 1024 notifies.

    GE source: stream_allocator.cc (PostProcessOfSplitStreams), exact.
    """

    name = "post-process-streams"
    title = Text("Finish", "收尾")
    summary = Text("Puts everything without a stream on stream 0.", "把没有流的节点放到流 0。")
    chapter = "activation"
    reads = frozenset({"graph", "streams", "sync", "tasks", "physical"})
    writes = frozenset({"physical"})
    ge_name = "PostProcessOfSplitStreams"
    source = _SOURCE
    rules = MappingProxyType(
        {"stream-0": Rule(Text("It has no stream: stream 0.", "没有流：归入流 0。"), _SOURCE)}
    )  # fmt: skip

    def run(self, s: Snapshot, ctx: PassContext) -> Snapshot:
        """Snapshot whose ``physical.node`` has no -1. Status SUCCESS."""
        physical = begin(s)
        if physical.sync.notify_num > MAX_NOTIFIES:
            raise failed(
                f"more than {MAX_NOTIFIES} notifies", s.graph.name, physical.sync.notify_num,
                "Use events (ge.event unset), or fewer streams.",
            )  # fmt: skip
        main = physical.node.tolist()
        for n in s.graph:
            if main[n.id] == NO_STREAM:
                main[n.id] = 0
                ctx.decide(node(n.id), "physical stream", NO_STREAM, 0, "stream-0", decisive=False)
        ctx.status = "SUCCESS"
        one = physical.logic_of or (0,)
        return s.evolve(
            physical=replace(physical, node=int_array(main), logic_of=one, tasks=physical.tasks or (0,))
        )  # fmt: skip

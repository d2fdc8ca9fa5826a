"""generate-split-nodes: Send and Recv nodes for the events that the split added."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import MappingProxyType

from ge_explorer.ids import event, node
from ge_explorer.passes.physical.state import tasks_of
from ge_explorer.passes.sync.generated_nodes import SOURCE, Generation
from ge_explorer.passes.sync.new_nodes import GROWN, grown
from ge_explorer.text import Text
from ge_explorer.trace.passes import Pass, PassContext, Rule
from ge_explorer.trace.state import NO_STREAM, Snapshot, int_array


@dataclass(frozen=True)
class GenerateSplitNodes(Pass):
    """As generate-sync-nodes, but topological ids stay: new nodes get the ids after the highest one.

    GE moves the sends of the first batch again, which turns their order behind a node around.

    GE source: stream_allocator.cc (GenerateSyncEventNodes with change_topo false), exact.
    """

    name = "generate-split-nodes"
    title = Text("Send and Recv", "生成收发节点")
    summary = Text("Adds Send and Recv nodes for the new events.", "为新事件添加 Send 与 Recv 节点。")
    chapter = "activation"
    reads = frozenset({"graph", "streams", "sync", "physical", "tasks"})
    writes = GROWN | {"physical"}
    ge_name = "GenerateSyncEventNodes"
    source = SOURCE
    rules = MappingProxyType({"sync-node": Rule(Text("One end of an event.", "事件的一端。"), SOURCE)})

    def skip_reason(self, s: Snapshot, ctx: PassContext) -> Text | None:
        """No step before it."""
        return Text("the device takes streams of any length", "设备支持任意长度的流") if tasks_of(s).unlimited else None

    def run(self, s: Snapshot, ctx: PassContext) -> Snapshot:
        """Snapshot with the nodes; their logical stream is the one their physical stream is a part of. Status SUCCESS."""
        physical = s.physical
        assert physical is not None
        main = dict(enumerate(physical.node.tolist()))
        work = Generation(s, physical.sync.events, main, physical.attached)
        after = work.run(renumber=False)
        ctx.status = "SUCCESS"
        new = sorted(work.made)
        for i in new:
            ctx.decide(node(i), "event", None, after.graph.node(i).name, "sync-node", [event(work.made[i])])
        where = [work.nodes.stream[i] for i in new]
        plan = replace(physical.sync, sync_nodes=MappingProxyType(dict(work.made)))
        assert after.streams is not None
        logical = after.streams.node.tolist()
        for i, x in zip(new, where, strict=True):
            logical[i] = physical.logic_of[x] if x != NO_STREAM else NO_STREAM
        return after.evolve(
            streams=replace(after.streams, node=int_array(logical)),
            physical=replace(physical, node=grown(physical.node, where), sync=plan),
        )

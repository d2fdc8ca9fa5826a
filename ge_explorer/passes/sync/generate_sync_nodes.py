"""generate-sync-nodes: every event becomes a Send node behind its sender and a Recv node before its receiver."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import MappingProxyType

from ge_explorer.ids import event, node
from ge_explorer.passes.sync.generated_nodes import SOURCE, Generation
from ge_explorer.passes.sync.new_nodes import GROWN
from ge_explorer.text import Text
from ge_explorer.trace.passes import Pass, PassContext, Rule
from ge_explorer.trace.state import Snapshot, SyncPlan


@dataclass(frozen=True)
class GenerateSyncNodes(Pass):
    """Put Send/Recv (SendNotify/RecvNotify in notify mode) nodes into the graph and number all nodes anew.

    Rule: names ``<graph>_Send_<id>`` and ``<graph>_Recv_<id>`` (``_Reuse_<k>`` when taken); on the stream of the end they stand
    for; Recv directly before its node, Send directly behind it. Topological ids become 0..n-1 in traversal order.

    GE source: stream_allocator.cc (GenerateSyncEventNodes), compute_graph.cc (ReorderEventNodes, InsertGraphEvents), exact.
    Example: event 0 a → b becomes a, g_Send_0 on stream 0 and g_Recv_0, b on stream 1.
    """

    name = "generate-sync-nodes"
    title = Text("Send and Recv", "生成收发节点")
    summary = Text("Turns events into Send and Recv nodes.", "把事件变成 Send 与 Recv 节点。")
    chapter = "events"
    reads = frozenset({"graph", "streams", "sync"})
    writes = GROWN | {"sync"}
    ge_name = "GenerateSyncEventNodes"
    source = SOURCE
    rules = MappingProxyType(
        {
            "sync-node": Rule(Text("One end of an event.", "事件的一端。"), SOURCE),
        }
    )

    def run(self, s: Snapshot, ctx: PassContext) -> Snapshot:
        """Snapshot with the nodes, ``sync.sync_nodes`` and new topological ids. Status SUCCESS."""
        assert s.streams is not None
        plan = s.sync or SyncPlan()
        work = Generation(s, plan.events, dict(enumerate(s.streams.node.tolist())), s.streams.attached)
        after = work.run(renumber=True)
        for i, uid in work.made.items():
            ctx.decide(node(i), "event", None, after.graph.node(i).name, "sync-node", [event(uid)])
        ctx.status = "SUCCESS"
        types = (0,) * plan.notify_num
        return after.evolve(sync=replace(plan, sync_nodes=work.sync_nodes(plan.sync_nodes), notify_types=types))

"""Is the order an order? Every node once, producers before consumers (order.md; sync.md 19.14)."""

from __future__ import annotations

from collections.abc import Iterator

from ge_explorer.graph.happens_before import NEXT_LIKE
from ge_explorer.ids import Ref
from ge_explorer.issue import Issue
from ge_explorer.text import Text
from ge_explorer.trace.state import SYNC_OPS, Snapshot

NOT_TOPOLOGICAL, INCOMPLETE = "GX122", "GX123"
LIMIT = 20


def topological_order(s: Snapshot) -> Iterator[Issue]:
    """GX123 for a sequence that misses or repeats nodes, GX122 for a producer that comes after its consumer.

    NextIteration is a back edge by design; a StreamActive that GE appends behind its StreamSwitch is exempt (sync.md 24.3).
    """
    if s.sequence is None:
        return
    place = {v: k for k, v in enumerate(s.sequence)}
    missing = [i for i in s.graph.node_ids if i not in place]
    if missing or len(place) != len(s.sequence) or len(place) != len(s.graph):
        yield Issue(
            INCOMPLETE, "error",
            Text(
                f"the order lists {len(s.sequence)} entries for {len(s.graph)} nodes ({len(missing)} nodes missing)",
                f"节点顺序有 {len(s.sequence)} 项，图中有 {len(s.graph)} 个节点（缺 {len(missing)} 个）",
            ),
            tuple(Ref("node", i) for i in missing[:LIMIT]), Text("Sort the graph again.", "请重新排序。"), "order.md",
        )  # fmt: skip
        return
    count = 0
    names = s.graph.unique_names
    for u, v in s.graph.dependencies:
        a = s.graph.node(u)
        if a.op in NEXT_LIKE or "_switch_branch_node_label" in a.attrs:
            continue
        # GE keeps the ids when the split adds nodes: a new Send or Recv has a higher one than what follows it.
        ids_fit = s.order is None or s.order[u] < s.order[v] or a.op in SYNC_OPS or s.graph.node(v).op in SYNC_OPS
        if place[u] < place[v] and ids_fit:
            continue
        count += 1
        if count <= LIMIT:
            yield Issue(
                NOT_TOPOLOGICAL, "error",
                Text(f"{names[v]} comes before {names[u]}, which it needs", f"{names[v]} 排在它所依赖的 {names[u]} 之前"),
                (Ref("node", u), Ref("node", v)), Text("Sort the graph again.", "请重新排序。"), "sync.md 19.14",
            )  # fmt: skip

"""Is the order an order? Every node once, producers before consumers (order.md; sync.md 19.14)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

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
    names = s.graph.unique_names
    count = 0
    for u, v in _late(s, place):
        a, b = s.graph.node(u), s.graph.node(v)
        if a.op in NEXT_LIKE or "_switch_branch_node_label" in a.attrs:
            continue
        # GE keeps the ids when the split adds nodes: a new Send or Recv has a higher one than what follows it.
        if place[u] < place[v] and (a.op in SYNC_OPS or b.op in SYNC_OPS):
            continue
        count += 1
        if count <= LIMIT:
            yield Issue(
                NOT_TOPOLOGICAL, "error",
                Text(f"{names[v]} comes before {names[u]}, which it needs", f"{names[v]} 排在它所依赖的 {names[u]} 之前"),
                (Ref("node", u), Ref("node", v)), Text("Sort the graph again.", "请重新排序。"), "sync.md 19.14",
            )  # fmt: skip


def _late(s: Snapshot, place: Mapping[int, int]) -> Iterator[tuple[int, int]]:
    """Dependencies whose consumer comes first, in the sequence or by topological id."""
    pairs = s.graph.dependencies
    if not pairs:
        return
    ends = np.array(pairs, dtype=np.int64)
    at = np.full(s.graph.id_bound, -1, dtype=np.int64)
    at[list(place)] = list(place.values())
    late = at[ends[:, 0]] >= at[ends[:, 1]]
    if s.order is not None:
        late |= s.order[ends[:, 0]] >= s.order[ends[:, 1]]
    for k in np.flatnonzero(late).tolist():
        yield pairs[k]

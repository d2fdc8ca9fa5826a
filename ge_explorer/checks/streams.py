"""19.12 and 19.13: stream ids without holes, and a stream for every node in the end."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ge_explorer.checks.context import Context
from ge_explorer.checks.schedule import streams_of
from ge_explorer.ids import Ref
from ge_explorer.issue import Issue
from ge_explorer.text import Text
from ge_explorer.trace.state import SYNC_OPS

STREAM_IDS, NO_STREAM = "GX114", "GX118"
GE_LOCAL = "DNN_VM_GE_LOCAL"
CALLS = frozenset({"PartitionedCall", "StatefulPartitionedCall"})


def dense_stream_ids(c: Context) -> Iterator[Issue]:
    """GX114: stream ids in use must be 0..n-1, below the number the model is loaded with."""
    s, assignment = c.s, streams_of(c.s)
    used = {int(x) for x in np.unique(assignment.node) if x >= 0}
    used |= {x for ids in assignment.attached.values() for x in ids if x >= 0}
    if s.graph.root.dynamic:
        used |= set(range(max(assignment.main_count, 0)))  # GE counts streams no node ends up on (GX331)
        inner = {int(assignment.node[n.id]) for n in s.graph if c.inside_static(n.id)}
        used -= inner - {int(assignment.node[n.id]) for n in s.graph if not c.inside_static(n.id)}
    if s.physical is not None:
        used = {int(x) for x in np.unique(s.physical.node) if x >= 0}
        used |= {x for ids in s.physical.attached.values() for x in ids if x >= 0}
    gap = next((i for i in range(len(used)) if i not in used), None)
    count = s.physical.count if s.physical is not None else assignment.next_stream
    if gap is not None:
        counted = max(used) < count
        yield Issue(
            STREAM_IDS, "warning" if counted else "error",
            Text(
                f"stream {gap} is created but nothing runs on it"
                if counted
                else f"stream ids are not dense: {gap} is missing, {max(used)} is used",
                f"会创建流 {gap}，但没有任务在其上运行" if counted else f"流编号不连续：缺少 {gap}，却用到了 {max(used)}",
            ),
            tuple(c.plan.ref(i) for i in sorted(used) if i > gap),
            Text("Renumber the streams (refresh-streams).", "请重新编号（refresh-streams）。"), "sync.md 19.12",
        )  # fmt: skip
    elif s.physical is not None and len(used) > s.physical.count:
        yield Issue(
            STREAM_IDS, "error",
            Text(f"nodes use {len(used)} streams, the model is loaded with {s.physical.count}",
                 f"节点使用 {len(used)} 条流，而模型加载时只有 {s.physical.count} 条"),
            tuple(c.plan.ref(i) for i in sorted(used)[s.physical.count :]),
            Text("Split the streams again.", "请重新切分。"), "sync.md 19.12",
        )  # fmt: skip


def streamless_nodes(c: Context) -> Iterator[Issue]:
    """GX118: a node that runs something but has no stream, or any node without one after the last step."""
    s, stream = c.s, streams_of(c.s).node.tolist()
    final = s.physical.node.tolist() if s.physical is not None else []
    # GE puts whatever is left on stream 0 in one sweep: once one source has a stream, everything must have one.
    swept = any(final[n.id] >= 0 for n in s.graph if n.is_source and n.id < len(final) and stream[n.id] < 0)
    for n in s.graph:
        last = final[n.id] if n.id < len(final) else -1
        if last >= 0 or (not swept and (stream[n.id] >= 0 or _may_have_none(c, n.id))):
            continue
        yield Issue(
            NO_STREAM, "error",
            Text(f"{c.name(n.id)} ({n.op}) has no stream", f"{c.name(n.id)}（{n.op}）没有流"),
            (Ref("node", n.id),),
            Text("Let one of the stream passes assign it.", "请由某个流分配 pass 为其分配。"), "sync.md 19.13",
        )  # fmt: skip


def _may_have_none(c: Context, i: int) -> bool:
    """Data, constants, GE-local nodes, outputs and calls of a body (the body runs) may go without a logical stream."""
    n, placement = c.s.graph.node(i), c.s.placement
    engine = placement.engine[i] if placement is not None and i < len(placement.engine) else ""
    calls = n.op in CALLS and bool(n.subgraphs)
    quiet = n.is_source or n.op in SYNC_OPS or n.op == "NetOutput" or "_thread_scope_id" in n.attrs
    return quiet or calls or engine.startswith(GE_LOCAL)

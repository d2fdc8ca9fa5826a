"""Queue entries a node takes on each of its streams (CollectTaskSize, GetAssignedTaskNum)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ge_explorer.graph.model import Graph, Node
from ge_explorer.trace.state import NO_STREAM, TaskGroup

SA = "compiler/graph/build/stream/stream_allocator.cc"
SU = "compiler/graph/build/stream/stream_utils.cc"
HCCL_TYPES = frozenset(
    {
        "HcomBroadcast", "HcomAllGather", "HcomAllReduce", "HcomReduceScatter", "HcomReduce", "HcomAllToAllV",
        "HcomGatherAllToAllV", "HcomAllToAllVC", "HcomAllToAll",
    }
)  # fmt: skip
_WAITS = ("Recv", "RecvMem")


def is_hccl(n: Node) -> bool:
    """Collective by kernel library or type (stream_utils.cc, IsHcclOp)."""
    return n.op in HCCL_TYPES or n.attrs.get("_ge_attr_op_kernel_lib_name") == "ops_kernel_info_hccl"


def assigned(n: Node, *, attached: bool) -> int:
    """Queue entries a node declares itself, 0 when it declares none. A receive needs one more."""
    if "_node_sqe_num" in n.attrs:
        number = int(n.attrs["_node_sqe_num"])
    elif is_hccl(n):
        number = int(n.attrs.get("_hccl_attached_task_num" if attached else "_hccl_task_num", 0))
    else:
        number = 0
    return number + 1 if number > 0 and n.op in _WAITS else number


def entries_of(group: TaskGroup) -> int:
    """Queue entries of equal tasks: ``sqe`` each (1 when unset), a wait one more for the reset."""
    return group.count * ((group.sqe or 1) + (1 if group.wait else 0))


def node_entries(n: Node, main: int, attached: Sequence[int], groups: Sequence[TaskGroup]) -> dict[int, int]:
    """Stream -> queue entries of one node; empty for a node without a stream."""
    if main == NO_STREAM:
        return {}
    info = {main: 0}
    for g in groups:
        info[g.stream] = info.get(g.stream, 0) + entries_of(g)
    own, beside = assigned(n, attached=False), assigned(n, attached=True)
    if own > 0:
        info[main] = own
    for stream in attached if beside > 0 else ():
        if stream != NO_STREAM:
            info[stream] = beside
    return info


def all_entries(
    graph: Graph, sequence: Sequence[int], main: Mapping[int, int], attached: Mapping[int, Sequence[int]],
    tasks: Mapping[int, Sequence[TaskGroup]], active: Mapping[int, Sequence[int]], limit: int,
) -> dict[int, dict[int, int]]:  # fmt: skip
    """Node -> stream -> queue entries, in traversal order.

    A StreamActive that declares no number is counted anew: one activation for every part that each stream it starts may be
    split into.
    """
    info = {i: node_entries(graph.node(i), main[i], attached.get(i, ()), tasks.get(i, ())) for i in sequence}
    total: dict[int, int] = {}
    for per_stream in info.values():
        for stream, count in per_stream.items():
            total[stream] = total.get(stream, 0) + count
    for i in sequence:
        if graph.node(i).op == "StreamActive" and info[i] and not assigned(graph.node(i), attached=False):
            info[i][main[i]] = sum(-(-total.get(x, 0) // limit) for x in active.get(i, ()))
    return info

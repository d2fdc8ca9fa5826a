"""A scope of the graph as a ``Dag``, and the streams found for it back into the graph.

Source: DAGAdapter (compiler/graph/build/stream/dag_adapter.cc).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from ge_explorer.device.chips import CHIPS
from ge_explorer.errors import PassFailed
from ge_explorer.graph.model import Graph, IntArray, Node
from ge_explorer.passes.streams.dag.model import UNKNOWN_TIME, Dag, DagNode
from ge_explorer.passes.streams.dag.profiling import Profile

STREAM_LABEL = "_stream_label"
CORE_TYPE = "_cube_vector_core_type"
MIX_IS_AIV = "_mix_is_aiv"
BLOCK_DIM = "tvm_blockdim"
RTS_LABEL = "_rts_label_node"
NO_PROFILE = Profile()

Verdict = Literal["moved", "unknown", "rts-label", "no-time", "no-stream"]
"""What becomes of a node: it gets its stream; the graph does not know it; it is a runtime label node; the allocator gave it
no stream; it had no stream before."""


def from_scope(graph: Graph, scope: int, streams: IntArray, profile: Profile = NO_PROFILE, soc: str = "") -> Dag:
    """``Dag`` of one scope: direct nodes in list order, every data edge, then control edges, label and cost.

    A node without a stream in ``streams`` takes no time and so stays out of the cover.
    """
    members = graph.scope(scope).nodes
    place = {i: k for k, i in enumerate(members)}
    nodes = tuple(_node(graph.node(i), int(streams[i]), profile) for i in members)
    edges = tuple((place[i], place[j]) for i in members for j in graph.succ[i] if j in place)
    return Dag(nodes, edges, device_cores(soc))


def _node(node: Node, stream: int, profile: Profile) -> DagNode:
    label = node.attrs.get(STREAM_LABEL, "")
    time, cube, vec, profiled = node_cost(node, profile)
    return DagNode(
        node.name, label if isinstance(label, str) else "", 0.0 if stream < 0 else time, cube, vec, node.id, profiled
    )


def node_cost(node: Node, profile: Profile) -> tuple[float, int, int, bool]:
    """(time in µs, cube blocks, vector blocks, from the profile). Without a record: unknown time, blocks of ``tvm_blockdim``.

    Source: DAGAdapter::BuildNodeCost; a negative block number wraps around to 64 bits, as it does there.
    """
    row = profile.find(node.name)
    if row is not None:
        return row.time, row.cube, row.vec, True
    blocks = node.attrs.get(BLOCK_DIM, -1)
    if not isinstance(blocks, int) or blocks == -1:
        return UNKNOWN_TIME, 0, 0, False
    kind, blocks = core_kind(node), blocks % (1 << 64)
    return UNKNOWN_TIME, blocks if kind == "AIC" else 0, blocks if kind == "AIV" else 0, False


def core_kind(node: Node) -> str:
    """ "AIV", "AIC" or "" from the compiled core type: AIV and MIX_AIV (or MIX marked as vector) are vector, the rest cube."""
    kind = node.attrs.get(CORE_TYPE)
    if not isinstance(kind, str) or not kind:
        return ""
    vector = kind in ("AIV", "MIX_AIV") or (kind == "MIX" and node.attrs.get(MIX_IS_AIV) is True)
    return "AIV" if vector else "AIC"


def device_cores(soc: str) -> tuple[int, int]:
    """(cube, vector) cores of a chip, -1 when it is not named or not known (DAGAdapter::FillDeviceResource)."""
    chip = CHIPS.get(soc)
    return (chip.aic, chip.aiv) if chip is not None else (-1, -1)


def write_back(
    graph: Graph, dag: Dag, found: Sequence[int], before: IntArray, next_stream: int
) -> Iterator[tuple[int, int, Verdict]]:
    """(node id, stream, verdict) per node of ``dag``, in its order. ``found`` are streams per position, -1 for none.

    PassFailed when a stream was never allocated (not below ``next_stream``). NetOutput is written like any other node: GE means
    to leave it out, but compares a pointer with a literal, which never holds.
    Source: DAGAdapter::RefreshStreamIdsToGE.
    """
    for n, stream in zip(dag.nodes, found, strict=True):
        i = n.node_id
        if i < 0:
            yield i, stream, "unknown"
        elif graph.node(i).attrs.get(RTS_LABEL) is True:
            yield i, stream, "rts-label"
        elif stream < 0:
            yield i, stream, "no-time"
        elif before[i] < 0:
            yield i, stream, "no-stream"
        elif stream >= next_stream:
            raise PassFailed("a stream was not allocated before it was used", where=n.name, got=stream,
                             todo=f"Allocate it first; {next_stream} is the next free one.")  # fmt: skip
        else:
            yield i, stream, "moved"

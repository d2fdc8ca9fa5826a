"""A scope of the graph as a ``Dag``: direct nodes in list order, every data edge, then control edges, label and cost.

Source: DAGAdapter::FromGEGraph (compiler/graph/build/stream/dag_adapter.cc).
"""

from __future__ import annotations

from ge_explorer.graph.model import Graph, IntArray, Node
from ge_explorer.passes.streams.dag.model import UNKNOWN_TIME, Dag, DagNode

STREAM_LABEL = "_stream_label"
CORE_TYPE = "_cube_vector_core_type"
MIX_IS_AIV = "_mix_is_aiv"
BLOCK_DIM = "tvm_blockdim"


def from_scope(graph: Graph, scope: int, streams: IntArray) -> Dag:
    """``Dag`` of one scope; a node without a stream in ``streams`` takes no time and so stays out of the cover."""
    members = graph.scope(scope).nodes
    place = {i: k for k, i in enumerate(members)}
    nodes = tuple(_node(graph.node(i), int(streams[i])) for i in members)
    edges = tuple((place[i], place[j]) for i in members for j in graph.succ[i] if j in place)
    return Dag(nodes, edges)


def _node(node: Node, stream: int) -> DagNode:
    label = node.attrs.get(STREAM_LABEL, "")
    blocks = node.attrs.get(BLOCK_DIM, 0)
    blocks = blocks if isinstance(blocks, int) else 0
    kind = core_kind(node)
    return DagNode(
        node.name,
        label if isinstance(label, str) else "",
        0.0 if stream < 0 else UNKNOWN_TIME,
        blocks if kind == "AIC" else 0,
        blocks if kind == "AIV" else 0,
        node.id,
    )


def core_kind(node: Node) -> str:
    """ "AIV", "AIC" or "" from the compiled core type: AIV and MIX_AIV (or MIX marked as vector) are vector, the rest cube."""
    kind = node.attrs.get(CORE_TYPE)
    if not isinstance(kind, str) or not kind:
        return ""
    vector = kind in ("AIV", "MIX_AIV") or (kind == "MIX" and node.attrs.get(MIX_IS_AIV) is True)
    return "AIV" if vector else "AIC"

"""dynamic-node-update: nodes take the stream of their cluster."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from ge_explorer.ids import node
from ge_explorer.passes.dynamic.chain import DSA, DynamicChainPass, DynamicDraft
from ge_explorer.passes.streams.chain import cluster_ref
from ge_explorer.text import Text
from ge_explorer.trace.passes import Rule
from ge_explorer.trace.state import NO_STREAM

_SOURCE = f"{DSA}: DynamicStreamAllocator::SetSubgraphStreamToNodes"


@dataclass(frozen=True)
class NodeUpdate(DynamicChainPass):
    """Write cluster streams to the direct nodes of the graph.

    Rule: every node starts from no stream; members of a cluster with a stream take it. Runtime label nodes are no exception
    here, and a cluster without a stream is no error.

    GE source: dynamic_stream_allocator.cc, exact.
    Example: cluster {conv, relu} on stream 1 → conv 1, relu 1; their Data → none for now.
    """

    name: ClassVar[str] = "dynamic-node-update"
    title: ClassVar[Text] = Text("To nodes", "写入节点")
    summary: ClassVar[Text] = Text("Gives each node the stream of its cluster.", "把簇的流写到节点上。")
    ge_name: ClassVar[str] = "SetSubgraphStreamToNodes"
    source: ClassVar[str] = _SOURCE
    rules = MappingProxyType(
        {
            "from-cluster": Rule(Text("Takes the stream of its cluster.", "使用所在簇的流。"), _SOURCE),
            "no-cluster": Rule(Text("In no cluster, so no stream for now.", "不在任何簇中，暂无流。"), _SOURCE),
        }
    )

    def work(self, d: DynamicDraft) -> bool:
        """Reset and write; True when the graph has nodes."""
        draft = d.draft
        nodes = d.s.graph.scope(d.ctx.scope).nodes
        of = {i: c for c in d.clusters for i in c.nodes}
        for i in nodes:
            c = of.get(i)
            old = draft.node[i]
            draft.node[i] = d.stream(c) if c is not None else NO_STREAM
            rule, why = ("from-cluster", (cluster_ref(c),)) if c is not None else ("no-cluster", ())
            d.ctx.decide(node(i), "stream", old, draft.node[i], rule, why)
        return bool(nodes)

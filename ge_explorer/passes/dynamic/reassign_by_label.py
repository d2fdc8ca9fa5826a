"""dynamic-reassign-by-label: one stream per stream label, node by node, whatever the engine."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from ge_explorer.ids import node
from ge_explorer.passes.dynamic.chain import DSA, DynamicChainPass, DynamicDraft
from ge_explorer.passes.streams.chain import STREAM_LABEL
from ge_explorer.text import Text
from ge_explorer.trace.passes import Rule

_SOURCE = f"{DSA}: DynamicStreamAllocator::ReassignStreamByStreamLabel"


@dataclass(frozen=True)
class ReassignByLabel(DynamicChainPass):
    """Nodes with a stream label move to the stream of the label.

    Rule: nodes in order; the first with a label opens a stream, all others with it follow, over engines and graphs. Nodes move,
    clusters do not, so an engine may lose all its nodes and with them its stream.

    GE source: dynamic_stream_allocator.cc, exact. The static chain keeps labels of different graphs apart.
    Example: relu (AI Core) and allreduce (HCCL), both labelled aaa → one stream for the two.
    """

    name: ClassVar[str] = "dynamic-reassign-by-label"
    title: ClassVar[Text] = Text("By label", "按标签")
    summary: ClassVar[Text] = Text("Gives every stream label its own stream.", "每个流标签一条流。")
    ge_name: ClassVar[str] = "ReassignStreamByStreamLabel"
    source: ClassVar[str] = _SOURCE
    rules = MappingProxyType(
        {
            "label-new": Rule(
                Text("First node with this stream label: a new stream.", "该流标签的第一个节点：新建流。"), _SOURCE
            ),
            "label-shared": Rule(
                Text("Same stream label as an earlier node: the same stream.", "与前面的节点流标签相同：同一条流。"),
                _SOURCE,
            ),
        }
    )

    def work(self, d: DynamicDraft) -> bool:
        """True when the graph has a labelled node."""
        graph = d.s.graph
        changed = False
        for i in graph.scope(d.ctx.scope).nodes:
            label = graph.node(i).attrs.get(STREAM_LABEL)
            if not isinstance(label, str) or not label:
                continue
            rule = "label-shared" if label in d.labels else "label-new"
            if label not in d.labels:
                d.labels[label] = d.draft.new_stream()
            old = d.draft.node[i]
            d.draft.node[i] = d.labels[label]
            d.ctx.decide(
                node(i), "stream", old, d.labels[label], rule, note=Text(f"label {label!r}", f"标签 {label!r}")
            )
            changed = True
        return changed

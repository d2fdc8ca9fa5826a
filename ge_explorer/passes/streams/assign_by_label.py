"""assign-by-label: one stream per stream label."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from ge_explorer.ids import Ref
from ge_explorer.passes.streams.chain import LSA, ChainPass, Draft, cluster_ref
from ge_explorer.text import Text
from ge_explorer.trace.passes import Rule

_SOURCE = f"{LSA}: AssignByLabelPass::Run"


@dataclass(frozen=True)
class AssignByLabel(ChainPass):
    """Clusters with the same stream label share a stream.

    Rule: clusters in order; the first with a label takes the next free id, later ones follow it. Labels of different graphs
    (subgraphs) never share.

    GE source: logical_stream_allocator.cc, exact.
    Example: clusters labelled L1, L2, L1 → streams 0, 1, 0.
    """

    name: ClassVar[str] = "assign-by-label"
    title: ClassVar[Text] = Text("By label", "按标签")
    summary: ClassVar[Text] = Text("Gives every stream label its own stream.", "每个流标签一条流。")
    ge_name: ClassVar[str] = "AssignByLabelPass"
    source: ClassVar[str] = _SOURCE
    rules = MappingProxyType(
        {
            "label-new": Rule(
                Text("First cluster with this stream label: a new stream.", "该流标签的第一个簇：新建流。"), _SOURCE
            ),
            "label-shared": Rule(
                Text("Same stream label as an earlier cluster: the same stream.", "与前面的簇流标签相同：同一条流。"),
                _SOURCE,
            ),
        }
    )

    def work(self, d: Draft) -> bool:
        """SUCCESS when at least one cluster has a label."""
        first: dict[str, Ref] = {}
        stream: dict[str, int] = {}
        for c in d.clusters:
            label = c.stream_label
            if not label:
                continue
            note = Text(f"label {label!r}", f"标签 {label!r}")
            if label in stream:
                d.set_cluster(c, stream[label], "label-shared", (first[label],), note)
            else:
                stream[label], first[label] = d.new_stream(), cluster_ref(c)
                d.set_cluster(c, stream[label], "label-new", (), note)
        return bool(stream)

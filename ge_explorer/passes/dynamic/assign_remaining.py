"""dynamic-assign-remaining: what nobody could take in opens the stream of its engine."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from ge_explorer.passes.dynamic.chain import DSA, DynamicChainPass, DynamicDraft
from ge_explorer.text import Text
from ge_explorer.trace.passes import Rule

_SOURCE = f"{DSA}: DynamicStreamAllocator::AssignRemainSubgraphNeedAssignStream"


@dataclass(frozen=True)
class AssignRemaining(DynamicChainPass):
    """Clusters still without a stream get the one of their engine, unless the engine needs none.

    Rule: skip engines (GE_LOCAL, HOST_CPU, FFTS+) stay without; all others go to the stream of their engine, new or known.

    GE source: dynamic_stream_allocator.cc, exact.
    Example: allreduce (HCCL) → where (AI CPU): AI CPU cannot follow a collective, so it opens stream 1.
    """

    name: ClassVar[str] = "dynamic-assign-remaining"
    title: ClassVar[Text] = Text("The rest", "其余簇")
    summary: ClassVar[Text] = Text(
        "Clusters that could follow nobody go to the stream of their engine.", "无法沿用他人流的簇使用其引擎的流。"
    )
    ge_name: ClassVar[str] = "AssignRemainSubgraphNeedAssignStream"
    source: ClassVar[str] = _SOURCE
    rules = MappingProxyType(
        {
            "engine-stream": Rule(
                Text("Could follow nobody: the stream of its engine.", "没有可沿用的邻居：使用其引擎的流。"), _SOURCE
            ),
            "skip-engine": Rule(
                Text("Its engine needs no stream, so it stays without one.", "其引擎不需要流，因此保持无流。"), _SOURCE
            ),
        }
    )

    def work(self, d: DynamicDraft) -> bool:
        """True when a cluster got a stream."""
        todo = d.unassigned()
        for c in todo:
            if d.engine(c).skip:
                d.draft.keep_cluster(c, "skip-engine")
            else:
                d.assign(c, "engine-stream")
        return any(not d.engine(c).skip for c in todo)

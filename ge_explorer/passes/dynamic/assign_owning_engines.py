"""dynamic-assign-owning-engines: one stream for each compute, collective and random-number engine."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from ge_explorer.passes.dynamic.chain import DSA, OWNING_ENGINES, DynamicChainPass, DynamicDraft
from ge_explorer.text import Text
from ge_explorer.trace.passes import Rule

_SOURCE = f"{DSA}: DynamicStreamAllocator::AssignEnginesOwningStream"


@dataclass(frozen=True)
class AssignOwningEngines(DynamicChainPass):
    """Clusters of engines that own a stream go to it.

    Rule: AIcoreEngine, VectorEngine, DNN_HCCL and DSAEngine have one stream each in the whole model, opened at their first
    cluster. ``ge.streamMaxParallelNum`` has no effect here.

    GE source: dynamic_stream_allocator.cc, exact.
    Example: relu (AI Core) → allreduce (HCCL) → relu2 (AI Core) → streams 0, 1, 0.
    """

    name: ClassVar[str] = "dynamic-assign-owning-engines"
    title: ClassVar[Text] = Text("Own stream", "独占流引擎")
    summary: ClassVar[Text] = Text(
        "Compute, vector, collective and random-number engines own one stream each.",
        "计算、向量、集合通信、随机数引擎各占一条流。",
    )
    ge_name: ClassVar[str] = "AssignEnginesOwningStream"
    source: ClassVar[str] = _SOURCE
    rules = MappingProxyType(
        {
            "owns": Rule(
                Text("Its engine owns one stream in the whole model.", "其引擎在整个模型中占有一条流。"), _SOURCE
            )
        }
    )

    def work(self, d: DynamicDraft) -> bool:
        """True when the graph has such clusters."""
        mine = [c for c in d.clusters if c.engine in OWNING_ENGINES]
        for c in mine:
            d.assign(c, "owns")
        return bool(mine)

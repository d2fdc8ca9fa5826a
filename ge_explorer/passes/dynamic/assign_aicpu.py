"""dynamic-assign-aicpu: AI CPU operators that may run beside the compute stream."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from ge_explorer.ids import Ref, node
from ge_explorer.passes.dynamic.chain import (
    AICPU_ENGINES,
    DSA,
    LOCAL_ENGINE,
    OWNING_ENGINES,
    DynamicChainPass,
    DynamicDraft,
)
from ge_explorer.passes.dynamic.enable import AC_PARALLEL, ac_parallel
from ge_explorer.passes.streams.chain import cluster_ref
from ge_explorer.text import Text
from ge_explorer.trace.passes import Rule
from ge_explorer.trace.state import Cluster

_PARALLEL = f"{DSA}: DynamicStreamAllocator::AssignAicpuCanParallel"
_ALONE = f"{DSA}: DynamicStreamAllocator::AssignIndependentAicpuNode"
_INDEPENDENT = frozenset({"DropOutGenMask", "DropOutDoMaskV3", "GetNext", "DynamicGetNext", "DynamicGetNextV2"})


@dataclass(frozen=True)
class AssignAicpu(DynamicChainPass):
    """AI CPU clusters that gain from it get the stream of their engine; the others follow a neighbour later.

    Rule with ``ac_parallel_enable`` = 1, any of:
    1. Nothing feeds the cluster.
    2. Only GE_LOCAL clusters feed it, and nothing feeds those (a Data node counts as a producer of its own).
    3. No producer can be followed. One can be when its engine owns a stream, is not independent, and it has no other consumer
       of its own engine.

    Rule without it: only clusters with an operator that fetches input or makes dropout masks (GetNext, DropOutGenMask, …).

    GE source: dynamic_stream_allocator.cc, exact.
    Options: ``ac_parallel_enable``.
    Example: relu → {where (AI CPU), relu2}: with the option where gets stream 1, without it attaches to relu.
    """

    name: ClassVar[str] = "dynamic-assign-aicpu"
    title: ClassVar[Text] = Text("AI CPU", "AI CPU")
    summary: ClassVar[Text] = Text(
        "Gives AI CPU operators that can run beside compute a stream.", "为可与计算并行的 AI CPU 算子分配流。"
    )
    option_keys: ClassVar[frozenset[str]] = DynamicChainPass.option_keys | {AC_PARALLEL}
    ge_name: ClassVar[str] = "AssignAicpuCanParallel"
    source: ClassVar[str] = _PARALLEL
    rules = MappingProxyType(
        {
            "no-producer": Rule(
                Text("Nothing feeds it, so it can start at once.", "没有输入，可立即开始。"), _PARALLEL
            ),
            "local-producers": Rule(
                Text(
                    "Fed only by nodes without tasks that have no inputs themselves.",
                    "输入只来自没有任务且自身无输入的节点。",
                ),
                f"{DSA}: DynamicStreamAllocator::HasOnlyNoTaskInput",
            ),
            "nobody-to-follow": Rule(
                Text(
                    "No producer to follow: each runs on another kind of engine or has a consumer of its own engine.",
                    "没有可沿用的上游：上游引擎不占流，或另有同引擎的下游。",
                ),
                f"{DSA}: DynamicStreamAllocator::CanReusePredSubgraph",
            ),
            "can-follow": Rule(
                Text("Has a producer it can follow, so it waits for that.", "有可沿用的上游，留待后续步骤。"),
                f"{DSA}: DynamicStreamAllocator::CanAicpuReusePredSubgraph",
            ),
            "independent": Rule(
                Text(
                    "Fetches input or makes dropout masks: always beside compute.", "取数或生成掩码：始终与计算并行。"
                ),
                _ALONE,
            ),
        }
    )

    def work(self, d: DynamicDraft) -> bool:
        """True when a cluster was placed."""
        parallel = ac_parallel(d.ctx.option(AC_PARALLEL))
        changed = False
        for c in d.clusters:
            if c.engine not in AICPU_ENGINES:
                continue
            found = _beside(d, c) if parallel else _alone(d, c)
            if found is None:
                continue
            rule, evidence = found
            if rule == "can-follow":
                d.draft.keep_cluster(c, rule, evidence)
                continue
            d.assign(c, rule, evidence)
            changed = True
        return changed


def _alone(d: DynamicDraft, c: Cluster) -> tuple[str, tuple[Ref, ...]] | None:
    found = [i for i in c.nodes if d.s.graph.node(i).op in _INDEPENDENT]
    return ("independent", tuple(map(node, found[:8]))) if found else None


def _beside(d: DynamicDraft, c: Cluster) -> tuple[str, tuple[Ref, ...]]:
    """Rule and evidence under ``ac_parallel_enable`` = 1; ``can-follow`` when it stays without a stream for now."""
    outside = _producers(d, c)
    if not outside:
        return "no-producer", ()
    producers = [d.items[i] for i in c.pred]
    feeding = {i for p in producers for i in p.nodes}
    idle = all(p.engine == LOCAL_ENGINE and not _producers(d, p) for p in producers)
    if idle and outside <= feeding:
        return "local-producers", tuple(map(cluster_ref, producers[:8]))
    for p in producers:
        if _can_follow(d, c, p):
            return "can-follow", (cluster_ref(p),)
    return "nobody-to-follow", tuple(map(cluster_ref, producers[:8]))


def _producers(d: DynamicDraft, c: Cluster) -> set[int]:
    """Nodes outside the cluster that feed it."""
    mine = set(c.nodes)
    return {p for i in c.nodes for p in d.s.graph.pred[i]} - mine


def _can_follow(d: DynamicDraft, c: Cluster, p: Cluster) -> bool:
    if p.engine not in OWNING_ENGINES or d.engine(p).independent:
        return False
    return not any(x != c.id and d.items[x].engine == p.engine for x in p.succ)

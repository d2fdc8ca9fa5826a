"""dynamic-assign-with-reuse: clusters without a stream follow a producer, else a consumer."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from ge_explorer.passes.dynamic.chain import AICPU_ENGINES, DSA, DynamicChainPass, DynamicDraft
from ge_explorer.passes.streams.chain import cluster_ref
from ge_explorer.text import Text
from ge_explorer.trace.passes import Rule
from ge_explorer.trace.state import NO_STREAM, Cluster

_SOURCE = f"{DSA}: DynamicStreamAllocator::AssignWithReuse"
_COULD = f"{DSA}: DynamicStreamAllocator::CouldReuse"
_CONSUMER = Text("no producer can be followed, so a consumer", "没有可沿用的上游，改为沿用下游")


@dataclass(frozen=True)
class AssignWithReuse(DynamicChainPass):
    """Each cluster without a stream copies the stream of a neighbour.

    Rule, clusters in order:
    1. A neighbour can be followed when the engines are equal, or this engine attaches, or the neighbour itself follows a cluster
       of this engine. AI CPU never follows an independent engine.
    2. Producers first; only if none fits, consumers. Of several the lowest compute cost wins, then the first.
    3. If the chosen one follows somebody, that cluster counts. Has it no stream, the cluster is left for the next step.

    GE source: dynamic_stream_allocator.cc, exact (ties by list order; GE's order there is by pointer). Unlike the static chain
    it asks for no label and no competing consumer.
    Example: reshape (GE_LOCAL) fed by dsa and relu → relu's stream, because AI Core has the lower cost.
    """

    name: ClassVar[str] = "dynamic-assign-with-reuse"
    title: ClassVar[Text] = Text("Follow", "沿用邻居")
    summary: ClassVar[Text] = Text(
        "Clusters without a stream follow a producer, else a consumer.", "没有流的簇沿用上游的流，否则沿用下游的流。"
    )
    ge_name: ClassVar[str] = "AssignWithReuse"
    source: ClassVar[str] = _SOURCE
    rules = MappingProxyType(
        {
            "same-engine": Rule(Text("Follows a neighbour of the same engine.", "沿用同引擎邻居的流。"), _COULD),
            "attach": Rule(
                Text("Its engine may attach to any neighbour's stream.", "其引擎可以附着到任意邻居的流。"), _COULD
            ),
            "chain": Rule(
                Text(
                    "Follows a neighbour that itself follows a cluster of this engine.",
                    "邻居沿用的正是本引擎簇的流，因此继续沿用。",
                ),
                _COULD,
            ),
            "not-yet": Rule(Text("The neighbour to follow has no stream yet.", "应沿用的邻居尚无流。"), _SOURCE),
            "nobody": Rule(Text("No neighbour can be followed.", "没有可沿用的邻居。"), _SOURCE),
        }
    )

    def work(self, d: DynamicDraft) -> bool:
        """True when a cluster found somebody to follow."""
        changed = False
        for c in d.unassigned():
            note = None
            found = _best(d, c, c.pred)
            if found is None:
                found, note = _best(d, c, c.succ), _CONSUMER
            if found is None:
                d.draft.keep_cluster(c, "nobody", tuple(cluster_ref(d.items[i]) for i in (*c.pred, *c.succ)[:8]))
                continue
            chosen, rule = found
            root = d.items[d.follows.get(chosen.id, chosen.id)]
            evidence = [cluster_ref(x) for x in dict.fromkeys((chosen, root))]
            if d.stream(root) == NO_STREAM:
                d.draft.keep_cluster(c, "not-yet", evidence)
                continue
            d.draft.set_cluster(c, d.stream(root), rule, evidence, note)
            d.follows[c.id] = root.id
            changed = True
        return changed


def _best(d: DynamicDraft, c: Cluster, around: Iterable[int]) -> tuple[Cluster, str] | None:
    """Cheapest neighbour that can be followed and the rule that allows it; the first of equals."""
    best: tuple[Cluster, str] | None = None
    for i in around:
        x = d.items[i]
        rule = _could_follow(d, c, x)
        if rule and (best is None or d.engine(x).cost < d.engine(best[0]).cost):
            best = (x, rule)
    return best


def _could_follow(d: DynamicDraft, c: Cluster, x: Cluster) -> str:
    """Rule by which ``c`` may take the stream of ``x``; "" when it may not."""
    if c.engine in AICPU_ENGINES and d.engine(x).independent:
        return ""
    if c.engine == x.engine:
        return "same-engine"
    if d.engine(c).attach:
        return "attach"
    root = d.follows.get(x.id)
    return "chain" if root is not None and d.items[root].engine == c.engine else ""

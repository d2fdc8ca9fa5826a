"""assign-by-dependency: follow a predecessor's stream, or open one for the engine."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from ge_explorer.ids import Ref, node
from ge_explorer.passes.streams.chain import LSA, ChainPass, Draft, cluster_ref
from ge_explorer.text import Text
from ge_explorer.trace.passes import Rule
from ge_explorer.trace.state import NO_STREAM, Cluster

_SOURCE = f"{LSA}: AssignByDependencyPass"
_POLICY = "ge.exec.memoryOptimizationPolicy"
_FORCE_ATTACH = "_force_attach_stream"


@dataclass(frozen=True)
class AssignByDependency(ChainPass):
    """Every cluster without a stream follows a predecessor or gets a stream of its engine.

    Rule, clusters in order:
    1. A predecessor can be reused when it has no stream label, its engine is not independent, no *other* successor of it has
       its engine (not asked under MemoryPriority), and the engines are equal, or this engine attaches, or the cluster at the
       root of the predecessor's reuse chain has this engine. ``_force_attach_stream`` skips the last two tests.
    2. Of several, the lowest compute cost wins, then the first.
    3. None: the next stream of the engine, at most ``max_parallel`` of them, then the engine's first one again.
    4. Engines are numbered in the order of their ids; in a subgraph the first one takes the stream of the owning node.

    GE source: logical_stream_allocator.cc, exact (ties by list order; GE's order there is by pointer).
    Options: ``ge.exec.memoryOptimizationPolicy``, ``ge.streamMaxParallelNum`` (through the clusters).
    Example: fork S1 → S2, S3 of one engine with 2 streams allowed → 0, 1, 0.
    """

    name: ClassVar[str] = "assign-by-dependency"
    title: ClassVar[Text] = Text("By dependency", "按依赖")
    summary: ClassVar[Text] = Text(
        "Clusters follow a predecessor's stream, or open one for their engine.", "簇沿用前驱的流，否则为其引擎开流。"
    )
    option_keys: ClassVar[frozenset[str]] = ChainPass.option_keys | {_POLICY}
    ge_name: ClassVar[str] = "AssignByDependencyPass"
    source: ClassVar[str] = f"{_SOURCE}::Run"
    rules = MappingProxyType(
        {
            "reuse-same-engine": Rule(
                Text("Follows a predecessor of the same engine.", "沿用同引擎前驱的流。"), f"{_SOURCE}::CouldReuse"
            ),
            "reuse-attach": Rule(
                Text("Its engine may attach to any predecessor's stream.", "其引擎可以附着到任意前驱的流。"),
                f"{_SOURCE}::CouldReuse",
            ),
            "reuse-chain": Rule(
                Text(
                    "Follows a predecessor that itself follows a cluster of this engine.",
                    "前驱沿用的正是本引擎簇的流，因此继续沿用。",
                ),
                f"{_SOURCE}::CouldReuse",
            ),
            "reuse-forced": Rule(
                Text("A node in it forces attaching to the predecessor.", "簇内节点强制附着到前驱的流。"),
                f"{_SOURCE}::CouldReuse",
            ),
            "engine-first": Rule(
                Text(
                    "No predecessor can be reused: the first stream of its engine.",
                    "没有可沿用的前驱：使用其引擎的第一条流。",
                ),
                f"{_SOURCE}::AssignNewStream",
            ),
            "engine-next": Rule(
                Text(
                    "No predecessor can be reused, and its engine may use another stream.",
                    "没有可沿用的前驱，且其引擎还可再开一条流。",
                ),
                f"{_SOURCE}::AssignNewStream",
            ),
            "engine-limit": Rule(
                Text(
                    "No predecessor can be reused, but its engine has all the streams it may use, so it shares.",
                    "没有可沿用的前驱，但其引擎的流数已到上限，只能共用。",
                ),
                f"{_SOURCE}::AssignNewStream",
            ),
            "parent-stream": Rule(
                Text(
                    "First engine of this subgraph: takes the stream of the node that owns the subgraph.",
                    "子图中的第一个引擎：沿用子图所属节点的流。",
                ),
                f"{_SOURCE}::UpdateAssignedSubgraphs",
            ),
            "already-assigned": Rule(
                Text("Already has a stream, so it is skipped.", "已经有流，跳过。"), f"{_SOURCE}::Run"
            ),
        }
    )

    def work(self, d: Draft) -> bool:
        """SUCCESS when at least one cluster had no stream."""
        return _Work(d, d.ctx.option(_POLICY) == "MemoryPriority").run()


class _Work:
    """State of one run: reuse chains, streams per engine, and why each cluster chose what it did."""

    def __init__(self, d: Draft, memory_priority: bool) -> None:
        self.d, self.memory_priority = d, memory_priority
        self.of_id = {c.id: c for c in d.clusters}
        self.root: dict[int, Cluster] = {}
        self.followed: dict[int, tuple[Cluster, str]] = {}
        self.opened: dict[int, tuple[int, str, Text]] = {}
        self.next_of: dict[str, int] = {}
        self.count: dict[str, int] = {}
        self.successor_engines: dict[int, Counter[str]] = {}

    def run(self) -> bool:
        """The loop over clusters, then engine-relative ids become real ones."""
        d = self.d
        todo = False
        for c in d.clusters:
            if c.id in self.opened:
                todo = True
                continue
            if d.cluster[c.id] != NO_STREAM:
                d.keep_cluster(c, "already-assigned")
                continue
            todo = True
            found = self.choose(c)
            if found is None:
                self.open(c)
                continue
            source, rule = found
            if d.cluster[source.id] == NO_STREAM and source.id not in self.opened and source.id not in self.root:
                self.open(source)
            self.root[c.id] = self.root.get(source.id, source)
            self.followed[c.id] = (source, rule)
        self.number()
        return todo

    def choose(self, c: Cluster) -> tuple[Cluster, str] | None:
        """Cheapest reusable predecessor and why it is reusable."""
        best: tuple[Cluster, str] | None = None
        forced = bool(c.pred) and any(_FORCE_ATTACH in self.d.s.graph.node(i).attrs for i in c.nodes)
        for i in c.pred:
            p = self.of_id[i]
            rule = self.could_reuse(c, p, forced)
            if rule and (best is None or self.d.engine(p).cost < self.d.engine(best[0]).cost):
                best = (p, rule)
        return best

    def could_reuse(self, c: Cluster, p: Cluster, forced: bool) -> str:
        """Rule by which ``c`` may follow ``p``; "" when it may not."""
        mine, its = self.d.engine(c), self.d.engine(p)
        if mine.scheduler != its.scheduler or its.independent or p.stream_label:
            return ""
        if forced:
            return "reuse-forced"
        if not self.memory_priority and self.conflicts(c, p):
            return ""
        if c.engine == p.engine:
            return "reuse-same-engine"
        if mine.attach:
            return "reuse-attach"
        root = self.root.get(p.id)
        return "reuse-chain" if root is not None and root.engine == c.engine else ""

    def conflicts(self, c: Cluster, p: Cluster) -> bool:
        """True if another successor of ``p`` has ``p``'s engine: it is the one that should follow."""
        if p.id not in self.successor_engines:
            self.successor_engines[p.id] = Counter(self.of_id[i].engine for i in p.succ)
        others = self.successor_engines[p.id][p.engine] - (c.engine == p.engine)
        return others > 0

    def open(self, c: Cluster) -> None:
        """Next stream of the engine, relative to its first one."""
        relative = self.next_of.get(c.engine, 0)
        rule = "engine-next" if relative else "engine-first"
        if relative >= c.max_parallel:
            relative, rule = 0, "engine-limit"
        limit = Text(
            f"{c.engine} may use {c.max_parallel} stream{'s' if c.max_parallel > 1 else ''} (ge.streamMaxParallelNum)",
            f"{c.engine} 最多可用 {c.max_parallel} 条流（ge.streamMaxParallelNum）",
        )
        self.opened[c.id] = (relative, rule, limit)
        self.next_of[c.engine] = relative + 1
        self.count[c.engine] = max(self.count.get(c.engine, 0), relative + 1)

    def number(self) -> None:
        """Engine-relative ids to stream ids, engines in id order; followers then copy their root."""
        d = self.d
        parents = NO_STREAM
        if d.default != NO_STREAM:
            d.next -= 1
            parents = d.next
        start: dict[str, int] = {}
        for engine in sorted(self.count):
            start[engine] = d.next
            d.next += self.count[engine]
        owner = d.s.graph.scope(d.ctx.scope).parent
        for i, (relative, rule, limit) in self.opened.items():
            c = self.of_id[i]
            stream = start[c.engine] + relative
            if parents != NO_STREAM and stream == parents:
                d.set_cluster(c, d.default, "parent-stream", (node(owner),))
            else:
                d.set_cluster(c, stream, rule, self.refused(c), limit)
        for i, (source, rule) in self.followed.items():
            root = self.root[i]
            evidence = [cluster_ref(source)] + ([cluster_ref(root)] if root.id != source.id else [])
            d.set_cluster(self.of_id[i], d.cluster[root.id], rule, evidence)

    def refused(self, c: Cluster) -> tuple[Ref, ...]:
        """Predecessors that could not be reused (at most eight, as evidence)."""
        return tuple(Ref("cluster", i) for i in c.pred[:8])

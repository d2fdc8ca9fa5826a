"""second-partition: connected nodes of one engine become a cluster, GE's unit of stream allocation."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from ge_explorer.device.engines import AICORE_ENGINE, CUSTOM_ENGINE, DATA_ENGINE, VECTOR_ENGINE
from ge_explorer.errors import PassFailed
from ge_explorer.graph.model import Graph, Node, Scope
from ge_explorer.graph.order import sort_mode
from ge_explorer.ids import Ref, node
from ge_explorer.passes.partition.clustering import Clustering, Seed
from ge_explorer.passes.partition.mark_cv_parallel import CV_PARALLEL
from ge_explorer.passes.partition.user_stream_labels import STREAM_LABEL, USER_LABEL
from ge_explorer.text import Text
from ge_explorer.trace.passes import Pass, PassContext, Rule
from ge_explorer.trace.state import Cluster, Clusters, Placement, Snapshot, int_array

_SOURCE = "compiler/graph/partition/engine_partitioner.cc"
_MODE, _LEVEL, _PARALLEL = "ge.topoSortingMode", "ge.oo.level", "ge.streamMaxParallelNum"
_DATA_TYPES = frozenset({"Const", "Constant", "Data", "RefData", "AippData", "AnnData", "Variable", "VariableV2"})
_NO_PARTITION = ("_no_need_partition", "_no_need_partition_and_merge")


@dataclass(frozen=True)
class SecondPartition(Pass):
    """Cut every scope into clusters.

    Rule:
    1. Data, Const and Variable without inputs belong to no cluster. Custom operators count as AI Core.
    2. Each node in order joins a producer's cluster when engine and stream label agree and no other path leads there.
    3. Nodes with one user label always join along an edge, even if that closes a loop of clusters.
    4. Sort mode 3 joins neighbours of the order instead, edge or not.
    5. Clusters are listed by their first node.

    GE source: engine_partitioner.cc (kSecondPartitioning), exact.
    Options: ``ge.topoSortingMode`` (3 changes the rule), ``ge.streamMaxParallelNum`` (streams per engine, kept per cluster).
    Example: conv → relu → allreduce → relu2: clusters {conv, relu}, {allreduce}, {relu2}.
    """

    name: ClassVar[str] = "second-partition"
    title: ClassVar[Text] = Text("Clusters", "二次切分")
    summary: ClassVar[Text] = Text(
        "Groups connected nodes of one engine; each group is placed on a stream as a whole.",
        "把同一引擎的相连节点合成簇，流按簇分配。",
    )
    chapter = "partition"
    reads: ClassVar[frozenset[str]] = frozenset({"graph", "placement", "scope_order"})
    writes: ClassVar[frozenset[str]] = frozenset({"graph", "clusters"})
    option_keys: ClassVar[frozenset[str]] = frozenset({_MODE, _LEVEL, _PARALLEL})
    ge_name: ClassVar[str] = "EnginePartitioner::Partition"
    source: ClassVar[str] = f"{_SOURCE}: EnginePartitioner"
    rules = MappingProxyType(
        {
            "alone": Rule(
                Text(
                    "Starts a cluster: no producer of the same engine and label can take it in.",
                    "自成一簇：没有同引擎、同标签的上游可以合并。",
                ),
                f"{_SOURCE}: MarkClusters",
            ),
            "same-engine": Rule(
                Text(
                    "Same engine and stream label as a producer, and no second path between them.",
                    "与上游引擎和流标签相同，且两者之间没有第二条路径。",
                ),
                f"{_SOURCE}: MarkClusters, IsMergeable",
            ),
            "user-label": Rule(
                Text("Same user stream label as a connected node.", "与相连节点的用户流标签相同。"),
                f"{_SOURCE}: IsMergeable",
            ),
            "neighbour": Rule(
                Text(
                    "Next to each other in the order, same engine and label (sort mode 3).",
                    "在顺序中相邻且引擎、标签相同（排序模式 3）。",
                ),
                f"{_SOURCE}: MarkClustersWithConsistantId",
            ),
            "label-dropped": Rule(
                Text("Inputs and constants cannot carry a user label.", "输入和常量不能带用户标签。"),
                f"{_SOURCE}: Initialize",
            ),
        }
    )

    def run(self, s: Snapshot, ctx: PassContext) -> Snapshot:
        """Snapshot with clusters, root first, then the subgraphs in GE's order."""
        assert s.placement is not None
        assert s.scope_order is not None
        limits = max_parallel(ctx.option(_PARALLEL))
        stable = sort_mode(ctx.option(_MODE), level=ctx.option(_LEVEL)) == "StableRDFS"
        cleared = {n.id: {USER_LABEL: ""} for n in s.graph if _is_data(n, s.graph) and n.attrs.get(USER_LABEL)}
        for i in cleared:
            ctx.decide(node(i), "label", s.graph.node(i).attrs[USER_LABEL], "", "label-dropped")
        graph = s.graph.with_attrs(cleared) if cleared else s.graph
        items: list[Cluster] = []
        by_scope: dict[int, tuple[int, ...]] = {}
        of_node = [-1] * graph.id_bound
        for scope in (graph.scope(i) for i in (0, *s.scope_order)):
            if any(scope.attrs.get(key) is True for key in _NO_PARTITION):
                continue
            found = _clusters_of(graph, scope, s.placement, limits, stable, len(items))
            by_scope[scope.id] = tuple(c.id for c in found)
            for c in found:
                for i in c.nodes:
                    of_node[i] = c.id
            items += found
        _explain(ctx, items, stable)
        ctx.status = "SUCCESS"
        return s.evolve(graph=graph, clusters=Clusters(tuple(items), MappingProxyType(by_scope), int_array(of_node)))


def max_parallel(text: str) -> Mapping[str, int]:
    """Engine -> streams allowed, from ``Engine:n,Engine:n``; PassFailed E10001 for anything else.

    Source: StreamUtils / LogicalStreamAllocator, option ``ge.streamMaxParallelNum``.

    >>> dict(max_parallel("AIcoreEngine:2, DNN_HCCL:10"))
    {'AIcoreEngine': 2, 'DNN_HCCL': 10}
    """
    out: dict[str, int] = {}
    for part in filter(None, (p.strip() for p in text.split(","))):
        match = re.fullmatch(r"\s*([^:\s]+)\s*:\s*([0-9]+)\s*", part)
        if match is None or match[1] in out or int(match[2]) < 1:
            raise PassFailed(
                "not a list of engine:count with count from 1 and every engine once", code="E10001",
                ge_status="PARAM_INVALID", where=f"option {_PARALLEL}", got=part, todo="Write AIcoreEngine:4,DNN_HCCL:2.",
            )  # fmt: skip
        out[match[1]] = int(match[2])
    return MappingProxyType(out)


def _is_data(n: Node, graph: Graph) -> bool:
    return n.op in _DATA_TYPES and not graph.pred[n.id]


def _seeds(graph: Graph, scope: Scope, placement: Placement) -> list[Seed]:
    """One seed per node in order; edges only from earlier nodes."""
    position = {i: p for p, i in enumerate(scope.nodes)}
    seeds: list[Seed] = []
    for p, i in enumerate(scope.nodes):
        n = graph.node(i)
        data = _is_data(n, graph)
        engine = DATA_ENGINE if data else placement.engine[i]
        if engine == CUSTOM_ENGINE:
            engine = AICORE_ENGINE
        if CV_PARALLEL in n.attrs and not data:
            engine = VECTOR_ENGINE
        seed = Seed(
            p, engine, str(n.attrs.get(STREAM_LABEL, "")), "" if data else str(n.attrs.get(USER_LABEL, "")), [p]
        )
        for producer in graph.pred[i]:
            q = position[producer]
            if q < p:
                seed.into.add(q)
                seeds[q].out.add(p)
        seeds.append(seed)
    return seeds


def _clusters_of(
    graph: Graph, scope: Scope, placement: Placement, limits: Mapping[str, int], stable: bool, first_id: int
) -> list[Cluster]:
    """Clusters of one scope in rank order (by first node), with dense ids from ``first_id``."""
    work = Clustering(_seeds(graph, scope, placement))
    if stable:
        work.merge_neighbours()
    else:
        work.merge_along_edges()
    kept = [c for c in work.alive if c is not None and c.engine != DATA_ENGINE]
    kept.sort(key=lambda c: c.index)
    id_of = {c.index: first_id + k for k, c in enumerate(kept)}
    out = []
    for rank, c in enumerate(kept, 1):
        out.append(
            Cluster(
                first_id + rank - 1, scope.id, f"{scope.name}_rank{rank}", c.engine,
                tuple(scope.nodes[p] for p in sorted(c.members)), c.stream_label, c.user_label,
                tuple(sorted(id_of[p] for p in c.into if p in id_of)),
                tuple(sorted(id_of[p] for p in c.out if p in id_of)),
                limits.get(c.engine, 1),
            )
        )  # fmt: skip
    return out


def _explain(ctx: PassContext, items: list[Cluster], stable: bool) -> None:
    """One decision per cluster; its members point at it."""
    for c in items:
        if len(c.nodes) == 1:
            rule = "alone"
        elif stable:
            rule = "neighbour"
        else:
            rule = "user-label" if c.user_label else "same-engine"
        mine = Ref("cluster", c.id)
        ctx.decide(mine, "cluster", None, c.name, rule, tuple(node(i) for i in c.nodes[:32]))
        for i in c.nodes:
            ctx.decide(node(i), "cluster", None, c.name, rule, (mine,))

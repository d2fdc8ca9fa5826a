"""topological-sort: GE's order of nodes, in the mode the options ask for."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from ge_explorer.graph.order import SORT_MODES, backward_edges, sort_mode, topological_sort
from ge_explorer.ids import Ref, node
from ge_explorer.issue import Issue
from ge_explorer.text import Text
from ge_explorer.trace.passes import Pass, PassContext, Rule
from ge_explorer.trace.state import Snapshot

_SOURCE = "graph_metadef/graph/normal_graph/compute_graph.cc"
_MODE, _RUN, _LEVEL, _POLICY = (
    "ge.topoSortingMode", "ge.graphRunMode", "ge.oo.level", "ge.exec.memoryOptimizationPolicy",
)  # fmt: skip
_RULE_OF = dict(zip(SORT_MODES, ("bfs", "dfs", "rdfs", "stable-rdfs"), strict=True))


@dataclass(frozen=True)
class TopologicalSort(Pass):
    """Sort every scope and number all nodes along the traversal.

    Rule:
    1. Mode from ``ge.topoSortingMode`` (0 BFS, 1 DFS, 2 RDFS, 3 StableRDFS); unset: DFS, BFS for training.
    2. Memory priority picks ready nodes by (data fan-out, output bytes, name) in BFS and DFS.
    3. Holders are followed by the nodes of their subgraphs, first one first.

    GE sorts before the partition and once more before it allocates streams, because the partition rewrites its ids.
    Sorting a sorted graph changes nothing, so the second time shows "unchanged".

    GE source: compute_graph.cc (TopologicalSorting), exact.
    Example: two ready successors a, b of x: DFS emits the one that became ready last, BFS the first by name.
    """

    name: ClassVar[str] = "topological-sort"
    title: ClassVar[Text] = Text("Order", "拓扑排序")
    summary: ClassVar[Text] = Text("Puts the nodes into GE's order.", "按 GE 的规则排出节点顺序。")
    chapter = "partition"
    reads: ClassVar[frozenset[str]] = frozenset({"graph"})
    writes: ClassVar[frozenset[str]] = frozenset({"graph", "order", "sequence", "scope_order"})
    option_keys: ClassVar[frozenset[str]] = frozenset({_MODE, _RUN, _LEVEL, _POLICY})
    ge_name: ClassVar[str] = "TopologicalSorting"
    source: ClassVar[str] = f"{_SOURCE}: ComputeGraphImpl::TopologicalSorting"
    rules = MappingProxyType(
        {
            "dfs": Rule(
                Text(
                    "Depth first: after a node, the successor that became ready last comes next.",
                    "深度优先：一个节点之后，最后就绪的后继先执行。",
                ),
                f"{_SOURCE}: DFSTopologicalSorting",
            ),
            "bfs": Rule(
                Text(
                    "Breadth first: ready nodes in order of arrival, each batch by name.",
                    "广度优先：按就绪先后，同批按名字。",
                ),
                f"{_SOURCE}: BFSTopologicalSorting",
            ),
            "rdfs": Rule(
                Text(
                    "Backwards from the outputs, small producers first; nodes fed only by constants or inputs wait.",
                    "从输出反向遍历，小张量的生产者优先；只依赖常量或输入的节点推迟。",
                ),
                f"{_SOURCE}: RDFSTopologicalSorting, DelayTopoSort",
            ),
            "stable-rdfs": Rule(
                Text("The given order, corrected only where it is illegal.", "保持原有顺序，只修正不合法的位置。"),
                f"{_SOURCE}: StableRDFSTopologicalSorting",
            ),
        }
    )

    def run(self, s: Snapshot, ctx: PassContext) -> Snapshot:
        """Sorted graph, order, sequence, scope order. PassFailed E18888 on a closed loop."""
        mode = sort_mode(ctx.option(_MODE), run_mode=ctx.option(_RUN), level=ctx.option(_LEVEL))
        priority = ctx.option(_POLICY) == "MemoryPriority"
        graph, order, sequence, scopes = topological_sort(s.graph, mode=mode, memory_priority=priority)
        wrong = backward_edges(graph, order)
        if wrong:
            a, b = (graph.node(i).name for i in wrong[0])
            ctx.report(
                Issue(
                    "GX101", "error",
                    Text(
                        f"{b} runs before {a}, which it needs: the graph has a loop that this sort mode does not refuse.",
                        f"{b} 排在它依赖的 {a} 之前：图中有环，而该排序模式不会报错。",
                    ),
                    tuple(node(i) for i in wrong[0]),
                    Text("Remove the loop, or sort with mode 0 or 1 to see it refused.", "去掉环，或用模式 0、1 使其报错。"),
                    _SOURCE,
                )
            )  # fmt: skip
        for scope in graph.scopes:
            old = s.graph.scopes[scope.id] if scope is not None else None
            if scope is not None and old is not None and old.nodes != scope.nodes:
                moved = sum(a != b for a, b in zip(old.nodes, scope.nodes, strict=True))
                ctx.decide(
                    Ref("scope", scope.id), "order", None, f"{moved}", _RULE_OF[mode],
                    note=Text(f"{moved} nodes changed place.", f"{moved} 个节点位置变化。"),
                )  # fmt: skip
        ctx.status = "SUCCESS"
        return s.evolve(graph=graph, order=order, sequence=sequence, scope_order=scopes)

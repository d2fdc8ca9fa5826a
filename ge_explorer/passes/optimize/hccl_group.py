"""hccl-group: what follows a fused collective belongs to it (tailing optimisation)."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from ge_explorer.graph.model import Graph, Node
from ge_explorer.graph.order import sort_mode, topological_sort
from ge_explorer.ids import node
from ge_explorer.passes.optimize.base import run
from ge_explorer.passes.optimize.hccl_fuse import FUSED
from ge_explorer.passes.optimize.hccl_scope import ALL_REDUCE, KEYS, skip
from ge_explorer.passes.optimize.work import Work
from ge_explorer.text import Text
from ge_explorer.trace.passes import Pass, PassContext, Rule
from ge_explorer.trace.state import Snapshot

TAILING = "ge.exec.isTailingOptimization"
FUSED_GROUP = "_hccl_fused_group"
_SOURCE = "compiler/graph/passes/feature/hccl_group_pass.cc"
_MODE, _RUN = "ge.topoSortingMode", "ge.graphRunMode"
NOT_TAILING = Text(f"{TAILING} is not 1", f"{TAILING} 不为 1")


@dataclass(frozen=True)
class HcclGroup(Pass):
    """Mark the readers of each fused collective with its name.

    Rule: from a fused node (``_hccl_fused_node``) forward over data edges; every node met gets ``_hccl_fused_group`` = the name of
    the fused node. A reader of the fused node's own type ends the look at its producer's remaining readers. A later fused node
    overwrites the mark of an earlier one. In a graph with a Switch the last AllReduce of the control chain gets a control edge to
    the NetOutput. Then the graph is sorted.

    GE source: HcclGroupPass (graph_manager.cc, after OptimizeSwitchOp), exact; runs when ``ge.exec.isTailingOptimization`` is 1.
    Example: ``AllReduce_fused -> Mul -> Assign``: both get ``AllReduce_fused``.
    """

    name: ClassVar[str] = "hccl-group"
    title: ClassVar[Text] = Text("Collective followers", "集合通信后继分组")
    summary: ClassVar[Text] = Text("Marks what follows a fused collective.", "标记融合集合通信之后的节点。")
    chapter = "optimise"
    reads: ClassVar[frozenset[str]] = frozenset({"graph"})
    writes: ClassVar[frozenset[str]] = frozenset({"graph"})
    option_keys: ClassVar[frozenset[str]] = KEYS | {TAILING, _MODE, _RUN}
    ge_name: ClassVar[str] = "HcclGroupPass"
    source: ClassVar[str] = f"{_SOURCE}: HcclGroupPass::Run"
    rules = MappingProxyType(
        {
            "follows": Rule(Text("It works on the result of this fused collective.", "它处理该融合集合通信的结果。"),
                            f"{_SOURCE}: MarkGroupForFusedNode"),
            "last": Rule(Text("The last AllReduce of the chain ends before the results.", "链上最后一个 AllReduce 先于输出结束。"),
                         f"{_SOURCE}: AddCtrlFromLastARToOutput"),
        }
    )  # fmt: skip

    def skip_reason(self, s: Snapshot, ctx: PassContext) -> Text | None:
        """Needs the option and a fused collective."""
        reason = skip(s, ctx, self.ge_name, 3)
        if reason is None and ctx.option(TAILING) != "1":
            return NOT_TAILING
        return reason

    def run(self, s: Snapshot, ctx: PassContext) -> Snapshot:
        """Marked and sorted graph."""

        def body(w: Work) -> None:
            for i in s.graph.walk():
                n = w.node(i)
                if n.attrs.get(FUSED) and FUSED_GROUP not in n.attrs:
                    _mark(w, n)
                    _tie_last(w, s.graph, w.node(i))

        after = run(s, ctx, body)
        if after is s:
            return s
        mode = sort_mode(ctx.option(_MODE), run_mode=ctx.option(_RUN), level=ctx.option("ge.oo.level"))
        return after.evolve(graph=topological_sort(after.graph, mode=mode)[0])


def _mark(w: Work, fused: Node) -> None:
    todo, seen = [fused.id], {fused.id}
    for i in todo:  # grows while it is walked
        for e in w.readers(w.node(i)):
            n = w.node(e.dst)
            if n.op == fused.op:
                break
            if n.id not in seen:
                seen.add(n.id)
                todo.append(n.id)
                w.e.update_attrs(n.id, {FUSED_GROUP: fused.name})
                w.changed = True
                w.say(n, n.attrs.get(FUSED_GROUP), fused.name, "follows", [node(fused.id)])


def _tie_last(w: Work, g: Graph, n: Node) -> None:
    members = [w.node(i) for i in g.scope(n.scope).nodes if w.e.has(i)]
    end = next((m for m in members if m.op == "NetOutput"), None)
    if end is None or not any(m.op == "Switch" for m in members):
        return
    after = any(w.node(i).op == ALL_REDUCE for i in w.e.control_targets(n.id))
    before = any(w.node(i).op == ALL_REDUCE for i in n.control_in)
    if before and not after and n.id not in end.control_in:
        w.order(n.id, end.id)
        w.changed = True
        w.say(n, None, end.name, "last", [node(end.id)])

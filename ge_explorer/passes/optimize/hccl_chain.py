"""hccl-chain: collectives of one parallel group run in one order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType
from typing import ClassVar

from ge_explorer.errors import ContractError
from ge_explorer.graph.edit import GraphEditor
from ge_explorer.graph.model import Graph
from ge_explorer.graph.order import sort_mode, topological_sort
from ge_explorer.ids import node
from ge_explorer.passes.optimize import switches
from ge_explorer.passes.optimize.fusion_rewrite import acyclic
from ge_explorer.passes.optimize.fusion_scope import asked
from ge_explorer.passes.optimize.hccl_prepare import PARALLEL_GROUP
from ge_explorer.passes.optimize.hccl_scope import HCCL, KEYS
from ge_explorer.passes.optimize.hccl_switch import branched, links
from ge_explorer.text import Text
from ge_explorer.trace.passes import Pass, PassContext, Rule
from ge_explorer.trace.state import Snapshot

_FILE = "compiler/graph/passes/feature/parallel_group_pass.cc"
_SOURCE = f"{_FILE}: ParallelGroupPass::Run"
_MODE, _RUN = "ge.topoSortingMode", "ge.graphRunMode"


@dataclass(frozen=True)
class HcclChain(Pass):
    """Control edges between neighbours of one ``_parallel_group``, in topological order, in every graph.

    Rule: subgraphs first, the root last; groups by name; no edge where one leads already. A node that owns subgraphs counts for
    the groups of its *first* subgraph (GE keeps one set a holder and the first branch, looked at last, overwrites the others).
    Collectives behind a StreamSwitch are ordered by its condition and its merge; those of two branches of one switch are not
    ordered. Collectives of one communicator therefore never overlap; those of two communicators may.

    GE source: ParallelGroupPass, exact.
    Example: AllReduce1, AllReduce2 of ``hcom_op_1`` without a path between them -> control edge 1 -> 2.
    """

    name: ClassVar[str] = "hccl-chain"
    title: ClassVar[Text] = Text("Collective order", "集合通信定序")
    summary: ClassVar[Text] = Text("Chains the collectives of a group.", "用控制边串起同组的集合通信。")
    chapter = "optimise"
    reads: ClassVar[frozenset[str]] = frozenset({"graph"})
    writes: ClassVar[frozenset[str]] = frozenset({"graph"})
    option_keys: ClassVar[frozenset[str]] = KEYS | {_MODE, _RUN}
    ge_name: ClassVar[str] = "ParallelGroupPass"
    source: ClassVar[str] = _SOURCE
    rules = MappingProxyType(
        {
            "chain": Rule(Text("Next of the same parallel group.", "同一并行组中的下一个。"), f"{_FILE}: ProcessOnGraph"),
            "around-switch": Rule(Text("Next of the same parallel group; one of the two is inside a branch.",
                                       "同一并行组中的下一个；两者之一位于分支内。"),
                                  f"{_FILE}: ReplaceWithSwitchAndMerge"),
            "first-branch": Rule(Text("GE counts the groups of the first branch only.", "GE 只计入第一个分支的并行组。"),
                                 f"{_FILE}: ProcessOnGraph"),
        }
    )  # fmt: skip

    def skip_reason(self, s: Snapshot, ctx: PassContext) -> Text | None:
        """Only imported models unless asked."""
        reason = asked(ctx.option, HCCL, s.graph)
        if reason is None and not any(PARALLEL_GROUP in n.attrs for n in s.graph):
            return Text("no node has a parallel group", "没有节点属于并行组")
        return reason or switches.off_reason(ctx, self.ge_name, 0)

    def run(self, s: Snapshot, ctx: PassContext) -> Snapshot:
        """Graph with the chains; PassFailed comes from the sort when the graph has a loop already."""
        mode = sort_mode(ctx.option(_MODE), run_mode=ctx.option(_RUN), level=ctx.option("ge.oo.level"))
        g, _, sequence, _ = topological_sort(s.graph, mode=mode)
        editor = GraphEditor(s.graph)
        rank = {i: k for k, i in enumerate(sequence)}
        inner = _inner_groups(g, ctx)
        linked = set(g.dependencies)
        made = 0
        holders = [i for i in reversed(sequence) if g.node(i).subgraphs]
        for scope in [*(x for i in holders for x in reversed(g.node(i).subgraphs)), 0]:
            inside = branched(g, scope, rank)
            for group, members in sorted(_groups(g, scope, inner).items()):
                for a, b in pairwise(members):
                    for x, y in links(g, a, b, inside, rank):
                        if x == y or (x, y) in linked or g.node(y).op == "Data":
                            continue
                        linked.add((x, y))
                        editor.add_control(x, y)
                        made += 1
                        rule = "chain" if (x, y) == (a, b) else "around-switch"
                        ctx.decide(node(y), "control", None, g.node(x).name, rule, [node(x)], Text(group, group))
        ctx.status = "SUCCESS" if made else "NOT_CHANGED"
        return s.evolve(graph=editor.freeze()) if made else s

    def ensures(self, before: Snapshot, after: Snapshot) -> None:
        """Edges along a topological order never close a loop."""
        if not acyclic(after.graph):
            raise ContractError("the chain of collectives closed a loop")


def _groups(g: Graph, scope: int, inner: Mapping[int, tuple[str, ...]]) -> dict[str, list[int]]:
    """Group -> members of a graph in list order; a holder may stand for several groups."""
    out: dict[str, list[int]] = {}
    for i in g.scope(scope).nodes:
        for group in inner[i]:
            out.setdefault(group, []).append(i)
    return out


def _inner_groups(g: Graph, ctx: PassContext) -> dict[int, tuple[str, ...]]:
    """Per node: its own group, and the groups in its first subgraph."""
    out: dict[int, tuple[str, ...]] = {}

    def of_scope(s: int) -> list[str]:
        return [x for j in g.scope(s).nodes for x in groups(j)]

    def groups(i: int) -> tuple[str, ...]:
        if i not in out:
            n = g.node(i)
            own = [str(n.attrs[PARALLEL_GROUP])] if PARALLEL_GROUP in n.attrs else []
            inside = [of_scope(s) for s in n.subgraphs]
            first = inside[0] if inside else []
            lost = {x for row in inside[1:] for x in row} - set(first)
            if lost:
                ctx.decide(node(i), "control", None, ", ".join(sorted(lost)), "first-branch", decisive=False)
            out[i] = tuple(dict.fromkeys([*own, *first]))
        return out[i]

    for n in g:
        groups(n.id)
    return out

"""hccl-chain: collectives of one parallel group run in one order."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from ge_explorer.errors import ContractError
from ge_explorer.graph.edit import GraphEditor
from ge_explorer.graph.model import Graph
from ge_explorer.graph.order import sort_mode, topological_sort
from ge_explorer.ids import node
from ge_explorer.passes.optimize.fusion_rewrite import acyclic
from ge_explorer.passes.optimize.fusion_scope import asked
from ge_explorer.passes.optimize.hccl_prepare import HCCL, PARALLEL_GROUP
from ge_explorer.text import Text
from ge_explorer.trace.passes import Pass, PassContext, Rule
from ge_explorer.trace.state import Snapshot

_SOURCE = "compiler/graph/passes/feature/parallel_group_pass.cc: ParallelGroupPass::Run"
_MODE, _RUN, _LEVEL = "ge.topoSortingMode", "ge.graphRunMode", "ge.oo.level"


@dataclass(frozen=True)
class HcclChain(Pass):
    """Control edges between neighbours of one ``_parallel_group``, in topological order, in every graph.

    Rule: a node that owns subgraphs counts for the groups inside it. Collectives of one communicator therefore never overlap;
    those of two communicators may.

    GE source: ParallelGroupPass, exact except that Switch branches of TensorFlow's old control flow are not treated.
    Example: AllReduce1, AllReduce2 of ``hcom_op_1`` without a path between them -> control edge 1 -> 2.
    """

    name: ClassVar[str] = "hccl-chain"
    title: ClassVar[Text] = Text("Collective order", "集合通信定序")
    summary: ClassVar[Text] = Text("Chains the collectives of a group.", "用控制边串起同组的集合通信。")
    chapter = "optimise"
    reads: ClassVar[frozenset[str]] = frozenset({"graph"})
    writes: ClassVar[frozenset[str]] = frozenset({"graph"})
    option_keys: ClassVar[frozenset[str]] = frozenset({HCCL, _MODE, _RUN, _LEVEL})
    ge_name: ClassVar[str] = "ParallelGroupPass"
    source: ClassVar[str] = _SOURCE
    rules = MappingProxyType(
        {
            "chain": Rule(Text("Next of the same parallel group.", "同一并行组中的下一个。"), _SOURCE),
        }
    )

    def skip_reason(self, s: Snapshot, ctx: PassContext) -> Text | None:
        """Only imported models unless asked."""
        reason = asked(ctx.option, HCCL, s.graph)
        if reason is None and not any(PARALLEL_GROUP in n.attrs for n in s.graph):
            return Text("no node has a parallel group", "没有节点属于并行组")
        return reason

    def run(self, s: Snapshot, ctx: PassContext) -> Snapshot:
        """Graph with the chains; PassFailed comes from the sort when the graph has a loop already."""
        g = s.graph
        mode = sort_mode(ctx.option(_MODE), run_mode=ctx.option(_RUN), level=ctx.option(_LEVEL))
        sequence = topological_sort(g, mode=mode)[2]
        editor, made = GraphEditor(g), 0
        inner = _inner_groups(g)
        last: dict[tuple[int, str], int] = {}
        linked = set(g.control)
        for i in sequence:
            for group in inner[i]:
                key = (g.node(i).scope, group)
                before = last.get(key)
                last[key] = i
                if before is not None and (before, i) not in linked:
                    editor.add_control(before, i)
                    made += 1
                    ctx.decide(
                        node(i), "control", None, g.node(before).name, "chain", [node(before)], Text(group, group)
                    )
        if not made:
            ctx.status = "NOT_CHANGED"
            return s
        ctx.status = "SUCCESS"
        return s.evolve(graph=editor.freeze())

    def ensures(self, before: Snapshot, after: Snapshot) -> None:
        """Edges along a topological order never close a loop."""
        if not acyclic(after.graph):
            raise ContractError("the chain of collectives closed a loop")


def _inner_groups(g: Graph) -> dict[int, tuple[str, ...]]:
    """Per node: its own group, and the groups of everything in the subgraphs it owns."""
    out: dict[int, tuple[str, ...]] = {}

    def groups(i: int) -> tuple[str, ...]:
        if i not in out:
            n = g.node(i)
            own = [str(n.attrs[PARALLEL_GROUP])] if PARALLEL_GROUP in n.attrs else []
            inside = [x for s in n.subgraphs for j in g.scope(s).nodes for x in groups(j)]
            out[i] = tuple(dict.fromkeys([*own, *inside]))
        return out[i]

    for n in g:
        groups(n.id)
    return out

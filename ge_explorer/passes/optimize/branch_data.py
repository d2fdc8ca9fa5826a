"""branch-data and branch-subexpression: what a branch is handed twice, and what it then computes twice."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from ge_explorer.graph.builder import PARENT_INDEX
from ge_explorer.ids import Ref
from ge_explorer.passes.optimize.common_subexpression import CommonSubexpression
from ge_explorer.passes.optimize.cond_normalise import IFS
from ge_explorer.passes.optimize.rare import RarePass
from ge_explorer.passes.optimize.work import Work
from ge_explorer.text import Text
from ge_explorer.trace.passes import PassContext, Rule
from ge_explorer.trace.state import Snapshot

CASES = frozenset({"Case", "StatelessCase"})
_SOURCE = "compiler/graph/passes/control_flow_and_stream: fuse_data_nodes_with_common_input_pass.cc"


@dataclass(frozen=True)
class BranchData(RarePass):
    """In a branch, inputs fed by one and the same outer output become one.

    Rule: Data nodes of an If or Case branch whose inputs of the holder are the same tensor; the first stays, readers and control
    successors of the others move to it. The holder keeps its inputs.

    GE source: fuse_data_nodes_with_common_input_pass.cc. Example: ``If(c, x, x)`` whose branch adds its two inputs.
    """

    name: ClassVar[str] = "branch-data"
    title: ClassVar[Text] = Text("Branch inputs", "分支输入")
    summary: ClassVar[Text] = Text("Merges inputs of a branch that are one value.", "合并分支中来自同一输出的输入。")
    ge_name: ClassVar[str] = "FuseDataNodesWithCommonInputPass"
    source: ClassVar[str] = _SOURCE
    rare: ClassVar[frozenset[str]] = IFS | CASES
    rules = MappingProxyType({"one-source": Rule(Text("Outside it is the same value.", "在外部是同一个值。"), _SOURCE)})

    def apply(self, w: Work, scope: int) -> None:
        """Merge in one branch."""
        parent = w.e.scope(scope).parent
        if scope == 0 or not w.e.has(parent) or w.node(parent).op not in self.rare:
            return
        holder = w.node(parent)
        first: dict[int, int] = {}
        for i in w.e.members(scope):
            n = w.node(i)
            slot = n.attrs.get(PARENT_INDEX)
            if n.op != "Data" or not isinstance(slot, int) or slot >= len(holder.inputs):
                continue
            t = holder.inputs[slot]
            kept = i if t is None else first.setdefault(t, i)
            if kept != i:
                w.move_all(n.outputs[0], w.node(kept).outputs[0])
                for c in w.e.control_targets(i):
                    w.order(kept, c)
                w.delete(n, "one-source", [Ref("node", kept), Ref("node", parent)])


@dataclass(frozen=True)
class BranchSubexpression(CommonSubexpression):
    """common-subexpression once more, for what became equal when branch inputs were merged.

    GE runs it on every graph; without branches the first run left nothing to do, so it is skipped.
    GE source: common_subexpression_elimination_pass.cc (second entry of OptimizeStage1_1).
    """

    name: ClassVar[str] = "branch-subexpression"
    title: ClassVar[Text] = Text("CSE again", "再次公共子表达式")

    def skip_reason(self, s: Snapshot, ctx: PassContext) -> Text | None:
        """Only where there are branches."""
        if BranchData.rare.isdisjoint(s.graph.ops):
            return Text("no If or Case", "没有 If 或 Case")
        return super().skip_reason(s, ctx)

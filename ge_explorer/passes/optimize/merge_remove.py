"""merge-remove: a Merge with one live input is no choice any more."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from ge_explorer.graph.model import Node
from ge_explorer.passes.optimize.base import SHARED_RULES, NodePass
from ge_explorer.passes.optimize.dead_branch import delete_branch
from ge_explorer.passes.optimize.facts import MERGE
from ge_explorer.passes.optimize.work import Work
from ge_explorer.text import Text
from ge_explorer.trace.passes import Rule

_SOURCE = "compiler/graph/passes/control_flow_and_stream/merge_pass.cc"


@dataclass(frozen=True)
class MergeRemove(NodePass):
    """Bypass a Merge with one live data input; delete a branch whose Merge has none.

    Rule: a Merge with readers of its second output (the index of the live input) stays unless that is unread; with no live input
    the Merge and everything that needs it goes, up to the next Merge.

    GE source: merge_pass.cc. GE makes a constant of the index output; we leave such a Merge alone.
    Example: behind switch-dead-branch.
    """

    name: ClassVar[str] = "merge-remove"
    title: ClassVar[Text] = Text("Merge", "Merge")
    summary: ClassVar[Text] = Text("Bypasses Merge nodes with one live input.", "去掉只有一个有效输入的 Merge。")
    ge_name: ClassVar[str] = "MergePass"
    source: ClassVar[str] = _SOURCE
    level: ClassVar[int] = 1
    fidelity = "simplified"
    types: ClassVar[frozenset[str] | None] = MERGE
    rules = MappingProxyType(
        {
            "one-input": Rule(Text("Only one of its inputs is alive.", "只有一个输入有效。"), _SOURCE),
            "no-input": Rule(Text("None of its inputs is alive.", "没有任何有效输入。"), _SOURCE),
            **SHARED_RULES,
        }
    )

    def visit(self, w: Work, n: Node) -> None:
        """Try one Merge."""
        live = [k for k, t in enumerate(n.inputs) if t is not None]
        if len(live) > 1 or not n.inputs or any(w.e.readers(t) for t in n.outputs[1:]):
            return
        if live:
            if len(n.inputs) > 1:
                w.bypass(n, "one-input", (live[0],))
            return
        delete_branch(w, w.readers(n), (n.id,), "no-input")

"""identity-remove: Identity nodes that mark nothing are bypassed."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from ge_explorer.graph.model import Node
from ge_explorer.passes.optimize.base import NodePass
from ge_explorer.passes.optimize.facts import MERGE, NO_FOLD, SWITCH
from ge_explorer.passes.optimize.work import Work
from ge_explorer.text import Text
from ge_explorer.trace.passes import Rule

_SOURCE = "compiler/graph/passes/memory_conflict/identity_pass.cc"


@dataclass(frozen=True)
class IdentityRemove(NodePass):
    """Bypass Identity, IdentityN and ReadVariableOp.

    Rule: kept are nodes with ``no_need_constant_folding`` or ``_is_inserted_by_cann``; nodes next to a subgraph (fed by the Data
    of one or by a node that owns one, read by the NetOutput of one or by a node that owns one); behind a Switch with control
    outputs; before a Merge with control inputs. An Identity in front of the root NetOutput is *not* protected.

    GE source: identity_pass.cc (force=false). The variable cache exception of ReadVariableOp is not modelled.
    Example: ``Relu -> Identity -> Add`` becomes ``Relu -> Add``.
    """

    name: ClassVar[str] = "identity-remove"
    title: ClassVar[Text] = Text("Identity", "Identity")
    summary: ClassVar[Text] = Text("Bypasses Identity nodes that mark nothing.", "去掉无用的 Identity。")
    ge_name: ClassVar[str] = "IdentityPass"
    source: ClassVar[str] = f"{_SOURCE}: IdentityPass::Run"
    types: ClassVar[frozenset[str] | None] = frozenset({"Identity", "IdentityN", "ReadVariableOp"})
    rules = MappingProxyType(
        {
            "identity": Rule(Text("It passes its input on unchanged.", "它原样传递输入。"), _SOURCE),
            "identity-needed": Rule(
                Text(
                    "It stands at the edge of a subgraph or carries a branch condition.",
                    "它位于子图边界，或承载分支条件。",
                ),
                f"{_SOURCE}: CheckIdentityUsable",
            ),
        }
    )

    def visit(self, w: Work, n: Node) -> None:
        """Bypass one node unless it is needed."""
        if len(n.inputs) != len(n.outputs) or None in n.inputs or not n.inputs:
            return
        if _needed(w, n):
            w.keep(n, "identity-needed")
        else:
            w.bypass(n, "identity", tuple(range(len(n.inputs))))


def _needed(w: Work, n: Node) -> bool:
    if NO_FOLD in n.attrs or "_is_inserted_by_cann" in n.attrs:
        return True
    for p in w.producers(n):
        if (p.op == "Data" and p.scope != 0) or p.subgraphs:
            return True
        if p.op not in SWITCH:
            break
        if w.e.control_targets(n.id):
            return True
    for e in w.readers(n):
        r = w.node(e.dst)
        if (r.op == "NetOutput" and r.scope != 0) or r.subgraphs:
            return True
        if r.op not in MERGE:
            break
        if n.control_in:
            return True
    return False

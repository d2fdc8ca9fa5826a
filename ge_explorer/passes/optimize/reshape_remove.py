"""reshape-remove: in a static graph Reshape nodes are taken out; reshape-recovery puts the needed ones back."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from ge_explorer.graph.model import Node
from ge_explorer.passes.optimize.base import SHARED_RULES, NodePass
from ge_explorer.passes.optimize.facts import known
from ge_explorer.passes.optimize.work import Work
from ge_explorer.text import Text
from ge_explorer.trace.passes import Rule

_SOURCE = "compiler/graph/passes/shape_optimize/reshape_remove_pass.cc"
_CONTINUOUS = frozenset({"GatherShapes", "GatherNd"})


@dataclass(frozen=True)
class ReshapeRemove(NodePass):
    """Take out Reshape and ReFormat.

    Rule: ReFormat always. A Reshape only if its graph is static and all its shapes are known, it does not feed the NetOutput of
    a subgraph, and no reader is GatherShapes or GatherNd. The shape constant goes too when nothing else needs it.

    GE source: reshape_remove_pass.cc. Example: ``Relu -> Reshape -> Reshape -> MatMul`` leaves ``Relu -> MatMul``; afterwards
    one Reshape comes back.
    """

    name: ClassVar[str] = "reshape-remove"
    title: ClassVar[Text] = Text("Reshape out", "删除 Reshape")
    summary: ClassVar[Text] = Text("Takes Reshape nodes out of static graphs.", "在静态图中去掉 Reshape。")
    ge_name: ClassVar[str] = "ReshapeRemovePass"
    source: ClassVar[str] = f"{_SOURCE}: ReshapeRemovePass::Run"
    level: ClassVar[int] = 1
    types: ClassVar[frozenset[str] | None] = frozenset({"Reshape", "ReFormat"})
    rules = MappingProxyType(
        {
            "reshape": Rule(Text("It moves no data and every shape is known.", "不移动数据，且形状已知。"), _SOURCE),
            "reshape-needed": Rule(
                Text(
                    "It ends a subgraph, or its reader needs the exact shape.",
                    "它位于子图末端，或其读者需要确切的形状。",
                ),
                _SOURCE,
            ),
            **SHARED_RULES,
        }
    )

    def visit(self, w: Work, n: Node) -> None:
        """Take out one node."""
        if not n.inputs or n.inputs[0] is None or not n.outputs or any(w.e.readers(t) for t in n.outputs[1:]):
            return
        constant = w.producer(n, 1)
        if n.op == "Reshape":
            shapes = [w.shape(n, 0), *(t.shape for t in (*w.inputs(n)[1:], *w.outputs(n)) if t is not None)]
            if w.e.scope(n.scope).dynamic or not all(known(s) for s in shapes):
                return
            readers = [w.node(e.dst) for e in w.readers(n)]
            if any((r.op == "NetOutput" and r.scope != 0) or r.op in _CONTINUOUS for r in readers):
                w.keep(n, "reshape-needed")
                return
        w.bypass(n, "reshape")
        w.drop_unused_constant(constant, "unread")

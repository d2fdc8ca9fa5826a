"""useless-control-out: a constant is always there, so waiting for one means nothing."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from ge_explorer.graph.model import Graph, Node
from ge_explorer.ids import Ref
from ge_explorer.passes.optimize.base import SHARED_RULES, NodePass
from ge_explorer.passes.optimize.facts import CONST
from ge_explorer.passes.optimize.work import Work
from ge_explorer.text import Text
from ge_explorer.trace.passes import Rule

_SOURCE = "compiler/graph/passes/standard_optimize/useless_control_out_remove_pass.cc"


@dataclass(frozen=True)
class UselessControlOut(NodePass):
    """A Const without control inputs loses its control outputs; without data readers it is deleted.

    GE source: useless_control_out_remove_pass.cc. Example: ``Const ~> Relu`` (control only) leaves ``Relu`` alone.
    """

    name: ClassVar[str] = "useless-control-out"
    title: ClassVar[Text] = Text("Const order", "常量控制边")
    summary: ClassVar[Text] = Text("Drops control edges that leave constants.", "去掉从常量发出的控制边。")
    ge_name: ClassVar[str] = "UselessControlOutRemovePass"
    source: ClassVar[str] = _SOURCE
    types: ClassVar[frozenset[str] | None] = CONST
    rules = MappingProxyType(
        {
            "constant-control": Rule(Text("Waiting for a constant means nothing.", "等待常量没有意义。"), _SOURCE),
            **SHARED_RULES,
        }
    )

    def wants(self, g: Graph) -> bool:
        """A constant that something waits for, or that nothing reads."""
        return any(n.op in CONST and not n.control_in and (g.control_out[n.id] or not g.data_out[n.id]) for n in g)

    def visit(self, w: Work, n: Node) -> None:
        """Clean one constant."""
        if n.control_in:
            return
        targets = w.e.control_targets(n.id)
        if not w.readers(n):
            w.delete(n, "unread")
            return
        for c in targets:
            w.e.remove_control(n.id, c)
            w.changed = True
        if targets:
            w.ctx.decide(
                Ref("node", n.id), "control", len(targets), 0, "constant-control", [Ref("node", c) for c in targets]
            )

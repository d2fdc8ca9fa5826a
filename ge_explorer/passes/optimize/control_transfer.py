"""control-transfer: in graphs of unknown shape, what a constant waits for its readers wait for."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from ge_explorer.graph.model import Node
from ge_explorer.ids import Ref
from ge_explorer.passes.optimize.facts import CONST
from ge_explorer.passes.optimize.rare import RarePass
from ge_explorer.passes.optimize.work import Work
from ge_explorer.text import Text
from ge_explorer.trace.passes import PassContext, Rule
from ge_explorer.trace.state import Snapshot

_SOURCE = "compiler/graph/passes/control_flow_and_stream/ctrl_edge_transfer_pass.cc"


@dataclass(frozen=True)
class ControlTransfer(RarePass):
    """Control edges into a Const move to its readers.

    Rule: only in graphs of unknown shape: there constants run nothing, so an order that ends in one would be lost.
    GE source: ctrl_edge_transfer_pass.cc. Example: ``a -(control)-> Const -> Add`` becomes ``a -(control)-> Add``.
    """

    name: ClassVar[str] = "control-transfer"
    title: ClassVar[Text] = Text("Control to readers", "控制边转移")
    summary: ClassVar[Text] = Text("Moves control edges off constants.", "把指向常量的控制边移到其读者。")
    ge_name: ClassVar[str] = "CtrlEdgeTransferPass"
    source: ClassVar[str] = _SOURCE
    rare: ClassVar[frozenset[str]] = CONST
    rules = MappingProxyType(
        {
            "to-readers": Rule(
                Text("A constant runs nothing, so its readers must wait.", "常量不执行，应由其读者等待。"), _SOURCE
            )
        }
    )

    def skip_reason(self, s: Snapshot, ctx: PassContext) -> Text | None:
        """Known shapes need nothing."""
        if any(x is not None and x.dynamic for x in s.graph.scopes):
            return super().skip_reason(s, ctx)
        return Text("no graph of unknown shape", "没有动态 shape 图")

    def concerns(self, n: Node) -> bool:
        """Constants that wait."""
        return n.op in CONST and bool(n.control_in)

    def absent(self) -> Text:
        """In words."""
        return Text("no constant waits for anything", "没有带控制输入的常量")

    def apply(self, w: Work, scope: int) -> None:
        """Move in one graph."""
        for i in w.e.members(scope) if w.e.scope(scope).dynamic else ():
            n = w.node(i)
            if self.concerns(n):
                readers = list(dict.fromkeys(e.dst for e in w.readers(n)))
                for c in n.control_in:
                    w.e.remove_control(c, i)
                    for r in readers:
                        w.order(c, r)
                w.changed = True
                w.say(n, list(n.control_in), [], "to-readers", [Ref("node", r) for r in readers])

"""unused-const: constants nothing reads are deleted."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from ge_explorer.graph.model import Graph, Node
from ge_explorer.passes.optimize.base import SHARED_RULES, NodePass
from ge_explorer.passes.optimize.facts import CONST
from ge_explorer.passes.optimize.work import Work
from ge_explorer.text import Text


@dataclass(frozen=True)
class UnusedConst(NodePass):
    """Delete a Const without data readers; what ran before it runs before its control successors.

    GE source: unused_const_pass.cc. Example: the shape constant of a bypassed Reshape goes.
    """

    name: ClassVar[str] = "unused-const"
    title: ClassVar[Text] = Text("Unused", "无用常量")
    summary: ClassVar[Text] = Text("Deletes constants nothing reads.", "删除无人读取的常量。")
    ge_name: ClassVar[str] = "UnusedConstPass"
    source: ClassVar[str] = "compiler/graph/passes/standard_optimize/unused_const_pass.cc"
    level: ClassVar[int] = 1
    types: ClassVar[frozenset[str] | None] = CONST
    rules = MappingProxyType(dict(SHARED_RULES))

    def wants(self, g: Graph) -> bool:
        """A constant nothing reads."""
        return any(n.op in CONST and not g.data_out[n.id] for n in g)

    def visit(self, w: Work, n: Node) -> None:
        """Delete one constant."""
        if not w.readers(n):
            w.bypass(n, "unread", ())

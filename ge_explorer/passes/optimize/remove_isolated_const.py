"""remove-isolated-const: constants with no edge at all go at the end."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from ge_explorer.passes.optimize.base import SHARED_RULES, GraphPass
from ge_explorer.passes.optimize.facts import CONST
from ge_explorer.passes.optimize.work import Work
from ge_explorer.text import Text


@dataclass(frozen=True)
class RemoveIsolatedConst(GraphPass):
    """Delete a Const with neither data nor control edges. A function of the second stage, not a pass: it cannot be switched off.

    GE source: graph_manager.cc RemoveIsolatedConst. Example: the perm constant of a deleted Transpose.
    """

    name: ClassVar[str] = "remove-isolated-const"
    title: ClassVar[Text] = Text("Isolated", "孤立常量")
    summary: ClassVar[Text] = Text("Deletes constants without any edge.", "删除没有任何边的常量。")
    source: ClassVar[str] = "compiler/graph/manager/graph_manager.cc: RemoveIsolatedConst"
    level: ClassVar[int] = 0
    rules = MappingProxyType(dict(SHARED_RULES))

    def apply(self, w: Work, scope: int) -> None:
        """Sweep one graph."""
        for i in w.e.members(scope):
            n = w.node(i)
            if n.op in CONST and not w.readers(n) and not n.control_in and not w.e.control_targets(i):
                w.delete(n, "unread")

"""unchanged-transpose: a Transpose that moves only dimensions of size 1, within ones, is bypassed."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from ge_explorer.graph.model import Node
from ge_explorer.passes.optimize.base import SHARED_RULES, NodePass
from ge_explorer.passes.optimize.facts import sizes
from ge_explorer.passes.optimize.work import Work, perm_of
from ge_explorer.text import Text
from ge_explorer.trace.passes import Rule

_SOURCE = "compiler/graph/passes/format_optimize/unchanged_transpose_remove_pass.cc"


@dataclass(frozen=True)
class UnchangedTranspose(NodePass):
    """Bypass a Transpose whose moved dimensions all have size 1, or whose permutation is the identity.

    Rule: only the type Transpose (not TransposeD), permutation constant; the identity needs no known shape.
    GE source: unchanged_transpose_remove_pass.cc. Example: ``[1,1,5]`` with perm ``(1,0,2)``.
    """

    name: ClassVar[str] = "unchanged-transpose"
    title: ClassVar[Text] = Text("Unchanged", "无效转置")
    summary: ClassVar[Text] = Text("Bypasses Transpose nodes that move nothing.", "去掉没有移动数据的转置。")
    ge_name: ClassVar[str] = "UnchangedTransposeRemovePass"
    source: ClassVar[str] = _SOURCE
    types: ClassVar[frozenset[str] | None] = frozenset({"Transpose"})
    rules = MappingProxyType(
        {
            "moves-nothing": Rule(
                Text("Only dimensions of size 1 change places with each other.", "只有大小为 1 的维度互换。"), _SOURCE
            ),
            **SHARED_RULES,
        }
    )

    def visit(self, w: Work, n: Node) -> None:
        """Bypass one Transpose."""
        if not n.inputs or n.inputs[0] is None or len(n.outputs) != 1:
            return
        shape = w.shape(n, 0)
        perm = perm_of(w, n, shape)
        if perm is None or (shape is not None and len(perm) != len(shape)):
            return
        moved = [p for k, p in enumerate(perm) if p != k]
        dims = sizes(shape)
        if not moved or (dims is not None and all(dims[p] == 1 for p in moved)):
            constant = w.producer(n, 1)
            w.bypass(n, "moves-nothing")
            w.drop_unused_constant(constant, "unread")

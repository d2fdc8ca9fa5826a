"""remove-same-const: constants with equal bytes become one node."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from ge_explorer.graph.constant import VALUE, ConstantValue
from ge_explorer.passes.optimize.base import GraphPass
from ge_explorer.passes.optimize.common_subexpression import merge
from ge_explorer.passes.optimize.facts import CONST, ORIGIN_SCALAR
from ge_explorer.passes.optimize.work import Work
from ge_explorer.text import Text
from ge_explorer.trace.passes import Rule

_SOURCE = "compiler/graph/passes/standard_optimize/remove_same_const_pass.cc"


@dataclass(frozen=True)
class RemoveSameConst(GraphPass):
    """Merge constants that are equal in type, control inputs, tensor description, bytes and every other attribute.

    The first one stays. Constants whose values are not kept here (large ones) are never merged.

    GE source: remove_same_const_pass.cc. Options: ``ge.disableOptimizations``.
    Example: the shape constants of Reshape nodes to the same shape.
    """

    name: ClassVar[str] = "remove-same-const"
    title: ClassVar[Text] = Text("Equal consts", "相同常量")
    summary: ClassVar[Text] = Text("Merges constants with equal content.", "合并内容相同的常量。")
    ge_name: ClassVar[str] = "RemoveSameConstPass"
    source: ClassVar[str] = _SOURCE
    rules = MappingProxyType(
        {"same-content": Rule(Text("Same type, shape and bytes.", "类型、形状与字节都相同。"), _SOURCE)}
    )

    def apply(self, w: Work, scope: int) -> None:
        """Merge in one graph."""
        first: dict[object, int] = {}
        for i in w.e.members(scope):
            n = w.node(i)
            value = n.attrs.get(VALUE)
            if n.op not in CONST or len(n.outputs) != 1 or not isinstance(value, ConstantValue):
                continue
            t = w.e.tensor(n.outputs[0])
            rest = tuple(sorted((k, repr(v)) for k, v in n.attrs.items() if k not in (VALUE, ORIGIN_SCALAR)))
            tensor = tuple(sorted((k, repr(v)) for k, v in t.attrs.items()))
            k = first.setdefault((n.op, tuple(sorted(n.control_in)), t.shape, t.dtype, tensor, value, rest), i)
            if k != i:
                merge(w, k, n, "same-content")

"""constant-fuse-same: constants that share one buffer become one node."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from ge_explorer.graph.constant import VALUE, ConstantValue
from ge_explorer.passes.optimize.base import GraphPass
from ge_explorer.passes.optimize.common_subexpression import merge
from ge_explorer.passes.optimize.facts import CONST, layout
from ge_explorer.passes.optimize.work import Work
from ge_explorer.text import Text
from ge_explorer.trace.passes import Rule

_SOURCE = "compiler/graph/passes/standard_optimize/constant_fuse_same_pass.cc"


@dataclass(frozen=True)
class ConstantFuseSame(GraphPass):
    """Merge constants whose values are one and the same buffer.

    Rule: Const without control inputs, one output, one element; key: type, format, dimensions and the *address* of the data. So
    only constants that one fold made from one scalar are merged; equal content is remove-same-const's job, later.

    GE source: constant_fuse_same_pass.cc (address modelled as identity of the value object).
    Example: two outputs filled by one scalar.
    """

    name: ClassVar[str] = "constant-fuse-same"
    title: ClassVar[Text] = Text("One buffer", "同址常量")
    summary: ClassVar[Text] = Text("Merges constants that share a buffer.", "合并共用缓冲区的常量。")
    ge_name: ClassVar[str] = "ConstantFuseSamePass"
    source: ClassVar[str] = _SOURCE
    fidelity = "simplified"
    rules = MappingProxyType(
        {"same-buffer": Rule(Text("Its value is the same buffer.", "其值是同一块缓冲区。"), _SOURCE)}
    )

    def apply(self, w: Work, scope: int) -> None:
        """Merge in one graph."""
        first: dict[object, int] = {}
        for i in w.e.members(scope):
            n = w.node(i)
            value = n.attrs.get(VALUE)
            if n.op not in CONST or n.control_in or len(n.outputs) != 1 or not isinstance(value, ConstantValue):
                continue
            t = w.e.tensor(n.outputs[0])
            if t.elements != 1:
                continue
            k = first.setdefault((id(value), t.dtype, t.shape, layout(t)), i)
            if k != i:
                merge(w, k, n, "same-buffer")

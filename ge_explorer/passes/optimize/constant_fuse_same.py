"""constant-fuse-same: constants that share one buffer become one node."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from ge_explorer.graph.constant import VALUE, ConstantValue
from ge_explorer.graph.model import Node, Tensor
from ge_explorer.passes.optimize.base import GraphPass
from ge_explorer.passes.optimize.common_subexpression import merge
from ge_explorer.passes.optimize.facts import CONST, ORIGIN_SCALAR, layout
from ge_explorer.passes.optimize.work import Work
from ge_explorer.text import Text
from ge_explorer.trace.passes import Rule

_SOURCE = "compiler/graph/passes/standard_optimize/constant_fuse_same_pass.cc"


@dataclass(frozen=True)
class ConstantFuseSame(GraphPass):
    """Merge constants whose values are one and the same buffer.

    Rule: Const without control inputs, one output, made from *one element* (a scalar, or what folding repeated a scalar to); key:
    type, format, dimensions and the *address* of the data. So only constants of one scalar are merged; equal content is
    remove-same-const's job, later.

    GE source: constant_fuse_same_pass.cc. The address is modelled: the scalar that Expand, BroadcastTo, Tile or Fill repeated when
    folding made the constant, else the identity of the value object.
    Example: ``Expand(c, [4,4])`` twice, with two equal shape constants.
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
            if n.op not in CONST or n.control_in or len(n.outputs) != 1:
                continue
            t = w.e.tensor(n.outputs[0])
            address = _address(n, t)
            if address is None:
                continue
            k = first.setdefault((address, t.dtype, t.shape, layout(t)), i)
            if k != i:
                merge(w, k, n, "same-buffer")


def _address(n: Node, t: Tensor) -> object | None:
    """Where the data of a constant of one element lies; None for any other constant."""
    scalar = n.attrs.get(ORIGIN_SCALAR)
    if isinstance(scalar, int):
        return ("scalar", scalar)
    value = n.attrs.get(VALUE)
    return ("object", id(value)) if isinstance(value, ConstantValue) and t.elements == 1 else None

"""no-use-reshape: a Reshape to the shape its input already has is bypassed."""

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

_SOURCE = "compiler/graph/passes/shape_optimize/no_use_reshape_remove_pass.cc"


@dataclass(frozen=True)
class NoUseReshape(NodePass):
    """Bypass a Reshape whose known input and output dimensions are equal; its shape constant goes if nothing else reads it.

    GE source: no_use_reshape_remove_pass.cc. Example: ``[2,3] -> Reshape -> [2,3]``.
    """

    name: ClassVar[str] = "no-use-reshape"
    title: ClassVar[Text] = Text("No-use reshape", "无用 Reshape")
    summary: ClassVar[Text] = Text("Bypasses Reshape nodes that change nothing.", "去掉不改变形状的 Reshape。")
    ge_name: ClassVar[str] = "NoUseReshapeRemovePass"
    source: ClassVar[str] = _SOURCE
    types: ClassVar[frozenset[str] | None] = frozenset({"Reshape"})
    rules = MappingProxyType(
        {
            "same-shape": Rule(Text("Input and output have the same shape.", "输入与输出形状相同。"), _SOURCE),
            **SHARED_RULES,
        }
    )

    def visit(self, w: Work, n: Node) -> None:
        """Bypass one Reshape."""
        if not n.inputs or n.inputs[0] is None or not n.outputs:
            return
        shape = w.shape(n, 0)
        if known(shape) and shape == w.outputs(n)[0].shape and not any(w.e.readers(t) for t in n.outputs[1:]):
            constant = w.producer(n, 1)
            w.bypass(n, "same-shape")
            w.drop_unused_constant(constant, "unread")

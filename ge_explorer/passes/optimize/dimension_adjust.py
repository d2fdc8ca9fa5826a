"""dimension-adjust: an operator that only renames the dimensions is taken out; its readers know the shape they want."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from ge_explorer.graph.model import Node
from ge_explorer.passes.optimize.base import SHARED_RULES, NodePass
from ge_explorer.passes.optimize.facts import DO_NOT_FOLD, known
from ge_explorer.passes.optimize.switches import FOLDING
from ge_explorer.passes.optimize.work import Work
from ge_explorer.text import Text
from ge_explorer.trace.passes import Rule

_P = "compiler/graph/passes/standard_optimize/constant_folding"


@dataclass(frozen=True)
class DimensionAdjust(NodePass):
    """Take out ExpandDims, Squeeze, Unsqueeze, Flatten and ReFormat of known shape.

    Rule: shapes known, not forbidden by ``_do_not_constant_folding``. The readers read the operator's input; the axis constant
    goes too when nothing else reads it. Where producer and reader then disagree about the shape, reshape-recovery puts one
    Reshape back: only operators that change nothing, or cancel out, are really gone.

    GE source: dimension_adjust_pass.cc. Options: ``ge.oo.constantFolding``.
    Example: ``Unsqueeze -> Squeeze`` on the same axis disappears completely.
    """

    name: ClassVar[str] = "dimension-adjust"
    title: ClassVar[Text] = Text("Dimensions", "维度调整")
    summary: ClassVar[Text] = Text("Takes out operators that only rename dimensions.", "去掉只改维度的算子。")
    ge_name: ClassVar[str] = "DimensionAdjustPass"
    source: ClassVar[str] = f"{_P}/dimension_adjust_pass.cc"
    level: ClassVar[int] = 1
    bound: ClassVar[str] = FOLDING
    types: ClassVar[frozenset[str] | None] = frozenset({
        "ExpandDims", "Squeeze", "SqueezeV2", "SqueezeV3", "Unsqueeze", "UnsqueezeV2", "UnsqueezeV3", "ReFormat", "Flatten",
        "FlattenV2",
    })  # fmt: skip
    rules = MappingProxyType(
        {
            "dimensions-only": Rule(
                Text("It changes the dimensions, not the data.", "只改变维度，不改变数据。"),
                f"{_P}/dimension_adjust_pass.cc",
            ),
            **SHARED_RULES,
        }
    )

    def visit(self, w: Work, n: Node) -> None:
        """Bypass one node."""
        if n.attrs.get(DO_NOT_FOLD) or not n.inputs or n.inputs[0] is None or len(n.outputs) != 1:
            return
        if not all(known(t.shape) for t in (*w.inputs(n), *w.outputs(n)) if t is not None) or not known(w.shape(n, 0)):
            return
        axis = w.producer(n, 1)
        w.bypass(n, "dimensions-only")
        w.drop_unused_constant(axis, "unread")

"""fold-constants: the folding passes on their own, as GE runs them while it infers shapes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ge_explorer.passes.optimize.base import NodeGroup, NodePass, group_options, group_rules
from ge_explorer.passes.optimize.constant_folding import ConstantFolding
from ge_explorer.passes.optimize.dimension_compute import DimensionCompute
from ge_explorer.passes.optimize.facts import FROM_FOLDING
from ge_explorer.text import Text

__all__ = ["FROM_FOLDING", "FoldConstants"]

_MEMBERS: tuple[NodePass, ...] = (DimensionCompute(mark_only=True), ConstantFolding())


@dataclass(frozen=True)
class FoldConstants(NodeGroup):
    """Replace nodes whose result is known at compile time by ``Const`` nodes.

    Rule: dimension-compute marks known shapes, constant-folding computes what depends on constants; chains fold completely.
    The pipeline has both passes inside its stages; this step is for experiments with folding alone.

    GE source: constant_folding_pass.cc, dimension_compute_pass.cc, potential_const_taken_effect_pass.cc.
    Example: ``Data -> Shape -> Gather -> Concat -> Reshape`` keeps the Reshape with one Const.
    """

    name: ClassVar[str] = "fold-constants"
    title: ClassVar[Text] = Text("Fold", "常量折叠")
    summary: ClassVar[Text] = Text(
        "Turns what is known at compile time into constants.", "把编译期已知的结果变成常量。"
    )
    members: ClassVar[tuple[NodePass, ...]] = _MEMBERS
    rules = group_rules(_MEMBERS)
    option_keys: ClassVar[frozenset[str]] = NodeGroup.option_keys | group_options(_MEMBERS)
    source: ClassVar[str] = ConstantFolding.source
    fidelity = "simplified"

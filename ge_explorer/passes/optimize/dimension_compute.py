"""dimension-compute: Shape, Size and Rank of a tensor whose shape is known are constants."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

import numpy as np

from ge_explorer.graph.constant import ConstantValue
from ge_explorer.graph.model import Node, Shape
from ge_explorer.passes.optimize.base import SHARED_RULES, NodePass
from ge_explorer.passes.optimize.facts import DO_NOT_FOLD, NO_FOLD, sizes
from ge_explorer.passes.optimize.folding import fold, mark
from ge_explorer.passes.optimize.switches import FOLDING
from ge_explorer.passes.optimize.work import Work
from ge_explorer.text import Text
from ge_explorer.trace.passes import Rule

_P = "compiler/graph/passes/standard_optimize/constant_folding"


@dataclass(frozen=True)
class DimensionCompute(NodePass):
    """Fold Shape, ShapeN, Size and Rank from the shape of their input; the input itself need not be constant.

    Rule: Rank needs the rank only, the others every dimension. ``mark-only`` (the preparation stage) marks the node and lets
    the end of the walk fold it, so a shape that turns unknown again could still be taken back.

    GE source: dimension_compute_pass.cc with the node-form host kernels. Options: ``ge.oo.constantFolding``.
    Example: ``Data [2,3] -> Shape -> Gather`` folds to the constant the Gather picks.
    """

    mark_only: bool = False

    name: ClassVar[str] = "dimension-compute"
    title: ClassVar[Text] = Text("Shapes", "维度计算")
    summary: ClassVar[Text] = Text("Turns known shapes into constants.", "把已知形状变成常量。")
    ge_name: ClassVar[str] = "DimensionComputePass"
    source: ClassVar[str] = f"{_P}/dimension_compute_pass.cc"
    level: ClassVar[int] = 1
    bound: ClassVar[str] = FOLDING
    types: ClassVar[frozenset[str] | None] = frozenset({"Shape", "ShapeN", "Size", "Rank"})
    rules = MappingProxyType(
        {
            "shape": Rule(
                Text("The shape of its input is known.", "输入形状已知。"), f"{_P}/dimension_compute_pass.cc"
            ),
            **SHARED_RULES,
        }
    )

    def visit(self, w: Work, n: Node) -> None:
        """Fold or mark one node."""
        if n.attrs.get(DO_NOT_FOLD) or NO_FOLD in n.attrs or n.subgraphs:
            return
        values = _values(w, n)
        if values is None:
            return
        if self.mark_only:
            mark(w, n, values, "shape")
        else:
            w.potential.pop(n.id, None)
            fold(w, n, values, "shape")


def _values(w: Work, n: Node) -> list[ConstantValue | None] | None:
    if not n.inputs or len(n.inputs) != len(n.outputs) or None in n.inputs or (n.op != "ShapeN" and len(n.inputs) != 1):
        return None
    out: list[ConstantValue | None] = []
    for k, t in enumerate(w.outputs(n)):
        got = _of(n, w.shape(n, k))
        if got is None:
            return None
        out.append(ConstantValue.of(np.array(got), t.dtype if t.dtype in ("int32", "int64") else "int64"))
    return out


def _of(n: Node, shape: Shape | None) -> list[int] | int | None:
    if n.op == "Rank":
        return None if shape is None else len(shape)
    dims = sizes(shape)
    if dims is None:
        return None
    if n.op == "Size":
        return int(np.prod(dims, dtype=np.int64))
    start, end = n.attrs.get("start", 0), n.attrs.get("end", len(dims))
    return list(dims[start:end]) if isinstance(start, int) and isinstance(end, int) else None

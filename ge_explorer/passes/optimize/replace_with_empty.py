"""replace-with-empty-const: a node whose results have no elements becomes empty constants."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

import numpy as np

from ge_explorer.graph.constant import NUMPY_DTYPES, ConstantValue
from ge_explorer.graph.model import CONST_LIKE, DATA_LIKE, VARIABLE_LIKE, Graph, Node
from ge_explorer.passes.optimize.base import SHARED_RULES, NodePass
from ge_explorer.passes.optimize.facts import BY_GE, CONTROL_V1, DO_NOT_FOLD, sizes
from ge_explorer.passes.optimize.folding import fold, mark
from ge_explorer.passes.optimize.switches import FOLDING
from ge_explorer.passes.optimize.work import Work
from ge_explorer.text import Text
from ge_explorer.trace.passes import Rule

_P = "compiler/graph/passes/standard_optimize/constant_folding"
_NEVER = CONST_LIKE | DATA_LIKE | VARIABLE_LIKE | CONTROL_V1 | {"NetOutput", "Stack", "StackPush", "StackPop"}


@dataclass(frozen=True)
class ReplaceWithEmptyConst(NodePass):
    """A node all of whose outputs have a dimension of size 0 computes nothing.

    Rule: every output shape is known and has a 0. Left alone: sources, NetOutput, stacks, TensorFlow-1 control flow, types with
    "Hcom" in the name, nodes GE inserted itself. ``mark-only`` as in dimension-compute.

    GE source: replace_with_empty_const_pass.cc. Options: ``ge.oo.constantFolding``.
    Example: a Slice of nothing, ``[0, 4]``, becomes an empty Const.
    """

    mark_only: bool = False

    name: ClassVar[str] = "replace-with-empty-const"
    title: ClassVar[Text] = Text("Empty", "空张量")
    summary: ClassVar[Text] = Text("Nodes that produce no elements become constants.", "没有元素的结果变成空常量。")
    ge_name: ClassVar[str] = "ReplaceWithEmptyConstPass"
    source: ClassVar[str] = f"{_P}/replace_with_empty_const_pass.cc"
    level: ClassVar[int] = 1
    bound: ClassVar[str] = FOLDING
    rules = MappingProxyType(
        {
            "empty": Rule(
                Text("All its results are empty tensors.", "其结果全为空张量。"),
                f"{_P}/replace_with_empty_const_pass.cc",
            ),
            **SHARED_RULES,
        }
    )

    def wants(self, g: Graph) -> bool:
        """A result without elements that no constant made."""
        return any(t is not None and t.elements == 0 and g.node(t.producer).op not in _NEVER for t in g.tensors)

    def visit(self, w: Work, n: Node) -> None:
        """Fold or mark one node."""
        outs = w.outputs(n)
        if not outs or not all(t.elements == 0 for t in outs):
            return
        if n.op in _NEVER or "Hcom" in n.op or n.attrs.get(BY_GE) or n.attrs.get(DO_NOT_FOLD) or n.subgraphs:
            return
        values = [
            ConstantValue.of(np.zeros(sizes(t.shape) or (0,)), t.dtype) if t.dtype in NUMPY_DTYPES else None
            for t in outs
        ]
        if self.mark_only:
            mark(w, n, values, "empty")
        else:
            fold(w, n, values, "empty")

"""Operators whose answer the compiler knows: variable-is-initialized, parallel-concat-start, trans-shape-to-const."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

import numpy as np

from ge_explorer.graph.constant import ConstantValue
from ge_explorer.graph.model import VARIABLE_LIKE, Node
from ge_explorer.ids import Ref
from ge_explorer.passes.optimize.base import SHARED_RULES, NodePass
from ge_explorer.passes.optimize.facts import sizes
from ge_explorer.passes.optimize.folding import fold
from ge_explorer.passes.optimize.rare import RarePass, reaches
from ge_explorer.passes.optimize.references import references
from ge_explorer.passes.optimize.work import Work
from ge_explorer.text import Text
from ge_explorer.trace.passes import Rule

_P = "compiler/graph/passes"
_VARIABLE = f"{_P}/variable_optimize/var_is_initialized_op_pass.cc"
_CONCAT = f"{_P}/standard_optimize/parallel_concat_start_op_pass.cc"
_SHAPE = f"{_P}/shape_optimize/replace_transshape_pass.cc"


@dataclass(frozen=True)
class VariableIsInitialized(NodePass):
    """VarIsInitializedOp becomes a Const.

    Rule: true when an operator that writes the variable comes before, else false (the order test is simplified).
    GE source: var_is_initialized_op_pass.cc. Example: an assignment guarded by the question.
    """

    name: ClassVar[str] = "variable-is-initialized"
    title: ClassVar[Text] = Text("Initialised?", "变量已初始化")
    summary: ClassVar[Text] = Text("Answers whether a variable has a value.", "在编译期回答变量是否已初始化。")
    ge_name: ClassVar[str] = "VarIsInitializedOpPass"
    source: ClassVar[str] = _VARIABLE
    level: ClassVar[int] = 0
    fidelity = "simplified"
    types: ClassVar[frozenset[str] | None] = frozenset({"VarIsInitializedOp", "IsVariableInitialized"})
    rules = MappingProxyType(
        {
            "initialised": Rule(
                Text("The order of writes is known when compiling.", "写入顺序在编译期已知。"), _VARIABLE
            ),
            **SHARED_RULES,
        }
    )

    def visit(self, w: Work, n: Node) -> None:
        """Answer one question."""
        variable = w.producer(n)
        if variable is None or variable.op not in VARIABLE_LIKE or len(n.outputs) != 1:
            return
        writers = [e.dst for e in w.readers(variable) if any(i == e.dst_in for _, i in references(w, w.node(e.dst)))]
        known = any(reaches(w, x, n.id) for x in writers)
        fold(w, n, [ConstantValue.of(np.asarray(known), "bool")], "initialised")


@dataclass(frozen=True)
class ParallelConcatStart(NodePass):
    """ParallelConcatStart becomes a Const of its ``shape`` and ``dtype``; the contents do not matter.

    GE source: parallel_concat_start_op_pass.cc. Example: the buffer that parts of a parallel concat are written into.
    """

    name: ClassVar[str] = "parallel-concat-start"
    title: ClassVar[Text] = Text("Concat start", "拼接起点")
    summary: ClassVar[Text] = Text(
        "Turns the start of a parallel concat into a constant.", "把并行拼接的起点变为常量。"
    )
    ge_name: ClassVar[str] = "ParallelConcatStartOpPass"
    source: ClassVar[str] = _CONCAT
    level: ClassVar[int] = 0
    types: ClassVar[frozenset[str] | None] = frozenset({"ParallelConcatStart"})
    rules = MappingProxyType(
        {
            "start": Rule(Text("Only its shape and type matter.", "只有形状与类型有意义。"), _CONCAT),
            **SHARED_RULES,
        }
    )

    def visit(self, w: Work, n: Node) -> None:
        """Replace one node."""
        if len(n.outputs) != 1:
            return
        shape, dtype = n.attrs.get("shape"), n.attrs.get("dtype")
        if isinstance(shape, tuple | list):
            w.e.set_tensor(n.outputs[0], shape=tuple(shape), dtype=dtype if isinstance(dtype, str) else None)
        fold(w, w.node(n.id), [None], "start")


@dataclass(frozen=True)
class TransShapeToConst(RarePass):
    """TransShape becomes a Const that holds the shape it makes.

    Rule: when the output shape is known. GE source: replace_transshape_pass.cc (the value is our reading of one line).
    """

    name: ClassVar[str] = "trans-shape-to-const"
    title: ClassVar[Text] = Text("TransShape", "TransShape")
    summary: ClassVar[Text] = Text("Turns TransShape into a constant shape.", "把 TransShape 变为常量形状。")
    ge_name: ClassVar[str] = "ReplaceTransShapePass"
    source: ClassVar[str] = _SHAPE
    level: ClassVar[int] = 0
    fidelity = "simplified"
    rare: ClassVar[frozenset[str]] = frozenset({"TransShape"})
    rules = MappingProxyType(
        {"known-shape": Rule(Text("The shape it makes is known.", "其输出形状已知。"), _SHAPE), **SHARED_RULES}
    )

    def apply(self, w: Work, scope: int) -> None:
        """Replace in one graph."""
        for i in w.e.members(scope):
            n = w.node(i) if w.e.has(i) else None
            if n is None or n.op != "TransShape" or len(n.outputs) != 1:
                continue
            dims = sizes(w.e.tensor(n.outputs[0]).shape)
            if dims is None:
                w.keep(n, "known-shape", [Ref("node", i)])
                continue
            fold(w, n, [ConstantValue.of(np.asarray(dims), "int32")], "known-shape")

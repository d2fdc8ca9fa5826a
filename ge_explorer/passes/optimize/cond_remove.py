"""cond-remove: an If or Case whose condition is constant keeps one branch."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from ge_explorer.graph.builder import PARENT_INDEX
from ge_explorer.graph.constant import ConstantValue
from ge_explorer.graph.model import Node
from ge_explorer.ids import Ref
from ge_explorer.passes.optimize.base import SHARED_RULES, NodePass
from ge_explorer.passes.optimize.switches import DEAD_CODE
from ge_explorer.passes.optimize.value_changes import size_asked
from ge_explorer.passes.optimize.work import Work
from ge_explorer.text import Text
from ge_explorer.trace.passes import Rule

_SOURCE = "compiler/graph/passes/control_flow_and_stream/cond_remove_pass.cc"
IF_TYPES = frozenset({"If", "StatelessIf", "_If"})
CASE_TYPES = frozenset({"Case", "StatelessCase"})
CALL = "PartitionedCall"


@dataclass(frozen=True)
class CondRemove(NodePass):
    """Replace If or Case by a PartitionedCall of the branch that is taken; the other branch graphs disappear.

    Rule: the producer of the condition is a Const. If: a condition with dimensions is true unless a dimension is 0; a scalar is
    true unless it is zero. Case: int32 only; an index past the end takes the last branch, a negative one changes nothing.

    GE source: cond_remove_pass.cc. Options: ``ge.oo.deadCodeElimination``. GE keeps the call; ``inline-calls`` (ours) opens it.
    Example: ``If(Const true)`` leaves its then branch.
    """

    name: ClassVar[str] = "cond-remove"
    title: ClassVar[Text] = Text("Constant If", "常量条件")
    summary: ClassVar[Text] = Text("Keeps the branch a constant condition takes.", "条件为常量时只保留执行的分支。")
    ge_name: ClassVar[str] = "CondRemovePass"
    source: ClassVar[str] = f"{_SOURCE}: CondRemovePass::Run"
    level: ClassVar[int] = 1
    bound: ClassVar[str] = DEAD_CODE
    types: ClassVar[frozenset[str] | None] = IF_TYPES | CASE_TYPES
    rules = MappingProxyType(
        {
            "constant-condition": Rule(Text("The condition is constant.", "条件是常量。"), _SOURCE),
            "negative-index": Rule(
                Text("A negative branch index: GE leaves it alone.", "分支下标为负：GE 不处理。"), _SOURCE
            ),
            **SHARED_RULES,
        }
    )

    def visit(self, w: Work, n: Node) -> None:
        """Try one If or Case."""
        if len(n.subgraphs) < (2 if n.op in IF_TYPES else 1) or not n.inputs or not w.is_constant(n.inputs[0]):
            return
        value = w.value(n.inputs[0])
        if value is None:
            return
        index = _branch(n, value)
        if index is None:
            return
        if index < 0:
            w.keep(n, "negative-index")
            return
        condition = w.producer(n, 0)
        if value.shape and n.source_op == "If":
            w.ctx.report(size_asked(n.id, n.name))
        _keep_branch(w, n, n.subgraphs[index])
        evidence = [Ref("node", condition.id)] if condition is not None else []
        w.say(n, n.op, CALL, "constant-condition", evidence)
        if condition is not None and not w.readers(w.node(condition.id)):
            w.drop_unused_constant(condition, "unread")


def _branch(n: Node, value: ConstantValue) -> int | None:
    array = value.array()
    if array is None:
        return None
    if n.op in IF_TYPES:
        truth = bool(array.reshape(-1)[0]) if array.ndim == 0 else 0 not in array.shape
        return 0 if truth else 1
    if value.dtype != "int32" or array.size == 0:
        return None
    return min(int(array.reshape(-1)[0]), len(n.subgraphs) - 1)


def _keep_branch(w: Work, n: Node, scope: int) -> None:
    """Drop the other branches and the condition input; the inner Data nodes count their inputs from one less."""
    for s in n.subgraphs:
        if s != scope:
            w.e.remove_scope(s)
    for k in range(1, len(n.inputs)):
        t = n.inputs[k]
        if t is None:
            w.e.disconnect(n.id, k - 1)
        else:
            w.e.retarget(t, n.id, k - 1)
    w.e.trim_inputs(n.id, len(n.inputs) - 1)
    for i in w.e.members(scope):
        inner = w.node(i)
        if inner.op == "Data" and isinstance(inner.attrs.get(PARENT_INDEX), int):
            w.e.update_attrs(i, {PARENT_INDEX: inner.attrs[PARENT_INDEX] - 1})
    w.e.change(n.id, op=CALL, source_op=n.source_op or n.op)
    w.changed = True

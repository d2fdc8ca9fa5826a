"""switch-dead-branch: a TensorFlow-1 Switch with a constant predicate keeps one side."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from ge_explorer.graph.model import Node
from ge_explorer.ids import Ref
from ge_explorer.passes.optimize.base import SHARED_RULES, NodePass
from ge_explorer.passes.optimize.dead_branch import delete_branch
from ge_explorer.passes.optimize.facts import SWITCH
from ge_explorer.passes.optimize.switches import DEAD_CODE
from ge_explorer.passes.optimize.work import Work
from ge_explorer.text import Text
from ge_explorer.trace.passes import Rule

_SOURCE = "compiler/graph/passes/control_flow_and_stream/switch_dead_branch_elimination.cc"


@dataclass(frozen=True)
class SwitchDeadBranch(NodePass):
    """Delete the side of a Switch that is never taken, up to the Merge nodes it ends in; bypass the Switch on the other side.

    Rule: input 1 is a scalar Const; output 0 is the false side, output 1 the true side. A node goes when one of its data inputs
    is dead, a Merge loses only that input.

    GE source: switch_dead_branch_elimination.cc. Options: ``ge.oo.deadCodeElimination``.
    Example: ``Switch(x, true) -> {0: Neg, 1: Relu} -> Merge`` leaves ``x -> Relu -> Merge``; merge-remove does the rest.
    """

    name: ClassVar[str] = "switch-dead-branch"
    title: ClassVar[Text] = Text("Dead side", "死分支")
    summary: ClassVar[Text] = Text("Deletes the side a constant Switch never takes.", "删除常量 Switch 不会走的一侧。")
    ge_name: ClassVar[str] = "SwitchDeadBranchElimination"
    source: ClassVar[str] = _SOURCE
    level: ClassVar[int] = 1
    bound: ClassVar[str] = DEAD_CODE
    types: ClassVar[frozenset[str] | None] = SWITCH
    rules = MappingProxyType(
        {
            "dead-side": Rule(Text("It is on the side that is never taken.", "它在永远不会执行的一侧。"), _SOURCE),
            "live-side": Rule(
                Text("The predicate is constant, so this is always the way.", "谓词为常量，总走这一侧。"), _SOURCE
            ),
            **SHARED_RULES,
        }
    )

    def visit(self, w: Work, n: Node) -> None:
        """Try one Switch."""
        if len(n.inputs) < 2 or n.inputs[0] is None or len(n.outputs) != 2:
            return
        value = w.value(n.inputs[1])
        array = value.array() if value is not None else None
        if array is None or array.size != 1:
            return
        live = 1 if bool(array.reshape(-1)[0]) else 0
        predicate = w.producer(n, 1)
        if not delete_branch(w, w.e.readers(n.outputs[1 - live]), (), "dead-side", (Ref("node", n.id),)):
            return
        w.move_all(n.outputs[live], n.inputs[0])
        w.bypass(w.node(n.id), "live-side", ())
        w.drop_unused_constant(predicate, "unread")

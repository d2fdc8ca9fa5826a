"""cond-normalise: the condition of If, While and Switch becomes one int32 number."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from ge_explorer.graph.model import Node, Tensor
from ge_explorer.ids import Ref
from ge_explorer.passes.optimize.rare import InsertingPass, insert_before
from ge_explorer.passes.optimize.value_changes import size_asked
from ge_explorer.passes.optimize.work import Work
from ge_explorer.text import Text
from ge_explorer.trace.passes import Rule

CONDITION = "_gx_condition"
"""Our mark on an operator this pass inserted: it stands for the condition in its input."""
IFS = frozenset({"If", "StatelessIf", "_If"})
WHILES = frozenset({"While", "StatelessWhile", "_While"})
SWITCHES = frozenset({"Switch", "RefSwitch"})
_SOURCE = "compiler/graph/passes/control_flow_and_stream/cond_pass.cc"


@dataclass(frozen=True)
class CondNormalise(InsertingPass):
    """Cast, StringLength or Size between a condition and the operator that asks for it.

    Rule:
    1. A condition with dimensions: Size, so it holds when there is any element, *whatever the element says*.
    2. A scalar string: StringLength.
    3. Any other scalar that is not int32: Cast to int32. (That bool is cast as well is assumed.)
    Unknown rank or type: nothing. While is asked in its condition graph, at the result.

    GE source: cond_pass.cc. Example: the bool of an ONNX If gets a Cast, one small kernel on the way to the branch.
    """

    name: ClassVar[str] = "cond-normalise"
    title: ClassVar[Text] = Text("Conditions", "条件归一")
    summary: ClassVar[Text] = Text("Makes every condition one int32 number.", "把控制条件统一成一个 int32 标量。")
    ge_name: ClassVar[str] = "CondPass"
    source: ClassVar[str] = _SOURCE
    level: ClassVar[int] = 0
    fidelity = "simplified"
    rare: ClassVar[frozenset[str]] = IFS | WHILES | SWITCHES
    rules = MappingProxyType(
        {
            "by-size": Rule(Text("Not a scalar: the question is whether it has elements.", "不是标量：只看是否有元素。"), _SOURCE),
            "by-length": Rule(Text("A string holds when it is not empty.", "字符串非空即为真。"), _SOURCE),
            "to-int": Rule(Text("The branch is chosen by an int32.", "分支由 int32 选择。"), _SOURCE),
        }
    )  # fmt: skip

    def apply(self, w: Work, scope: int) -> None:
        """Normalise the conditions asked in one graph."""
        for i in w.e.members(scope):
            for reader, slot in _questions(w, w.node(i)):
                t = reader.inputs[slot]
                tensor = None if t is None else w.e.tensor(t)
                made = None if tensor is None else _needed(tensor)
                if made is None or tensor is None or CONDITION in w.node(tensor.producer).attrs:
                    continue
                op, rule = made
                if rule == "by-size" and w.node(i).source_op == "If":
                    w.ctx.report(size_asked(i, w.node(i).name))
                n = insert_before(w, reader, slot, f"{w.node(i).name}_cond_{op}", op, attrs={CONDITION: True})
                w.e.set_tensor(n.outputs[0], shape=(), dtype="int32")
                w.say(n, None, op, rule, [Ref("node", tensor.producer), Ref("node", i)])


def _questions(w: Work, n: Node) -> Iterator[tuple[Node, int]]:
    """(node, input) where the condition of a control operator is read."""
    if n.op in IFS and n.inputs:
        yield n, 0
    elif n.op in SWITCHES and len(n.inputs) > 1:
        yield n, 1
    elif n.op in WHILES and len(n.subgraphs) > 1:
        for i in w.e.members(n.subgraphs[0]):
            if w.node(i).op == "NetOutput" and w.node(i).inputs:
                yield w.node(i), 0


def _needed(t: Tensor) -> tuple[str, str] | None:
    if t.shape is None or t.dtype is None:
        return None
    if t.shape:
        return "Size", "by-size"
    if t.dtype == "string":
        return "StringLength", "by-length"
    return None if t.dtype == "int32" else ("Cast", "to-int")

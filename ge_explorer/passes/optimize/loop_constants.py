"""enter-const and print-remove: constants need no door into a loop, and printing no place in a compiled graph."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from ge_explorer.graph.happens_before import ENTER_LIKE
from ge_explorer.graph.model import Node
from ge_explorer.passes.optimize.base import NodePass
from ge_explorer.passes.optimize.facts import CONST, MERGE
from ge_explorer.passes.optimize.work import Work
from ge_explorer.text import Text
from ge_explorer.trace.passes import Rule

KEEP_PRINT = "gx.keepPrint"
"""Our option: "1" keeps Print (GE has an option of its own whose key is not in the specification)."""
_ENTER = "compiler/graph/passes/control_flow_and_stream/enter_pass.cc"
_PRINT = "compiler/graph/passes/standard_optimize/print_op_pass.cc"


@dataclass(frozen=True)
class EnterConst(NodePass):
    """A constant goes into a loop without Enter.

    Rule: Enter whose input is a Const is bypassed; one that feeds the Merge of the loop stays, because there the value changes
    (assumed).
    GE source: enter_pass.cc. Example: the limit of a counter loop.
    """

    name: ClassVar[str] = "enter-const"
    title: ClassVar[Text] = Text("Enter", "Enter")
    summary: ClassVar[Text] = Text("Lets a loop read constants directly.", "让循环直接读取常量。")
    ge_name: ClassVar[str] = "EnterPass"
    source: ClassVar[str] = _ENTER
    fidelity = "simplified"
    types: ClassVar[frozenset[str] | None] = ENTER_LIKE
    rules = MappingProxyType(
        {
            "enter-constant": Rule(Text("A constant is the same in every round.", "常量在每一轮都相同。"), _ENTER),
            "enter-variable": Rule(Text("It is the first value of a loop variable.", "它是循环变量的初值。"), _ENTER),
        }
    )

    def visit(self, w: Work, n: Node) -> None:
        """Try one Enter."""
        p = w.producer(n)
        if p is None or p.op not in CONST or len(n.outputs) != 1:
            return
        if any(w.node(e.dst).op in MERGE for e in w.readers(n)):
            w.keep(n, "enter-variable")
        else:
            w.bypass(n, "enter-constant")


@dataclass(frozen=True)
class PrintRemove(NodePass):
    """Bypass Print; delete one without a result.

    GE source: print_op_pass.cc. Options: ``gx.keepPrint``. Example: ``x -> Print -> y`` becomes ``x -> y``.
    """

    name: ClassVar[str] = "print-remove"
    title: ClassVar[Text] = Text("Print", "Print")
    summary: ClassVar[Text] = Text("Bypasses Print.", "去掉 Print。")
    option_keys: ClassVar[frozenset[str]] = NodePass.option_keys | {KEEP_PRINT}
    ge_name: ClassVar[str] = "PrintOpPass"
    source: ClassVar[str] = _PRINT
    level: ClassVar[int] = 0
    types: ClassVar[frozenset[str] | None] = frozenset({"Print", "PrintV2"})
    rules = MappingProxyType({"print": Rule(Text("It only prints what it hands on.", "它只打印并传递输入。"), _PRINT)})

    def visit(self, w: Work, n: Node) -> None:
        """Bypass one Print."""
        if w.option(KEEP_PRINT) != "1" and not any(w.e.readers(t) for t in n.outputs[1:]):
            w.bypass(n, "print", (0,) if n.outputs else ())

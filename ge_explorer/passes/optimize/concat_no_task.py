"""concat-no-task: a concatenation whose inputs can be written side by side needs no kernel."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from ge_explorer.graph.model import Node
from ge_explorer.passes.optimize.no_task import NoTaskPass, plain_layout, rules
from ge_explorer.passes.optimize.work import Work
from ge_explorer.text import Text


@dataclass(frozen=True)
class ConcatNoTask(NoTaskPass):
    """Mark ConcatD and ConcatV2D as no-task where memory can do the work.

    Rule: shapes known, graph static; with several inputs each a multiple of 32 bytes; producers different, and none of Data,
    variable, constant, owner of a subgraph, virtual, or fixed in its own memory; no input that is also a result; every dimension
    before the axis is 1; no reader is virtual. The node stays without a kernel: its producers write into its output.

    GE source: concat_notask_pass.cc, notask_pass_base.cc. Layouts other than the plain ones are left alone.
    Example: two ``[1,64]`` float16 tensors on axis 1.
    """

    name: ClassVar[str] = "concat-no-task"
    title: ClassVar[Text] = Text("Concat no-task", "拼接免任务")
    summary: ClassVar[Text] = Text(
        "Concatenations that memory layout can do lose their kernel.", "可由内存布局完成的拼接不再需要核函数。"
    )
    ge_name: ClassVar[str] = "ConcatNotaskPass"
    source: ClassVar[str] = "compiler/graph/passes/memory_optimize/concat_notask_pass.cc"
    fidelity = "simplified"
    ops: ClassVar[frozenset[str]] = frozenset({"ConcatD", "ConcatV2D"})
    rules = MappingProxyType(rules("Concat"))

    def axis(self, w: Work, n: Node, shapes: list[tuple[int, ...]]) -> bool:
        """Every dimension before the axis is 1."""
        axis = n.attrs.get("concat_dim", n.attrs.get("axis"))
        if not isinstance(axis, int) or not all(plain_layout(w.e.tensor(t)) for t in self.data_inputs(w, n)):
            return False
        return all(-len(s) <= axis < len(s) and all(d == 1 for d in s[: axis % len(s)]) for s in shapes)

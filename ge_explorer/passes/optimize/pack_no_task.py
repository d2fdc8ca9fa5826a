"""pack-no-task: a Pack whose inputs can be written side by side needs no kernel."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from ge_explorer.graph.model import Node
from ge_explorer.passes.optimize.facts import layout
from ge_explorer.passes.optimize.no_task import NoTaskPass, rules
from ge_explorer.passes.optimize.work import Work
from ge_explorer.text import Text


@dataclass(frozen=True)
class PackNoTask(NoTaskPass):
    """Mark Pack as no-task where memory can do the work.

    Rule: as concat-no-task, with formats ND-like or FRACTAL_NZ; the dimensions before the new axis are 1 (axis behind the last
    dimension: all of them).
    GE source: pack_notask_pass.cc, notask_pass_base.cc. Example: two ``[64]`` float tensors packed on axis 0.
    """

    name: ClassVar[str] = "pack-no-task"
    title: ClassVar[Text] = Text("Pack no-task", "打包免任务")
    summary: ClassVar[Text] = Text(
        "Pack nodes that memory layout can do lose their kernel.", "可由内存布局完成的 Pack 不再需要核函数。"
    )
    ge_name: ClassVar[str] = "PackNotaskPass"
    source: ClassVar[str] = "compiler/graph/passes/memory_optimize/pack_notask_pass.cc"
    fidelity = "simplified"
    ops: ClassVar[frozenset[str]] = frozenset({"Pack"})
    rules = MappingProxyType(rules("Pack"))

    def axis(self, w: Work, n: Node, shapes: list[tuple[int, ...]]) -> bool:
        """Dimensions before the axis are 1."""
        axis = n.attrs.get("axis", 0)
        formats = {layout(w.e.tensor(t)) for t in self.data_inputs(w, n)}
        if not isinstance(axis, int) or not formats <= {"", "ND", "NCHW", "NHWC", "NCDHW", "NDHWC", "FRACTAL_NZ"}:
            return False
        return all(all(d == 1 for d in s[: axis % (len(s) + 1)]) for s in shapes)

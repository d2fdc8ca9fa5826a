"""reshape-recovery: a Reshape wherever a reader wants another shape than its producer makes."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

import numpy as np

from ge_explorer.graph.constant import VALUE, ConstantValue
from ge_explorer.graph.model import Node
from ge_explorer.ids import Ref
from ge_explorer.passes.optimize.base import GraphPass
from ge_explorer.passes.optimize.facts import sizes
from ge_explorer.passes.optimize.work import EXPECTED, Work
from ge_explorer.text import Text
from ge_explorer.trace.passes import Rule

_SOURCE = "compiler/graph/passes/shape_optimize/reshape_recovery_pass.cc"
PREFIX = "Reshape_ReshapeRecoveryPass_"


@dataclass(frozen=True)
class ReshapeRecovery(GraphPass):
    """Insert ``Reshape_ReshapeRecoveryPass_<n>`` on every edge whose two ends have different known shapes.

    Rule: one Reshape an *edge* (a Reshape with three readers comes back three times), the shape constants are shared between
    equal shapes of a graph. A reader with an unknown shape needs none.

    GE source: reshape_recovery_pass.cc. Example: after reshape-remove, ``[2,8] -> MatMul`` that wants ``[16]``.
    """

    name: ClassVar[str] = "reshape-recovery"
    title: ClassVar[Text] = Text("Reshape back", "恢复 Reshape")
    summary: ClassVar[Text] = Text("Puts Reshape nodes back where shapes differ.", "在形状不同处恢复 Reshape。")
    ge_name: ClassVar[str] = "ReshapeRecoveryPass"
    source: ClassVar[str] = f"{_SOURCE}: ReshapeRecoveryPass::Run"
    level: ClassVar[int] = 1
    rules = MappingProxyType(
        {
            "shapes-differ": Rule(
                Text("The reader wants another shape than its producer makes.", "读者需要的形状与生产者不同。"), _SOURCE
            )
        }
    )

    def apply(self, w: Work, scope: int) -> None:
        """Repair one graph."""
        targets: dict[tuple[int, ...], Node] = {}
        for i in w.e.members(scope):
            for t in w.node(i).outputs:
                for e in w.e.readers(t):
                    if EXPECTED in w.node(e.dst).attrs:
                        self._edge(w, w.node(e.dst), e.dst_in, targets)

    def _edge(self, w: Work, reader: Node, index: int, targets: dict[tuple[int, ...], Node]) -> None:
        t = reader.inputs[index]
        wanted = sizes(w.shape(reader, index))
        if t is None or wanted is None or sizes(w.e.tensor(t).shape) in (None, wanted):
            return
        tensor = w.e.tensor(t)
        name = w.unique(PREFIX, numbered=True)
        if wanted not in targets:
            value = ConstantValue.of(np.array(wanted), "int64")
            targets[wanted] = w.add(
                reader, w.unique(f"{name}_shape"), "Const", (), value.shape, "int64", attrs={VALUE: value}
            )
        made = w.add(
            reader, name, "Reshape", [t, targets[wanted].outputs[0]], wanted, tensor.dtype, source_op="Reshape"
        )  # fmt: skip
        w.e.retarget(made.outputs[0], reader.id, index)
        w.expect(reader.id, index, wanted)
        w.say(made, "", "Reshape", "shapes-differ", [Ref("node", tensor.producer), Ref("node", reader.id)])

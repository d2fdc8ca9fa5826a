"""transop-allreduce: a TransData before a collective and its inverse behind it are deleted."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from ge_explorer.graph.model import Node
from ge_explorer.ids import Ref
from ge_explorer.passes.optimize.base import NodePass
from ge_explorer.passes.optimize.facts import layout
from ge_explorer.passes.optimize.work import Work
from ge_explorer.text import Text
from ge_explorer.trace.passes import Rule

_SOURCE = "compiler/graph/passes/format_optimize/transop_nearby_allreduce_fusion_pass.cc"


@dataclass(frozen=True)
class TransOpAllReduce(NodePass):
    """Input i and output i of an AllReduce each have a TransData that mirror one another: both go.

    Rule: HcomAllReduce or HorovodAllreduce; the TransData before it has no other reader, the output no other reader than the
    TransData behind; first input and last output agree in type, format and shape. A sum does not care about the layout.

    GE source: transop_nearby_allreduce_fusion_pass.cc.
    Example: ``TransData(NC1HWC0->NCHW) -> HcomAllReduce -> TransData(NCHW->NC1HWC0)``.
    """

    name: ClassVar[str] = "transop-allreduce"
    title: ClassVar[Text] = Text("Around AllReduce", "AllReduce 前后")
    summary: ClassVar[Text] = Text(
        "Deletes mirrored TransData around an AllReduce.", "删除 AllReduce 前后互逆的 TransData。"
    )
    ge_name: ClassVar[str] = "TransOpNearbyAllreduceFusionPass"
    source: ClassVar[str] = _SOURCE
    types: ClassVar[frozenset[str] | None] = frozenset({"HcomAllReduce", "HorovodAllreduce"})
    rules = MappingProxyType(
        {
            "mirrored": Rule(
                Text("Its mirror image stands on the other side of the AllReduce.", "AllReduce 另一侧是它的逆变换。"),
                _SOURCE,
            )
        }
    )

    def visit(self, w: Work, n: Node) -> None:
        """Try every pair of input and output."""
        for k, (t, o) in enumerate(zip(n.inputs, n.outputs, strict=False)):
            if t is None:
                continue
            a, readers = w.node(w.e.tensor(t).producer), w.e.readers(o)
            if (
                a.op != "TransData"
                or len(w.readers(a)) != 1
                or len(readers) != 1
                or not a.inputs
                or a.inputs[0] is None
            ):
                continue
            b = w.node(readers[0].dst)
            if b.op != "TransData" or len(b.outputs) != 1:
                continue
            first, last = w.e.tensor(a.inputs[0]), w.outputs(b)[0]
            if (first.dtype, layout(first), first.shape) != (last.dtype, layout(last), last.shape):
                continue
            w.e.retarget(a.inputs[0], n.id, k)
            w.e.set_tensor(o, shape=last.shape, attrs=last.attrs)
            w.bypass(w.node(b.id), "mirrored", evidence=[Ref("node", a.id)])
            w.bypass(w.node(a.id), "mirrored", (), [Ref("node", b.id)])

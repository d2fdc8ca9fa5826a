"""transpose-transdata: a Transpose in front of a TransData is taken into it."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from ge_explorer.graph.model import Node
from ge_explorer.ids import Ref
from ge_explorer.passes.optimize.base import NodePass
from ge_explorer.passes.optimize.facts import known, layout
from ge_explorer.passes.optimize.work import Work
from ge_explorer.text import Text
from ge_explorer.trace.passes import Rule

_SOURCE = "compiler/graph/passes/format_optimize/transpose_transdata_pass.cc"


@dataclass(frozen=True)
class TransposeTransData(NodePass):
    """``Transpose -> TransData`` becomes one TransData from the Transpose's input format.

    Rule: the Transpose changes the format, its shapes are known, its input is not ND, and the TransData starts from exactly what
    the Transpose makes. The TransData is renamed ``<transpose><transdata>``; the Transpose goes when nothing reads it any more.

    GE source: transpose_transdata_pass.cc. Whether a kernel supports the new pair of formats is not asked.
    Example: ``Transpose(NHWC->NCHW) -> TransData(NCHW->NC1HWC0)`` becomes ``TransData(NHWC->NC1HWC0)``.
    """

    name: ClassVar[str] = "transpose-transdata"
    title: ClassVar[Text] = Text("Into TransData", "并入 TransData")
    summary: ClassVar[Text] = Text("Takes a Transpose into the TransData behind it.", "把转置并入其后的 TransData。")
    ge_name: ClassVar[str] = "TransposeTransDataPass"
    source: ClassVar[str] = _SOURCE
    fidelity = "simplified"
    types: ClassVar[frozenset[str] | None] = frozenset({"Transpose", "TransposeD"})
    rules = MappingProxyType(
        {
            "into-transdata": Rule(
                Text("The TransData behind it does both steps.", "其后的 TransData 一次完成两步。"), _SOURCE
            ),
            "transpose-unread": Rule(
                Text("Every TransData behind it took it in.", "其后的 TransData 都已并入它。"), _SOURCE
            ),
        }
    )

    def visit(self, w: Work, n: Node) -> None:
        """Try every TransData behind one Transpose."""
        if len(n.outputs) != 1 or not n.inputs or n.inputs[0] is None:
            return
        source, out = w.e.tensor(n.inputs[0]), w.outputs(n)[0]
        if layout(source) in ("", "ND", layout(out)) or not known(source.shape) or not known(out.shape):
            return
        found = False
        for e in w.e.readers(n.outputs[0]):
            r = w.node(e.dst)
            if r.op != "TransData" or e.dst_in != 0 or r.attrs.get("src_format", layout(out)) != layout(out):
                continue
            name = w.unique(f"{n.name}{r.name}")
            w.e.retarget(n.inputs[0], r.id, 0)
            w.e.change(r.id, name=name)
            w.merge_origin(r.id, n)
            if "src_format" in r.attrs:
                w.e.update_attrs(r.id, {"src_format": layout(source)})
            w.changed = found = True
            w.ctx.decide(Ref("node", r.id), "name", r.name, name, "into-transdata", [Ref("node", n.id)])
        if found and not w.readers(w.node(n.id)):
            w.bypass(w.node(n.id), "transpose-unread")

"""transop-symmetry: a layout change followed by its inverse is skipped."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from ge_explorer.graph.model import Edge, Node
from ge_explorer.ids import Ref
from ge_explorer.passes.optimize.base import NodePass
from ge_explorer.passes.optimize.facts import layout, loses_precision, unknown_dims
from ge_explorer.passes.optimize.value_changes import rounds
from ge_explorer.passes.optimize.work import Work
from ge_explorer.text import Text
from ge_explorer.trace.passes import Rule

_SOURCE = "compiler/graph/passes/format_optimize/transop_symmetry_elimination_pass.cc"
_INVERSE = MappingProxyType({"SqueezeV2": "UnsqueezeV2", "UnsqueezeV2": "SqueezeV2"})


@dataclass(frozen=True)
class TransOpSymmetry(NodePass):
    """``A -> T1 -> T2 -> B`` becomes ``A -> B`` when T2 undoes T1.

    Rule: both of one type of {TransposeD, Reshape, ReFormat, Cast, TransData} or a SqueezeV2/UnsqueezeV2 pair with equal axis;
    type, format and shape of T1's input are those of T2's output, and the formats in the middle agree. TransposeD: the
    permutations cancel. Reshape: at most one unknown dimension; TransData: known rank. No cast that loses information as T1. T1
    stays while others read it. *Transpose* is not in the list: its permutation is an input.

    GE source: transop_symmetry_elimination_pass.cc; the second chance of NCHW/NC1HWC0 pairs of another shape is not modelled.
    Example: ``TransposeD(0,2,3,1) -> TransposeD(0,3,1,2)``.
    """

    name: ClassVar[str] = "transop-symmetry"
    title: ClassVar[Text] = Text("Symmetry", "对称消除")
    summary: ClassVar[Text] = Text("Skips a layout change and its inverse.", "跳过互逆的格式变换。")
    ge_name: ClassVar[str] = "TransOpSymmetryEliminationPass"
    source: ClassVar[str] = f"{_SOURCE}: TransOpSymmetryEliminationPass::Run"
    fidelity = "simplified"
    types: ClassVar[frozenset[str] | None] = frozenset(
        {"TransposeD", "Reshape", "ReFormat", "Cast", "TransData", "SqueezeV2", "UnsqueezeV2"}
    )
    rules = MappingProxyType(
        {
            "inverse": Rule(Text("The next operator undoes this one.", "下一个算子正好抵消它。"), _SOURCE),
            "inverse-unread": Rule(
                Text("All its readers read its input directly now.", "其读者都已直接读取它的输入。"), _SOURCE
            ),
        }
    )

    def visit(self, w: Work, n: Node) -> None:
        """Try every reader of one node."""
        if len(n.outputs) != 1 or not n.inputs or n.inputs[0] is None:
            return
        found = False
        for e in w.e.readers(n.outputs[0]):
            if w.e.has(e.dst) and _cancels(w, n, e):
                found = True
                second = w.node(e.dst)
                if n.op == "Cast" and rounds(w.e.tensor(n.inputs[0]).dtype, [w.outputs(n)[0].dtype]):
                    w.rounded += [n.id, second.id]
                wanted = w.shape(n, 0)
                w.e.retarget(n.inputs[0], second.id, 0)
                w.expect(second.id, 0, wanted)
                w.bypass(w.node(second.id), "inverse", evidence=[Ref("node", n.id)])
        if found and not w.readers(w.node(n.id)):
            w.bypass(w.node(n.id), "inverse-unread")


def _cancels(w: Work, a: Node, e: Edge) -> bool:
    b = w.node(e.dst)
    if (b.op != a.op and _INVERSE.get(a.op) != b.op) or e.dst_in != 0 or len(b.outputs) != 1 or a.inputs[0] is None:
        return False
    first, middle, last = w.e.tensor(a.inputs[0]), w.outputs(a)[0], w.outputs(b)[0]
    shape = w.shape(a, 0)
    if a.op == "Reshape" and unknown_dims(shape) not in (0, 1):
        return False
    if a.op == "TransData" and unknown_dims(shape) == -2:
        return False
    if a.op == "TransposeD":
        p, q = a.attrs.get("perm", ()), b.attrs.get("perm", ())
        if len(p) != len(q) or any(not 0 <= x < len(p) for x in q) or any(p[x] != k for k, x in enumerate(q)):
            return False
    if a.op in _INVERSE and tuple(a.attrs.get("axis", ())) != tuple(b.attrs.get("axis", ())):
        return False
    if loses_precision(first.dtype, middle.dtype) and a.op == "Cast":
        return False
    if a.op == "Cast":
        formats = {layout(first), layout(last)}
        return first.dtype is not None and first.dtype == last.dtype and (len(formats) == 1 or "ND" in formats)
    same = first.dtype == last.dtype and layout(first) == layout(last) and shape == last.shape and shape is not None
    if layout(first, origin=True) == layout(last, origin=True):
        same = same and first.attrs.get("origin_shape") == last.attrs.get("origin_shape")
    return same

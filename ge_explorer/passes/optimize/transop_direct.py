"""transop-direct: a path of layout operators is replaced by a shorter one, or by nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from ge_explorer.graph.model import DTYPE_BITS, Edge, Node, Tensor
from ge_explorer.ids import Ref
from ge_explorer.passes.optimize.base import GraphPass
from ge_explorer.passes.optimize.facts import TRANS, known, layout, loses_precision
from ge_explorer.passes.optimize.format_shapes import HEAVY
from ge_explorer.passes.optimize.value_changes import rounds
from ge_explorer.passes.optimize.work import Work
from ge_explorer.text import Text
from ge_explorer.trace.passes import PassContext, Rule
from ge_explorer.trace.state import Snapshot

_SOURCE = "compiler/graph/passes/format_optimize/transop_without_reshape_fusion_pass.cc"
_MEMBERS = frozenset({"Cast", "Transpose", "TransposeD", "TransData"})
_FORMATS = frozenset({"NCHW", "NHWC", "FRACTAL_Z", "NC1HWC0"})
_Key = tuple[int, str, str | None, object]


@dataclass(frozen=True)
class TransOpDirect(GraphPass):
    """Shorten paths of Cast, Transpose and TransData between two operators that are no layout operators.

    Rule: the start has a known shape; no Reshape on the path; every Transpose changes the format and has a known shape; formats
    and types are continuous; no cast that loses information. Equal type, format (NCHW, NHWC, FRACTAL_Z, NC1HWC0) and shape at
    both ends: connect directly. Otherwise at most one ``fusion_format_transfer_<n>`` (TransData) and one ``fusion_cast_op_<n>``,
    if that is shorter. Operators without readers go.

    GE source: transop_without_reshape_fusion_pass.cc. Whether a kernel supports the new TransData is not asked. Ours: a format
    with a C0 and a type of another width are not changed together.
    Options: ``ge.disableOptimizations``. Example: ``TransData(NCHW->NC1HWC0) -> TransData(NC1HWC0->NCHW)``.
    """

    name: ClassVar[str] = "transop-direct"
    title: ClassVar[Text] = Text("Direct path", "变换路径")
    summary: ClassVar[Text] = Text("Shortens paths of layout operators.", "缩短格式变换路径。")
    ge_name: ClassVar[str] = "TransOpWithoutReshapeFusionPass"
    source: ClassVar[str] = _SOURCE
    fidelity = "simplified"
    rules = MappingProxyType(
        {
            "no-change": Rule(Text("The path ends in what it began with.", "路径首尾相同。"), _SOURCE),
            "shorter-path": Rule(Text("Fewer operators reach the same layout.", "用更少的算子得到相同格式。"), _SOURCE),
            "path-unread": Rule(Text("Its readers take the shorter path.", "其读者改走更短的路径。"), _SOURCE),
        }
    )

    def run(self, s: Snapshot, ctx: PassContext) -> Snapshot:
        """Most graphs have nothing to shorten."""
        if not any(n.op in _MEMBERS for n in s.graph):
            ctx.status = "NOT_CHANGED"
            return s
        return super().run(s, ctx)

    def apply(self, w: Work, scope: int) -> None:
        """Shorten in one graph."""
        if _MEMBERS.isdisjoint(w.before.ops):
            return
        made: dict[_Key, int] = {}
        for i in w.e.members(scope):
            if not w.e.has(i):
                continue
            n = w.node(i)
            if n.op in TRANS or n.subgraphs or not any(w.node(e.dst).op in _MEMBERS for e in w.readers(n)):
                continue
            for t in n.outputs:
                if known(w.e.tensor(t).shape):
                    for path, end in list(_paths(w, t)):
                        self._shorten(w, t, path, end, made)

    def _shorten(self, w: Work, start: int, path: list[int], end: Edge, made: dict[_Key, int]) -> None:
        if not all(w.e.has(i) for i in path) or not _sound(w, w.e.tensor(start), path):
            return
        first, last = w.e.tensor(start), w.outputs(w.node(path[-1]))[0]
        same = first.dtype == last.dtype and layout(first) == layout(last) and first.shape == last.shape
        transfer, cast = _changes(first, last), first.dtype != last.dtype
        if (
            transfer
            and cast
            and {layout(first), layout(last)} & HEAVY
            and DTYPE_BITS.get(first.dtype or "") != DTYPE_BITS.get(last.dtype or "")
        ):
            return  # the storage shape depends on the width of the type: the conversion would make another one
        if same and layout(first) in _FORMATS:
            tensor, rule = start, "no-change"
        elif 0 < transfer + cast < len(path) and (transfer or first.shape == last.shape):
            tensor, rule = self._replacement(w, start, last, path, made), "shorter-path"
        else:
            return
        if rounds(first.dtype, [w.outputs(w.node(i))[0].dtype for i in path[:-1]]):
            w.rounded += [i for i in path if w.node(i).op == "Cast"]
        w.e.retarget(tensor, end.dst, end.dst_in)
        w.changed = True
        w.say(w.node(end.dst), w.node(end.dst).op, w.node(end.dst).op, rule, [Ref("node", i) for i in path])
        for i in reversed(path):
            if w.e.has(i) and not w.readers(w.node(i)):
                w.bypass(w.node(i), "path-unread")

    def _replacement(self, w: Work, start: int, last: Tensor, path: list[int], made: dict[_Key, int]) -> int:
        key: _Key = (start, layout(last), last.dtype, last.shape)
        if key in made:
            return made[key]
        first, like = w.e.tensor(start), w.node(w.e.tensor(start).producer)
        t, origin = start, tuple(path)
        if _changes(first, last):
            n = w.add(
                like, w.unique("fusion_format_transfer_", numbered=True), "TransData", [t], last.shape, first.dtype,
                attrs={"src_format": layout(first), "dst_format": layout(last)}, origin=origin,
            )  # fmt: skip
            t = n.outputs[0]
            w.e.set_tensor(t, attrs=last.attrs)
            w.say(n, "", "TransData", "shorter-path")
        if first.dtype != last.dtype:
            n = w.add(
                like, w.unique("fusion_cast_op_", numbered=True), "Cast", [t], last.shape, last.dtype, origin=origin
            )  # fmt: skip
            t = n.outputs[0]
            w.e.set_tensor(t, attrs=last.attrs)
            w.say(n, "", "Cast", "shorter-path")
        made[key] = t
        return t


def _paths(w: Work, start: int, limit: int = 200) -> Iterator[tuple[list[int], Edge]]:
    """Every path of layout operators from a tensor to the next other operator (at most ``limit`` of them)."""
    stack: list[tuple[list[int], int]] = [([], start)]
    found = 0
    while stack and found < limit:
        path, t = stack.pop()
        for e in w.e.readers(t):
            n: Node = w.node(e.dst)
            if n.op in _MEMBERS and e.dst_in == 0 and len(n.outputs) == 1:
                stack.append(([*path, n.id], n.outputs[0]))
            elif path and n.op not in TRANS:
                found += 1
                yield path, e


def _changes(a: Tensor, b: Tensor) -> bool:
    """True if two tensors are known to be stored in different formats."""
    return bool(layout(a)) and bool(layout(b)) and layout(a) != layout(b)


def _sound(w: Work, first: Tensor, path: list[int]) -> bool:
    """No step GE refuses to look through."""
    before = first
    for i in path:
        n = w.node(i)
        after = w.outputs(n)[0]
        if n.op in ("Transpose", "TransposeD") and (not _changes(before, after) or not known(after.shape)):
            return False
        if n.op == "Cast" and loses_precision(before.dtype, after.dtype):
            return False
        if n.op != "Cast" and before.dtype != after.dtype:
            return False
        before = after
    return True

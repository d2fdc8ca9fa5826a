"""same-transdata-breadth: equal TransData behind the casts of one output move in front of them and become one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from ge_explorer.graph.model import Tensor
from ge_explorer.ids import Ref
from ge_explorer.passes.optimize.base import GraphPass
from ge_explorer.passes.optimize.facts import layout
from ge_explorer.passes.optimize.format_shapes import FORMAT, HEAVY, ORIGIN_FORMAT, ORIGIN_SHAPE, unit
from ge_explorer.passes.optimize.work import EXPECTED, Work
from ge_explorer.text import Text
from ge_explorer.trace.passes import PassContext, Rule
from ge_explorer.trace.state import Snapshot

_SOURCE = "compiler/graph/passes/format_optimize/same_transdata_breadth_fusion_pass.cc"
_TRANS = frozenset({"Cast", "Transpose", "TransposeD", "Reshape", "TransData"})
_DESCRIPTOR = (FORMAT, ORIGIN_FORMAT, ORIGIN_SHAPE)


@dataclass(frozen=True)
class _Branch:
    """Casts between an output and one of its TransData, and that TransData."""

    casts: tuple[int, ...]
    transdata: int


@dataclass(frozen=True)
class SameTransDataBreadth(GraphPass):
    """``x -> {Cast_a -> TransData_1, Cast_b -> TransData_2}`` becomes ``x -> TransData -> {Cast_a, Cast_b}``.

    Rule: branches of Cast nodes (or none) from one output of an operator that is no layout operator, each ending in a TransData;
    equal are those with the same formats, stream label and Identity nodes that control the branch. The one with the fewest casts
    stays (of equals the last), takes the output itself as input and its type; the casts follow it. A Cast with other readers
    stays where it is, and a copy ``fusion_cast_<n>`` follows instead.

    GE source: same_transdata_breadth_fusion_pass.cc. Ours: GE asks the kernel store whether TransData takes the type before the
    casts; here it takes every type the cube unit has, and casts between widths stay in front of a format with a C0, since the
    storage shape depends on the width. Example: a float16 tensor cast to bfloat16 for one convolution and read by another.
    """

    name: ClassVar[str] = "same-transdata-breadth"
    title: ClassVar[Text] = Text("Same TransData", "相同 TransData")
    summary: ClassVar[Text] = Text(
        "Moves equal TransData in front of casts and merges them.", "把相同的 TransData 移到 Cast 之前并合并。"
    )
    ge_name: ClassVar[str] = "SameTransdataBreadthFusionPass"
    source: ClassVar[str] = f"{_SOURCE}: SameTransdataBreadthFusionPass::Run"
    fidelity = "simplified"
    rules = MappingProxyType(
        {
            "moved-up": Rule(
                Text("Serves all branches from in front of the casts.", "移到 Cast 之前，供所有分支使用。"), _SOURCE
            ),
            "same-transdata": Rule(Text("Another branch converts the same tensor.", "另一分支转换同一张量。"), _SOURCE),
            "cast-copy": Rule(Text("The original Cast has other readers.", "原 Cast 还有其他读者。"), _SOURCE),
            "width": Rule(
                Text(
                    "Its casts change the width, so the storage shape would differ.", "Cast 改变位宽，存储形状会不同。"
                ),
                "ours",
            ),
        }
    )

    def run(self, s: Snapshot, ctx: PassContext) -> Snapshot:
        """Most graphs have no two TransData."""
        if sum(n.op == "TransData" for n in s.graph) < 2:
            ctx.status = "NOT_CHANGED"
            return s
        return super().run(s, ctx)

    def apply(self, w: Work, scope: int) -> None:
        """Merge in one graph."""
        for i in w.e.members(scope):
            if not w.e.has(i) or w.node(i).op in _TRANS or len(w.readers(w.node(i))) < 2:
                continue
            for t in w.node(i).outputs:
                paths = list(_paths(w, t, ()))
                branches = [b for b in paths if b is not None and _movable(w, t, b)] if len(paths) > 1 else []
                groups: dict[object, list[_Branch]] = {}
                for b in branches:
                    groups.setdefault(_identity(w, b), []).append(b)
                for group in groups.values():
                    if len(group) > 1:
                        _merge(w, t, group)


def _paths(w: Work, t: int, casts: tuple[int, ...]) -> Iterator[_Branch | None]:
    """Every branch of an output; None for one that ends in another operator."""
    for e in w.e.readers(t):
        n = w.node(e.dst)
        if n.op == "TransData" and e.dst_in == 0 and len(n.outputs) == 1:
            if w.readers(n):
                yield _Branch(casts, n.id)
        elif n.op == "Cast" and e.dst_in == 0 and len(n.outputs) == 1 and len(n.inputs) == 1:
            yield from _paths(w, n.outputs[0], (*casts, n.id))
        else:
            yield None


def _movable(w: Work, t: int, b: _Branch) -> bool:
    """True if TransData can take the type before the casts."""
    nodes = [w.node(i) for i in (*b.casts, b.transdata)]
    end = w.outputs(nodes[-1])[0]
    types = {w.e.tensor(x).dtype for x in (t, *(n.outputs[0] for n in nodes))}
    units = {unit(x) for x in types}
    if any(EXPECTED in n.attrs for n in nodes) or None in units:
        return False
    if {layout(end), layout(w.e.tensor(t))} & HEAVY and len(units) > 1:
        w.keep(nodes[-1], "width", [Ref("node", i) for i in b.casts])
        return False
    return True


def _identity(w: Work, b: _Branch) -> object:
    n = w.node(b.transdata)
    nodes = [n, *(w.node(i) for i in b.casts)]
    control = {w.node(c).name for x in nodes for c in x.control_in if w.node(c).op == "Identity"}
    before, after = w.inputs(n)[0], w.outputs(n)[0]
    return (
        n.attrs.get("_stream_label"), layout(before) if before else "", layout(after), n.attrs.get("groups"), after.shape,
        frozenset(control),
    )  # fmt: skip


def _merge(w: Work, t: int, group: list[_Branch]) -> None:
    fewest = min(len(b.casts) for b in group)
    kept = [b for b in group if len(b.casts) == fewest][-1]
    keep = w.node(kept.transdata)
    out = keep.outputs[0]
    others = [b for b in group if b is not kept]
    targets = {b.transdata: w.e.readers(w.node(b.transdata).outputs[0]) for b in group}
    own = {b.transdata: all(len(w.readers(w.node(i))) == 1 for i in b.casts) for b in group}
    if kept.casts:
        w.e.retarget(t, keep.id, 0)
        w.e.set_tensor(out, dtype=w.e.tensor(t).dtype)
        w.changed = True
        w.say(keep, "TransData", "TransData", "moved-up", [Ref("node", i) for i in kept.casts])
    for b in (kept, *others):
        last = _recast(w, out, b.casts, own=own[b.transdata])
        node = w.node(b.transdata)
        for e in targets[b.transdata]:
            w.e.retarget(last, e.dst, e.dst_in)
            for c in node.control_in:
                w.order(c, e.dst)
        if b is kept:
            continue
        for c in w.e.control_targets(node.id):
            w.order(w.e.tensor(last).producer, c)
        w.merge_origin(keep.id, node)
        w.delete(node, "same-transdata", [Ref("node", keep.id)])


def _recast(w: Work, out: int, casts: tuple[int, ...], *, own: bool) -> int:
    """Hang the casts of a branch behind the TransData, or copies unless they are its ``own``. Returns the last tensor."""
    last = out
    for i in casts:
        n = w.node(i)
        stored = w.e.tensor(out)
        if own:
            w.e.retarget(last, i, 0)
            _describe(w, w.outputs(n)[0], stored)
            last = n.outputs[0]
            continue
        dtype = w.outputs(n)[0].dtype
        name, attrs = _free(w), dict(n.attrs)
        made = w.add(n, name, "Cast", [last], stored.shape, dtype, attrs=attrs, origin=n.origin or (i,))
        _describe(w, w.outputs(made)[0], stored)
        w.say(made, "", "Cast", "cast-copy", [Ref("node", i)])
        last = made.outputs[0]
    return last


def _describe(w: Work, t: Tensor, stored: Tensor) -> None:
    """Shape and formats of ``stored`` (GE's CopyTensorDesc); the type stays."""
    rest = {k: v for k, v in t.attrs.items() if k not in _DESCRIPTOR}
    held = {k: v for k, v in stored.attrs.items() if k in _DESCRIPTOR}
    w.e.set_tensor(t.id, shape=stored.shape, attrs={**rest, **held})


def _free(w: Work) -> str:
    """``fusion_cast_1``, ``fusion_cast_2``, …"""
    name = w.unique("fusion_cast_", numbered=True)
    return name if name != "fusion_cast_0" else w.unique("fusion_cast_", numbered=True)

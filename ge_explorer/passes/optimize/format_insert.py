"""Put TransData and Cast on every edge whose ends differ in format or type; equal ones behind one output are one node."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ge_explorer.graph.model import Node, Tensor
from ge_explorer.ids import Ref
from ge_explorer.passes.optimize.facts import layout
from ge_explorer.passes.optimize.format_choice import Choices
from ge_explorer.passes.optimize.format_shapes import (
    FORMAT,
    FRACTAL_NZ,
    ORIGIN_FORMAT,
    ORIGIN_SHAPE,
    storage_shape,
    unit,
)
from ge_explorer.passes.optimize.work import Work

_LABELS = ("_user_stream_label", "_stream_label")
_GE_TYPES = {"float": 0, "float16": 1}
_ONNX_TYPES = {"float": 1, "float16": 10}


@dataclass(frozen=True)
class State:
    """One form of a tensor: storage format ("": plain), groups of a filter, element type."""

    format: str
    groups: int
    dtype: str | None


class Inserter:
    """Inserts in all graphs of a model; the numbers in the names count on over TransData and Cast, as in GE's dumps."""

    def __init__(self, w: Work) -> None:
        self.w = w
        self.count = 0

    def scope(self, scope: int, c: Choices) -> None:
        """One graph: what was chosen for outputs is written to the tensors, then the edges are repaired."""
        for i in self.w.e.members(scope):
            for t in self.w.node(i).outputs:
                self._tensor(self.w.e.tensor(t), c)

    def _tensor(self, t: Tensor, c: Choices) -> None:
        edges = self.w.e.readers(t.id)
        start = State(c.out_format.get(t.id, ""), 1, c.type_out(t))
        wanted = [
            State(*c.in_format.get((e.dst, e.dst_in), ("", 1)), c.in_type.get((e.dst, e.dst_in), t.dtype))
            for e in edges
        ]
        plain_state = State("", 1, t.dtype)
        if start == plain_state and all(s == plain_state for s in wanted):
            return
        plain = _plain(t, [s.format for s in (start, *wanted)])
        if start != plain_state or plain != layout(t):
            self._set(t.id, t, plain, start)
            self.w.changed = True
        made = {start: t.id}
        readers: dict[int, int] = {}
        for e, s in zip(edges, wanted, strict=True):
            if s == start:
                continue
            reader, producer = self.w.node(e.dst), self.w.node(t.producer)
            last = t.id
            for step in _path(start, s):
                if step not in made:
                    made[step] = self._insert(t, plain, last, step, reader if step.format else producer, reader)
                last = made[step]
            self.w.e.retarget(last, e.dst, e.dst_in)
            readers[last] = readers.get(last, 0) + 1
        for tensor, number in readers.items():
            if number > 1:
                n = self.w.node(self.w.e.tensor(tensor).producer)
                self.w.ctx.decide(Ref("node", n.id), "readers", 1, number, "merged", decisive=False)

    def _insert(self, t: Tensor, plain: str, source: int, to: State, like: Node, reader: Node) -> int:
        before = self.w.e.tensor(source)
        attrs: dict[str, Any] = {k: like.attrs[k] for k in _LABELS if k in like.attrs}
        if before.dtype != to.dtype:
            op, rule = "Cast", "cast"
            attrs |= {"dst_type": _GE_TYPES.get(to.dtype or "", 0), "to": _ONNX_TYPES.get(to.dtype or "", 1)}
        else:
            op, rule = "TransData", "differs"
            attrs |= {"src_format": layout(before) or plain, "dst_format": to.format or plain}
            if to.groups > 1:
                attrs["groups"] = to.groups
        name = self.w.unique(f"trans_{op}_{self.count}")
        self.count += 1
        origin = like.origin or (like.id,)
        n = self.w.add(like, name, op, [source], before.shape, to.dtype, attrs=attrs, origin=origin)
        self._set(n.outputs[0], t, plain, to)
        self.w.say(n, "", op, rule, [Ref("node", t.producer), Ref("node", reader.id)])
        return n.outputs[0]

    def _set(self, tensor: int, t: Tensor, plain: str, to: State) -> None:
        """Write a form of ``t`` to a tensor: stored shape, type, and both formats."""
        attrs = {k: v for k, v in t.attrs.items() if k != ORIGIN_SHAPE} if tensor == t.id else {}
        attrs |= {FORMAT: to.format or plain, ORIGIN_FORMAT: plain} if plain else {}
        shape = t.shape
        if to.format:
            shape = storage_shape(t.shape, plain, to.format, to.dtype, to.groups)
            attrs[ORIGIN_SHAPE] = t.shape
        self.w.e.set_tensor(tensor, shape=shape, dtype=to.dtype, attrs=attrs)


def _plain(t: Tensor, formats: list[str]) -> str:
    """Plain format by name. A tensor nobody named is NCHW where a format of convolutions is involved, ND for matrices."""
    named, heavy = layout(t), [f for f in formats if f]
    if named or not heavy:
        return named
    return "ND" if set(heavy) == {FRACTAL_NZ} else "NCHW"


def _path(start: State, end: State) -> Iterator[State]:
    """Forms on the way: to the plain format, to the type, to the format. Equal C0 needs no way round for a type."""
    if start.format == end.format and start.groups == end.groups and unit(start.dtype) == unit(end.dtype):
        yield end
        return
    if start.format:
        yield State("", 1, start.dtype)
    if start.dtype != end.dtype:
        yield State("", 1, end.dtype)
    if end.format:
        yield end

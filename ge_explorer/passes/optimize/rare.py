"""Graph passes about a few operator types: skipped with a word when the graph has none of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from ge_explorer.graph.model import Edge, Node
from ge_explorer.passes.optimize.base import GraphPass
from ge_explorer.passes.optimize.facts import SIZES_ONLY
from ge_explorer.passes.optimize.fusion_scope import asked
from ge_explorer.passes.optimize.work import Work
from ge_explorer.text import Text
from ge_explorer.trace.passes import PassContext
from ge_explorer.trace.state import Snapshot

INSERT = "gx.insertOperators"
"""Our option: ``auto`` lets passes that *insert* operators work on imported models only, ``on`` everywhere, ``off`` nowhere."""


@dataclass(frozen=True)
class RarePass(GraphPass):
    """Base: ``rare`` are the operator types the pass is about (empty: ``concerns`` decides alone)."""

    rare: ClassVar[frozenset[str]] = frozenset()

    def skip_reason(self, s: Snapshot, ctx: PassContext) -> Text | None:
        """Without such operators there is nothing to walk."""
        if self.rare and self.rare.isdisjoint(s.graph.ops):
            return self.absent()
        return super().skip_reason(s, ctx) if any(self.concerns(n) for n in s.graph) else self.absent()

    def concerns(self, n: Node) -> bool:
        """True for a node the pass is about."""
        return n.op in self.rare

    def absent(self) -> Text:
        """What is missing."""
        first = " / ".join(sorted(self.rare)[:2])
        return Text(f"no {first}", f"没有 {first}")


@dataclass(frozen=True)
class InsertingPass(RarePass):
    """Base of passes that add operators: graphs written by hand say what runs, so they are left alone unless asked."""

    option_keys: ClassVar[frozenset[str]] = RarePass.option_keys | {INSERT}

    def skip_reason(self, s: Snapshot, ctx: PassContext) -> Text | None:
        """Only imported models unless asked."""
        return super().skip_reason(s, ctx) or asked(ctx.option, INSERT, s.graph)


def reaches(w: Work, start: int, goal: int) -> bool:
    """True if ``goal`` comes after ``start`` by data or control edges."""
    todo, seen = [start], {start}
    while todo:
        i = todo.pop()
        if i == goal:
            return True
        for j in followers(w, i):
            if j not in seen:
                seen.add(j)
                todo.append(j)
    return False


def followers(w: Work, i: int) -> Iterable[int]:
    """Readers and control successors of a node."""
    return [e.dst for e in w.readers(w.node(i))] + w.e.control_targets(i)


def memory_readers(w: Work, t: int) -> list[Edge]:
    """Readers of the memory of a tensor: operators that only change the shape are looked through (they copy nothing)."""
    found: list[Edge] = []
    todo, seen = [t], {t}
    while todo:
        for e in w.e.readers(todo.pop()):
            n = w.node(e.dst)
            if n.op in SIZES_ONLY and e.dst_in == 0 and n.outputs:
                if n.outputs[0] not in seen:
                    seen.add(n.outputs[0])
                    todo.append(n.outputs[0])
            else:
                found.append(e)
    return found


def insert_before(w: Work, n: Node, index: int, name: str, op: str, *, attrs: dict[str, object] | None = None,
                  source_op: str = "") -> Node:  # fmt: skip
    """Put a one-to-one operator on input ``index`` of ``n``; it stands after its producer in the node list."""
    t = n.inputs[index]
    assert t is not None
    tensor = w.e.tensor(t)
    made = w.add(n, w.unique(name), op, [t], w.shape(n, index), tensor.dtype, attrs=attrs, origin=(n.id,), after=tensor.producer,
                 source_op=source_op)  # fmt: skip
    if tensor.attrs:
        kept = {k: v for k, v in tensor.attrs.items() if k in ("format", "origin_format", "origin_shape")}
        w.e.set_tensor(made.outputs[0], attrs=kept)
    w.expect(made.id, 0, w.shape(n, index))
    w.e.retarget(made.outputs[0], n.id, index)
    w.expect(n.id, index, w.shape(n, index))
    return made

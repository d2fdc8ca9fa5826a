"""GE's own proof that a finished plan respects all dependencies (memory.md A18; checker/reuse_checker.cc).

Only neighbours at each offset are compared; everything else is left to transitivity, as in GE.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from ge_explorer.graph.model import DATA_LIKE
from ge_explorer.memory.ge.continuous import close_input, close_output
from ge_explorer.memory.ge.size_classes import BATCH_LABEL
from ge_explorer.memory.ge.symbols import Symbol, Symbols
from ge_explorer.memory.ge.view import CLEANERS, NO_BLOCK, Anchor, Op, Source, View


@dataclass(frozen=True, slots=True)
class Violation:
    """Two outputs share bytes and neither may take the other's: ``reader`` has no path to ``producer`` (operator names)."""

    first: Source
    second: Source
    offset: int
    reader: str
    producer: str


def reach_masks(view: View) -> list[int]:
    """Per operator the bitmask (by place) of the operators that surely run later."""
    n = len(view.ops)
    reach = [0] * n
    following = _following(view)
    inside = [0] * n
    for op in reversed(view.ops):
        for body in op.bodies:
            for m in body:
                inside[op.place] |= 1 << m | inside[m]

    def done(op: Op) -> None:
        nexts = {r.op for x in op.outputs for r in x.readers} | set(op.control)
        if op.place in following:
            nexts.add(following[op.place])
        mask = 0
        for v in nexts:
            mask |= reach[v] | 1 << v | inside[v]
        if op.holder >= 0:
            mask |= reach[op.holder] | 1 << op.holder
        reach[op.place] = mask & ~inside[op.place]

    stack = [[op for op in view.ops if op.holder < 0]]
    while stack:
        level = stack[-1]
        if not level:
            stack.pop()
            continue
        op = level.pop()
        done(op)
        bodies = sorted(m for body in op.bodies for m in body)
        if bodies:
            stack.append([view.ops[m] for m in bodies])
    return reach


def _following(view: View) -> dict[int, int]:
    """Next operator by topological id on the same stream."""
    out: dict[int, int] = {}
    last: dict[int, int] = {}
    for op in sorted(view.ops, key=lambda x: x.id):
        if op.stream != -1:
            if op.stream in last:
                out[last[op.stream]] = op.place
            last[op.stream] = op.place
    return out


class _Classes:
    """Symbols with the unpadded groups they belong to, and who writes and reads each class."""

    def __init__(self, view: View, symbols: Symbols) -> None:
        self.view, self.symbols = view, symbols
        self.parent: dict[Anchor, Anchor] = {k: k for k in symbols.by_key}
        for op in view.ops:
            if close_input(op) or close_output(op):
                near = [symbols.output(s).key for s in op.inputs if s is not None]
                near += [symbols.output(Source(op.place, o)).key for o in range(len(op.outputs))]
                for k in near[1:]:
                    self.parent[self.find(k)] = self.find(near[0])
        self.members: dict[Anchor, list[Symbol]] = {}
        for s in symbols.by_key.values():
            self.members.setdefault(self.find(s.key), []).append(s)

    def find(self, k: Anchor) -> Anchor:
        while self.parent[k] != k:
            k = self.parent[k]
        return k

    def of(self, s: Source) -> Anchor:
        return self.find(self.symbols.output(s).key)

    def users(self, s: Source, out: bool) -> list[Op]:
        """Writers or readers of a class that count: tasks of the same batch."""
        label = self.view.ops[s.op].attrs.get(BATCH_LABEL, "")
        found = {a.op for m in self.members[self.of(s)] for a in m.anchors if a.out is out}
        ops = [self.view.ops[p] for p in sorted(found)]
        return [
            op
            for op in ops
            if not op.bodies
            and op.type not in DATA_LIKE
            and op.stream != -1
            and op.attrs.get(BATCH_LABEL, "") == label
            and (out or op.type != "NetOutput" or op.holder < 0)
        ]


def check_reuse(
    view: View, symbols: Symbols, offsets: Mapping[Source, int], types: Mapping[Source, int], end: int
) -> Violation | None:
    """First violation, None when the plan passes. ``types``: memory type per output; ``end``: end of the largest area."""
    reach, classes = reach_masks(view), _Classes(view, symbols)
    areas: dict[tuple[str, int], dict[int, dict[int, Source]]] = {}
    for op in view.ops:
        if (
            op.type in NO_BLOCK
            or op.type in CLEANERS
            or op.stream == -1
            or op.attrs.get("_no_task")
            or "_buffer_pool_id" in op.attrs
        ):
            continue
        for o, x in enumerate(op.outputs):
            s = Source(op.place, o)
            if x.size > 0 and offsets[s] <= end:
                area = areas.setdefault((str(op.attrs.get(BATCH_LABEL, "")), types.get(s, 0)), {})
                area.setdefault(offsets[s], {}).setdefault(op.id, s)
    for area in areas.values():
        found = _check_area(view, classes, reach, offsets, area)
        if found is not None:
            return found
    return None


def _check_area(
    view: View, classes: _Classes, reach: list[int], offsets: Mapping[Source, int], area: dict[int, dict[int, Source]]
) -> Violation | None:
    starts = sorted(area)
    for k, at in enumerate(starts):
        row = area[at]
        if k + 1 < len(starts):
            after = area[starts[k + 1]]
            for i, s in row.items():
                if offsets[s] + view.out(s).size > starts[k + 1]:
                    after.setdefault(i, s)
        items = [row[i] for i in sorted(row)]
        for a, b in pairwise(items):
            if classes.of(a) == classes.of(b):
                continue
            missing = _missing(view, classes, reach, b, a)
            if missing is not None and _missing(view, classes, reach, a, b) is not None:
                return Violation(a, b, at, *missing)
    return None


def _missing(view: View, classes: _Classes, reach: list[int], a: Source, b: Source) -> tuple[str, str] | None:
    """Why ``a`` may not take the bytes of ``b``: a reader of b that does not reach a producer of a."""
    readers = classes.users(b, out=False) or [view.ops[b.op]]
    for p in classes.users(a, out=True):
        for r in readers:
            if not reach[r.place] >> p.place & 1:
                return r.name, p.name
    return None

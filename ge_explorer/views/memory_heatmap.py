"""Lifetime heat map: one line a buffer, coloured by the stream that still uses it, hatched from the last read until a stream may
reuse the bytes. A selected buffer unfolds into one line a stream. Many buffers become one raster (``memory_raster``).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ge_explorer.ids import Ref
from ge_explorer.ids import buffer as buffer_ref
from ge_explorer.text import Text
from ge_explorer.views.marks import Mark, by_letter, number, size
from ge_explorer.views.memory_filter import MemoryFilter
from ge_explorer.views.memory_life import Axis, Ints, Lives
from ge_explorer.views.memory_raster import Codes, code, paint

EXACT = 160
"""Lines up to which every bar is a shape of its own; more become a raster."""
RASTER = (400, 900)
"""Most lines and columns of the raster."""


@dataclass(frozen=True, slots=True)
class Segment:
    """Part of a line: in use (``mark``: the stream that reads it last in this part), or waiting for ``mark`` to be allowed in.

    ``never``: that stream may never take the bytes.
    """

    begin: int
    end: int
    mark: Mark
    waiting: bool = False
    never: bool = False


@dataclass(frozen=True, slots=True)
class HeatRow:
    """One buffer, or one stream of the unfolded buffer (``stream_row``). ``reads``: (stream, end of its last use there)."""

    ref: Ref
    name: str
    mark: Mark
    size: int
    segments: tuple[Segment, ...]
    reads: tuple[tuple[Mark, int], ...] = ()
    stream_row: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Heatmap:
    """``rows`` from top to bottom, or ``raster`` (row 0 is the lowest line) for ``ids`` when there are too many.

    ``awaited``: the stream for which the waiting is shown; None: each buffer's own. ``waste``: bytes × axis units spent waiting,
    as a part of all taken (0…1); for "each its own" the wait ends where the plan gives the bytes to another buffer.
    """

    axis: Axis
    end: int
    marks: tuple[Mark, ...]
    rows: tuple[HeatRow, ...]
    raster: Codes | None
    ids: Ints
    total: int
    per_line: int
    awaited: Mark | None
    waste: float
    alt: Text


def build(
    v: Lives, keep: MemoryFilter | None = None, *, awaited: int | None = None, unfolded: Iterable[int] = ()
) -> Heatmap:
    """Heat map of the buffers that pass ``keep``; ``awaited``: GE stream id whose waiting is shown; ``unfolded``: buffer ids."""
    ids = (keep or MemoryFilter()).apply(v)
    mark = v.marks.get(awaited) if awaited is not None else None
    unfold = set(unfolded)
    rows: list[HeatRow] = []
    raster, per_line = None, 1
    if ids.size <= EXACT:
        for i in ids.tolist():
            rows.append(_row(v, i, awaited))
            if i in unfold:
                rows.extend(_stream_rows(v, i))
    else:
        raster, per_line = _raster(v, ids, awaited)
    ready = v.free[ids]
    if awaited is not None:
        ready = np.array([_ready(v, i, awaited) for i in ids.tolist()], dtype=np.int64)
    used = (v.last[ids] - v.begin[ids]) * v.size[ids]
    idle = np.maximum(ready - v.last[ids], 0) * v.size[ids]
    total = int(used.sum() + idle.sum())
    waste = int(idle.sum()) / total if total else 0.0
    seen = {int(x): v.marks[int(x)] for x in np.unique(v.stream) if int(x) in v.marks}
    marks = tuple(by_letter([*seen.values()]))
    return Heatmap(
        v.axis, v.end, marks, tuple(rows), raster, ids, v.count, per_line, mark, waste, _alt(v, ids, mark, waste, marks)
    )


def _ready(v: Lives, i: int, awaited: int | None) -> int:
    """Position from which the awaited stream may take the bytes; the end when it never may."""
    if awaited is None or awaited not in v.frees:
        return int(v.ready[i])
    at = int(v.frees[awaited][i])
    return v.end if at < 0 else max(at, int(v.last[i]))


def _segments(v: Lives, i: int) -> list[Segment]:
    """In use: the own stream up to its last use, then every stream that reads later, in the order of their last reads."""
    own, at, out = int(v.stream[i]), int(v.begin[i]), []
    reads = sorted(((int(v.uses[s][i]), s != own, s) for s in v.uses if v.uses[s][i] >= 0), key=lambda x: (x[1], x[0]))
    for end, _, s in reads:
        if end > at:
            out.append(Segment(at, end, v.marks.get(s, v.mark(i))))
            at = end
    if at < int(v.last[i]) or not out:
        out.append(Segment(at, int(v.last[i]), v.mark(i)))
    return out


def _row(v: Lives, i: int, awaited: int | None) -> HeatRow:
    parts, last, ready = _segments(v, i), int(v.last[i]), _ready(v, i, awaited)
    never = bool(v.never[i]) if awaited is None else awaited in v.frees and int(v.frees[awaited][i]) < 0
    if ready > last:
        waits = v.marks.get(awaited, v.mark(i)) if awaited is not None else v.mark(i)
        parts.append(Segment(last, ready, waits, True, never))
    reads = tuple((v.marks[s], int(end[i])) for s, end in v.uses.items() if end[i] >= 0 and s in v.marks)
    return HeatRow(buffer_ref(v.buffer(i).id), v.names[i], v.mark(i), v.buffer(i).size, tuple(parts), reads)


def _stream_rows(v: Lives, i: int) -> list[HeatRow]:
    """One line a stream: its own use, then the wait until it may take the bytes."""
    out = []
    for m in by_letter(v.marks[s] for s in v.frees if s in v.marks):
        used, free = int(v.uses[m.stream][i]), int(v.frees[m.stream][i])
        parts = []
        if used >= 0:
            parts.append(Segment(int(v.begin[i]), used, m))
        start = max(used, int(v.begin[i]))
        until = v.end if free < 0 else max(free, start)
        if until > start:
            parts.append(Segment(start, until, m, True, free < 0))
        name = f"{v.names[i]} → {m.letter}"
        out.append(HeatRow(buffer_ref(v.buffer(i).id), name, m, v.buffer(i).size, tuple(parts), (), True))
    return out


def _raster(v: Lives, ids: Ints, awaited: int | None) -> tuple[Codes, int]:
    """Raster of the lines, the first one on top; where several share a line the largest lies on top."""
    n = ids.size
    lines = min(n, RASTER[0])
    begin, end, line, codes, weight = [], [], [], [], []
    for k, i in enumerate(ids.tolist()):
        y = lines - 1 - k * lines // n
        parts = [(p.begin, p.end, code(p.mark.index)) for p in _segments(v, i)]
        last, ready = int(v.last[i]), _ready(v, i, awaited)
        if ready > last:
            waits = v.marks.get(awaited, v.mark(i)) if awaited is not None else v.mark(i)
            parts.append((last, ready, code(waits.index, True)))
        for a, b, c in parts:
            begin.append(a)
            end.append(b)
            line.append(y)
            codes.append(c)
            weight.append(int(v.size[i]))
    order = np.argsort(np.array(weight), kind="stable")
    left, right, row, what = (np.array(x, dtype=np.int64)[order] for x in (begin, end, line, codes))
    return paint((lines, RASTER[1]), left, right, row, row + 1, what, (v.end, lines)), -(-n // lines)


def _alt(v: Lives, ids: Ints, awaited: Mark | None, waste: float, marks: tuple[Mark, ...]) -> Text:
    waits = int(np.count_nonzero(v.ready[ids] > v.last[ids]))
    pinned = int(np.count_nonzero(v.never[ids]))
    bytes_ = size(int(v.size[ids].sum()))
    en = f"Lifetimes of {number(int(ids.size))} buffers ({bytes_}) on {len(marks)} streams; "
    zh = f"{number(int(ids.size))} 个缓冲区（{bytes_}）在 {len(marks)} 条流上的生命期；"
    en += f"{number(waits)} wait after their last read, {number(pinned)} of them to the end; "
    zh += f"{number(waits)} 个在最后一次读取后仍需等待，其中 {number(pinned)} 个直到结束；"
    en += f"{waste:.0%} of the taken bytes × time is waiting"
    zh += f"占用的 字节×时间 中 {waste:.0%} 是等待"
    if awaited is not None:
        en, zh = f"{en} for stream {awaited.letter}", f"{zh}（对流 {awaited.letter}）"
    return Text(en + ".", zh + "。")

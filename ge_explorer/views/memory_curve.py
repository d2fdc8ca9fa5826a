"""Live bytes over time by stream, bytes that wait to become reusable on top, the bounds, and the fragmentation of the free part.

Fragmentation at a point is 1 − largest hole / all holes within the planned range (memory.md C5); 0 when there is no hole.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ge_explorer.memory.bounds import serial_live
from ge_explorer.provenance import Origin
from ge_explorer.text import Text
from ge_explorer.trace.state import MemoryState
from ge_explorer.views.marks import Mark, by_letter, size
from ge_explorer.views.memory_life import Axis, Ints, Lives

POINTS = 1_200
"""Most positions of a curve: where there are more, each bin keeps its highest one."""
SAMPLES = 400
"""Most positions at which fragmentation is worked out."""


@dataclass(frozen=True, slots=True)
class Line:
    """Horizontal line of a figure of the whole plan, in bytes."""

    key: str
    name: Text
    nbytes: int
    origin: Origin


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """Step curves: the value at ``at[k]`` holds until ``at[k + 1]``.

    ``used[j]``: bytes in use of buffers of ``marks[j]``; ``waiting``: last read done, not yet reusable; ``total``: sum.
    ``holes_at``/``fragmentation`` sample the same axis. ``no_reuse`` is apart from ``lines``: it is usually far above them.
    """

    axis: Axis
    end: int
    marks: tuple[Mark, ...]
    at: Ints
    used: NDArray[np.int64]
    waiting: Ints
    total: Ints
    peak_at: int
    peak_live: int
    peak_in_use: int
    lines: tuple[Line, ...]
    no_reuse: int
    holes_at: Ints
    fragmentation: NDArray[np.float64]
    alt: Text


def build(v: Lives, m: MemoryState) -> Curve:
    """Curves of a plan. The bounds are those of ``m``; the serial one is worked out here."""
    at = np.unique(np.concatenate([np.zeros(1, dtype=np.int64), v.begin, v.last, v.free]))
    at = at[at <= v.end]
    used_end = np.maximum(v.last, v.begin + 1)
    taken_end = np.maximum(v.free, v.begin + 1)
    seen = by_letter(v.marks[int(x)] for x in np.unique(v.stream) if int(x) in v.marks)
    rest = ~np.isin(v.stream, [x.stream for x in seen])
    groups = [v.stream == x.stream for x in seen]
    if rest.any():
        groups[:1] = [groups[0] | rest] if groups else [rest]
    used = np.array([_sums(v.begin[g], used_end[g], v.size[g], at) for g in groups], dtype=np.int64)
    used = used.reshape(len(groups), at.size)
    total = _sums(v.begin, taken_end, v.size, at)
    waiting = total - used.sum(axis=0)
    peak = int(np.argmax(total)) if total.size else 0
    pick = _thin(at, total, v.end)
    holes_at, fragmentation = _fragmentation(v, m.plan.peak, at, taken_end)
    serial = serial_live(m.problem).bytes
    lines = [Line("peak", Text("plan", "规划"), m.plan.peak, Origin.MODEL)]
    if m.lower_bound:
        lines.append(Line("bound", _bound(m.bound_name), m.lower_bound, Origin.MODEL))
    if serial != m.lower_bound:
        lines.append(Line("serial", Text("bound: serial live", "下界：串行存活"), serial, Origin.MODEL))
    no_reuse = int(v.size.sum())
    out = Curve(
        v.axis, v.end, tuple(seen), at[pick], used[:, pick], waiting[pick], total[pick], int(at[peak]), int(total[peak]),
        int(total[peak] - waiting[peak]), tuple(lines), no_reuse, holes_at, fragmentation, Text(""),
    )  # fmt: skip
    worst = float(fragmentation.max(initial=0.0))
    alt = Text(
        f"At most {size(out.peak_live)} taken at {v.at_text(out.peak_at)}, {size(out.peak_in_use)} of it in use; the plan needs "
        f"{size(m.plan.peak)}, without reuse {size(no_reuse)}; free bytes are fragmented up to {worst:.0%}.",
        f"最多占用 {size(out.peak_live)}（在 {v.at_text(out.peak_at)}），其中 {size(out.peak_in_use)} 在使用；规划需要 "
        f"{size(m.plan.peak)}，不复用则需 {size(no_reuse)}；空闲部分的碎片率最高 {worst:.0%}。",
    )
    return replace(out, alt=alt)


def _bound(name: str) -> Text:
    known = {
        "antichain": Text("bound: antichain", "下界：反链"),
        "serial live": Text("bound: serial live", "下界：串行存活"),
    }
    return known.get(name, Text(f"bound: {name}", f"下界：{name}"))


def _sums(begin: Ints, end: Ints, sizes: Ints, at: Ints) -> Ints:
    """Sum of ``sizes`` over the half-open ranges that hold each position."""
    change = np.zeros(at.size + 1, dtype=np.int64)
    np.add.at(change, np.searchsorted(at, begin), sizes)
    np.add.at(change, np.searchsorted(at, end), -sizes)
    return np.cumsum(change)[:-1]


def _thin(at: Ints, total: Ints, end: int) -> Ints:
    """Positions to keep: all, or per bin the one with the most bytes (the peak always survives)."""
    if at.size <= POINTS:
        return np.arange(at.size)
    order = np.lexsort((np.arange(at.size), -total, at * POINTS // max(end, 1)))
    bins = (at * POINTS // max(end, 1))[order]
    return np.sort(order[np.append(True, bins[1:] != bins[:-1])])


def _fragmentation(v: Lives, top: int, at: Ints, taken_end: Ints) -> tuple[Ints, NDArray[np.float64]]:
    pick = at if at.size <= SAMPLES else at[np.linspace(0, at.size - 1, SAMPLES).astype(np.int64)]
    by_offset = np.argsort(v.offset, kind="stable")
    low, high = v.offset[by_offset], (v.offset + v.size)[by_offset]
    begin, end = v.begin[by_offset], taken_end[by_offset]
    out = np.zeros(pick.size)
    for k, p in enumerate(pick.tolist()):
        now = (begin <= p) & (p < end)
        covered = np.maximum.accumulate(np.concatenate([np.zeros(1, dtype=np.int64), high[now]]))
        holes = np.maximum(np.append(low[now], top) - covered, 0)
        whole = int(holes.sum())
        out[k] = 1 - int(holes.max()) / whole if whole else 0.0
    return pick, out


def taken_curve(v: Lives) -> tuple[Ints, Ints]:
    """(positions, bytes taken from each position on until the next)."""
    at = np.unique(np.concatenate([np.zeros(1, dtype=np.int64), v.begin, v.free]))
    return at, _sums(v.begin, np.maximum(v.free, v.begin + 1), v.size, at)


def curve_top(v: Lives) -> tuple[int, int]:
    """(first position with the most taken bytes, those bytes)."""
    at, total = taken_curve(v)
    k = int(np.argmax(total))
    return int(at[k]), int(total[k])

"""Memory map picture: each buffer as lifetime × address, the live curve, the peak and who holds it.

The horizontal axis is the timeline's time (ns) where there is a timeline, else GE's topological id. Bytes everywhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from ge_explorer.ids import Ref
from ge_explorer.ids import buffer as buffer_ref
from ge_explorer.provenance import Origin
from ge_explorer.simulator.timeline import Timeline
from ge_explorer.text import Text
from ge_explorer.trace.state import MemoryState, Snapshot
from ge_explorer.views.marks import Mark, by_letter, number, size
from ge_explorer.views.memory_life import Axis, Ints, Lives, lives
from ge_explorer.views.memory_peak import Share, explain
from ge_explorer.views.palette import StreamIdentity

DRAWN = 200


@dataclass(frozen=True, slots=True)
class Rect:
    """One buffer. In use from ``begin`` to ``last_use``; its bytes stay taken until ``free`` (hatched), for reason ``held``.

    ``offset`` and ``size`` in bytes; ``names`` are node ids of all that write or read it.
    """

    ref: Ref
    name: str
    mark: Mark
    begin: int
    last_use: int
    free: int
    offset: int
    size: int
    kind: str
    nodes: tuple[int, ...]
    held: Text | None = None
    assumed: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class MemoryPicture:
    """Everything the drawing needs.

    ``live`` is a step curve of (position, bytes in use or held); ``peak`` the plan's size, ``peak_at`` the first position
    with the most live bytes ``peak_live``. ``by_op``, ``by_stream``, ``by_layer`` split the same bytes in other ways.
    """

    axis: Axis
    end: int
    marks: tuple[Mark, ...]
    rects: tuple[Rect, ...]
    left_out: int
    left_out_bytes: int
    live: tuple[tuple[int, int], ...]
    peak: int
    peak_at: int
    peak_live: int
    lower_bound: int
    bound_name: str
    single_peak: int | None
    shares: tuple[Share, ...]
    by_op: tuple[Share, ...]
    by_stream: tuple[Share, ...]
    by_layer: tuple[Share, ...]
    planner: str
    origin: Origin
    alt: Text
    notes: tuple[Text, ...] = ()


def build(
    s: Snapshot,
    identities: Mapping[int, StreamIdentity],
    *,
    timeline: Timeline | None = None,
    single_peak: int | None = None,
    limit: int = DRAWN,
) -> MemoryPicture | None:
    """Picture of the memory plan of ``s``; None before memory is planned. The ``limit`` largest buffers become rectangles."""
    found = lives(s, identities, timeline)
    if found is None or s.memory is None:
        return None
    return picture(found, s.memory, single_peak=single_peak, limit=limit)


def picture(
    v: Lives, m: MemoryState, *, single_peak: int | None = None, limit: int = DRAWN, keep: Ints | None = None
) -> MemoryPicture:
    """Picture of lifetimes that are known already; ``keep``: only these buffers may become rectangles.

    The live curve and the shares always count every buffer.
    """
    ids = np.arange(v.count) if keep is None else np.sort(keep)
    ids = ids[np.argsort(-v.size[ids], kind="stable")]
    drawn = tuple(rect(v, int(i)) for i in np.sort(ids[:limit]))
    left = ids[limit:]
    live = curve(v.begin, np.maximum(v.free, v.begin + 1), v.size, v.end)
    peak_at, peak_live = _top(live)
    shares = explain(v, peak_at)
    seen = {int(x): v.marks[int(x)] for x in np.unique(v.stream) if int(x) in v.marks}
    p = MemoryPicture(
        v.axis, v.end, tuple(by_letter(seen.values())), drawn, len(left), int(v.size[left].sum()), live,
        m.plan.peak, peak_at, peak_live, m.lower_bound, m.bound_name, single_peak,
        shares.buffers, shares.by_op, shares.by_stream, shares.by_layer, m.plan.planner, origin_of(m.plan.origin),
        Text(""), tuple(Text(n) for n in m.problem.notes),
    )  # fmt: skip
    return replace(p, alt=_alt(p, v.count))


def rect(v: Lives, i: int) -> Rect:
    """Rectangle of one buffer."""
    b, last, free = v.buffer(i), int(v.last[i]), int(v.free[i])
    held = v.held(i) if free > last else None
    return Rect(
        buffer_ref(b.id), v.names[i], v.mark(i), int(v.begin[i]), last, free, int(v.offset[i]), b.size, b.kind,
        b.accessors, held, b.assumed,
    )  # fmt: skip


def curve(begin: Ints, end: Ints, size: Ints, upto: int) -> tuple[tuple[int, int], ...]:
    """Step curve of the sum of ``size`` over half-open ranges: (position, bytes from there on), positions up to ``upto``."""
    at = np.concatenate([np.zeros(1, dtype=np.int64), begin, end])
    change = np.concatenate([np.zeros(1, dtype=np.int64), size, -size])
    order = np.argsort(at, kind="stable")
    at, live = at[order], np.cumsum(change[order])
    settled = np.append(at[1:] != at[:-1], True) & (at <= upto)
    return tuple(zip(at[settled].tolist(), live[settled].tolist(), strict=True))


def origin_of(name: str) -> Origin:
    """Origin mark of a plan by where it comes from (``MemoryPlan.origin``)."""
    return {"model": Origin.MODEL, "ge-log": Origin.GE_RULE, "dump": Origin.GE_RULE}.get(name, Origin.ASSUMED)


def _top(curve: tuple[tuple[int, int], ...]) -> tuple[int, int]:
    return max(curve, key=lambda p: (p[1], -p[0]), default=(0, 0))


def _alt(p: MemoryPicture, count: int) -> Text:
    en = f"Memory map: {number(count)} buffers, peak {size(p.peak)}"
    zh = f"内存图：{number(count)} 个缓冲区，峰值 {size(p.peak)}"
    if p.lower_bound:
        en += f", lower bound {size(p.lower_bound)} ({p.bound_name})"
        zh += f"，下界 {size(p.lower_bound)}（{p.bound_name}）"
    if p.single_peak is not None:
        en += f", {size(p.peak - p.single_peak, signed=True)} against a single stream"
        zh += f"，相对单流 {size(p.peak - p.single_peak, signed=True)}"
    if p.shares:
        en += f"; the largest at the peak is {p.shares[0].name.en} ({p.shares[0].percent} %)"
        zh += f"；峰值处最大的是 {p.shares[0].name.get('zh')}（{p.shares[0].percent} %）"
    if p.left_out:
        en += f"; {number(p.left_out)} smaller buffers ({size(p.left_out_bytes)} in all) are not drawn"
        zh += f"；另有 {number(p.left_out)} 个较小缓冲区（共 {size(p.left_out_bytes)}）未画出"
    return Text(en + ".", zh + "。")

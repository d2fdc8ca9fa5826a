"""Memory map picture: each buffer as lifetime × address, the live curve, the peak and who holds it.

The horizontal axis is the timeline's time (ns) where there is a timeline, else GE's topological id. Bytes everywhere.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from ge_explorer.ids import Ref
from ge_explorer.ids import buffer as buffer_ref
from ge_explorer.memory.model import FOREVER, Buffer, Lifetime
from ge_explorer.provenance import Origin
from ge_explorer.simulator.timeline import Timeline
from ge_explorer.text import Text
from ge_explorer.trace.state import MemoryState, Snapshot
from ge_explorer.views.marks import (
    NO_MARK,
    Mark,
    by_letter,
    node_name,
    number,
    plain,
    size,
    stream_marks,
    us,
    whole_percent,
)
from ge_explorer.views.palette import StreamIdentity

DRAWN = 200
SHARES = 8
Axis = Literal["time", "order"]


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


@dataclass(frozen=True, slots=True)
class Share:
    """Part of the live bytes at the peak. ``percent`` are whole numbers that add up to 100 over a list of shares."""

    name: Text
    mark: Mark
    nbytes: int
    percent: int
    ref: Ref | None = None


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
    if s.memory is None:
        return None
    place = _Place(s, timeline)
    marks = stream_marks(s, identities, (b.stream for b in s.memory.problem.buffers))
    every = _rects(s, s.memory, place, marks)
    order = sorted(range(len(every)), key=lambda k: (-every[k].size, k))
    drawn = tuple(every[k] for k in sorted(order[:limit]))
    left = [every[k] for k in order[limit:]]
    live = _curve(every, place.end)
    peak_at, peak_live = _top(live)
    at_peak = [r for r in every if r.begin <= peak_at < max(r.free, r.begin + 1)]
    used = {r.mark.stream: r.mark for r in every}
    picture = MemoryPicture(
        place.axis, place.end, tuple(by_letter(used.values())), drawn, len(left), sum(r.size for r in left), live,
        s.memory.plan.peak, peak_at, peak_live, s.memory.lower_bound, s.memory.bound_name, single_peak,
        _shares(at_peak), _grouped(at_peak, lambda r: (_op(s, r), NO_MARK)),
        _grouped(at_peak, lambda r: (r.mark.letter or r.mark.role.en, r.mark)),
        _grouped(at_peak, lambda r: (_layer(r.name), NO_MARK)), s.memory.plan.planner, _origin(s.memory.plan.origin),
        Text(""), tuple(Text(n) for n in s.memory.problem.notes),
    )  # fmt: skip
    return replace(picture, alt=_alt(picture, len(every)))


def _origin(name: str) -> Origin:
    return {"model": Origin.MODEL, "ge-log": Origin.GE_RULE, "dump": Origin.GE_RULE}.get(name, Origin.ASSUMED)


class _Place:
    """Where a node sits on the horizontal axis: (begin, end) of its task, or its GE order."""

    def __init__(self, s: Snapshot, t: Timeline | None) -> None:
        self.axis: Axis = "time" if t is not None and len(t.node) else "order"
        self._span: dict[int, tuple[int, int]] = {}
        if t is not None and self.axis == "time":
            for n, a, b in zip(t.node.tolist(), t.start_ns.tolist(), t.end_ns.tolist(), strict=True):
                old = self._span.get(n)
                self._span[n] = (min(a, old[0]), max(b, old[1])) if old else (a, b)
            self.end = max(1, t.makespan_ns)
        else:
            order = s.order
            for n in s.graph.node_ids:
                k = int(order[n]) if order is not None and n < order.size else n
                if k >= 0:
                    self._span[n] = (k, k + 1)
            self.end = max((b for _, b in self._span.values()), default=1)

    def begin(self, nodes: tuple[int, ...]) -> int | None:
        found = [self._span[n][0] for n in nodes if n in self._span]
        return min(found) if found else None

    def finish(self, nodes: tuple[int, ...]) -> int | None:
        found = [self._span[n][1] for n in nodes if n in self._span]
        return max(found) if found else None


def _rects(s: Snapshot, m: MemoryState, place: _Place, marks: Mapping[int, Mark]) -> list[Rect]:
    out = []
    lives = m.problem.lifetimes
    for b, offset in zip(m.problem.buffers, m.plan.offsets, strict=True):
        life = lives[b.id] if b.id < len(lives) else None
        begin = place.begin(b.producers)
        last = place.finish(b.accessors)
        if begin is None:  # written by something that runs nothing (Data, Const): there from the start
            begin = 0
        last = max(begin, last if last is not None else place.end)
        free, held = _free(s, b, life, place, last)
        out.append(
            Rect(
                buffer_ref(b.id),
                plain(b.name),
                marks.get(b.stream, NO_MARK),
                begin,
                last,
                free,
                offset,
                b.size,
                b.kind,
                b.accessors,
                held,
                b.assumed,
            )
        )
    return _until_reused(out)


def _free(s: Snapshot, b: Buffer, life: Lifetime | None, place: _Place, last: int) -> tuple[int, Text | None]:
    """When the buffer's own stream may reuse the bytes, and why not at once."""
    if b.kind not in ("feature", "workspace"):
        return place.end, Text("never reused: " + b.kind, f"不复用：{b.kind}")
    if life is None:
        return last, None
    node = life.free_at.get(b.stream)
    if life.end >= FOREVER or (node is not None and node < 0 and b.stream >= 0):
        return place.end, Text(
            "held to the end: no later point is ordered after its last read",
            "占用到结束：没有任何点必在最后一次读取之后",
        )
    start = place.begin((node,)) if node is not None and node >= 0 else None
    if start is None or start <= last:
        return last, None
    away = [x for x in life.last_use if x != b.stream]
    long = us(start - last) if place.axis == "time" else f"{start - last} nodes"
    name = node_name(s, node, 40) if node is not None else ""
    if away:
        return start, Text(f"held until {name} joins, {long}", f"占用到 {name} 汇合，{long}")
    return start, None


def _until_reused(rects: list[Rect]) -> list[Rect]:
    """Bytes that somebody else took earlier (proven safe for that stream) are not held any longer than that."""
    out = []
    by_begin = sorted(rects, key=lambda r: r.begin)
    starts = [r.begin for r in by_begin]
    for r in rects:
        free = r.free
        if free > r.last_use and r.kind in ("feature", "workspace"):
            later = by_begin[bisect_left(starts, r.last_use) : bisect_left(starts, free)]
            end = r.offset + r.size
            taker = next((o for o in later if o.offset < end and r.offset < o.offset + o.size and o.ref != r.ref), None)
            free = taker.begin if taker is not None else free
        out.append(r if free == r.free else replace(r, free=free, held=r.held if free > r.last_use else None))
    return out


def _curve(rects: list[Rect], end: int) -> tuple[tuple[int, int], ...]:
    change: Counter[int] = Counter()
    for r in rects:
        change[r.begin] += r.size
        change[max(r.free, r.begin + 1)] -= r.size
    out, live = [], 0
    for x in sorted({0, *change}):
        live += change[x]
        if x <= end:
            out.append((x, live))
    return tuple(out)


def _top(curve: tuple[tuple[int, int], ...]) -> tuple[int, int]:
    return max(curve, key=lambda p: (p[1], -p[0]), default=(0, 0))


def _shares(rects: list[Rect], limit: int = SHARES) -> tuple[Share, ...]:
    ranked = sorted(rects, key=lambda r: (-r.size, r.begin))
    head, tail = ranked[:limit], ranked[limit:]
    parts = [r.size for r in head] + ([sum(r.size for r in tail)] if tail else [])
    percent = whole_percent(parts)
    out = [Share(Text(r.name), r.mark, r.size, p, r.ref) for r, p in zip(head, percent, strict=False)]
    if tail:
        out.append(Share(Text(f"{len(tail)} smaller", f"其余 {len(tail)} 个"), NO_MARK, parts[-1], percent[-1]))
    return tuple(out)


def _grouped(rects: list[Rect], key: Callable[[Rect], tuple[str, Mark]], limit: int = SHARES) -> tuple[Share, ...]:
    total: Counter[str] = Counter()
    marks: dict[str, Mark] = {}
    for r in rects:
        name, mark = key(r)
        total[name] += r.size
        marks[name] = mark
    ranked = total.most_common()
    head, rest = ranked[:limit], ranked[limit:]
    parts = [n for _, n in head] + ([sum(n for _, n in rest)] if rest else [])
    percent = whole_percent(parts)
    out = [Share(Text(k), marks[k], n, p) for (k, n), p in zip(head, percent, strict=False)]
    if rest:
        out.append(Share(Text(f"{len(rest)} more", f"其余 {len(rest)} 类"), NO_MARK, parts[-1], percent[-1]))
    return tuple(out)


def _op(s: Snapshot, r: Rect) -> str:
    first = r.nodes[0] if r.nodes else -1
    exists = 0 <= first < s.graph.id_bound and s.graph.nodes[first] is not None
    return plain(s.graph.node(first).op, 40) if exists else "(none)"


def _layer(name: str) -> str:
    """Leading name parts (``layers.3`` of ``layers.3.mlp.up:0``): what the exporter called the layer."""
    parts = [p for p in name.split(":")[0].replace("/", ".").split(".") if p]
    if len(parts) < 2:
        return "(top)"
    for k, p in enumerate(parts[:4]):
        if p.isdigit():
            return ".".join(parts[: k + 1])
    return parts[0]


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

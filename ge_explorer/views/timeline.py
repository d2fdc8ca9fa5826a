"""Timeline picture: lanes, bars, gaps with their reasons, core use, critical path, makespan. Times in nanoseconds.

Built from the simulator's (or a profile's) ``Timeline``; nothing is computed here that the timeline does not say, except the
sum of cores in use and idle time nobody explained, which is marked as unexplained instead of being dropped.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from ge_explorer.ids import Ref
from ge_explorer.ids import node as node_ref
from ge_explorer.provenance import Origin
from ge_explorer.simulator.timeline import Gap, Timeline
from ge_explorer.text import Text
from ge_explorer.trace.state import Snapshot
from ge_explorer.views.marks import Mark, by_letter, node_name, number, stream_marks, us
from ge_explorer.views.palette import StreamIdentity

MERGE_ABOVE = 1500
"""From this many tasks on, bars thinner than one picture column are merged into density bars."""
COLUMNS = 1600


@dataclass(frozen=True, slots=True)
class Lane:
    """One stream. ``busy_ns`` is the sum of its task durations."""

    mark: Mark
    busy_ns: int
    tasks: int


@dataclass(frozen=True, slots=True)
class Bar:
    """One task, or ``count`` merged ones (then ``task`` is the first). ``cores``: AIC and AIV held; ``origin`` of its cost."""

    lane: int
    task: int
    ref: Ref
    name: str
    op: str
    start_ns: int
    end_ns: int
    aic: int
    aiv: int
    origin: Origin
    critical: bool
    count: int = 1


@dataclass(frozen=True, slots=True)
class GapBar:
    """Idle time on a lane. ``text`` is the whole reason, ``short`` what fits a small symbol ("0": event number, "c": cores)."""

    lane: int
    start_ns: int
    end_ns: int
    reason: str
    text: Text
    short: str = ""
    ref: Ref | None = None


@dataclass(frozen=True, slots=True)
class CoreBlock:
    """Cores of one kind held by one stream between two times, stacked on ``base``."""

    lane: int
    start_ns: int
    end_ns: int
    base: int
    cores: int


@dataclass(frozen=True, slots=True)
class CoreUse:
    """Stacked use of one core kind. ``over`` are the times in which more was held than the chip has."""

    kind: Text
    total: int
    blocks: tuple[CoreBlock, ...]
    over: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Window:
    """A named span such as the dominator's or the side stream's, drawn as a bracket."""

    start_ns: int
    end_ns: int
    name: Text


@dataclass(frozen=True, slots=True)
class Windows:
    """Dominator and side window of a plan with the figures of the overlap recipe (plan.md section 8).

    ``verdict`` is real, partial, fake or "" (not applicable).
    """

    dominator: Window | None = None
    side: Window | None = None
    overlap_pct: float | None = None
    verdict: str = ""
    busy_pct: float | None = None
    notes: tuple[Text, ...] = ()

    @property
    def overlap(self) -> tuple[int, int] | None:
        """Common part of both windows in ns; None when they do not meet."""
        if self.dominator is None or self.side is None:
            return None
        a = max(self.dominator.start_ns, self.side.start_ns)
        b = min(self.dominator.end_ns, self.side.end_ns)
        return (a, b) if b > a else None


@dataclass(frozen=True, slots=True, eq=False)
class TimelinePicture:
    """Everything the drawing needs. ``critical`` are spans (lane, start, end); ``single_ns`` the single-stream makespan."""

    lanes: tuple[Lane, ...]
    bars: tuple[Bar, ...]
    gaps: tuple[GapBar, ...]
    cores: tuple[CoreUse, ...]
    critical: tuple[tuple[int, int, int], ...]
    windows: Windows
    makespan_ns: int
    single_ns: int | None
    chip: str
    origin: Origin
    merged: int
    alt: Text
    notes: tuple[Text, ...] = ()

    @property
    def span_ns(self) -> int:
        """Length of the time axis."""
        return max(self.makespan_ns, self.single_ns or 0, 1)


def build(
    s: Snapshot,
    t: Timeline,
    identities: Mapping[int, StreamIdentity],
    *,
    single_ns: int | None = None,
    windows: Windows | None = None,
) -> TimelinePicture:
    """Picture of timeline ``t`` whose node ids are those of snapshot ``s``."""
    marks = stream_marks(s, identities, (int(x) for x in np.unique(t.stream)))
    with_tasks = {int(x) for x in np.unique(t.stream)}
    lanes = tuple(
        Lane(m, t.busy_ns(m.stream), int((t.stream == m.stream).sum()))
        for m in by_letter(marks.values())
        if m.stream in with_tasks
    )
    lane_of = {lane.mark.stream: k for k, lane in enumerate(lanes)}
    single_ns = single_ns if single_ns and len(lanes) > 1 else None
    bars = _bars(s, t, lane_of)
    shown, merged = _merge(bars, t.makespan_ns)
    gaps = _gaps(s, t, lane_of, lanes, merged > 0)
    return TimelinePicture(
        lanes, shown, gaps, _cores(t, lane_of), _critical(t, lane_of), windows or Windows(), t.makespan_ns, single_ns,
        t.chip, Origin.MEASURED if t.origin == "measured" else Origin.MODEL, merged, _alt(t, lanes, single_ns),
        tuple(Text(n) for n in t.notes),
    )  # fmt: skip


def _bars(s: Snapshot, t: Timeline, lane_of: Mapping[int, int]) -> list[Bar]:
    critical = set(t.critical)
    out = []
    for k in range(len(t.node)):
        i = int(t.node[k])
        exists = 0 <= i < s.graph.id_bound and s.graph.nodes[i] is not None
        out.append(
            Bar(
                lane_of[int(t.stream[k])],
                k,
                node_ref(i),
                node_name(s, i),
                s.graph.node(i).op if exists else "",
                int(t.start_ns[k]),
                int(t.end_ns[k]),
                int(t.aic[k]),
                int(t.aiv[k]),
                Origin(t.cost_origin[k]),
                k in critical,
            )
        )
    return sorted(out, key=lambda b: (b.lane, b.start_ns, b.task))


def _merge(bars: list[Bar], makespan: int) -> tuple[tuple[Bar, ...], int]:
    """Neighbours on a lane that are both thinner than a column and closer than one become one bar with a count."""
    if len(bars) <= MERGE_ABOVE:
        return tuple(bars), 0
    column = max(1, makespan // COLUMNS)
    out: list[Bar] = []
    merged = 0
    for b in bars:
        last = out[-1] if out else None
        if (
            last is not None
            and last.lane == b.lane
            and b.end_ns - b.start_ns < column
            and b.start_ns - last.end_ns < column
            and (last.count > 1 or last.end_ns - last.start_ns < column)
            and last.end_ns - last.start_ns < 8 * column
        ):
            n = last.count + 1
            out[-1] = replace(last, end_ns=max(last.end_ns, b.end_ns), count=n, name=f"{n} ops", op="",
                              critical=last.critical or b.critical)  # fmt: skip
            merged += 1
        else:
            out.append(b)
    return tuple(out), merged


def _gaps(
    s: Snapshot, t: Timeline, lane_of: Mapping[int, int], lanes: tuple[Lane, ...], coarse: bool
) -> tuple[GapBar, ...]:
    """Recorded gaps, plus the idle time that no record covers, said as such."""
    out = []
    covered: dict[int, list[tuple[int, int]]] = {k: [] for k in range(len(lanes))}
    for stream, lane in lane_of.items():
        m = t.stream == stream
        covered[lane] += list(zip(t.start_ns[m].tolist(), t.end_ns[m].tolist(), strict=True))
    for g in t.gaps:
        if g.stream in lane_of and g.end_ns > g.start_ns:
            lane = lane_of[g.stream]
            covered[lane].append((g.start_ns, g.end_ns))
            out.append(_gap(s, t, g, lane))
    for lane, spans in covered.items():
        last_end = int(t.end_ns[t.stream == lanes[lane].mark.stream].max())
        for a, b in _holes(spans, t.makespan_ns):
            out.append(
                _gap(s, t, Gap(lanes[lane].mark.stream, a, b, "no_work"), lane)
                if a >= last_end
                else _unsaid(a, b, lane)
            )
    if coarse:
        column = max(1, t.makespan_ns // COLUMNS)
        out = [g for g in out if g.end_ns - g.start_ns >= column]
    return tuple(sorted(out, key=lambda g: (g.lane, g.start_ns)))


def _holes(spans: list[tuple[int, int]], end: int) -> list[tuple[int, int]]:
    holes, at = [], 0
    for a, b in sorted(spans):
        if a > at:
            holes.append((at, a))
        at = max(at, b)
    if at < end:
        holes.append((at, end))
    return holes


def _unsaid(a: int, b: int, lane: int) -> GapBar:
    return GapBar(
        lane, a, b, "unexplained", Text(f"idle {us(b - a)}, no reason recorded", f"空闲 {us(b - a)}，没有记录原因"), "?"
    )


def _gap(s: Snapshot, t: Timeline, g: Gap, lane: int) -> GapBar:
    long = us(g.end_ns - g.start_ns)
    who = node_name(s, g.waits_for, 40) if g.waits_for >= 0 else ""
    ref = node_ref(g.waits_for) if g.waits_for >= 0 else None
    short = ""
    if g.reason == "event":
        number_of = _event_id(s, t, g)
        name = "" if number_of is None else f" {number_of}"
        short = "e" if number_of is None else str(number_of)
        text = Text(f"waits for event{name} ({who}), {long}", f"等待事件{name}（{who}），{long}")
    elif g.reason == "cores":
        short = "c"
        text = Text(f"waits for cores held by {who}, {long}", f"等待 {who} 占用的核，{long}")
        if not who:
            text = Text(f"waits for free cores, {long}", f"等待空闲的核，{long}")
    elif g.reason == "start":
        text = Text(f"not started yet, {long}", f"尚未开始，{long}")
    elif g.reason == "issue":
        text = Text(f"dispatch, {long}", f"任务下发，{long}")
    elif g.reason == "host":
        text = Text(f"waits for the host, {long}", f"等待主机，{long}")
    else:
        text = Text(f"no work left, {long}", f"没有剩余任务，{long}")
    return GapBar(lane, g.start_ns, g.end_ns, g.reason, text, short, ref)


def _event_id(s: Snapshot, t: Timeline, g: Gap) -> int | None:
    """GE's event number of the wait: found by sender and receiver, because those cannot be misread."""
    if s.sync is None:
        return g.event if g.event >= 0 else None
    receiver = int(t.node[g.task]) if 0 <= g.task < len(t.node) else -1
    same = [e for e in s.sync.events if e.send == g.waits_for and e.recv_stream == g.stream]
    exact = [e for e in same if e.recv == receiver]
    found = exact or same
    return found[0].id if found else (g.event if g.event >= 0 else None)


def _critical(t: Timeline, lane_of: Mapping[int, int]) -> tuple[tuple[int, int, int], ...]:
    """Critical spans; touching ones on one lane become one line."""
    out: list[tuple[int, int, int]] = []
    for k in t.critical:
        lane, a, b = lane_of[int(t.stream[k])], int(t.start_ns[k]), int(t.end_ns[k])
        if out and out[-1][0] == lane and a <= out[-1][2]:
            out[-1] = (lane, out[-1][1], max(b, out[-1][2]))
        else:
            out.append((lane, a, b))
    return tuple(out)


def _cores(t: Timeline, lane_of: Mapping[int, int]) -> tuple[CoreUse, ...]:
    out = []
    for kind, total, held in (
        (Text("cube cores", "Cube 核"), t.total_aic, t.aic),
        (Text("vector cores", "Vector 核"), t.total_aiv, t.aiv),
    ):
        if total > 0:
            blocks, over = _stack(t, held, total, lane_of)
            out.append(CoreUse(kind, total, blocks, over))
    return tuple(out)


def _stack(
    t: Timeline, held: np.ndarray, total: int, lane_of: Mapping[int, int]
) -> tuple[tuple[CoreBlock, ...], tuple[tuple[int, int], ...]]:
    """Sweep over start and end times; per span the streams stack in lane order."""
    changes: dict[int, list[tuple[int, int]]] = {}
    for k in np.flatnonzero(held > 0).tolist():
        lane, n = lane_of[int(t.stream[k])], int(held[k])
        changes.setdefault(int(t.start_ns[k]), []).append((lane, n))
        changes.setdefault(int(t.end_ns[k]), []).append((lane, -n))
    now = dict.fromkeys(range(len(lane_of)), 0)
    open_: dict[int, CoreBlock] = {}
    blocks: list[CoreBlock] = []
    over: list[tuple[int, int]] = []
    times = sorted(changes)
    for a, b in pairwise(times):
        for lane, n in changes[a]:
            now[lane] += n
        base = 0
        for lane, n in now.items():
            last = open_.get(lane)
            if n and last and last.end_ns == a and last.base == base and last.cores == n:
                open_[lane] = replace(last, end_ns=b)
            else:
                if last:
                    blocks.append(last)
                    del open_[lane]
                if n:
                    open_[lane] = CoreBlock(lane, a, b, base, n)
            base += n
        if base > total:
            if over and over[-1][1] == a:
                over[-1] = (over[-1][0], b)
            else:
                over.append((a, b))
    return tuple(sorted([*blocks, *open_.values()], key=lambda x: (x.start_ns, x.base))), tuple(over)


def _alt(t: Timeline, lanes: tuple[Lane, ...], single_ns: int | None) -> Text:
    if not lanes:
        return Text("The timeline is empty: no task runs.", "时间线为空：没有任务运行。")
    kind = Text("Measured", "实测") if t.origin == "measured" else Text("Simulated", "仿真")
    n, k = number(len(t.node)), len(lanes)
    busy = ", ".join(f"{x.mark.letter} {number(100 * x.busy_ns / max(1, t.makespan_ns))} %" for x in lanes[:8])
    tasks, streams = "task" + "s" * (len(t.node) != 1), "stream" + "s" * (k != 1)
    en = f"{kind.en} timeline: {n} {tasks} on {k} {streams} in {us(t.makespan_ns)}; busy: {busy}."
    zh = f"{kind.zh}时间线：{n} 个任务，{k} 条流，共 {us(t.makespan_ns)}；忙碌占比：{busy}。"
    if single_ns:
        en += f" On a single stream it takes {us(single_ns)}."
        zh += f"单流为 {us(single_ns)}。"
    return Text(en, zh)

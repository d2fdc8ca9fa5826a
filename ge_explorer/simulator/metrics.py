"""Figures of a timeline: busy time, overlap by the recipe and by busy time, the barrier operator, the ceiling.

The overlap recipe compares two windows of one capture (plan.md section 8): the side stream's operators, first start to last
end, and the main operator the plan wants to hide behind. It is the recipe's formula on purpose; ``busy_pct`` beside it
counts only time in which both really run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ge_explorer.errors import OptionError
from ge_explorer.graph.model import Graph
from ge_explorer.simulator.timeline import Timeline
from ge_explorer.text import Text

Verdict = Literal["real", "partial", "fake", "not applicable"]
Window = tuple[int, int]

REAL_FROM, FAKE_UPTO = 0.5, 0.05
"""Thresholds of the verdict; both inclusive."""
HULL_GAP = 0.05
"""Several dominators share one window only while the holes between them stay below this share of it."""
IDLE_WARNING = 0.5


@dataclass(frozen=True, slots=True)
class Overlap:
    """Overlap of a side with a main operator. ``pct`` and ``busy_pct`` 0..1; None when not applicable, never 0 or NaN then.

    Windows and ``overlap_ns`` in ns. ``hidden_side`` is the share of the side window that is covered. ``dominator`` and
    ``barrier`` are node ids (-1: none); the barrier is looked for only when the verdict is fake.
    """

    pct: float | None
    verdict: Verdict
    busy_pct: float | None = None
    hidden_side: float | None = None
    overlap_ns: int | None = None
    side_window: Window | None = None
    main_window: Window | None = None
    dominator: int = -1
    barrier: int = -1
    notes: tuple[Text, ...] = ()


def busy_per_stream(timeline: Timeline) -> dict[int, int]:
    """Sum of task durations per stream in ns, ascending stream id. Waiting never counts."""
    return {int(s): timeline.busy_ns(int(s)) for s in np.unique(timeline.stream)}


def verdict_of(pct: float) -> Verdict:
    """Word for a ratio: at least 0.50 real, at most 0.05 fake, between them partial."""
    return "real" if pct >= REAL_FROM else "fake" if pct <= FAKE_UPTO else "partial"


def window_overlap(side: Window, main: Window) -> tuple[int, float]:
    """Overlap in ns and as a share of the shorter window (recipe). OptionError for an empty window: it is undefined.

    >>> window_overlap((1615250, 1634750), (1638000, 1660750))
    (0, 0.0)
    """
    shorter = min(side[1] - side[0], main[1] - main[0])
    if shorter <= 0:
        raise OptionError("the overlap of an empty window is undefined", got=(side, main))
    both = max(0, min(side[1], main[1]) - max(side[0], main[0]))
    return both, both / shorter


def busy_overlap(side: Sequence[Window], main: Sequence[Window]) -> tuple[int, float]:
    """Time in which both run, in ns and as a share of the smaller busy sum. Windows inside each list must not overlap."""
    shorter = min(sum(b - a for a, b in side), sum(b - a for a, b in main))
    if shorter <= 0:
        raise OptionError("no busy time on one of the sides")
    a, b = sorted(side), sorted(main)
    i = j = both = 0
    while i < len(a) and j < len(b):
        both += max(0, min(a[i][1], b[j][1]) - max(a[i][0], b[j][0]))
        if a[i][1] <= b[j][1]:
            i += 1
        else:
            j += 1
    return both, both / shorter


_NO_SIDE = Text("No side stream: overlap is not applicable.", "没有侧流：重叠率不适用。")
_SHARED = Text(
    "Side operators share a stream with the main ones, so they cannot overlap.",
    "侧流算子与主流算子在同一条流上，不可能重叠。",
)
_NO_MAIN = Text("Nothing runs on the main stream that could hide the side.", "主流上没有可用来掩盖侧流的算子。")
_IDLE = Text(
    "The side window is idle more than half of its length; compare with the value by busy time.",
    "侧流窗口有一半以上时间空闲，请对照按忙碌时间计算的值。",
)
_DISAGREE = Text(
    "The recipe and the busy time disagree: the windows overlap while the operators in them hardly do.",
    "配方值与按忙碌时间的值不一致：窗口重叠，但其中的算子几乎没有同时执行。",
)
_SIDE_LONGER = Text(
    "The side is longer than its main operator, so part of it stays visible even at 1.0.",
    "侧流比主流算子更长，即使重叠率为 1.0 仍有一部分暴露。",
)
_HULL = Text(
    "The main operators are not contiguous, so only the longest one counts.", "主流算子不连续，因此只取最长的一个。"
)


def overlap(
    timeline: Timeline,
    side: Iterable[int],
    main: Iterable[int],
    graph: Graph | None = None,
    dominator: Sequence[int] = (),
) -> Overlap:
    """Overlap of the nodes a plan put on the side with the main stream's dominator.

    ``side``, ``main`` and ``dominator`` are node ids. Without ``dominator`` it is the longest main operator; with ``graph``
    the longest one that neither feeds nor needs the side (only such an operator can hide it), if there is one. ``graph`` is
    also needed to name the barrier.
    """
    row = {int(n): i for i, n in enumerate(timeline.node) if timeline.end_ns[i] > timeline.start_ns[i]}
    side_rows = [row[n] for n in side if n in row]
    main_rows = [row[n] for n in main if n in row]
    if not side_rows:
        return Overlap(None, "not applicable", notes=(_NO_SIDE,))
    if not main_rows:
        return Overlap(None, "not applicable", notes=(_NO_MAIN,))
    if {int(timeline.stream[i]) for i in side_rows} & {int(timeline.stream[i]) for i in main_rows}:
        return Overlap(None, "not applicable", notes=(_SHARED,))
    notes: list[Text] = []
    spans = {i: (int(timeline.start_ns[i]), int(timeline.end_ns[i])) for i in (*side_rows, *main_rows)}
    side_window = (min(spans[i][0] for i in side_rows), max(spans[i][1] for i in side_rows))
    chosen = [row[n] for n in dominator if n in row] or _dominator(timeline, side_rows, main_rows, graph)
    longest = max(chosen, key=lambda i: (spans[i][1] - spans[i][0], -i))
    hull = (min(spans[i][0] for i in chosen), max(spans[i][1] for i in chosen))
    if len(chosen) > 1 and (hull[1] - hull[0]) - sum(spans[i][1] - spans[i][0] for i in chosen) >= HULL_GAP * (
        hull[1] - hull[0]
    ):
        hull = spans[longest]
        chosen = [longest]
        notes.append(_HULL)
    both, pct = window_overlap(side_window, hull)
    # The side may use several streams; their busy spans are merged before they are compared.
    _, busy = busy_overlap(_merged(spans[i] for i in side_rows), _merged(spans[i] for i in chosen))
    side_busy = sum(b - a for a, b in _merged(spans[i] for i in side_rows))
    side_length = side_window[1] - side_window[0]
    if side_busy < (1 - IDLE_WARNING) * side_length:
        notes.append(_IDLE)
    if verdict_of(pct) != verdict_of(busy):
        notes.append(_DISAGREE)
    if side_length > hull[1] - hull[0]:
        notes.append(_SIDE_LONGER)
    word = verdict_of(pct)
    barrier = -1
    if word == "fake" and graph is not None:
        barrier = barrier_node(timeline, graph, side_rows, main_rows, longest)
    return Overlap(
        pct, word, busy, both / side_length, both, side_window, hull, int(timeline.node[longest]), barrier, tuple(notes)
    )


def _merged(spans: Iterable[Window]) -> list[Window]:
    out: list[Window] = []
    for a, b in sorted(spans):
        if out and a <= out[-1][1]:
            out[-1] = (out[-1][0], max(b, out[-1][1]))
        else:
            out.append((a, b))
    return out


def _dominator(timeline: Timeline, side: list[int], main: list[int], graph: Graph | None) -> list[int]:
    def length(i: int) -> tuple[int, int]:
        return int(timeline.end_ns[i] - timeline.start_ns[i]), -i

    if graph is not None:
        nodes = [int(timeline.node[i]) for i in side]
        related = _reached(nodes, graph.succ) | _reached(nodes, graph.pred)
        free = [i for i in main if int(timeline.node[i]) not in related]
        main = free or main
    return [max(main, key=length)]


def _reached(start: Iterable[int], neighbours: Sequence[Sequence[int]]) -> set[int]:
    seen: set[int] = set()
    todo = list(start)
    while todo:
        for n in neighbours[todo.pop()]:
            if n not in seen:
                seen.add(n)
                todo.append(n)
    return seen


def barrier_node(
    timeline: Timeline, graph: Graph, side_rows: Sequence[int], main_rows: Sequence[int], dominator: int
) -> int:
    """First main operator that reads a side result and starts before the dominator; -1 when there is none.

    All ``*_rows`` and ``dominator`` are task ids. Operators that run nothing are looked through.
    """
    side = {int(timeline.node[i]) for i in side_rows}
    idle = {int(n) for i, n in enumerate(timeline.node) if timeline.end_ns[i] == timeline.start_ns[i]}
    for i in sorted(main_rows, key=lambda k: (int(timeline.start_ns[k]), k)):
        if i == dominator or timeline.start_ns[i] >= timeline.start_ns[dominator]:
            break
        todo, seen = list(graph.pred[int(timeline.node[i])]), set[int]()
        while todo:
            n = todo.pop()
            if n in side:
                return int(timeline.node[i])
            if n in idle and n not in seen:
                seen.add(n)
                todo += graph.pred[n]
    return -1


@dataclass(frozen=True, slots=True)
class Ceiling:
    """What more streams could give at most: ``work_ns`` over ``path_ns``, and the most operators that would run at once.

    ``width`` is the peak of the schedule that starts everything as early as its inputs allow, without any core limit.
    """

    work_ns: int
    path_ns: int
    width: int

    @property
    def speedup(self) -> float | None:
        """Work over critical path; None without any work."""
        return self.work_ns / self.path_ns if self.path_ns else None


def ceiling(graph: Graph, durations: Mapping[int, int]) -> Ceiling:
    """Ceiling from node durations in ns; dependencies are the graph's own. Linear in nodes and edges."""
    start = dict.fromkeys(graph.node_ids, 0)
    left = {i: len(graph.pred[i]) for i in graph.node_ids}
    ready = [i for i in graph.node_ids if not left[i]]
    changes: list[tuple[int, int]] = []
    longest = 0
    while ready:
        i = ready.pop()
        ns = durations.get(i, 0)
        end = start[i] + ns
        longest = max(longest, end)
        if ns > 0:
            changes += ((start[i], 1), (end, -1))
        for j in graph.succ[i]:
            start[j] = max(start[j], end)
            left[j] -= 1
            if not left[j]:
                ready.append(j)
    now = width = 0
    for _, step in sorted(changes):
        now += step
        width = max(width, now)
    return Ceiling(sum(durations.get(i, 0) for i in graph.node_ids), longest, width)

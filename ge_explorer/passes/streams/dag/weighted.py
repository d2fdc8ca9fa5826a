"""WeightedLoadBalance: like LoadBalance, but by measured time, keeping units that would run at the same time apart.

Score (lower wins) = 3·events + 4·Σ over window levels (unit time · stream time) + 2·(stream time + unit time) + 2 if new.
GE then re-simulates its best three candidates, but that simulation runs one node at a time and gives the same makespan for
every candidate, so the best score decides (streams.md sections 5.7 and 12.5).
Source: dag_weighted_stream_merger.cc.
"""

from __future__ import annotations

from collections.abc import Sequence

from ge_explorer.passes.streams.dag.units import (
    EVENT_WEIGHT,
    NEW_STREAM_WEIGHT,
    Candidate,
    MergeOptions,
    MergeResult,
    Placement,
    Streams,
    Units,
    best,
    first_distinct,
)

TIME_CONFLICT_WEIGHT = 4.0
TIME_LOAD_WEIGHT = 2.0
CANDIDATE_LIMIT = 8
"""Default number of candidate streams of this strategy (the other two look at 6)."""
TIE_ORDER = ("conflict", "events", "load", "id")


class _Times:
    """Durations in µs per unit and per stream, by level."""

    def __init__(self, units: Units, time: Sequence[float]) -> None:
        level_of = units.levels.of
        self.total = [sum(time[i] for i in p) for p in units.paths]
        self.hist: list[dict[int, float]] = []
        for p in units.paths:
            h: dict[int, float] = {}
            for i in p:
                h[level_of[i]] = h.get(level_of[i], 0.0) + time[i]
            self.hist.append(h)
        self.stream_total: list[float] = []
        self.stream_hist: list[list[float]] = []
        self._levels = units.levels.count

    def add(self, unit: int, stream: int) -> None:
        """Book a unit's time on a stream."""
        while stream >= len(self.stream_total):
            self.stream_total.append(0.0)
            self.stream_hist.append([0.0] * self._levels)
        self.stream_total[stream] += self.total[unit]
        for lv, d in self.hist[unit].items():
            self.stream_hist[stream][lv] += d


def merge(
    succ: Sequence[Sequence[int]],
    paths: Sequence[Sequence[int]],
    options: MergeOptions,
    time: Sequence[float],
    vec: Sequence[int],
    cube: Sequence[int],
) -> MergeResult:
    """Stream of each path. ``time`` in µs (unknown counts as 0) and block numbers per residual node."""
    units = Units(succ, paths)
    state = Streams(units, options)
    times = _Times(units, [max(t, 0.0) for t in time])
    busy = [sum(max(time[i], 0.0) * (vec[i] + cube[i]) for i in p) for p in paths]
    cores = [_peak(units, p, vec) + _peak(units, p, cube) for p in paths]
    log: list[Placement] = []
    for level, row in units.by_level().items():
        state.open_window(level)
        row.sort(key=lambda u: (-times.total[u], -busy[u], -cores[u], -units.interaction[u], units.earliest[u], u))
        for u in row:
            candidates = _scored(u, state, times)
            chosen = best(candidates, TIE_ORDER)
            state.place(u, chosen.stream)
            times.add(u, chosen.stream)
            log.append(Placement(u, chosen.stream, level, candidates))
    return state.result(log)


def _peak(units: Units, path: Sequence[int], blocks: Sequence[int]) -> int:
    """Most blocks a unit uses on one level."""
    per_level: dict[int, int] = {}
    for i in path:
        lv = units.levels.of[i]
        per_level[lv] = per_level.get(lv, 0) + blocks[i]
    return max(per_level.values(), default=0)


def _scored(unit: int, state: Streams, times: _Times) -> tuple[Candidate, ...]:
    weights = state.neighbour_weights(unit)
    total_weight = sum(weights.values())
    window = slice(state.first, state.last + 1)
    near = sorted(weights, key=lambda s: (-weights[s], times.stream_total[s], s))
    light = sorted(range(state.active), key=lambda s: (sum(times.stream_hist[s][window]), times.stream_total[s], s))
    names = near + light[: state.options.light_stream_limit]
    if state.active < state.limit:
        names.append(state.active)
    mine = [(lv, d) for lv, d in times.hist[unit].items() if state.first <= lv <= state.last]
    out = []
    for s in first_distinct(names, state.options.candidate_limit):
        new = s >= state.active
        conflict = 0.0 if new else sum(d * times.stream_hist[s][lv] for lv, d in mine)
        load = (0.0 if new else times.stream_total[s]) + times.total[unit]
        events = total_weight - weights.get(s, 0)
        score = (
            EVENT_WEIGHT * events + TIME_CONFLICT_WEIGHT * conflict + TIME_LOAD_WEIGHT * load + NEW_STREAM_WEIGHT * new
        )
        out.append(Candidate(s, new, score, {"conflict": conflict, "events": events, "load": load, "id": s}))
    return tuple(out)

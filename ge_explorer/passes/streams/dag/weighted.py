"""WeightedLoadBalance: like LoadBalance, but by measured time, keeping units that would run at the same time apart.

Score (lower wins) = 3·events + 4·Σ over window levels (unit time · stream time) + 2·(stream time + unit time) + 2 if new.
GE then simulates its best three candidates, but that simulation runs one node at a time and gives the same makespan for
every candidate, so the best score decides (streams.md sections 5.7 and 12.5); ``merge`` simulates on demand only.
Source: WeightedStreamMergeSolver (dag_weighted_stream_merger.cc).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cmp_to_key

from ge_explorer.passes.streams.dag.merger import Merger, MergeResult, merge_units
from ge_explorer.passes.streams.dag.simulation import SimulationNodes, compare, makespan
from ge_explorer.passes.streams.dag.unit_times import UnitTimes, WeightedState, bottom_ranks, unit_times
from ge_explorer.passes.streams.dag.units import (
    Candidate,
    MergeOptions,
    Units,
    better,
    first_distinct,
    scored,
    window_end,
)

CANDIDATE_LIMIT = 8
"""Default number of candidate streams of this strategy (the other two look at 6)."""


class WeightedMerger(Merger):
    """Candidates: streams of neighbours, those of the same origin hint, the shortest in the window, a new one.

    With ``nodes`` the best candidates are simulated as GE does.
    """

    def __init__(
        self, units: UnitTimes, state: WeightedState, options: MergeOptions, nodes: SimulationNodes | None = None
    ) -> None:
        self.units, self.state, self.options, self.nodes = units, state, options, nodes
        self.assignment = state.assignment
        self.level = 0

    def open_level(self, level: int) -> None:
        """Move the window to ``level``."""
        self.level = level

    def in_order(self, units: list[int]) -> list[int]:
        """Longer time first, then more block-time, more blocks on a level, more edges to others, the id."""
        p = self.units

        def order(a: int, b: int) -> int:
            by_time = compare(p.duration[b], p.duration[a]) or compare(p.block_time[b], p.block_time[a])
            return by_time or p.peak[b] - p.peak[a] or p.interaction[b] - p.interaction[a] or a - b

        return sorted(units, key=cmp_to_key(order))

    # ------------------------------------------------------------------ window
    def end(self) -> int:
        """Last level of the window."""
        return window_end(self.units.max_level, self.level, self.options.window_width)

    def window_load(self, stream: int) -> float:
        """µs of a stream inside the window."""
        return sum(self.state.hist[stream][self.level : self.end() + 1])

    def active_in_window(self, unit: int) -> Sequence[int]:
        """Levels of the window the unit is active on; all its active levels when the window holds none."""
        levels = self.units.active_levels[unit]
        return [lv for lv in levels if self.level <= lv <= self.end()] or levels

    # -------------------------------------------------------------- candidates
    def adjacent(self, unit: int) -> dict[int, int]:
        """Stream -> number of edges between the unit and what lies there."""
        out: dict[int, int] = {}
        for other, n in self.units.neighbours[unit].items():
            s = self.state.assignment[other]
            if s >= 0:
                out[s] = out.get(s, 0) + n
        return out

    def by_count(self, counts: Mapping[int, int]) -> list[int]:
        """Streams by count (higher first), total time, id."""

        def order(a: int, b: int) -> int:
            return counts[b] - counts[a] or compare(self.state.duration[a], self.state.duration[b]) or a - b

        return sorted(counts, key=cmp_to_key(order))

    def origin_hinted(self, unit: int) -> list[int]:
        """Streams that hold units with the same origin hint."""
        hint = self.units.origin_hint[unit]
        return self.by_count(self.state.hints.get(hint, {})) if hint >= 0 else []

    def lightest(self) -> list[int]:
        """The ``light_stream_limit`` open streams with the least time in the window, then in all, then by id."""
        total, load = self.state.duration, [self.window_load(s) for s in range(self.state.active)]

        def order(a: int, b: int) -> int:
            return compare(load[a], load[b]) or compare(total[a], total[b]) or a - b

        return sorted(range(self.state.active), key=cmp_to_key(order))[: self.options.light_stream_limit]

    def fallback(self, *, new: bool) -> list[int]:
        """What is looked at when nothing else is: a new stream, else the first open ones."""
        if new and self.state.active < self.options.physical_stream_limit:
            return [self.state.active]
        return list(range(min(self.state.active, self.options.candidate_limit)))

    def candidates(self, unit: int, *, new: bool) -> list[int]:
        """In the order of the class text, cut at ``candidate_limit``."""
        names = [*self.by_count(self.adjacent(unit)), *self.origin_hinted(unit), *self.lightest()]
        if new and self.state.active < self.options.physical_stream_limit:
            names.append(self.state.active)
        return first_distinct(names, self.options.candidate_limit) or self.fallback(new=new)

    # ------------------------------------------------------------------- score
    def score(self, unit: int, streams: Iterable[int]) -> tuple[Candidate, ...]:
        """A stream that is not open yet counts as empty."""
        o, p, state = self.options, self.units, self.state
        weights = self.adjacent(unit)
        edges = sum(weights.values())
        levels = self.active_in_window(unit)
        out = []
        for s in streams:
            empty = s >= len(state.duration)
            new = s == state.active
            conflict = 0.0 if empty else sum(p.hist[unit].get(lv, 0.0) * state.hist[s][lv] for lv in levels)
            load = (0.0 if empty else state.duration[s]) + p.duration[unit]
            events = edges - weights.get(s, 0)
            parts = (
                ("events", o.event_local_weight, events),
                ("time overlap", o.time_conflict_weight, conflict),
                ("time", o.time_load_weight, load),
                ("new", o.new_flow_penalty_weight, int(new)),
            )
            out.append(scored(s, new, parts, (conflict, events, load, s)))
        return tuple(out)

    def choose(self, unit: int, candidates: Sequence[Candidate]) -> Candidate:
        """Best score; with ``nodes`` the shortest simulated makespan of the ``resim_candidate_limit`` best ones."""
        ranked = sorted(candidates, key=cmp_to_key(_by_score))
        if self.nodes is None or self.options.resim_candidate_limit == 0:
            return ranked[0]
        top, shortest = ranked[0], float("inf")
        for c in ranked[: self.options.resim_candidate_limit]:
            trial = list(self.state.assignment)
            trial[unit] = c.stream
            span = makespan(self.nodes, trial)
            if span is not None and (shortest == float("inf") or compare(span, shortest) < 0):
                top, shortest = c, span
        return top

    # ------------------------------------------------------------------- moves
    def place(self, unit: int, stream: int) -> None:
        """Put a unit on a stream; the next free id opens one."""
        state, p = self.state, self.units
        while stream >= len(state.duration):
            state.duration.append(0.0)
            state.hist.append([0.0] * (p.max_level + 1))
        state.active = max(state.active, stream + 1)
        state.assignment[unit] = stream
        self._add(unit, stream, 1)
        if p.origin_hint[unit] >= 0:
            counts = state.hints.setdefault(p.origin_hint[unit], {})
            counts[stream] = counts.get(stream, 0) + 1

    def remove(self, unit: int) -> int:
        """Take a unit off its stream; a hint counter of another stream stays as it is."""
        state, hint = self.state, self.units.origin_hint[unit]
        stream = state.assignment[unit]
        if stream < 0:
            return -1
        state.assignment[unit] = -1
        self._add(unit, stream, -1)
        counts = state.hints.get(hint)
        if counts is not None:
            if stream in counts:
                counts[stream] -= 1
                if counts[stream] <= 0:
                    del counts[stream]
            if not counts:
                del state.hints[hint]
        return stream

    def _add(self, unit: int, stream: int, sign: int) -> None:
        self.state.duration[stream] += sign * self.units.duration[unit]
        row = self.state.hist[stream]
        for lv in self.units.active_levels[unit]:
            row[lv] += sign * self.units.hist[unit].get(lv, 0.0)


def _by_score(a: Candidate, b: Candidate) -> int:
    return -1 if better(a, b) else int(better(b, a))


def merge(
    succ: Sequence[Sequence[int]],
    paths: Sequence[Sequence[int]],
    options: MergeOptions,
    time: Sequence[float],
    vec: Sequence[int],
    cube: Sequence[int],
    *,
    simulate: bool = False,
) -> MergeResult:
    """Stream of each path. ``time`` in µs (unknown counts as 0) and block numbers per residual node.

    ``simulate`` runs GE's simulation of the best candidates too: O(nodes) per candidate, and no other result.
    """
    options.check("WeightedLoadBalance")
    units = Units(succ, paths)
    times = unit_times(units, time, vec, cube)
    nodes = simulation_nodes(units, succ, time) if simulate else None
    return merge_units(units, WeightedMerger(times, WeightedState([-1] * len(paths)), options, nodes))


def simulation_nodes(units: Units, succ: Sequence[Sequence[int]], time: Sequence[float]) -> SimulationNodes:
    """All residual nodes, ready to be simulated."""
    known = [max(t, 0.0) for t in time]
    preds: list[list[int]] = [[] for _ in succ]
    for i, row in enumerate(succ):
        for j in dict.fromkeys(row):
            preds[j].append(i)
    order = units.levels.order
    return SimulationNodes(units.owner, order, known, bottom_ranks(order, succ, known), preds)

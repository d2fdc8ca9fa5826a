"""MainStream: the serial spine on stream 0, parallel parts beside it.

A unit goes to stream 0 without a choice when its first level holds one node only, or when all its levels do.
Otherwise score (lower wins) = 3·events + 4·conflict + 2 if the stream is new − 4·solo nodes on stream 0.
Source: dag_stream_merger.cc, main-stream strategy.
"""

from __future__ import annotations

from collections.abc import Sequence

from ge_explorer.passes.streams.dag.units import (
    CONFLICT_WEIGHT,
    EVENT_WEIGHT,
    MAIN_BONUS_WEIGHT,
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

TIE_ORDER = ("events", "conflict", "new", "bonus")


def merge(succ: Sequence[Sequence[int]], paths: Sequence[Sequence[int]], options: MergeOptions) -> MergeResult:
    """Stream of each path. ``succ`` are the residual successors, ``paths`` lists of the same node indices."""
    units = Units(succ, paths)
    state = Streams(units, options)
    width = units.levels.width
    solo = [sum(n for lv, n in h.items() if width[lv] == 1) for h in units.hist]
    log: list[Placement] = []
    for level, row in units.by_level().items():
        state.open_window(level)
        for u in row:
            if width[level] == 1 or solo[u] == units.size[u]:
                forced = "only node of its level" if width[level] == 1 else "alone on all its levels"
                state.place(u, options.main_stream)
                log.append(Placement(u, options.main_stream, level, (), forced))
                continue
            candidates = _scored(u, solo[u], state)
            chosen = best(candidates, TIE_ORDER)
            state.place(u, chosen.stream)
            log.append(Placement(u, chosen.stream, level, candidates))
    return state.result(log)


def _scored(unit: int, solo: int, state: Streams) -> tuple[Candidate, ...]:
    main = state.options.main_stream
    weights = state.neighbour_weights(unit)
    total_weight = sum(weights.values())
    mine = [(lv, n) for lv, n in state.units.hist[unit].items() if state.first <= lv <= state.last]
    conflict = [sum(n * row[lv] for lv, n in mine) for row in state.hist]
    near = sorted(weights, key=lambda s: (-weights[s], s))
    calm = sorted(range(state.active), key=lambda s: (conflict[s], s))
    names = [main, *near, *calm[: state.options.low_conflict_limit]]
    if state.active < state.limit:
        names.append(state.active)
    out = []
    for s in first_distinct(names, state.options.candidate_limit):
        new = s >= state.active
        clash = 0 if new else conflict[s]
        events = total_weight - weights.get(s, 0)
        bonus = solo if s == main else 0
        score = EVENT_WEIGHT * events + CONFLICT_WEIGHT * clash + NEW_STREAM_WEIGHT * new - MAIN_BONUS_WEIGHT * bonus
        out.append(Candidate(s, new, score, {"events": events, "conflict": clash, "new": new, "bonus": -bonus}))
    return tuple(out)

"""LoadBalance: keep the streams evenly filled over the next levels, weighed against events and against opening streams.

Score (lower wins) = 3·events + 4·(largest window load + variance of the window loads) + stream size + 2 if the stream is new.
Source: dag_stream_merger.cc, load-balance strategy.
"""

from __future__ import annotations

from collections.abc import Sequence

from ge_explorer.passes.streams.dag.units import (
    BALANCE_WEIGHT,
    EVENT_WEIGHT,
    LOAD_WEIGHT,
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

TIE_ORDER = ("events", "balance", "load", "id")


def merge(succ: Sequence[Sequence[int]], paths: Sequence[Sequence[int]], options: MergeOptions) -> MergeResult:
    """Stream of each path. ``succ`` are the residual successors, ``paths`` lists of the same node indices."""
    units = Units(succ, paths)
    state = Streams(units, options)
    log: list[Placement] = []
    for level, row in units.by_level().items():
        state.open_window(level)
        for u in row:
            candidates = _scored(u, state)
            chosen = best(candidates, TIE_ORDER)
            state.place(u, chosen.stream)
            log.append(Placement(u, chosen.stream, level, candidates))
    return state.result(log)


def _scored(unit: int, state: Streams) -> tuple[Candidate, ...]:
    weights = state.neighbour_weights(unit)
    total_weight = sum(weights.values())
    near = sorted(weights, key=lambda s: (-weights[s], state.size[s], s))
    light = sorted(range(state.active), key=lambda s: (state.load[s], state.size[s], s))
    names = near + light[: state.options.light_stream_limit]
    if state.active < state.limit:
        names.append(state.active)
    added, size = state.in_window(unit), state.units.size[unit]
    base_sum, base_squares = sum(state.load), sum(x * x for x in state.load)
    highest = max(state.load, default=0)
    out = []
    for s in first_distinct(names, state.options.candidate_limit):
        new = s >= state.active
        old = 0 if new else state.load[s]
        count = state.active + new
        total, squares = base_sum + added, base_squares - old * old + (old + added) ** 2
        variance = (squares * count - total * total) / (count * count)
        balance = max(highest, old + added) + variance
        events = total_weight - weights.get(s, 0)
        load = (0 if new else state.size[s]) + size
        score = EVENT_WEIGHT * events + BALANCE_WEIGHT * balance + LOAD_WEIGHT * load + NEW_STREAM_WEIGHT * new
        out.append(Candidate(s, new, score, {"events": events, "balance": balance, "load": load, "id": s}))
    return tuple(out)

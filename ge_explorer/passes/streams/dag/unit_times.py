"""What the weighted merger knows about units: measured time per level, blocks, dependencies.

Source: WeightedStreamMergeSolver (dag_weighted_stream_merger.cc): LoadNodeCostProfiles, BuildResourceUnitProfile.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ge_explorer.passes.streams.dag.units import EPS, Units

INT32_MAX = (1 << 31) - 1


def size_to_int32(value: int) -> int:
    """A block number as GE keeps it: cut at the largest 32-bit integer."""
    return min(value, INT32_MAX)


def origin_stream_hint(counts: Mapping[int, int]) -> int:
    """The stream most nodes of a unit come from, the smaller one of equals; -1 without any."""
    return min(counts, key=lambda s: (-counts[s], s), default=-1)


def bottom_ranks(order: Sequence[int], succ: Sequence[Sequence[int]], time: Sequence[float]) -> list[float]:
    """Longest time from the start of each node to the end of the graph. ``order`` is topological."""
    rank = [0.0] * len(succ)
    for i in reversed(order):
        rank[i] = time[i] + max((rank[j] for j in succ[i]), default=0.0)
    return rank


@dataclass(frozen=True, slots=True)
class ResourceProfile:
    """One unit: time in µs in all and by level, block-time, most blocks on a level, hint, levels it is active on."""

    duration: float
    hist: Mapping[int, float]
    aiv_time: float
    aic_time: float
    peak_aiv: int
    peak_aic: int
    origin_hint: int
    active_levels: tuple[int, ...]


def resource_profile(
    nodes: Sequence[int],
    levels: Sequence[int],
    time: Sequence[float],
    aiv: Sequence[int],
    aic: Sequence[int],
    hints: Sequence[int],
) -> ResourceProfile:
    """Profile of the unit made of ``nodes``; the other lists are per node. A level without time and blocks is not active."""
    hist: dict[int, float] = {}
    busy: set[int] = set()
    aiv_time = aic_time = 0.0
    for i in nodes:
        hist[levels[i]] = hist.get(levels[i], 0.0) + time[i]
        aiv_time += time[i] * aiv[i]
        aic_time += time[i] * aic[i]
        if aiv[i] > 0 or aic[i] > 0:
            busy.add(levels[i])
    busy.update(lv for lv, d in hist.items() if d > EPS)
    return ResourceProfile(
        sum(time[i] for i in nodes), hist, aiv_time, aic_time,
        max((aiv[i] for i in nodes), default=0), max((aic[i] for i in nodes), default=0),
        origin_stream_hint(Counter(hints[i] for i in nodes)), tuple(sorted(busy)),
    )  # fmt: skip


@dataclass(slots=True, eq=False)
class UnitTimes:
    """All units, as the weighted scores read them. Lists are per unit; ``hist`` maps a level to µs, ``neighbours`` a unit to
    the number of edges either way."""

    max_level: int = 0
    duration: Sequence[float] = ()
    hist: Sequence[Mapping[int, float]] = ()
    active_levels: Sequence[Sequence[int]] = ()
    neighbours: Sequence[Mapping[int, int]] = ()
    origin_hint: Sequence[int] = ()
    block_time: Sequence[float] = ()
    peak: Sequence[int] = ()
    interaction: Sequence[int] = ()


@dataclass(slots=True, eq=False)
class WeightedState:
    """Running state: stream of each unit, µs per stream in all and by level, open streams.

    ``hints`` counts per origin hint how many units of it lie on each stream.
    """

    assignment: list[int]
    duration: list[float] = field(default_factory=list)
    hist: list[list[float]] = field(default_factory=list)
    active: int = 0
    hints: dict[int, dict[int, int]] = field(default_factory=dict)


def unit_times(units: Units, time: Sequence[float], aiv: Sequence[int], aic: Sequence[int]) -> UnitTimes:
    """Profiles of all units. ``time`` in µs per node (unknown, that is negative, counts as 0), block numbers per node.

    GE takes a node's own unit for the stream it comes from, so every unit hints at itself and no hint is ever found.
    """
    known = [max(t, 0.0) for t in time]
    vec, cube = [size_to_int32(n) for n in aiv], [size_to_int32(n) for n in aic]
    rows = [resource_profile(p, units.levels.of, known, vec, cube, units.owner) for p in units.paths]
    return UnitTimes(
        max(units.levels.count - 1, 0),
        [r.duration for r in rows],
        [r.hist for r in rows],
        [r.active_levels for r in rows],
        units.neighbours,
        [r.origin_hint for r in rows],
        [r.aiv_time + r.aic_time for r in rows],
        [max(r.peak_aiv, r.peak_aic) for r in rows],
        units.interaction,
    )

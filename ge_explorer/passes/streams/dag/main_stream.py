"""MainStream: the serial spine on stream 0, parallel parts beside it.

A unit goes to stream 0 without a choice when its first level holds one node only, or when all its levels do.
Otherwise score (lower wins) = 3·events + 4·conflict + 2 if the stream is new − 4·solo nodes on stream 0.
Source: dag_stream_merger.cc, main-stream strategy.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ge_explorer.passes.streams.dag.merger import MergeResult, merge_units
from ge_explorer.passes.streams.dag.node_counts import CountingMerger
from ge_explorer.passes.streams.dag.units import Candidate, MergeOptions, Units, first_distinct, scored

ONLY_NODE = "only node of its level"
ALONE = "alone on all its levels"


class MainStreamMerger(CountingMerger):
    """Candidates: the main stream, streams of neighbours, those with the least overlap, a new one."""

    def __init__(self, units: Units, options: MergeOptions) -> None:
        super().__init__(units, options)
        width = units.levels.width
        self.solo = [sum(n for lv, n in h.items() if width[lv] == 1) for h in units.hist]
        """Nodes of each unit that have their level to themselves."""

    def forced(self, unit: int) -> tuple[int, str] | None:
        """The main stream, for what runs alone anyway."""
        if self.units.levels.width[self.first] == 1:
            return self.options.main_stream, ONLY_NODE
        return (self.options.main_stream, ALONE) if self.solo[unit] == self.units.size[unit] else None

    def conflicts(self, unit: int) -> list[int]:
        """Per open stream Σ over the window of nodes of the unit × nodes of the stream on the same level."""
        mine = self.levels_in_window(unit)
        return [self.conflict(mine, s) for s in range(self.active)]

    def conflict(self, mine: Sequence[tuple[int, int]], stream: int) -> int:
        """The same for one stream; ``mine`` are (level, nodes) of the unit inside the window."""
        row, total = self.hist[stream], 0
        for lv, n in mine:
            total += n * row[lv]
        return total

    def candidates(self, unit: int, *, new: bool) -> list[int]:
        """The main stream once it is open, or as the first of all; neighbours by edges and id; least overlap by id."""
        weights, conflict = self.neighbour_weights(unit), self.conflicts(unit)
        main = self.options.main_stream
        near = sorted(weights, key=lambda s: (-weights[s], s))
        calm = sorted(range(self.active), key=lambda s: (conflict[s], s))
        names = [*near, *calm[: self.options.low_conflict_limit]]
        if self.active > main or (new and self.active == 0):
            names.insert(0, main)
        if new and self.may_open:
            names.append(self.active)
        return first_distinct(names, self.options.candidate_limit)

    def score(self, unit: int, streams: Iterable[int]) -> tuple[Candidate, ...]:
        """An empty new stream has no overlap; only the main stream earns the bonus."""
        o, weights = self.options, self.neighbour_weights(unit)
        mine = self.levels_in_window(unit)
        edges = sum(weights.values())
        out = []
        for s in streams:
            new = s >= self.active
            clash, events = 0 if new else self.conflict(mine, s), edges - weights.get(s, 0)
            bonus = self.solo[unit] if s == o.main_stream else 0
            parts = (
                ("events", o.event_local_weight, events),
                ("overlap", o.parallel_conflict_weight, clash),
                ("new", o.new_flow_penalty_weight, int(new)),
                ("solo", -o.main_stream_bonus_weight, bonus),
            )
            out.append(scored(s, new, parts, (events, clash, int(new), bonus)))
        return tuple(out)


def merge(succ: Sequence[Sequence[int]], paths: Sequence[Sequence[int]], options: MergeOptions) -> MergeResult:
    """Stream of each path. ``succ`` are the residual successors, ``paths`` lists of the same node indices."""
    options.check("MainStream")
    units = Units(succ, paths)
    return merge_units(units, MainStreamMerger(units, options))

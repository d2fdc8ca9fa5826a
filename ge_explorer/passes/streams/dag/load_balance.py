"""LoadBalance: keep the streams evenly filled over the next levels, weighed against events and against opening streams.

Score (lower wins) = 3·events + 4·(largest window load + variance of the window loads) + stream size + 2 if the stream is new.
Source: dag_stream_merger.cc, load-balance strategy.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ge_explorer.passes.streams.dag.merger import MergeResult, merge_units
from ge_explorer.passes.streams.dag.node_counts import CountingMerger
from ge_explorer.passes.streams.dag.units import Candidate, MergeOptions, Units, first_distinct, scored


class LoadBalanceMerger(CountingMerger):
    """Candidates: streams of neighbours, the lightest ones in the window, a new one."""

    def candidates(self, unit: int, *, new: bool) -> list[int]:
        """Neighbours by edges (more first), stream size and id; then by window load, size and id."""
        weights = self.neighbour_weights(unit)
        near = sorted(weights, key=lambda s: (-weights[s], self.size[s], s))
        light = sorted(range(self.active), key=lambda s: (self.load[s], self.size[s], s))
        names = near + light[: self.options.light_stream_limit]
        if new and self.may_open:
            names.append(self.active)
        return first_distinct(names, self.options.candidate_limit)

    def score(self, unit: int, streams: Iterable[int]) -> tuple[Candidate, ...]:
        """Loads are taken as if the unit were on the stream, over the open streams and the new one."""
        o, weights = self.options, self.neighbour_weights(unit)
        edges = sum(weights.values())
        added, size = self.in_window(unit), self.units.size[unit]
        base_sum, base_squares = sum(self.load), sum(x * x for x in self.load)
        highest = max(self.load, default=0)
        out = []
        for s in streams:
            new = s >= self.active
            old = 0 if new else self.load[s]
            count = self.active + new
            total, squares = base_sum + added, base_squares - old * old + (old + added) ** 2
            balance = max(highest, old + added) + (squares * count - total * total) / (count * count)
            events = edges - weights.get(s, 0)
            load = (0 if new else self.size[s]) + size
            parts = (
                ("events", o.event_local_weight, events),
                ("balance", o.window_balance_weight, balance),
                ("load", o.total_load_weight, load),
                ("new", o.new_flow_penalty_weight, int(new)),
            )
            out.append(scored(s, new, parts, (events, balance, load, s)))
        return tuple(out)


def merge(succ: Sequence[Sequence[int]], paths: Sequence[Sequence[int]], options: MergeOptions) -> MergeResult:
    """Stream of each path. ``succ`` are the residual successors, ``paths`` lists of the same node indices."""
    options.check("LoadBalance")
    units = Units(succ, paths)
    return merge_units(units, LoadBalanceMerger(units, options))

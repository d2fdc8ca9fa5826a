"""Merging of same-engine nodes into clusters: GE's MarkClusters, exact but with a search that stays fast.

GE asks for every candidate pair whether a second path runs from the parent to the child, with a depth-first search over
everything behind the parent. Here two searches, forwards from the parent and backwards from the child, take turns and
stop as soon as one of them is exhausted or they meet: the same answer, at the price of the smaller side.
Source: compiler/graph/partition/engine_partitioner.cc.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ge_explorer.device.engines import DATA_ENGINE


@dataclass(slots=True)
class Seed:
    """One cluster while it grows. ``index`` is the position of its first node; ``members`` positions, unsorted."""

    index: int
    engine: str
    stream_label: str
    user_label: str
    members: list[int]
    into: set[int] = field(default_factory=set)
    out: set[int] = field(default_factory=set)


@dataclass(slots=True)
class Merge:
    """A merge that happened, for the decision log: the kept and the absorbed cluster by first position."""

    kept: int
    absorbed: int
    by_user_label: bool


class Clustering:
    """Clusters of one scope, merged in place. ``alive[i]`` is None once cluster i was absorbed."""

    def __init__(self, seeds: Sequence[Seed]) -> None:
        self.alive: list[Seed | None] = list(seeds)
        self.merges: list[Merge] = []

    def seed(self, i: int) -> Seed:
        """Living cluster by index."""
        found = self.alive[i]
        assert found is not None, f"cluster {i} was absorbed"
        return found

    # ---------------------------------------------------------------- drivers
    def merge_along_edges(self) -> None:
        """MarkClusters: each node in order tries to join its producers' clusters, those with few consumers first."""
        for child in range(len(self.alive)):
            if self.alive[child] is None:
                continue
            current = child
            parents = sorted(self.seed(child).into)
            parents.sort(key=lambda p: len(self.seed(p).out))
            for p in parents:
                if self.mergeable(p, current, child):
                    current = self.merge(p, current)

    def merge_neighbours(self) -> None:
        """MarkClustersWithConsistantId (StableRDFS): from last to first, join the node right before; no edge needed."""
        order = [i for i, c in enumerate(self.alive) if c is not None and c.engine != DATA_ENGINE]
        for k in range(len(order) - 1, 0, -1):
            if self.mergeable(order[k - 1], order[k], len(self.alive)):
                self.merge(order[k - 1], order[k])

    # ---------------------------------------------------------------- the test and the step
    def mergeable(self, parent: int, child: int, bound: int) -> bool:
        """Same user label (no cycle test), or same engine and stream label and no second path.

        ``bound`` is the position of the node being placed: clusters behind it have not merged yet and lead nowhere.
        """
        p, c = self.seed(parent), self.seed(child)
        if p.user_label and p.user_label == c.user_label:
            return True
        if p.engine != c.engine or p.stream_label != c.stream_label:
            return False
        return not self._second_path(parent, child, bound)

    def _second_path(self, start: int, goal: int, bound: int) -> bool:
        """True if ``goal`` is reachable from ``start`` without their direct edge (user labels may have closed loops)."""
        direct = self.seed(start).out
        backward = self.seed(goal).into - {start}
        if any(y in direct and y < bound and y != goal for y in backward):
            return True
        behind, ahead = list(backward), list[int]()
        forward: set[int] | None = (
            None  # a parent of thousands: its children are listed once the way back has cost as much
        )
        spent_ahead, spent_behind = len(direct), 0
        while behind:
            if spent_behind < spent_ahead:
                new = self.seed(behind.pop()).into
                spent_behind += 1 + len(new)
                for y in new:
                    if y == start or (y in direct and y < bound and y != goal if forward is None else y in forward):
                        return True
                    if y != goal and y not in backward:
                        backward.add(y)
                        behind.append(y)
                continue
            if forward is None:
                forward = {y for y in direct if y < bound and y != goal}
                ahead = list(forward)
            if not ahead:
                return False
            new = self.seed(ahead.pop()).out
            spent_ahead += 1 + len(new)
            for y in new:
                if y == goal or y in backward:
                    return True
                if y < bound and y != start and y not in forward:
                    forward.add(y)
                    ahead.append(y)
        return False

    def merge(self, a: int, b: int) -> int:
        """Join two clusters; the one with the smaller index stays. Returns its index."""
        keep, gone = min(a, b), max(a, b)
        k, g = self.seed(keep), self.seed(gone)
        by_label = bool(k.user_label) and k.user_label == g.user_label
        self.merges.append(Merge(keep, gone, by_label))
        for x in g.into:
            row = self.seed(x).out
            row.discard(gone)
            row.add(keep)
        for x in g.out:
            row = self.seed(x).into
            row.discard(gone)
            row.add(keep)
        k.into |= g.into
        k.out |= g.out
        for own in (keep, gone):
            k.into.discard(own)
            k.out.discard(own)
        k.members += g.members
        self.alive[gone] = None
        return keep

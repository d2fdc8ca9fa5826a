"""What is scheduled: tasks with times, cores and dependencies on K in-order streams. A plain value, no graph in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

Rows = tuple[tuple[int, ...], ...]
FREE = -1
"""Stream of a task that may go on any of the K."""


@dataclass(frozen=True, eq=False)
class Problem:
    """Tasks 0..n-1 in an order in which every task comes after those it needs. Times in ns.

    ``lead`` is the dispatch gap before a task, ``event`` what a dependency costs from stream to stream. ``aic`` and ``aiv`` are the
    cores a task holds, ``pools`` those of the chip. ``fixed`` names the stream of a pinned task (K and above), else FREE.
    """

    ns: Sequence[int]
    pred: Rows
    succ: Rows
    streams: int
    lead: Sequence[int]
    aic: Sequence[int]
    aiv: Sequence[int]
    fixed: Sequence[int]
    pools: tuple[int, int] = (0, 0)
    event: int = 0

    @staticmethod
    def of(
        ns: Sequence[int],
        pred: Sequence[Sequence[int]],
        streams: int,
        *,
        lead: Sequence[int] = (),
        aic: Sequence[int] = (),
        aiv: Sequence[int] = (),
        fixed: Sequence[int] = (),
        pools: tuple[int, int] = (0, 0),
        event: int = 0,
    ) -> Problem:
        """Problem from predecessors; what is not given costs nothing, holds nothing and is free."""
        n = len(ns)
        zero = (0,) * n
        rows = tuple(tuple(dict.fromkeys(r)) for r in pred)
        return Problem(
            ns, rows, turned(rows), streams, lead or zero, aic or zero, aiv or zero, fixed or (FREE,) * n, pools, event
        )

    @property
    def lanes(self) -> int:
        """Streams in all: the K and those of pinned tasks."""
        return max(self.streams, max(self.fixed, default=0) + 1)

    @cached_property
    def crowded(self) -> bool:
        """True if tasks side by side may ask for more cores than there are."""
        most_a, most_v = [0] * self.lanes, [0] * self.lanes
        free_a = free_v = 0
        for a, v, f in zip(self.aic, self.aiv, self.fixed, strict=True):
            if f == FREE:
                free_a, free_v = max(free_a, a), max(free_v, v)
            else:
                most_a[f], most_v[f] = max(most_a[f], a), max(most_v[f], v)
        return (
            sum(most_a) + self.streams * free_a > self.pools[0] or sum(most_v) + self.streams * free_v > self.pools[1]
        )

    @cached_property
    def reverse(self) -> Problem:
        """The same problem run backwards; tasks keep their numbers."""
        return replace(self, pred=self.succ, succ=self.pred)

    @cached_property
    def rank(self) -> list[int]:
        """Upward rank: longest time from the start of a task to the end, with an average share of event costs (HEFT)."""
        hop = self.event * (self.streams - 1) // max(1, self.streams)
        rank = [0] * len(self.ns)
        for v in range(len(rank) - 1, -1, -1):
            rank[v] = self.ns[v] + max((rank[w] + hop + self.lead[w] for w in self.succ[v]), default=0)
        return rank


def turned(rows: Rows) -> Rows:
    """Successors of predecessors, or the other way round."""
    out: list[list[int]] = [[] for _ in rows]
    for v, row in enumerate(rows):
        for u in row:
            out[u].append(v)
    return tuple(map(tuple, out))

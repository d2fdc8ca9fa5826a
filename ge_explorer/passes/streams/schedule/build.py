"""List scheduling: tasks in a given order, each on the stream where it is over first, holes included, within the cores.

With events and cores that cost nothing this is HEFT's second phase (Topcuoglu et al. 2002) on equal processors.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

from ge_explorer.passes.streams.schedule.problem import FREE, Problem


@dataclass(frozen=True, slots=True, eq=False)
class Schedule:
    """Start, end and stream of each task. ``offers``: (stream, end there) of every stream looked at, best one included."""

    start: list[int]
    end: list[int]
    stream: list[int]
    offers: list[list[tuple[int, int]]]
    length: int


class Cores:
    """Free cores over time, as steps; both pools at once."""

    def __init__(self, pools: tuple[int, int]) -> None:
        self.times, self.aic, self.aiv = [0], [pools[0]], [pools[1]]

    def first(self, at: int, ns: int, a: int, v: int) -> int:
        """First time from ``at`` on from which ``a`` and ``v`` cores are free for ``ns``."""
        times, aic, aiv = self.times, self.aic, self.aiv
        j, n = bisect_right(times, at) - 1, len(times)
        while j < n and times[j] < at + ns:
            if aic[j] < a or aiv[j] < v:
                at = times[j + 1]  # the last step has all cores free
            j += 1
        return at

    def take(self, at: int, ns: int, a: int, v: int) -> None:
        """Hold cores from ``at`` for ``ns``."""
        i, j = self._cut(at), self._cut(at + ns)
        for k in range(i, j):
            self.aic[k] -= a
            self.aiv[k] -= v

    def _cut(self, at: int) -> int:
        i = bisect_right(self.times, at) - 1
        if self.times[i] != at:
            i += 1
            self.times.insert(i, at)
            self.aic.insert(i, self.aic[i - 1])
            self.aiv.insert(i, self.aiv[i - 1])
        return i


def list_order(p: Problem, key: Sequence[int]) -> list[int]:
    """Tasks by key, small first, none before one it needs; equal keys by number."""
    left = [len(r) for r in p.pred]
    heap = [(key[v], v) for v, n in enumerate(left) if not n]
    heapify(heap)
    out = []
    while heap:
        v = heappop(heap)[1]
        out.append(v)
        for w in p.succ[v]:
            left[w] -= 1
            if not left[w]:
                heappush(heap, (key[w], w))
    return out


def build(p: Problem, order: Sequence[int]) -> Schedule:
    """Schedule of the tasks taken in ``order``; equal ends go to the stream of a task it needs, then to the lowest one."""
    n = len(p.ns)
    start, end, stream = [0] * n, [0] * n, [0] * n
    offers: list[list[tuple[int, int]]] = [[] for _ in range(n)]
    begins: list[list[int]] = [[] for _ in range(p.lanes)]
    finish: list[list[int]] = [[] for _ in range(p.lanes)]
    cores = Cores(p.pools) if p.crowded else None
    everywhere = tuple(range(p.streams))
    event = p.event
    for v in order:
        ns, lead, a, b = p.ns[v], p.lead[v], p.aic[v], p.aiv[v]
        hold = cores if cores is not None and ns and (a or b) else None
        span = ns + lead
        best = (-1, 0, 0, 0, 0)
        looked = offers[v]
        preds = p.pred[v]
        ready = max([end[u] for u in preds], default=0)
        # Cores alone may rule out everything before some time, on every stream.
        soon = hold.first(ready + lead, ns, a, b) - lead if hold is not None else 0
        for m in everywhere if p.fixed[v] == FREE else (p.fixed[v],):
            home = 1
            at = ready
            if event:
                at = 0
                for u in preds:
                    e = end[u]
                    if stream[u] != m:
                        e += event
                    else:
                        home = 0
                    if e > at:
                        at = e
            if soon > at:
                at = soon
            s, f = begins[m], finish[m]
            j, many = bisect_right(f, at), len(s)  # holes before that are over
            while True:
                if j and f[j - 1] > at:
                    at = f[j - 1]
                if j < many and at + span > s[j]:
                    j += 1
                    continue
                t = at + lead
                if hold is not None:
                    t = hold.first(t, ns, a, b)
                if j == many or t + ns <= s[j]:
                    break
                at = t - lead  # earlier holes have no cores; one that reaches beyond is looked at again
                j = max(j + 1, bisect_right(f, at))
            looked.append((m, t + ns))
            if best[0] < 0 or (t + ns, home) < best[1:3]:
                best = (m, t + ns, home, t, j)
        m, over, _, t, j = best
        begins[m].insert(j, t - lead if span else t)
        finish[m].insert(j, over)
        start[v], end[v], stream[v] = t, over, m
        if hold is not None:
            hold.take(t, ns, a, b)
    return Schedule(start, end, stream, offers, max(end, default=0))

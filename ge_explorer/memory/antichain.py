"""Maximum-weight antichain: the largest set of bytes of which no two may ever share an address (memory.md C5).

No stream-safe plan can be smaller, whatever the planner. By Dilworth's theorem for weights the value is
sum(sizes) - (most bytes that can be handed over from finished buffers to later ones), a maximum flow. The ``before`` relation
is not expanded: a buffer becomes available at one place of each stream (its ``free_at``) and every later writer on that stream
may take it, so the network has one line of points per stream. The flow starts from the hand-overs of an actual plan, which
leaves only the gap between that plan and the optimum to be found. The minimum cut is the antichain itself, and the caller
checks it against ``before`` without trusting this file.
"""

from __future__ import annotations

from collections import deque
from itertools import pairwise

from ge_explorer.graph.happens_before import HappensBefore
from ge_explorer.graph.reach import bits
from ge_explorer.memory.model import MemoryPlan, MemoryProblem
from ge_explorer.memory.reuse import handovers

WORK_LIMIT = 6_000_000
"""Visited points after which the search gives up (no clock: the result must not depend on the machine)."""
DIRECT_LIMIT = 1_000_000
"""Arcs to buffers with several first writers (these are listed one by one) above which the search is not started."""


class _Network:
    """Residual network. Vertices: 0..n-1 buffers giving bytes, n..2n-1 buffers taking bytes, from 2n on points of streams."""

    def __init__(self, problem: MemoryProblem, hb: HappensBefore) -> None:
        n = len(problem.buffers)
        self.n, self.size = n, [b.size for b in problem.buffers]
        base: dict[int, int] = {}
        total = 2 * n
        for st in hb.streams:
            base[st] = total
            total += len(hb.on_stream(st))
        self.vertices = total
        stream_of_column = dict(enumerate(hb.streams))

        def point(node: int) -> int:
            r = hb.row[node]
            return base[stream_of_column[int(hb.column[r])]] + int(hb.position[r])

        self.last = {base[st] + len(hb.on_stream(st)) - 1 for st in hb.streams}
        self.first = set(base.values())
        self.entries: list[list[int]] = [[] for _ in range(n)]  # buffer -> points where it becomes free
        self.entering: dict[int, list[int]] = {}
        for x, life in enumerate(problem.lifetimes):
            for node in life.free_at.values():
                if node >= 0:
                    p = point(node)
                    self.entries[x].append(p)
                    self.entering.setdefault(p, []).append(x)
        self.at: list[int] = [-1] * n  # buffer -> point of its only first writer
        self.leaving: dict[int, list[int]] = {}
        self.direct: list[list[int]] = [[] for _ in range(n)]
        self.direct_count = 0
        for y, b in enumerate(problem.buffers):
            if not problem.before[y]:
                continue
            if len(b.producers) == 1:
                self.at[y] = point(b.producers[0])
                self.leaving.setdefault(self.at[y], []).append(y)
            else:
                for x in bits(problem.before[y]):
                    self.direct[x].append(y)
                    self.direct_count += 1
        self.given = [0] * n
        self.taken = [0] * n
        self.enter_flow: dict[tuple[int, int], int] = {}  # (buffer, point)
        self.line_flow = [0] * total  # point -> next point of the stream
        self.exit_flow = [0] * n  # point -> taking buffer
        self.direct_flow: dict[tuple[int, int], int] = {}
        self.direct_into: dict[int, set[int]] = {}

    def start_from(self, problem: MemoryProblem, plan: MemoryPlan) -> None:
        """Initial flow: the hand-overs of ``plan``."""
        edges = [*sorted(self.first), self.vertices]
        start_of = {}
        for lo, hi in pairwise(edges):
            for p in range(lo, hi):
                start_of[p] = lo
        step = [0] * (self.vertices + 1)
        for x, y, amount in handovers(problem, plan):
            q = self.at[y]
            if q < 0:
                if y in self.direct[x]:
                    self._add_direct(x, y, amount)
                else:
                    continue
            else:
                entry = next((p for p in self.entries[x] if start_of[p] == start_of[q] and p <= q), None)
                if entry is None:
                    continue
                self.enter_flow[x, entry] = self.enter_flow.get((x, entry), 0) + amount
                self.exit_flow[y] += amount
                step[entry] += amount
                step[q] -= amount
            self.given[x] += amount
            self.taken[y] += amount
        running = 0
        for p in range(2 * self.n, self.vertices):
            running += step[p]
            self.line_flow[p] = running

    def _add_direct(self, x: int, y: int, amount: int) -> None:
        self.direct_flow[x, y] = self.direct_flow.get((x, y), 0) + amount
        (self.direct_into.setdefault(y, set()).add if self.direct_flow[x, y] else self.direct_into[y].discard)(x)

    def search(self) -> tuple[int, list[int], int]:
        """Breadth-first search in the residual network: (reached taking buffer with room or -1, parents, points visited)."""
        n, parent = self.n, [-2] * self.vertices
        queue: deque[int] = deque()
        for x in range(n):
            if self.given[x] < self.size[x]:
                parent[x] = -1
                queue.append(x)
        visited = 0
        while queue:
            v = queue.popleft()
            visited += 1
            if n <= v < 2 * n and self.taken[v - n] < self.size[v - n]:
                return v, parent, visited
            for w in self._residual(v):
                if parent[w] == -2:
                    parent[w] = v
                    queue.append(w)
        return -1, parent, visited

    def _residual(self, v: int) -> list[int]:
        n = self.n
        if v < n:
            return self.entries[v] + [n + y for y in self.direct[v]]
        if v < 2 * n:
            y = v - n
            back = [self.at[y]] if self.exit_flow[y] > 0 else []
            return back + sorted(self.direct_into.get(y, ()))
        out = [n + y for y in self.leaving.get(v, ())]
        out += [x for x in self.entering.get(v, ()) if self.enter_flow.get((x, v), 0) > 0]
        if v not in self.last:
            out.append(v + 1)
        if v not in self.first and self.line_flow[v - 1] > 0:
            out.append(v - 1)
        return out

    def augment(self, end: int, parent: list[int]) -> None:
        """Push as much as possible along the path that ends at ``end``."""
        path = [end]
        while parent[path[-1]] != -1:
            path.append(parent[path[-1]])
        path.reverse()
        arcs = list(pairwise(path))
        room = min(self.size[path[0]] - self.given[path[0]], self.size[end - self.n] - self.taken[end - self.n])
        room = min([room, *(c for u, v in arcs if (c := self._capacity(u, v)) is not None)])
        for u, v in arcs:
            self._push(u, v, room)
        self.given[path[0]] += room
        self.taken[end - self.n] += room

    def _capacity(self, u: int, v: int) -> int | None:
        """Residual capacity of an arc; None when unlimited (forward arcs)."""
        n = self.n
        if n <= u < 2 * n:
            return self.exit_flow[u - n] if v >= 2 * n else self.direct_flow[v, u - n]
        if u >= 2 * n and v < n:
            return self.enter_flow[v, u]
        if u >= 2 * n and v == u - 1:
            return self.line_flow[v]
        return None

    def _push(self, u: int, v: int, amount: int) -> None:
        n = self.n
        if u < n:
            if v < 2 * n:
                self._add_direct(u, v - n, amount)
            else:
                self.enter_flow[u, v] = self.enter_flow.get((u, v), 0) + amount
        elif u < 2 * n:
            if v >= 2 * n:
                self.exit_flow[u - n] -= amount
            else:
                self._add_direct(v, u - n, -amount)
        elif v < n:
            self.enter_flow[v, u] -= amount
        elif v < 2 * n:
            self.exit_flow[v - n] += amount
        elif v == u + 1:
            self.line_flow[u] += amount
        else:
            self.line_flow[v] -= amount


def heaviest_antichain(problem: MemoryProblem, hb: HappensBefore, plan: MemoryPlan) -> tuple[int, ...] | None:
    """Buffers of a maximum-weight antichain, ascending, or None when the work limit was hit first.

    ``hb`` must be the order the problem was built on, ``plan`` any safe plan for it (the better, the faster).
    """
    net = _Network(problem, hb)
    if net.direct_count > DIRECT_LIMIT:
        return None
    net.start_from(problem, plan)
    work = 0
    while True:
        end, parent, visited = net.search()
        if end < 0:
            n = net.n
            return tuple(x for x in range(n) if parent[x] != -2 and parent[n + x] == -2)
        net.augment(end, parent)
        work += visited
        if work > WORK_LIMIT:
            return None

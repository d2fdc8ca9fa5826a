"""Layered layout, left to right: longest-path ranks, few median sweeps, coordinates by relaxation. Pure numpy and lists.

Edges over more than ``MAX_SPAN`` ranks get no helper points (they would dominate the cost: neural networks are thousands of
ranks deep) and are drawn faded; shorter ones keep a free corridor through the ranks they cross. 10,000 nodes take well under a
second. All functions are deterministic.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int32]
Floats = NDArray[np.float32]

MAX_SPAN = 10
"""Longest edge, in ranks, that keeps a corridor."""
RANK_PITCH = 148.0
"""World units between the centres of two ranks (a node is 100 wide)."""
ROW_PITCH = 54.0
"""World units between two neighbours of one rank (a node is 38 high)."""


@dataclass(frozen=True, slots=True)
class Links:
    """Edges as two index arrays over ``n`` nodes; no self loops."""

    n: int
    src: Ints
    dst: Ints

    @staticmethod
    def of(n: int, pairs: Sequence[tuple[int, int]] | NDArray[np.int32]) -> Links:
        """From (src, dst) pairs, shape [m, 2]; repeats and self loops are dropped."""
        a = np.asarray(pairs, dtype=np.int64).reshape(-1, 2)
        a = a[a[:, 0] != a[:, 1]]
        key = np.unique(a[:, 0] * max(n, 1) + a[:, 1])
        return Links(n, (key // max(n, 1)).astype(np.int32), (key % max(n, 1)).astype(np.int32))


@dataclass(frozen=True, eq=False)
class Layered:
    """Result of ``layered``: ``rank`` per node, ``x, y`` centres in world units, crossings counted between helper points.

    ``bends`` holds, for every edge of ``links``, the index range of its helper points in ``bend_xy`` (empty for straight and
    for long edges); ``long`` marks edges to be drawn faded.
    """

    links: Links
    rank: Ints
    x: Floats
    y: Floats
    bends: Ints
    bend_xy: Floats
    long: NDArray[np.bool_]
    crossings: int


def rank_nodes(links: Links, pull_down: bool = True, fed: NDArray[np.bool_] | None = None) -> Ints:
    """Longest-path rank of each node (0 = no producer).

    With ``pull_down`` parameter-side nodes (those with only parameter-side producers, like weights and the casts behind them)
    and nodes with more consumers than producers move to just before their first consumer. ``fed`` marks nodes that read the
    graph's data: they and all that follows from them are no parameter side. Edges that close a cycle are ignored.
    """
    n = links.n
    out, head = _csr(links.src, links.dst, n)
    indeg = np.bincount(links.dst, minlength=n).tolist()
    n_in = list(indeg)
    rank = [0] * n
    done = bytearray(n)
    topo: list[int] = []
    ready = [i for i in range(n) if indeg[i] == 0]
    next_closed = 0
    while len(topo) < n:
        if not ready:  # a cycle: open it at its first node, whatever still points there is ignored
            while done[next_closed]:
                next_closed += 1
            ready.append(next_closed)
        u = ready.pop()
        if done[u]:
            continue
        done[u] = 1
        topo.append(u)
        below = rank[u] + 1
        for v in out[head[u] : head[u + 1]]:
            if done[v]:
                continue
            if rank[v] < below:
                rank[v] = below
            indeg[v] -= 1
            if indeg[v] == 0:
                ready.append(v)
    if pull_down:
        mixed = bytearray(n) if fed is None else bytearray(fed.astype(np.uint8).tobytes())
        for u in topo:
            if mixed[u] or n_in[u] > 1:
                mixed[u] = 1
                for v in out[head[u] : head[u + 1]]:
                    mixed[v] = 1
        for u in reversed(topo):
            a, b = head[u], head[u + 1]
            if b > a and (not mixed[u] or n_in[u] < b - a):
                late = min(rank[v] for v in out[a:b]) - 1
                if late > rank[u]:
                    rank[u] = late
    return np.asarray(rank, dtype=np.int32)


def layered(links: Links, sweeps: int = 6, relax: int = 36, fed: NDArray[np.bool_] | None = None) -> Layered:
    """Lay a graph out in ranks. ``sweeps`` median passes (stops early without crossings), ``relax`` coordinate rounds; ``fed`` as
    in ``rank_nodes``.
    """
    n = links.n
    rank = rank_nodes(links, fed=fed)
    if n == 0:
        empty = np.zeros(0, np.float32)
        return Layered(links, rank, empty, empty, np.zeros(1, np.int32), np.zeros((0, 2), np.float32),
                       np.zeros(0, bool), 0)  # fmt: skip
    span = rank[links.dst] - rank[links.src]
    keep = (span >= 1) & (span <= MAX_SPAN)
    level: list[int] = rank.tolist()
    up: list[list[int]] = [[] for _ in range(n)]
    down: list[list[int]] = [[] for _ in range(n)]
    a: list[int] = []
    b: list[int] = []
    first = np.zeros(len(span) + 1, np.int32)
    for e, (s, d, k, ok) in enumerate(
        zip(links.src.tolist(), links.dst.tolist(), span.tolist(), keep.tolist(), strict=True)
    ):
        first[e] = len(level) - n
        if not ok:
            continue
        p = s
        for i in range(1, k):
            q = len(level)
            level.append(level[s] + i)
            up.append([p])
            down.append([])
            down[p].append(q)
            a.append(p)
            b.append(q)
            p = q
        down[p].append(d)
        up[d].append(p)
        a.append(p)
        b.append(d)
    first[-1] = len(level) - n
    order, crossings = _order(level, up, down, sweeps)
    y = _coordinates(n, order, np.asarray(a, np.int64), np.asarray(b, np.int64), relax) * ROW_PITCH
    xs = np.asarray(level, np.float64) * RANK_PITCH
    y -= y.min()
    points = np.stack([xs, y], axis=1).astype(np.float32)
    return Layered(links, rank, points[:n, 0], points[:n, 1], first, points[n:], span > MAX_SPAN, crossings)


def _csr(src: Ints, dst: Ints, n: int) -> tuple[list[int], list[int]]:
    order = np.argsort(src, kind="stable")
    head = np.zeros(n + 1, np.int64)
    np.cumsum(np.bincount(src, minlength=n), out=head[1:])
    return dst[order].tolist(), head.tolist()


def _order(
    level: Sequence[int], up: list[list[int]], down: list[list[int]], sweeps: int
) -> tuple[list[list[int]], int]:
    """Order inside each rank: depth-first start, then alternating median sweeps; the best order seen wins."""
    total = len(level)
    order: list[list[int]] = [[] for _ in range(max(level) + 1)]
    seen = bytearray(total)
    for root in sorted(range(total), key=level.__getitem__):
        if seen[root]:
            continue
        stack = [root]
        seen[root] = 1
        while stack:
            u = stack.pop()
            order[level[u]].append(u)
            for v in reversed(down[u]):
                if not seen[v]:
                    seen[v] = 1
                    stack.append(v)
            for v in up[u]:
                if not seen[v]:
                    seen[v] = 1
                    stack.append(v)
    place = [0.0] * total
    for row in order:
        _number(row, place)
    best, kept = _crossings(order, place, up), [list(row) for row in order]
    for k in range(sweeps):
        if best == 0:
            break
        forward = k % 2 == 0
        beside = up if forward else down
        for row in order[1:] if forward else order[-2::-1]:
            if len(row) > 1:
                row.sort(key=_median_keys(row, beside, place).__getitem__)
                _number(row, place)
        found = _crossings(order, place, up)
        if found < best:
            best, kept = found, [list(row) for row in order]
    return kept, best


def _number(row: Sequence[int], place: list[float]) -> None:
    half = (len(row) - 1) / 2
    for i, v in enumerate(row):
        place[v] = i - half


def _median_keys(row: Sequence[int], beside: list[list[int]], place: list[float]) -> dict[int, float]:
    """Mean of median and average of the neighbours' places; a node without neighbours stays where it is."""
    keys: dict[int, float] = {}
    for v in row:
        near = beside[v]
        if not near:
            keys[v] = place[v]
        elif len(near) == 1:
            keys[v] = place[near[0]]
        else:
            q = sorted([place[w] for w in near])
            m = len(q) // 2
            median = q[m] if len(q) % 2 else (q[m - 1] + q[m]) / 2
            keys[v] = (median + sum(q) / len(q)) / 2
    return keys


def _crossings(order: list[list[int]], place: list[float], up: list[list[int]]) -> int:
    """Exact number of crossings between neighbouring ranks: inversions of the upper ends in lower order."""
    total = 0
    for row in order[1:]:
        ends: list[float] = []
        for v in row:
            near = up[v]
            if len(near) == 1:
                ends.append(place[near[0]])
            elif near:
                ends.extend(sorted([place[w] for w in near]))
        ordered: list[float] = []
        for p in ends:
            if not ordered or p >= ordered[-1]:
                ordered.append(p)
                continue
            i = bisect_right(ordered, p)
            total += len(ordered) - i
            ordered.insert(i, p)
    return total


def _coordinates(
    n: int, order: list[list[int]], a: NDArray[np.int64], b: NDArray[np.int64], rounds: int
) -> NDArray[np.float64]:
    """y per node and helper point: pulled to the neighbours' average, kept in order and apart (two-sided clamping)."""
    seq = np.fromiter((v for row in order for v in row), dtype=np.int64)
    total = len(seq)
    sizes = np.asarray([len(row) for row in order])
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    layer = np.repeat(np.arange(len(order)), sizes)
    width = np.where(seq < n, 1.0, 0.35)  # a corridor needs less room than a node
    gap = 0.5 * (width + np.concatenate([[0.0], width[:-1]]))
    gap[starts] = 0.0
    run = np.cumsum(gap)
    run -= np.repeat(run[starts], sizes)
    extent = run[starts + sizes - 1]
    y = np.empty(total)
    y[seq] = run - np.repeat(extent, sizes) / 2
    far = float(extent.max(initial=0.0))
    limit = 4 * far + 5
    base = layer * (10 * (far + 10))  # lifts each layer above the one before, so one scan serves all
    helper_ends = (a >= n).astype(int) + (b >= n).astype(int)
    pull = np.array([1.0, 2.0, 4.0])[helper_ends]  # long edges are kept straight
    den = np.bincount(a, pull, total) + np.bincount(b, pull, total)
    safe = np.where(den > 0, den, 1.0)
    for _ in range(rounds):
        mean = (np.bincount(b, pull * y[a], total) + np.bincount(a, pull * y[b], total)) / safe
        want = np.where(den > 0, 0.6 * mean + 0.4 * y, y)
        z = np.clip(want[seq] - run, -limit, limit) + base
        low = np.maximum.accumulate(z)
        high = np.minimum.accumulate(z[::-1])[::-1]
        y[seq] = 0.5 * (low + high) - base + run
    return y

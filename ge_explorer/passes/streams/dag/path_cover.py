"""Minimum vertex-disjoint path cover of a DAG by bipartite matching, with GE's tie order.

The edges themselves are matched, not their transitive closure, so two nodes share a path only when an edge joins them.
Source: HopcroftKarp in compiler/graph/build/dag/dag_stream_divide.h.
"""

from __future__ import annotations

from collections.abc import Sequence

FREE = -1


def match_successors(succ: Sequence[Sequence[int]]) -> list[int]:
    """For each node the successor its path goes on to, or -1. Maximum matching, O(E·√N).

    Breadth-first layers, then depth-first augmentation from each unmatched node in ascending order, each node's out edges in
    the order given, each edge looked at once per phase.
    """
    n = len(succ)
    after, before = [FREE] * n, [FREE] * n
    while True:
        layer = _layers(succ, after, before)
        if layer is None:
            return after
        next_edge = [0] * n
        for i in range(n):
            if after[i] == FREE:
                _augment(i, succ, after, before, layer, next_edge)


def _layers(succ: Sequence[Sequence[int]], after: list[int], before: list[int]) -> list[int] | None:
    """Distance of each left node from the unmatched ones along alternating paths; None when no path can be augmented.

    Nodes beyond the first layer that sees a free successor keep -1.
    """
    layer = [FREE] * len(succ)
    front = [i for i, a in enumerate(after) if a == FREE and succ[i]]
    for i in front:
        layer[i] = 0
    depth, open_end = 0, False
    while front and not open_end:
        following: list[int] = []
        for u in front:
            for v in succ[u]:
                w = before[v]
                if w == FREE:
                    open_end = True
                elif layer[w] == FREE:
                    layer[w] = depth + 1
                    following.append(w)
        depth += 1
        if open_end:
            for w in following:
                layer[w] = FREE
        front = following
    return layer if open_end else None


def _augment(
    start: int,
    succ: Sequence[Sequence[int]],
    after: list[int],
    before: list[int],
    layer: list[int],
    next_edge: list[int],
) -> bool:
    """One augmenting path from ``start`` if there is one (iterative: graphs may be thousands of nodes deep)."""
    path: list[tuple[int, int]] = []
    u = start
    while True:
        row = succ[u]
        step = FREE
        while next_edge[u] < len(row):
            v = row[next_edge[u]]
            next_edge[u] += 1
            w = before[v]
            if w == FREE:
                path.append((u, v))
                for a, b in path:
                    after[a], before[b] = b, a
                return True
            if layer[w] == layer[u] + 1:
                step = v
                break
        if step != FREE:
            path.append((u, step))
            u = before[step]
        elif path:
            u, _ = path.pop()
        else:
            return False


def routes(after: Sequence[int]) -> list[tuple[int, ...]]:
    """Paths of a matching: from each node nobody leads to, ascending, along the matched successors."""
    has_before = [False] * len(after)
    for v in after:
        if v != FREE:
            has_before[v] = True
    out = []
    for i, led in enumerate(has_before):
        if led:
            continue
        path, at = [i], after[i]
        while at != FREE:
            path.append(at)
            at = after[at]
        out.append(tuple(path))
    return out

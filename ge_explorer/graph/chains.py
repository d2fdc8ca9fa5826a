"""Covering a DAG by chains: how many streams keep all parallelism, and how few waits do, each with a proof.

Both are largest matchings between a node and the next one on its stream.

* Next along an *arc* of the transitive reduction: every arc that is not matched needs a wait, so the largest matching leaves the
  fewest waits. A set of nodes that touches every arc (König) as large as the matching proves that there is no larger one.
* Next along any *path*: nodes minus the largest matching is the fewest chains (Dilworth). As many nodes of which none reaches
  another prove that fewer chains do not exist. Paths are not listed: the search walks through a node on its way to the next.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

FREE = -1
Rows = Sequence[Sequence[int]]
"""Neighbours of each node; nodes are 0..n-1 in a topological order."""


@dataclass(frozen=True, slots=True)
class ArcCover:
    """Chains along arcs. ``after[u]`` is the next node of u's chain or -1; ``matched`` arcs are used.

    ``left`` and ``right`` prove that no more can be: every arc starts in ``left`` or ends in ``right``, together ``matched``.
    """

    after: tuple[int, ...]
    matched: int
    left: tuple[int, ...]
    right: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PathCover:
    """The fewest chains along paths. ``after[u]`` as above; no node of ``antichain`` reaches another, one of each chain."""

    after: tuple[int, ...]
    antichain: tuple[int, ...]

    @property
    def width(self) -> int:
        """Number of chains = size of the antichain."""
        return len(self.antichain)


def cover_by_arcs(succ: Rows) -> ArcCover:
    """Largest matching of arcs. Time: a few passes over nodes and arcs."""
    after, before = _greedy(succ)
    seen_left, seen_right = _augment_all(succ, after, before, through=False)
    left = tuple(u for u, seen in enumerate(seen_left) if not seen)
    right = tuple(v for v, seen in enumerate(seen_right) if seen)
    return ArcCover(tuple(after), sum(v != FREE for v in after), left, right)


def cover_by_paths(succ: Rows, start: Sequence[int] = ()) -> PathCover:
    """Fewest chains along paths; ``start`` (an ``after``) is where the search begins, by default a greedy choice."""
    if start:
        after, before = list(start), [FREE] * len(succ)
        for u, v in enumerate(start):
            if v != FREE:
                before[v] = u
    else:
        after, before = _greedy(succ)
    seen_left, seen_right = _augment_all(succ, after, before, through=True)
    antichain = tuple(v for v in range(len(succ)) if seen_left[v] and not seen_right[v])
    return PathCover(tuple(after), antichain)


def chains(after: Sequence[int]) -> list[list[int]]:
    """The chains of a cover, by first node.

    >>> chains([2, -1, -1])
    [[0, 2], [1]]
    """
    headed = set(after)
    out = []
    for i in range(len(after)):
        if i not in headed:
            chain, at = [i], after[i]
            while at != FREE:
                chain.append(at)
                at = after[at]
            out.append(chain)
    return out


def is_antichain(pred: Rows, nodes: Iterable[int]) -> bool:
    """True if no node reaches another; one walk over the graph, independent of the search."""
    chosen = set(nodes)
    below = [False] * len(pred)
    for v, row in enumerate(pred):
        below[v] = any(below[p] or p in chosen for p in row)
        if below[v] and v in chosen:
            return False
    return True


def _greedy(succ: Rows) -> tuple[list[int], list[int]]:
    """Take arcs whose ends have the fewest choices first (nodes with one successor, then the rest)."""
    n = len(succ)
    after, before = [FREE] * n, [FREE] * n
    many: list[int] = []
    for u, row in enumerate(succ):
        if len(row) == 1:
            v = row[0]
            if before[v] == FREE:
                after[u], before[v] = v, u
        elif row:
            many.append(u)
    for u in many:
        for v in succ[u]:
            if before[v] == FREE:
                after[u], before[v] = v, u
                break
    return after, before


def _augment_all(succ: Rows, after: list[int], before: list[int], *, through: bool) -> tuple[list[bool], list[bool]]:
    """Improve a matching until it is the largest; both lists change. Returns what the last, fruitless search saw.

    Seen are the nodes that can be reached from a node without a next one by paths that alternate between new and used steps,
    as the node before (first list) and as the node after (second list) of a step.
    """
    n = len(succ)
    while True:
        seen = [False] * n  # as the node after
        opened = [False] * n  # successors looked at
        owner = [FREE] * n  # node before, on whose behalf a node after was seen
        came = [FREE] * n  # node after whose step would be given up to free this node before
        grew = False
        for root in range(n):
            if after[root] != FREE or opened[root] or not succ[root]:
                continue
            came[root] = FREE
            end = _search(root, succ, before, seen, opened, owner, came, through)
            while end != FREE:
                grew = True
                u = owner[end]
                after[u], before[end] = end, u
                end = came[u]
        if not grew:
            break
    left = [a == FREE for a in after]
    for v in range(n):
        if seen[v] and before[v] != FREE:
            left[before[v]] = True
    return left, seen


def _search(
    root: int, succ: Rows, before: list[int], seen: list[bool], opened: list[bool], owner: list[int], came: list[int],
    through: bool,
) -> int:  # fmt: skip
    """A node that has no node before it, reached from ``root``; -1 if there is none. Marks stay for the next search.

    Nearest first: the ends of two chains are mostly close, and a deep search would mark half of the graph on its way.
    """
    opened[root] = True
    todo = [(root, root)]
    for at, u in todo:  # grows while it is walked
        for v in succ[at]:
            if seen[v]:
                continue
            seen[v] = True
            owner[v] = u
            w = before[v]
            if w == FREE:
                return v
            if through and not opened[v]:
                opened[v] = True
                todo.append((v, u))
            if not opened[w]:
                opened[w] = True
                came[w] = v
                todo.append((w, w))
    return FREE

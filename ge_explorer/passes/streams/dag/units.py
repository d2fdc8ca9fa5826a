"""What all three mergers share: levels, unit profiles, options, scored candidates.

A *unit* is one path of the path cover. Units are placed level by level (longest-path depth); a unit is looked at when its
first level comes up. Loads are taken over a window of levels that starts there.
Source: compiler/graph/build/dag/dag_stream_merger.{h,cc}.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ge_explorer.errors import GxError
from ge_explorer.passes.streams.dag.mode import Strategy

EPS = 1e-9
"""Scores closer than this are equal (dag_stream_merger.cc)."""


class MergeError(GxError):
    """A merger refuses its input (cycle, a node in two units, an illegal option). GE logs it and assigns nothing."""


@dataclass(frozen=True, slots=True)
class MergeOptions:
    """Constants of dag_stream_merger.h and dag_weighted_stream_merger.h; ``physical_stream_limit`` is N of ``Strategy:N``.

    ``repair_moves`` is 0 in GE, which switches its repair step off. GE declares more weights that no rule reads.
    """

    physical_stream_limit: int = 8
    window_width: int = 6
    candidate_limit: int = 6
    low_conflict_limit: int = 3
    light_stream_limit: int = 3
    repair_moves: int = 0
    resim_candidate_limit: int = 3
    main_stream: int = 0
    event_local_weight: float = 3.0
    new_flow_penalty_weight: float = 2.0
    window_balance_weight: float = 4.0
    total_load_weight: float = 1.0
    parallel_conflict_weight: float = 4.0
    main_stream_bonus_weight: float = 4.0
    time_conflict_weight: float = 4.0
    time_load_weight: float = 2.0

    def check(self, strategy: Strategy) -> None:
        """MergeError for a value GE refuses; each strategy looks at its own options only."""
        least = {"physical_stream_limit": 1, "window_width": 1, "candidate_limit": 1, "repair_moves": 0}
        if strategy == "MainStream":
            least |= {"low_conflict_limit": 1, "main_stream": 0}
        else:
            least["light_stream_limit"] = 1
        if strategy == "WeightedLoadBalance":
            least["resim_candidate_limit"] = 0
        for name, bound in least.items():
            if getattr(self, name) < bound:
                raise MergeError(f"merge option below {bound}", where=name, got=getattr(self, name))


@dataclass(frozen=True, slots=True)
class Candidate:
    """One stream a unit could go to. ``total`` is its score (lower wins).

    ``parts`` are (term, weight, value) whose products add up to ``total``; ``ties`` decide between equal totals, in order.
    """

    stream: int
    is_new: bool
    total: float
    parts: tuple[tuple[str, float, float], ...] = ()
    ties: tuple[float, ...] = ()


def scored(
    stream: int, is_new: bool, parts: tuple[tuple[str, float, float], ...], ties: tuple[float, ...]
) -> Candidate:
    """Candidate whose total is the sum of its parts."""
    return Candidate(stream, is_new, sum(w * v for _, w, v in parts), parts, ties)


def better(a: Candidate, b: Candidate) -> bool:
    """True when ``a`` wins against ``b``: lower total, then lower ties, differences within EPS not counting."""
    for x, y in zip((a.total, *a.ties), (b.total, *b.ties), strict=True):
        if abs(x - y) > EPS:
            return x < y
    return False


def best(candidates: Sequence[Candidate]) -> Candidate:
    """The winner; the earlier one where nothing tells two apart."""
    winner = candidates[0]
    for c in candidates[1:]:
        if better(c, winner):
            winner = c
    return winner


def first_distinct(streams: Iterable[int], limit: int) -> list[int]:
    """The first ``limit`` different entries."""
    return list(dict.fromkeys(streams))[:limit]


def window_end(max_level: int, level: int, width: int) -> int:
    """Last level of the window that starts at ``level``."""
    return min(max_level, level + width - 1)


def compact(assignment: Sequence[int]) -> dict[int, int]:
    """Stream -> its number when only the used ones are counted, ascending; empty while a unit has no stream (-1)."""
    used = sorted(set(assignment))
    return {} if not used or used[0] < 0 else {s: k for k, s in enumerate(used)}


class Levels:
    """Longest-path depth of each node, by a Kahn sort that takes the smallest index first (``order``)."""

    def __init__(self, succ: Sequence[Sequence[int]]) -> None:
        n = len(succ)
        waiting = [0] * n
        for row in succ:
            for v in row:
                waiting[v] += 1
        ready = [i for i in range(n) if waiting[i] == 0]
        self.of = [0] * n
        self.order: list[int] = []
        while ready:
            u = heapq.heappop(ready)
            self.order.append(u)
            for v in succ[u]:
                self.of[v] = max(self.of[v], self.of[u] + 1)
                waiting[v] -= 1
                if waiting[v] == 0:
                    heapq.heappush(ready, v)
        if len(self.order) != n:
            raise MergeError("the nodes form a cycle", got=n - len(self.order))
        self.count = max(self.of, default=-1) + 1
        self.width = [0] * self.count
        for lv in self.of:
            self.width[lv] += 1


def unit_dependencies(
    owner: Sequence[int], edges: Iterable[tuple[int, int]]
) -> tuple[list[dict[int, int]], list[dict[int, int]], list[int]]:
    """(successors, predecessors, interaction) per unit: unit -> number of edges to it, and edges to all others together.

    ``owner`` is the unit of each node. Edges inside a unit do not count.
    """
    count = max(owner, default=-1) + 1
    succ: list[dict[int, int]] = [{} for _ in range(count)]
    pred: list[dict[int, int]] = [{} for _ in range(count)]
    interaction = [0] * count
    for i, j in edges:
        a, b = owner[i], owner[j]
        if a == b:
            continue
        succ[a][b] = succ[a].get(b, 0) + 1
        pred[b][a] = pred[b].get(a, 0) + 1
        interaction[a] += 1
        interaction[b] += 1
    return succ, pred, interaction


def both_ways(succ: Sequence[Mapping[int, int]], pred: Sequence[Mapping[int, int]]) -> list[dict[int, int]]:
    """Unit -> number of edges with it in either direction."""
    out = [dict(row) for row in succ]
    for row, back in zip(out, pred, strict=True):
        for u, n in back.items():
            row[u] = row.get(u, 0) + n
    return out


class Units:
    """Profiles of the units: size, first level, nodes per level, neighbours with edge counts. MergeError unless the paths
    hold every node exactly once and none is empty."""

    def __init__(self, succ: Sequence[Sequence[int]], paths: Sequence[Sequence[int]]) -> None:
        self.levels = Levels(succ)
        self.paths = paths
        self.size = [len(p) for p in paths]
        owner = [-1] * len(succ)
        for u, p in enumerate(paths):
            if not p:
                raise MergeError("a unit has no node", got=u)
            for i in p:
                if not 0 <= i < len(succ):
                    raise MergeError("a unit names a node that does not exist", got=i)
                if owner[i] >= 0:
                    raise MergeError("a node lies in two units", got=i)
                owner[i] = u
        if paths and -1 in owner:
            raise MergeError("a node lies in no unit", got=owner.index(-1))
        self.owner = owner
        self.hist: list[dict[int, int]] = []
        for p in paths:
            h: dict[int, int] = {}
            for i in p:
                lv = self.levels.of[i]
                h[lv] = h.get(lv, 0) + 1
            self.hist.append(h)
        self.earliest = [min(h) for h in self.hist]
        self.peak = [max(h.values()) for h in self.hist]
        edges = ((i, j) for i, row in enumerate(succ) for j in dict.fromkeys(row))
        after, before, self.interaction = unit_dependencies(owner, edges if paths else ())
        self.neighbours = both_ways(after, before)

    def by_level(self) -> dict[int, list[int]]:
        """First level -> its units, ascending."""
        out: dict[int, list[int]] = {}
        for u in range(len(self.paths)):
            out.setdefault(self.earliest[u], []).append(u)
        return dict(sorted(out.items()))

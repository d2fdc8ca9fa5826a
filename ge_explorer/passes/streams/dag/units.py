"""What all three mergers share: levels, unit profiles, options, scored candidates and the running state.

A *unit* is one path of the path cover. Units are placed level by level (longest-path depth); a unit is looked at when its
first level comes up. Loads are taken over a window of levels that starts there.
Source: compiler/graph/build/dag/dag_stream_merger.{h,cc}.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ge_explorer.errors import GxError

EPS = 1e-9
"""Scores closer than this are equal (dag_stream_merger.cc)."""

EVENT_WEIGHT = 3.0
NEW_STREAM_WEIGHT = 2.0
BALANCE_WEIGHT = 4.0
CONFLICT_WEIGHT = 4.0
LOAD_WEIGHT = 1.0
MAIN_BONUS_WEIGHT = 4.0


class MergeError(GxError):
    """A merger refuses its input (cycle, a node in two units, an illegal option). GE logs it and assigns nothing."""


@dataclass(frozen=True, slots=True)
class MergeOptions:
    """Constants of dag_stream_merger.h; ``physical_stream_limit`` is N of ``Strategy:N``.

    GE's repair step is switched off by its own constant (0 moves) and not part of this model. MergeError for a value GE refuses.
    """

    physical_stream_limit: int = 8
    window_width: int = 6
    candidate_limit: int = 6
    low_conflict_limit: int = 3
    light_stream_limit: int = 3
    main_stream: int = 0

    def __post_init__(self) -> None:
        for name in (
            "physical_stream_limit",
            "window_width",
            "candidate_limit",
            "low_conflict_limit",
            "light_stream_limit",
        ):
            if getattr(self, name) < 1:
                raise MergeError("merge option below 1", where=name, got=getattr(self, name))
        if self.main_stream < 0:
            raise MergeError("merge option below 0", where="main_stream", got=self.main_stream)


@dataclass(frozen=True, slots=True)
class Candidate:
    """One stream a unit could go to, with its score (lower wins) and the terms the score is made of."""

    stream: int
    is_new: bool
    total: float
    terms: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a unit went, at which level, and what else was looked at. ``forced`` names the rule that left no choice."""

    unit: int
    stream: int
    level: int
    candidates: tuple[Candidate, ...]
    forced: str = ""


@dataclass(frozen=True, slots=True)
class MergeResult:
    """Stream of each unit (ids compacted ascending, so a placement's own stream id may be higher) and the log."""

    mapping: tuple[int, ...]
    placements: tuple[Placement, ...]
    renumbered: Mapping[int, int] = field(default_factory=dict)


class Levels:
    """Longest-path depth of each node, by a Kahn sort that takes the smallest index first."""

    def __init__(self, succ: Sequence[Sequence[int]]) -> None:
        n = len(succ)
        waiting = [0] * n
        for row in succ:
            for v in row:
                waiting[v] += 1
        ready = [i for i in range(n) if waiting[i] == 0]
        self.of = [0] * n
        done = 0
        while ready:
            u = heapq.heappop(ready)
            done += 1
            for v in succ[u]:
                self.of[v] = max(self.of[v], self.of[u] + 1)
                waiting[v] -= 1
                if waiting[v] == 0:
                    heapq.heappush(ready, v)
        if done != n:
            raise MergeError("the nodes form a cycle", got=n - done)
        self.count = max(self.of, default=-1) + 1
        self.width = [0] * self.count
        for lv in self.of:
            self.width[lv] += 1


class Units:
    """Profiles of the units: size, first level, nodes per level, neighbours with edge counts."""

    def __init__(self, succ: Sequence[Sequence[int]], paths: Sequence[Sequence[int]]) -> None:
        self.levels = Levels(succ)
        self.paths = paths
        self.size = [len(p) for p in paths]
        owner = [-1] * len(succ)
        for u, p in enumerate(paths):
            for i in p:
                if not 0 <= i < len(succ):
                    raise MergeError("a unit names a node that does not exist", got=i)
                if owner[i] >= 0:
                    raise MergeError("a node lies in two units", got=i)
                owner[i] = u
        self.owner = owner
        level_of = self.levels.of
        self.hist: list[dict[int, int]] = []
        for p in paths:
            h: dict[int, int] = {}
            for i in p:
                h[level_of[i]] = h.get(level_of[i], 0) + 1
            self.hist.append(h)
        self.earliest = [min(h, default=0) for h in self.hist]
        self.peak = [max(h.values(), default=0) for h in self.hist]
        self.neighbours: list[dict[int, int]] = [{} for _ in paths]
        for i, row in enumerate(succ):
            for j in dict.fromkeys(row):
                a, b = owner[i], owner[j]
                if a != b and a >= 0 and b >= 0:
                    self.neighbours[a][b] = self.neighbours[a].get(b, 0) + 1
                    self.neighbours[b][a] = self.neighbours[b].get(a, 0) + 1
        self.interaction = [sum(w.values()) for w in self.neighbours]

    def by_level(self) -> dict[int, list[int]]:
        """First level -> its units, in the order they are placed."""
        out: dict[int, list[int]] = {}
        for u in range(len(self.paths)):
            out.setdefault(self.earliest[u], []).append(u)
        for row in out.values():
            row.sort(key=lambda u: (-self.size[u], -self.interaction[u], -self.peak[u], self.earliest[u], u))
        return dict(sorted(out.items()))


class Streams:
    """Running state of a merge: which unit is where, and how many nodes each stream has per level."""

    def __init__(self, units: Units, options: MergeOptions) -> None:
        self.units = units
        self.options = options
        self.limit = options.physical_stream_limit
        self.assignment = [-1] * len(units.paths)
        self.size: list[int] = []
        self.hist: list[list[int]] = []
        self.first, self.last = 0, 0
        self.load: list[int] = []
        """Nodes of each active stream inside the window."""

    @property
    def active(self) -> int:
        """Number of streams in use; the next new one gets this id."""
        return len(self.size)

    def open_window(self, level: int) -> None:
        """Move the window to ``level`` and take every stream's load there."""
        self.first = level
        self.last = min(self.units.levels.count - 1, level + self.options.window_width - 1)
        self.load = [sum(h[self.first : self.last + 1]) for h in self.hist]

    def in_window(self, unit: int) -> int:
        """Nodes of a unit inside the window."""
        return sum(n for lv, n in self.units.hist[unit].items() if self.first <= lv <= self.last)

    def place(self, unit: int, stream: int) -> None:
        """Put a unit on a stream (the next free id opens one)."""
        while stream >= self.active:
            self.size.append(0)
            self.hist.append([0] * self.units.levels.count)
            self.load.append(0)
        self.assignment[unit] = stream
        self.size[stream] += self.units.size[unit]
        row = self.hist[stream]
        for lv, n in self.units.hist[unit].items():
            row[lv] += n
        self.load[stream] += self.in_window(unit)

    def neighbour_weights(self, unit: int) -> dict[int, int]:
        """Stream -> number of edges between the unit and what already lies there."""
        out: dict[int, int] = {}
        for other, w in self.units.neighbours[unit].items():
            s = self.assignment[other]
            if s >= 0:
                out[s] = out.get(s, 0) + w
        return out

    def result(self, placements: list[Placement]) -> MergeResult:
        """Compacted mapping."""
        used = {s: k for k, s in enumerate(sorted(set(self.assignment)))}
        return MergeResult(tuple(used[s] for s in self.assignment), tuple(placements), used)


def first_distinct(streams: Iterable[int], limit: int) -> list[int]:
    """The first ``limit`` different entries."""
    return list(dict.fromkeys(streams))[:limit]


def better(a: Sequence[float], b: Sequence[float]) -> bool:
    """True when key ``a`` is smaller than ``b``, comparing entry by entry and treating entries within EPS as equal."""
    for x, y in zip(a, b, strict=True):
        if abs(x - y) > EPS:
            return x < y
    return False


def best(candidates: Sequence[Candidate], order: Sequence[str]) -> Candidate:
    """Lowest total; ties by the named terms, then the earlier candidate."""

    def key(c: Candidate) -> list[float]:
        return [c.total, *(c.terms[name] for name in order)]

    winner, winning = candidates[0], key(candidates[0])
    for c in candidates[1:]:
        k = key(c)
        if better(k, winning):
            winner, winning = c, k
    return winner

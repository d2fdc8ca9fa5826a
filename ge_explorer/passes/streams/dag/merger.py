"""The loop all mergers share: levels upward, each unit to its best stream, then the repair moves of that level.

A strategy is a ``Merger`` with its own order, candidates and score.
Source: StreamMergeSolver (dag_stream_merger.cc) and WeightedStreamMergeSolver (dag_weighted_stream_merger.cc).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ge_explorer.passes.streams.dag.units import EPS, Candidate, MergeError, MergeOptions, Units, best, compact


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a unit went, at which level, and what else was looked at. ``forced`` names the rule that left no choice."""

    unit: int
    stream: int
    level: int
    candidates: tuple[Candidate, ...]
    forced: str = ""


@dataclass(frozen=True, slots=True)
class RepairMove:
    """A unit moved after its level was placed: from ``here`` to ``there``, which lowers its score by ``gain``."""

    unit: int
    level: int
    here: Candidate
    there: Candidate
    gain: float


@dataclass(frozen=True, slots=True)
class MergeResult:
    """Stream of each unit and the log. ``renumbered`` maps the stream ids of the log to those of ``mapping``."""

    mapping: tuple[int, ...]
    placements: tuple[Placement, ...]
    repairs: tuple[RepairMove, ...] = ()
    renumbered: Mapping[int, int] = field(default_factory=dict)


class Merger(ABC):
    """Running state of one merge. ``open_level`` comes before everything that looks at a level."""

    options: MergeOptions
    assignment: list[int]
    """Stream of each unit, -1 while it has none."""

    @abstractmethod
    def open_level(self, level: int) -> None:
        """Take ``level`` as the start of the window."""

    @abstractmethod
    def in_order(self, units: list[int]) -> list[int]:
        """Units of one level in the order they are placed."""

    def forced(self, unit: int) -> tuple[int, str] | None:
        """(stream, reason) when the unit has no choice."""
        return None

    @abstractmethod
    def candidates(self, unit: int, *, new: bool) -> list[int]:
        """Streams to look at, in order; with ``new`` also one more stream while the limit allows it."""

    @abstractmethod
    def score(self, unit: int, streams: Iterable[int]) -> tuple[Candidate, ...]:
        """The candidates with their scores. The unit itself must not be on a stream."""

    def choose(self, unit: int, candidates: Sequence[Candidate]) -> Candidate:
        """The winner of the scored candidates."""
        return best(candidates)

    @abstractmethod
    def place(self, unit: int, stream: int) -> None:
        """Put a unit on a stream (the next free id opens one)."""

    @abstractmethod
    def remove(self, unit: int) -> int:
        """Take a unit off its stream; the stream it was on, -1 when it had none. The stream stays open."""

    def repair(self, units: Sequence[int], level: int) -> list[RepairMove]:
        """Up to ``repair_moves`` times, move the unit that gains most. Nothing happens with GE's default of 0."""
        moves: list[RepairMove] = []
        for _ in range(self.options.repair_moves):
            top: RepairMove | None = None
            for u in units:
                if self.forced(u):
                    continue
                here = self.remove(u)
                if here < 0:
                    return moves
                looked_at = self.score(u, dict.fromkeys([here, *self.candidates(u, new=False)]))
                there = self.choose(u, looked_at)
                self.place(u, here)
                gain = looked_at[0].total - there.total
                if there.stream != here and gain > EPS and (top is None or gain > top.gain):
                    top = RepairMove(u, level, looked_at[0], there, gain)
            if top is None:
                break
            self.remove(top.unit)
            self.place(top.unit, top.there.stream)
            moves.append(top)
        return moves


def merge_units(units: Units, merger: Merger) -> MergeResult:
    """Run a merge over all levels. MergeError when a unit finds no stream to look at."""
    log: list[Placement] = []
    moves: list[RepairMove] = []
    for level, row in units.by_level().items():
        merger.open_level(level)
        ordered = merger.in_order(row)
        for u in ordered:
            forced = merger.forced(u)
            if forced:
                stream, why = forced
                merger.place(u, stream)
                log.append(Placement(u, stream, level, (), why))
                continue
            streams = merger.candidates(u, new=True)
            if not streams:
                raise MergeError("no stream to look at", where=f"unit {u}")
            candidates = merger.score(u, streams)
            chosen = merger.choose(u, candidates)
            merger.place(u, chosen.stream)
            log.append(Placement(u, chosen.stream, level, candidates))
        moves.extend(merger.repair(ordered, level))
    names = compact(merger.assignment)
    return MergeResult(tuple(names[s] for s in merger.assignment), tuple(log), tuple(moves), names)

"""Compare planners on one problem and keep those that no other beats in everything.

Idea (article): memory saved against time, over combinations of layers. The article's times are assumptions (``overhead``), so the
second axis here is measured on the plan: handovers of bytes between streams, each of which rests on an order that must survive
every later change of events.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from ge_explorer.graph.happens_before import HappensBefore
from ge_explorer.memory.model import MemoryPlan, MemoryProblem
from ge_explorer.memory.planner import PLANNERS
from ge_explorer.memory.reuse import handovers
from ge_explorer.memory.verify import find_races

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Strategy:
    """A plan's ``peak`` in bytes, ``handovers`` from buffer to buffer, ``crossing`` those between two streams, ``races``."""

    name: str
    peak: int
    handovers: int
    crossing: int
    races: int


def front(points: Iterable[T], cost: Callable[[T], Sequence[float]]) -> list[T]:
    """Points for which no other is at least as good in every cost and better in one; equal ones all stay.

    >>> front([(1, 3), (2, 2), (3, 3)], lambda p: p)
    [(1, 3), (2, 2)]
    """
    pairs = [(p, tuple(cost(p))) for p in points]

    def beaten(c: tuple[float, ...]) -> bool:
        return any(d != c and all(a <= b for a, b in zip(d, c, strict=True)) for _, d in pairs)

    return [p for p, c in pairs if not beaten(c)]


def strategies(problem: MemoryProblem, hb: HappensBefore, planners: Iterable[str]) -> list[Strategy]:
    """Run planners of the registry by name. A plan that races is listed with its races, not left out."""
    return [_strategy(name, problem, PLANNERS.get(name)(problem), hb) for name in planners]


def _strategy(name: str, problem: MemoryProblem, plan: MemoryPlan, hb: HappensBefore) -> Strategy:
    pairs = handovers(problem, plan)
    stream = [b.stream for b in problem.buffers]
    crossing = sum(stream[x] != stream[y] for x, y, _ in pairs)
    races = sum(1 for _ in find_races(problem.buffers, plan.offsets, hb))
    return Strategy(name, plan.peak, len(pairs), crossing, races)


def best_strategies(found: Iterable[Strategy]) -> list[Strategy]:
    """Front over peak and handovers between streams, safe plans only."""
    return front([s for s in found if not s.races], lambda s: (s.peak, s.crossing))

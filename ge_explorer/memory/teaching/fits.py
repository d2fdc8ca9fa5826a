"""First fit and best fit: buffers in the order of their producers, each into the lowest or the tightest hole.

Idea (article, memory.md B9): the free text ``greedy | firstfit | bestfit`` of its pool options. Which algorithm stands behind
``greedy`` it does not say; here it is the size-ordered slots (our choice). A hole is what buffers in conflict by happens-before
leave, so both are safe on several streams.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from ge_explorer.errors import OptionError, did_you_mean
from ge_explorer.memory.conflicts import conflicts_of
from ge_explorer.memory.model import MemoryPlan, MemoryProblem
from ge_explorer.memory.planner import Fit, place

STRATEGIES: Mapping[str, str] = MappingProxyType(
    {"greedy": "size-slots", "firstfit": "first-fit", "bestfit": "best-fit"}
)
"""Strategy of the article -> planner here."""


def planner_of(strategy: str) -> str:
    """Planner name of an article strategy. OptionError for an unknown one."""
    if strategy not in STRATEGIES:
        raise OptionError(f"no strategy named {strategy!r}", todo=did_you_mean(strategy, STRATEGIES))
    return STRATEGIES[strategy]


def plan_first_fit(problem: MemoryProblem, bound: object = None) -> MemoryPlan:
    """Lowest hole."""
    return _plan(problem, "first")


def plan_best_fit(problem: MemoryProblem, bound: object = None) -> MemoryPlan:
    """Tightest hole; among equals the lowest."""
    return _plan(problem, "best")


def _plan(problem: MemoryProblem, fit: Fit) -> MemoryPlan:
    order = sorted(range(len(problem.buffers)), key=lambda b: (problem.lifetimes[b].begin, b))
    offsets, peak = place(problem, conflicts_of(problem), order, fit)
    return MemoryPlan(tuple(offsets), peak, f"{fit}-fit")

"""Interference colouring: buffers that may be alive together get different colours; a colour is a slot of memory.

Idea (article, memory.md B7; from register allocation): order by number of conflicts, first free colour. Conflicts here come from
happens-before, so the plan is safe on any number of streams; sizes count, because a slot is as wide as its widest buffer. GE has
no colouring (its planner nests blocks).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from ge_explorer.memory.conflicts import AnyConflicts, conflicts_of
from ge_explorer.memory.model import MemoryPlan, MemoryProblem


@dataclass(frozen=True, slots=True)
class Colouring:
    """``colour`` per buffer id. ``spilled``: buffers that found no colour below ``limit``; they got further colours, still
    different from those of everything they conflict with.
    """

    colour: tuple[int, ...]
    limit: int | None
    spilled: tuple[int, ...]

    @property
    def count(self) -> int:
        """Colours in use."""
        return len(set(self.colour))


def colour(conflicts: AnyConflicts, order: Sequence[int], limit: int | None = None) -> Colouring:
    """First free colour for each buffer in ``order``."""
    out = [-1] * conflicts.count
    spilled = []
    for b in order:
        taken = {out[x] for x in conflicts.of(b).tolist()}
        k = next(k for k in range(len(taken) + 1) if k not in taken)
        out[b] = k
        if limit is not None and k >= limit:
            spilled.append(b)
    return Colouring(tuple(out), limit, tuple(spilled))


def plan_of_slots(problem: MemoryProblem, slot: Sequence[int], planner: str) -> MemoryPlan:
    """Lay slots side by side, each as wide as its widest buffer. ``slot`` per buffer id."""
    width = [0] * (max(slot, default=-1) + 1)
    for b, k in zip(problem.buffers, slot, strict=True):
        width[k] = max(width[k], b.size)
    start = [0, *accumulate(width)]
    return MemoryPlan(tuple(start[k] for k in slot), start[-1], planner)


def plan_colouring(problem: MemoryProblem, bound: object = None) -> MemoryPlan:
    """Most conflicts first, first free colour."""
    conflicts = conflicts_of(problem)
    order = sorted(range(conflicts.count), key=lambda b: (-int(conflicts.degree[b]), b))
    return plan_of_slots(problem, colour(conflicts, order).colour, "colouring")

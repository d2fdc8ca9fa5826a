"""Placement that follows PREFER_SHARED where it costs nothing: sit on an earlier buffer of the same size if it is free."""

from __future__ import annotations

from ge_explorer.memory.conflicts import conflicts_of
from ge_explorer.memory.model import MemoryPlan
from ge_explorer.memory.teaching.hints import Hinted


def plan_hinted(hinted: Hinted) -> MemoryPlan:
    """First fit by producer; a wished partner's offset comes first when no buffer in conflict holds a byte of it."""
    problem = hinted.problem
    conflicts = conflicts_of(problem)
    size = [b.size for b in problem.buffers]
    at: dict[int, int] = {}
    for b in sorted(range(len(size)), key=lambda b: (problem.lifetimes[b].begin, b)):
        busy = sorted((at[x], at[x] + size[x]) for x in conflicts.of(b).tolist() if x in at)
        wished = [at[p] for p in hinted.partners.get(b, ()) if p in at]
        free = [o for o in wished if all(o + size[b] <= lo or hi <= o for lo, hi in busy)]
        here = 0
        for lo, hi in busy:
            if here + size[b] <= lo:
                break
            here = max(here, hi)
        at[b] = free[0] if free else here
    peak = max((at[b] + size[b] for b in at), default=0)
    return MemoryPlan(tuple(at[b] for b in range(len(size))), peak, "hinted")

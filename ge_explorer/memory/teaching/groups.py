"""Plan groups of buffers apart and stack them: no byte is ever shared between two groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ge_explorer.memory.conflicts import conflicts_of
from ge_explorer.memory.model import MemoryPlan, MemoryProblem
from ge_explorer.memory.planner import place


def stacked(
    problem: MemoryProblem, group: Sequence[int], planner: str
) -> tuple[MemoryPlan, Mapping[int, tuple[int, int]]]:
    """(plan, group -> (base, bytes)) for ``group`` per buffer id; groups in ascending order, best fit by falling size in each."""
    conflicts = conflicts_of(problem)
    offsets = [0] * len(problem.buffers)
    where: dict[int, tuple[int, int]] = {}
    base = 0
    for g in sorted(set(group)):
        members = [b for b in range(len(group)) if group[b] == g]
        members.sort(key=lambda b: (-problem.buffers[b].size, b))
        found, peak = place(problem, conflicts, members, "best")
        for b in members:
            offsets[b] = base + found[b]
        where[g] = (base, peak)
        base += peak
    return MemoryPlan(tuple(offsets), base, planner), where

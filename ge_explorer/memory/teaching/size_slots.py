"""Size-ordered slots: largest buffer first, into the first slot that holds nothing in conflict with it, else a new slot.

Idea (the article on GE's graph optimisation, memory.md B20). Because sizes only fall, a slot never has to grow. The conflict test
is happens-before, so it holds on several streams.
"""

from __future__ import annotations

from ge_explorer.memory.conflicts import conflicts_of
from ge_explorer.memory.model import MemoryPlan, MemoryProblem
from ge_explorer.memory.teaching.colouring import colour, plan_of_slots


def plan_size_slots(problem: MemoryProblem, bound: object = None) -> MemoryPlan:
    """Slots by falling size."""
    order = sorted(range(len(problem.buffers)), key=lambda b: (-problem.buffers[b].size, b))
    return plan_of_slots(problem, colour(conflicts_of(problem), order).colour, "size-slots")

"""Who takes over whose bytes: the reuse story of a plan, buffer by buffer."""

from __future__ import annotations

from bisect import bisect_right

from ge_explorer.memory.model import MemoryPlan, MemoryProblem


def handovers(problem: MemoryProblem, plan: MemoryPlan) -> list[tuple[int, int, int]]:
    """(earlier buffer, later buffer, bytes): every stretch of bytes that passes directly from one buffer to the next.

    Walks the buffers by begin, which for graphs is the order of their ids; files may list them in any order. Every byte of a
    buffer is passed on at most once.
    """
    starts: list[int] = [0]
    owner: list[int] = [-1]
    out: list[tuple[int, int, int]] = []
    life = problem.lifetimes
    walk = sorted(range(len(problem.buffers)), key=lambda b: (life[b].begin if life else b, b))
    for b, at in ((problem.buffers[k], plan.offsets[k]) for k in walk):
        if not b.size:
            continue
        end = at + b.size
        lo = bisect_right(starts, at) - 1
        hi = bisect_right(starts, end - 1)
        for k in range(lo, hi):
            if owner[k] >= 0:
                upto = min(end, starts[k + 1]) if k + 1 < len(starts) else end
                out.append((owner[k], b.id, upto - max(at, starts[k])))
        new_starts, new_owner = [at], [b.id]
        if starts[lo] < at:
            new_starts, new_owner = [starts[lo], at], [owner[lo], b.id]
        if hi == len(starts) or starts[hi] != end:
            new_starts.append(end)
            new_owner.append(owner[hi - 1])
        starts[lo:hi], owner[lo:hi] = new_starts, new_owner
    return out


def takeovers(problem: MemoryProblem, plan: MemoryPlan) -> tuple[tuple[int, ...], ...]:
    """Per buffer id the buffers that held its bytes directly before it, by ascending offset; empty when the bytes are fresh."""
    out: list[dict[int, None]] = [{} for _ in problem.buffers]
    for x, y, _ in handovers(problem, plan):
        out[y][x] = None
    return tuple(map(tuple, out))

"""Placement problems made up for tests: intervals, and orders that no single queue gives."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations

from hypothesis import strategies as st

from ge_explorer.memory.formats.minimalloc_csv import intervals
from ge_explorer.memory.model import MemoryProblem


def from_rows(rows: Sequence[tuple[int, int, int]]) -> MemoryProblem:
    """(begin, length, size) per buffer."""
    return intervals(
        [f"b{k}" for k in range(len(rows))],
        [a for a, _, _ in rows],
        [a + d for a, d, _ in rows],
        [s for _, _, s in rows],
    )


def interval_problems(most: int = 7, sizes: int = 9) -> st.SearchStrategy[MemoryProblem]:
    """Up to ``most`` buffers with half-open lifetimes."""
    row = st.tuples(st.integers(0, 8), st.integers(1, 6), st.integers(0, sizes))
    return st.lists(row, max_size=most).map(from_rows)


@st.composite
def order_problems(draw: st.DrawFn, most: int = 6) -> MemoryProblem:
    """A random partial order as ``before``: what several streams give. Ids follow the order, lifetimes the ids."""
    count = draw(st.integers(0, most))
    before: list[int] = []
    for y in range(count):
        mask = 0
        for x in range(y):
            if draw(st.booleans()):
                mask |= 1 << x | before[x]
        before.append(mask)
    last = [max([x, *(y for y in range(x + 1, count) if not before[y] >> x & 1)]) for x in range(count)]
    # Alive from its place up to the last one that may not follow it: a serial view that never lets two share wrongly.
    rows = [(x, last[x] - x + 1, draw(st.integers(1, 9))) for x in range(count)]
    return replace(from_rows(rows), before=tuple(before))


def exclude(problem: MemoryProblem, x: int, y: int) -> bool:
    """True if two buffers must not share a byte."""
    return not (problem.before[x] >> y & 1 or problem.before[y] >> x & 1)


def is_safe(problem: MemoryProblem, offsets: Sequence[int]) -> bool:
    """No two buffers that exclude each other share a byte. Written without the package's own code."""
    size = [b.size for b in problem.buffers]
    n = len(size)
    return all(
        offsets[x] >= 0
        and (offsets[x] + size[x] <= offsets[y] or offsets[y] + size[y] <= offsets[x] or not exclude(problem, x, y))
        for x in range(n)
        for y in range(n)
        if x != y and size[x] and size[y]
    )


def smallest_peak(problem: MemoryProblem) -> int:
    """Optimum by trying every order: some order places an optimal plan bottom-up."""
    best = sum(b.size for b in problem.buffers)
    ids = [b.id for b in problem.buffers if b.size]
    for order in permutations(ids):
        at: dict[int, int] = {}
        for b in order:
            need, here = problem.buffers[b].size, 0
            for x in sorted((x for x in at if exclude(problem, x, b)), key=at.__getitem__):
                if here + need <= at[x]:
                    break
                here = max(here, at[x] + problem.buffers[x].size)
            at[b] = here
        best = min(best, max((at[b] + problem.buffers[b].size for b in ids), default=0))
    return best


def full_problem(seed: int, most: int = 7, load: int = 6) -> MemoryProblem:
    """Every section holds exactly ``load`` bytes: at each tick some buffers end and others of the same total begin. What ends lies
    scattered, so now and then no plan reaches the fullest section.
    """
    rng = random.Random(seed)
    rows: list[tuple[int, int, int]] = []
    alive: list[tuple[int, int]] = []
    tick, free = 0, load
    while True:
        new: list[int] = []
        while free:
            new.append(rng.randint(1, min(free, 3)))
            free -= new[-1]
        if len(rows) + len(alive) + len(new) > most:
            break
        alive += [(tick, s) for s in new]
        tick += 1
        ending = [x for x in alive if rng.random() < 0.4]
        rows += [(begin, tick - begin, s) for begin, s in ending]
        for x in ending:
            alive.remove(x)
        free = sum(s for _, s in ending)
        if tick > 50:
            break
    rows += [(begin, tick - begin + 1, s) for begin, s in alive]
    return from_rows(rows)


def fits(problem: MemoryProblem, limit: int) -> bool:
    """Whether some plan with whole offsets needs at most ``limit`` bytes: every offset of every buffer is tried."""
    size = [b.size for b in problem.buffers]
    at: list[int] = []

    def free(x: int, here: int) -> bool:
        return all(here + size[x] <= at[y] or at[y] + size[y] <= here or not exclude(problem, x, y) for y in range(x))

    def place(x: int) -> bool:
        if x == len(size):
            return True
        for here in range(limit - size[x] + 1):
            if free(x, here):
                at.append(here)
                if place(x + 1):
                    return True
                at.pop()
        return False

    return place(0)

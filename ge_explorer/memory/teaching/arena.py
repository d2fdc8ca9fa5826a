"""Arena: one range of bytes with a top that moves up, and a list of freed pieces that are tried first.

Idea (article, memory.md B6): many small allocations become one. Here the rest of a reused piece stays free, neighbours are merged,
the top comes down again, and a wrong ``free`` is an error; the article's sample loses those bytes for good.
"""

from __future__ import annotations

from bisect import insort
from dataclasses import dataclass
from typing import Literal

from ge_explorer.errors import OptionError
from ge_explorer.memory.model import FOREVER, MemoryPlan, MemoryProblem
from ge_explorer.memory.sizes import aligned

Fit = Literal["first", "best"]
UNLIMITED = 1 << 62


class OutOfBytes(OptionError):
    """No free piece is large enough. ``largest`` and ``free`` tell shortage from fragmentation."""

    def __init__(self, need: int, largest: int, free: int) -> None:
        self.need, self.largest, self.free = need, largest, free
        super().__init__(f"{need} bytes do not fit; the largest free piece has {largest}, all pieces together {free}",
                         todo="Enlarge the arena, free something, or compact it.")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Piece:
    """Bytes ``offset`` .. ``offset + size``."""

    offset: int
    size: int

    @property
    def end(self) -> int:
        """First byte after it."""
        return self.offset + self.size


class Arena:
    """Allocator over ``capacity`` bytes; every size is rounded up to ``alignment``. ``fit``: first or tightest freed piece."""

    def __init__(self, capacity: int, alignment: int = 64, fit: Fit = "first") -> None:
        if capacity < 0 or alignment < 1:
            raise OptionError("an arena needs a capacity of at least 0 and an alignment of at least 1",
                              got=(capacity, alignment))  # fmt: skip
        if fit not in ("first", "best"):
            raise OptionError("the fit is first or best", got=fit)
        self.capacity, self.alignment, self.fit = capacity, alignment, fit
        self.top = 0
        self.live: dict[int, int] = {}
        """Offset -> aligned size of what is allocated."""
        self._freed: list[tuple[int, int]] = []

    @property
    def free_pieces(self) -> tuple[Piece, ...]:
        """Free bytes by offset, the untouched rest above the top last."""
        rest = [(self.top, self.capacity - self.top)] if self.top < self.capacity else []
        return tuple(Piece(o, s) for o, s in [*self._freed, *rest])

    @property
    def used(self) -> int:
        """Allocated bytes. The top may be higher: freed pieces below it are not in use."""
        return sum(self.live.values())

    @property
    def utilization(self) -> float:
        """Used share of the capacity; 0 for an arena of no bytes."""
        return self.used / self.capacity if self.capacity else 0.0

    def allocate(self, size: int) -> int:
        """Offset of ``size`` bytes. Raises OutOfBytes."""
        need = aligned(max(size, 1), self.alignment)
        fitting = [(s, k) for k, (_, s) in enumerate(self._freed) if s >= need]
        if fitting:
            k = min(fitting)[1] if self.fit == "best" else fitting[0][1]
            at, have = self._freed.pop(k)
            if have > need:
                self._freed.insert(k, (at + need, have - need))
        else:
            at = self.top
            if at + need > self.capacity:
                pieces = [p.size for p in self.free_pieces]
                raise OutOfBytes(need, max(pieces, default=0), sum(pieces))
            self.top += need
        self.live[at] = need
        return at

    def free(self, offset: int) -> None:
        """Give back what ``allocate`` returned. OptionError for anything else, so a double free cannot pass."""
        size = self.live.pop(offset, None)
        if size is None:
            raise OptionError("nothing is allocated at this offset", got=offset, todo="Free each offset once.")
        insort(self._freed, (offset, size))
        merged: list[tuple[int, int]] = []
        for at, have in self._freed:
            if merged and sum(merged[-1]) == at:
                merged[-1] = (merged[-1][0], merged[-1][1] + have)
            else:
                merged.append((at, have))
        if merged and sum(merged[-1]) == self.top:
            self.top = merged.pop()[0]
        self._freed = merged

    def reset(self) -> None:
        """Forget every allocation."""
        self.top, self.live, self._freed = 0, {}, []


def plan_arena(problem: MemoryProblem, bound: object = None) -> MemoryPlan:
    """Replay the topological order against an arena: free what has ended, then allocate what begins. Blind to streams."""
    arena = Arena(UNLIMITED, problem.alignment)
    offsets = [0] * len(problem.buffers)
    ending: list[tuple[int, int]] = []
    peak = 0
    for b in sorted(range(len(offsets)), key=lambda b: (problem.lifetimes[b].begin, b)):
        life = problem.lifetimes[b]
        while ending and ending[0][0] < life.begin:
            arena.free(ending.pop(0)[1])
        size = problem.buffers[b].size
        if not size:
            continue
        offsets[b] = arena.allocate(size)
        if life.end < FOREVER:
            insort(ending, (life.end, offsets[b]))
        peak = max(peak, offsets[b] + size)
    return MemoryPlan(tuple(offsets), peak, "arena")

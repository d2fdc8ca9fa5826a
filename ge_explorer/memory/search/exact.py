"""Does everything fit below a limit? Depth-first search over canonical plans: found, impossible, or out of steps.

Only plans with the smallest sum of offsets are looked for: where any plan fits, one of these does.

* Canonical: no buffer of such a plan can be moved down, so each lies at 0 or directly on one it conflicts with. Buffers are
  placed by ascending offset (ties: rank): every plan is built in one order only, and an offset follows from the choice.
* Floor: top of the placed buffers in conflict. A floor below the last offset means that somebody else must come under it first.
* Inference: in every stack, lowest possible offset of what is left + sizes of what is left must stay below the limit.
* Dominance: a buffer that would start above the place where another one already fits is not taken first; of twins (same size,
  same conflicts) the first is taken first.
* Parts: when what is left falls apart into buffers without conflicts between them, each part is searched alone.
* Dead ends are remembered by what is left and the floors it sees.

All children of a state are computed at once as arrays. Method after Moffitt, MiniMalloc (ASPLOS 2023), written anew; several
streams need nothing but other stacks.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ge_explorer.graph.reach import bits
from ge_explorer.memory.search.instance import Instance, Ints, components, mask_of, restricted_stacks

INFINITE = np.int64(1) << 60
CELLS = 1 << 16
"""Array cells that count as one step; a state counts at least one."""
REMEMBERED = 200_000


_Key = tuple[int, bytes, int, int]
"""What a dead end is known by: buffers left, their floors, last offset, last rank where it still matters."""


class OutOfSteps(Exception):
    """The budget of a search ended before its answer."""


class Budget:
    """Steps that are left. A step is a state, or ``CELLS`` array cells: the same amount of work on every machine.

    ``deadline``: time.monotonic() at which to stop in any case.
    """

    def __init__(self, steps: int, deadline: float | None = None) -> None:
        self.left, self.used, self.deadline = steps, 0, deadline

    def spend(self, cells: int) -> None:
        """Count one state. Raises OutOfSteps at the end."""
        self.take_steps(1 + cells // CELLS)

    def take_steps(self, steps: int) -> None:
        """Count steps. Raises OutOfSteps at the end."""
        self.used += steps
        if self.used > self.left or (self.deadline is not None and time.monotonic() > self.deadline):
            raise OutOfSteps

    def share(self, steps: int) -> Budget:
        """A budget of at most ``steps`` out of this one; give it back with ``take_steps(own.used)``."""
        return Budget(min(steps, self.left - self.used), self.deadline)


class _Child(NamedTuple):
    """State after one more buffer: ``buffer`` (local) at ``offset``; ``eff`` lowest possible offset of what is left."""

    buffer: int
    offset: int
    floor: Ints
    placed: NDArray[np.bool_]
    left: Ints
    eff: Ints


class _Part:
    """Arrays of the buffers that are searched together. Local numbers; ``ids`` are places in the instance."""

    def __init__(
        self, ids: Ints, size: Ints, adjacent: NDArray[np.bool_], stacks: tuple[Ints, ...], rank: Ints, twin: Ints
    ) -> None:
        self.ids, self.size, self.adjacent, self.stacks, self.rank = ids, size, adjacent, stacks, rank
        self.twin = twin
        self.flat = np.concatenate(stacks)
        lengths = np.array([len(s) for s in stacks])
        self.starts = np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.int64)
        self.use = np.zeros((len(ids), len(stacks)), dtype=np.int64)
        self.use[self.flat, np.repeat(np.arange(len(stacks)), lengths)] = size[self.flat]

    def below(self, local: Ints) -> _Part:
        """The part of some of the buffers, all still to be placed."""
        place = np.full(len(self.ids), -1, dtype=np.int64)
        place[local] = np.arange(len(local))
        twin = self.twin[local]
        twin = np.where(twin >= 0, place[twin], -1)
        return _Part(
            self.ids[local], self.size[local], self.adjacent[np.ix_(local, local)],
            restricted_stacks(self.stacks, place), self.rank[local], twin,
        )  # fmt: skip


def twins(inst: Instance, rank: Ints) -> Ints:
    """Per buffer the next lower-ranked buffer of the same size and the same conflicts (itself aside), or -1."""
    out = np.full(inst.count, -1, dtype=np.int64)
    last: dict[tuple[int, int], int] = {}
    for k in np.argsort(rank, kind="stable").tolist():
        key = (int(inst.size[k]), inst.masks[k] | 1 << k)
        out[k] = last.get(key, -1)
        last[key] = k
    return out


class Exact:
    """One search: instance, limit in units, rank per buffer (low: tried first), budget."""

    def __init__(self, inst: Instance, limit: int, rank: Ints, budget: Budget) -> None:
        self.inst, self.limit, self.rank, self.budget = inst, limit, rank, budget
        self._dead: set[_Key] = set()
        self._at: dict[int, int] = {}

    def run(self) -> list[int] | None:
        """Offsets in units, or None when no plan below the limit exists. Raises OutOfSteps."""
        inst = self.inst
        if inst.count == 0:
            return []
        if inst.heaviest()[0] > self.limit:
            return None
        whole = _Part(np.arange(inst.count), inst.size, inst.adjacent, inst.stacks, self.rank, twins(inst, self.rank))
        zero = np.zeros(inst.count, dtype=np.int64)
        everything = (1 << inst.count) - 1
        if not self._split(whole, components(inst.masks, everything), zero, 0, -1):
            return None
        return [self._at[k] for k in range(inst.count)]

    def _split(self, part: _Part, groups: list[int], floor: Ints, level: int, last: int) -> bool:
        """Search every group alone, the smallest first."""
        local = {int(g): k for k, g in enumerate(part.ids)}
        for group in sorted(groups, key=int.bit_count):
            members = [local[i] for i in bits(group)]
            if len(members) == 1:
                if floor[members[0]] < level:  # nobody comes under it any more, so it should lie lower
                    return False
                self._at[int(part.ids[members[0]])] = int(floor[members[0]])
                continue
            chosen = np.array(members, dtype=np.int64)
            if not self._search(part.below(chosen), floor[chosen], level, last):
                return False
        return True

    def _search(self, part: _Part, floor: Ints, level: int, last: int) -> bool:
        everything = mask_of(part.ids.tolist())
        none = np.zeros(len(part.ids), dtype=bool)
        open_: list[tuple[Iterator[_Child], int, _Key | None]] = [
            (self._children(part, floor, none, part.use.sum(axis=0), level, last), everything, None)
        ]
        path: list[tuple[int, int]] = []
        while open_:
            children, mask, key = open_[-1]
            child = next(children, None)
            if child is None:
                open_.pop()
                if path:
                    path.pop()
                self._remember(key)
                continue
            buffer, rank = int(part.ids[child.buffer]), int(part.rank[child.buffer])
            rest = mask & ~(1 << buffer)
            if rest:
                tie = rank if int(child.eff.min()) == child.offset else -1
                key = (rest, child.floor[~child.placed].tobytes(), child.offset, tie)
                if key in self._dead:
                    continue
                groups = components(self.inst.masks, rest)
                if len(groups) == 1 and rest & (rest - 1):
                    path.append((buffer, child.offset))
                    following = self._children(part, child.floor, child.placed, child.left, child.offset, rank)
                    open_.append((following, rest, key))
                    continue
                if not self._split(part, groups, child.floor, child.offset, rank):
                    self._remember(key)
                    continue
            self._at.update(path)
            self._at[buffer] = child.offset
            return True
        return False

    def _remember(self, key: _Key | None) -> None:
        if key is not None and len(self._dead) < REMEMBERED:
            self._dead.add(key)

    def _children(
        self, part: _Part, floor: Ints, placed: NDArray[np.bool_], left: Ints, level: int, last: int
    ) -> Iterator[_Child]:
        """States one buffer further, by (offset, rank); those that break a stack's limit are left out."""
        mine = np.where(placed, INFINITE, floor)
        allowed = (mine >= level) & (mine < (mine + part.size).min()) & (mine <= self.limit - left.max())
        if last >= 0:
            allowed &= (mine > level) | (part.rank > last)
        allowed &= (part.twin < 0) | placed[part.twin]
        chosen = np.flatnonzero(allowed)
        self.budget.spend(len(chosen) * (len(part.flat) + 4 * len(part.ids)))
        if not len(chosen):
            return
        at = mine[chosen]
        order = np.lexsort((part.rank[chosen], at))
        chosen, at = chosen[order], at[order]
        lifted = np.maximum(floor, np.where(part.adjacent[chosen], (at + part.size[chosen])[:, None], 0))
        after = np.maximum(lifted, at[:, None])
        after[:, placed] = INFINITE
        after[np.arange(len(chosen)), chosen] = INFINITE
        rest = left - part.use[chosen]
        lowest = np.minimum.reduceat(after[:, part.flat], part.starts, axis=1)
        fits = np.where(rest > 0, lowest + rest, 0).max(axis=1) <= self.limit
        for k in np.flatnonzero(fits).tolist():
            buffer = int(chosen[k])
            now = placed.copy()
            now[buffer] = True
            yield _Child(buffer, int(at[k]), lifted[k], now, rest[k], after[k])

"""Many half-built plans side by side: quick good plans below a limit, without any proof.

Buffers are placed by ascending offset as in the exact search, but at every depth only the plans survive whose stacks are least
strained, and a buffer may float above what is below it: few plans are alive, so waste is cheaper than a dead end. Plans are
compared within one slice of addresses: there they have filled the same bytes.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from ge_explorer.memory.search.exact import INFINITE, Budget
from ge_explorer.memory.search.instance import Instance, Ints

SLICES = 32
"""Slices of addresses below the limit."""
STRAIN_FROM, STRAIN_POWER = 0.8, 8.0
"""A stack counts from this share of the limit on, with this power: nearly full ones decide."""
PER_PLAN = 4
"""Children looked at closely, per plan."""
Floats = NDArray[np.float64]


@dataclass(slots=True, eq=False)
class _Plans:
    """Half-built plans, one row each."""

    floor: Ints
    placed: NDArray[np.bool_]
    left: Ints
    level: Ints
    last: Ints
    offset: Ints
    strain: Floats

    def take(self, rows: Ints) -> _Plans:
        return _Plans(*(getattr(self, f.name)[rows] for f in fields(self)))

    @staticmethod
    def joined(parts: list[_Plans]) -> _Plans:
        return _Plans(*(np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(_Plans)))


class Beam:
    """One run: ``width`` plans per depth, ``limit`` in units, ``rank`` breaks ties.

    ``ordered``: buffers at one offset are taken by rank, as in the exact search (fewer plans of the same kind, more dead ends).
    """

    def __init__(
        self, inst: Instance, limit: int, rank: Ints, budget: Budget, width: int = 10, ordered: bool = False
    ) -> None:
        self.ordered = ordered
        self.inst, self.limit, self.rank, self.budget, self.width = inst, limit, rank, budget, width
        lengths = np.array([len(s) for s in inst.stacks])
        self.flat = np.concatenate(inst.stacks)
        self.starts = np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.int64)
        self.use = np.zeros((inst.count, len(inst.stacks)), dtype=np.int64)
        self.use[self.flat, np.repeat(np.arange(len(lengths)), lengths)] = inst.size[self.flat]
        self.mark = np.random.default_rng(0).integers(1, 1 << 60, inst.count)
        self.seen: set[tuple[int, int]] = set()

    def run(self) -> list[int] | None:
        """Offsets in units, or None when all plans died. Raises OutOfSteps."""
        inst, n = self.inst, self.inst.count
        if inst.heaviest()[0] > self.limit:
            return None
        zeros = np.zeros((1, n), dtype=np.int64)
        root = _Plans(
            zeros, zeros.astype(bool), self.use.sum(axis=0)[None], np.zeros(1, dtype=np.int64),
            np.full(1, -1, dtype=np.int64), zeros, np.zeros(1),
        )  # fmt: skip
        waiting: dict[int, list[_Plans]] = {0: [root]}
        thickness = max(self.limit // SLICES, 1)
        while waiting:
            here = min(waiting)
            pool = waiting.pop(here)
            while pool:
                plans = _Plans.joined(pool)
                plans = plans.take(np.argsort(plans.strain, kind="stable")[: self.width])
                pool = []
                children = self._children(plans)
                if children is None:
                    continue
                following, lowest = children
                done = following.placed.all(axis=1)
                if done.any():
                    return [int(x) for x in following.offset[int(np.flatnonzero(done)[0])]]
                piece = lowest // thickness
                for k in np.unique(piece).tolist():
                    some = following.take(np.flatnonzero(piece == k))
                    if k <= here:
                        pool.append(some)
                    else:
                        waiting.setdefault(k, []).append(self._best(some, 4 * self.width))
        return None

    @staticmethod
    def _best(plans: _Plans, count: int) -> _Plans:
        return plans.take(np.argsort(plans.strain, kind="stable")[:count]) if len(plans.strain) > count else plans

    def _strain(self, total: Ints) -> Floats:
        excess = np.maximum(total / self.limit - STRAIN_FROM, 0)
        return np.asarray((excess**STRAIN_POWER).sum(axis=1), dtype=np.float64)

    def _children(self, plans: _Plans) -> tuple[_Plans, Ints] | None:
        """The next plans and the lowest offset each still offers; None when every plan is a dead end."""
        inst, size = self.inst, self.inst.size
        level = plans.level[:, None]
        eff = np.where(plans.placed, INFINITE, np.maximum(plans.floor, level))
        allowed = (eff < (eff + size).min(axis=1)[:, None]) & (eff <= (self.limit - plans.left.max(axis=1))[:, None])
        if self.ordered:
            allowed &= (eff > level) | (self.rank > plans.last[:, None])
        row, buffer = np.nonzero(allowed)
        self.budget.spend(len(row) * len(self.starts) + len(plans.level) * len(self.flat))
        if not len(row):
            return None
        at = eff[row, buffer]
        if len(row) > PER_PLAN * len(plans.level):
            left = plans.left[row]
            lowest = np.minimum.reduceat(eff[:, self.flat], self.starts, axis=1)[row]
            rough = self._strain(np.where(left > 0, np.maximum(lowest, at[:, None]) + left, 0))
            near = np.lexsort((self.rank[buffer], rough))[: PER_PLAN * len(plans.level)]
            row, buffer, at = row[near], buffer[near], at[near]
        self.budget.spend(len(row) * (len(self.flat) + 6 * inst.count))
        each = np.arange(len(row))
        top = at + size[buffer]
        floor = np.maximum(plans.floor[row], np.where(inst.adjacent[buffer], top[:, None], 0))
        placed = plans.placed[row]
        placed[each, buffer] = True
        offset = plans.offset[row]
        offset[each, buffer] = at
        left = plans.left[row] - self.use[buffer]
        eff = np.where(placed, INFINITE, np.maximum(floor, at[:, None]))
        total = np.where(left > 0, np.minimum.reduceat(eff[:, self.flat], self.starts, axis=1) + left, 0)
        what = (placed * self.mark).sum(axis=1).tolist()
        where = (np.where(placed, 0, eff) * self.mark).sum(axis=1).tolist()
        keep = []
        for k in np.flatnonzero(total.max(axis=1) <= self.limit).tolist():
            if (what[k], where[k]) not in self.seen:
                self.seen.add((what[k], where[k]))
                keep.append(k)
        if not keep:
            return None
        rows = np.array(keep, dtype=np.int64)
        out = _Plans(
            floor[rows], placed[rows], left[rows], at[rows], self.rank[buffer[rows]], offset[rows],
            self._strain(total[rows]),
        )  # fmt: skip
        return out, eff[rows].min(axis=1)

"""The placement problem as arrays: sizes in units, who conflicts, and sets of buffers that are pairwise in conflict.

The sets ("stacks": one lies above the other in memory, in some order) carry all the inference of the search. On one stream they
are the time sections, and a set per section is enough. With several streams every antichain of ``before`` is one; those of the
topological order are taken, grown until nothing fits in any more, and every buffer is in at least one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import gcd

import numpy as np
from numpy.typing import NDArray

from ge_explorer.graph.reach import bits
from ge_explorer.memory.model import FOREVER, MemoryProblem

Ints = NDArray[np.int64]
MAX_BUFFERS = 2_000
"""Above this the dense arrays and the recursion would not pay: the greedy portfolio stays alone."""


@dataclass(frozen=True, slots=True, eq=False)
class Instance:
    """Buffers 0..n-1 of sizes > 0. ``ids[k]`` is the buffer id in the problem.

    ``size`` in units of ``unit`` bytes (their greatest common divisor: every canonical offset is a sum of sizes); ``adjacent``
    n x n; ``masks[k]`` the same as a bitmask; ``stacks`` sets of buffers that must all lie apart; ``span`` how long each is alive
    in topological ids (used to order, never to decide).
    """

    ids: Ints
    size: Ints
    unit: int
    adjacent: NDArray[np.bool_]
    masks: tuple[int, ...]
    stacks: tuple[Ints, ...]
    span: Ints

    @property
    def count(self) -> int:
        """Number of buffers."""
        return len(self.size)

    def heaviest(self) -> tuple[int, tuple[int, ...]]:
        """(units, buffer ids) of the heaviest stack: no plan can be smaller."""
        weights = [int(self.size[s].sum()) for s in self.stacks]
        if not weights:
            return 0, ()
        k = int(np.argmax(weights))
        return weights[k], tuple(self.ids[self.stacks[k]].tolist())


def instance_of(problem: MemoryProblem, known: Iterable[Sequence[int]] = ()) -> Instance:
    """Arrays of a problem; buffers of size 0 are left out. ``known``: further sets in conflict, such as a bound's certificate."""
    kept = [b.id for b in problem.buffers if b.size > 0]
    n = len(kept)
    sizes = [problem.buffers[i].size for i in kept]
    unit = gcd(*sizes) if sizes else 1
    adjacent = np.ones((n, n), dtype=bool)
    local = {b: k for k, b in enumerate(kept)}
    for k, b in enumerate(kept):
        earlier = [local[x] for x in bits(problem.before[b]) if x in local]
        adjacent[k, earlier] = False
        adjacent[earlier, k] = False
    np.fill_diagonal(adjacent, False)
    masks = tuple(mask_of(np.flatnonzero(row).tolist()) for row in adjacent)
    size = np.array([s // unit for s in sizes], dtype=np.int64)
    found = [mask_of(local[b] for b in members if b in local) for members in (*known, *_alive(problem))]
    begin = np.array([problem.lifetimes[b].begin for b in kept], dtype=np.int64)
    end = np.array([problem.lifetimes[b].end for b in kept], dtype=np.int64)
    span = np.minimum(end, begin.max(initial=0) + 1) - begin + 1
    return Instance(np.array(kept, dtype=np.int64), size, unit, adjacent, masks, _stacks(found, masks, size), span)


def mask_of(members: Iterable[int]) -> int:
    """Bitmask of a set of small numbers."""
    mask = 0
    for k in members:
        mask |= 1 << k
    return mask


def _alive(problem: MemoryProblem) -> list[list[int]]:
    """Buffers alive at each point of the topological order where one begins."""
    begin = np.array([x.begin for x in problem.lifetimes], dtype=np.int64)
    end = np.array([min(x.end, FOREVER) for x in problem.lifetimes], dtype=np.int64)
    return [np.flatnonzero((begin <= t) & (end >= t)).tolist() for t in np.unique(begin)]


def _stacks(found: Sequence[int], masks: Sequence[int], size: Ints) -> tuple[Ints, ...]:
    """Maximal conflicting sets from candidates: members that do not conflict with all before them are dropped, then the set
    grows by the largest buffer that conflicts with all.
    """
    heavy = sorted(range(len(masks)), key=lambda k: (-int(size[k]), k))
    chosen: dict[int, None] = {}
    covered = 0
    for candidate in [*found, *(1 << k for k in range(len(masks)))]:
        if candidate.bit_count() <= 1 and candidate & covered == candidate:
            continue
        clique, common = 0, (1 << len(masks)) - 1
        for k in bits(candidate):
            if common >> k & 1:
                clique |= 1 << k
                common &= masks[k]
        if common:
            for k in heavy:
                if common >> k & 1:
                    clique |= 1 << k
                    common &= masks[k]
        chosen[clique] = None
        covered |= clique
    return tuple(np.array(list(bits(c)), dtype=np.int64) for c in chosen)


def components(masks: Sequence[int], mask: int) -> list[int]:
    """Connected parts of the conflict graph inside ``mask``, as bitmasks."""
    out = []
    while mask:
        part = front = mask & -mask
        while front:
            low = front & -front
            new = masks[low.bit_length() - 1] & mask & ~part
            part |= new
            front = (front ^ low) | new
        out.append(part)
        mask &= ~part
    return out


def restrict(inst: Instance, members: Sequence[int]) -> Instance:
    """The same problem for some of the buffers (places in ``inst``)."""
    keep = np.array(sorted(members), dtype=np.int64)
    place = np.full(inst.count, -1, dtype=np.int64)
    place[keep] = np.arange(len(keep))
    adjacent = inst.adjacent[np.ix_(keep, keep)]
    return Instance(
        inst.ids[keep], inst.size[keep], inst.unit, adjacent,
        tuple(mask_of(np.flatnonzero(row).tolist()) for row in adjacent), restricted_stacks(inst.stacks, place),
        inst.span[keep],
    )  # fmt: skip


def restricted_stacks(stacks: Sequence[Ints], place: Ints) -> tuple[Ints, ...]:
    """Stacks in the numbering ``place`` (-1: left out), each once."""
    found: dict[bytes, Ints] = {}
    for s in stacks:
        kept = place[s]
        kept = kept[kept >= 0]
        if len(kept):
            found.setdefault(kept.tobytes(), kept)
    return tuple(found.values())

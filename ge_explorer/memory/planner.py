"""Happens-before planner (memory.md C4): greedy placement with a portfolio of orders; the smallest peak wins.

No single order wins everywhere, so several are tried in a fixed sequence. The run stops early when a plan reaches the lower
bound, because nothing can be smaller. No clock and no random numbers: the same problem gives the same plan.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ge_explorer.memory.bounds import serial_live
from ge_explorer.memory.conflicts import DENSE, AnyConflicts, conflicts_of
from ge_explorer.memory.model import MemoryPlan, MemoryProblem
from ge_explorer.registry import Registry

Fit = Literal["first", "best"]
SMALL, LARGE = 1_000, 6_000
"""Up to SMALL buffers the whole portfolio runs, up to LARGE five candidates, above it three."""


def place(problem: MemoryProblem, conflicts: AnyConflicts, order: list[int], fit: Fit) -> tuple[list[int], int]:
    """Place buffers one after the other at the lowest (first) or tightest (best) hole that their conflicts leave.

    Returns (offset per buffer id, peak) in bytes.
    """
    n = len(problem.buffers)
    size = [b.size for b in problem.buffers]
    begin = np.zeros(n, dtype=np.int64)
    end = np.full(n, -1, dtype=np.int64)
    # With many conflicts the placed buffers are kept by ascending offset, so that busy ranges come out sorted; with few of them,
    # sorting those few is cheaper.
    dense = int(conflicts.degree.sum()) * DENSE > n * n
    ids, at_of = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    peak = 0
    near: NDArray[np.integer[Any]]
    for k, b in enumerate(order):
        if dense:
            here = ids[:k]
            near = here[conflicts.row(b)[here]]
        else:
            near = conflicts.of(b)
            near = near[end[near] >= 0]
            near = near[np.argsort(begin[near], kind="stable")]
        need = size[b]
        at = _hole(begin[near], np.maximum.accumulate(end[near]), need, fit) if near.size else 0
        begin[b], end[b] = at, at + need
        peak = max(peak, at + need)
        if dense:
            place = int(np.searchsorted(at_of[:k], at, side="right"))
            ids[place + 1 : k + 1], at_of[place + 1 : k + 1] = ids[place:k].copy(), at_of[place:k].copy()
            ids[place], at_of[place] = b, at
    return begin.tolist(), peak


def _hole(begin: NDArray[np.int64], top: NDArray[np.int64], need: int, fit: Fit) -> int:
    """Offset of the chosen hole among busy ranges; the end of the last one if no hole is large enough.

    ``begin`` ascending; ``top``: highest end so far.
    """
    gap = begin.copy()
    gap[1:] -= top[:-1]
    fits = np.flatnonzero(gap >= need)
    if fits.size == 0:
        return int(top[-1])
    k = int(fits[0]) if fit == "first" else int(fits[np.argmin(gap[fits])])
    return int(top[k - 1]) if k else 0


def _orders(problem: MemoryProblem, conflicts: AnyConflicts) -> Mapping[str, Callable[[], list[int]]]:
    """Named placement orders. Ties go to the earlier producer, which is the smaller id."""
    n = len(problem.buffers)
    size = np.array([b.size for b in problem.buffers], dtype=np.int64)
    begin = np.array([x.begin for x in problem.lifetimes], dtype=np.int64)
    last = int(begin.max(initial=0)) + 1
    span = np.minimum(np.array([x.end for x in problem.lifetimes], dtype=np.int64), last) - begin + 1

    def by(*keys: NDArray[np.int64]) -> list[int]:
        return np.lexsort((np.arange(n), *reversed(keys))).tolist()  # type: ignore[no-any-return]

    def weight() -> NDArray[np.int64]:
        return np.array([int(size[conflicts.of(b)].sum()) for b in range(n)], dtype=np.int64)

    return {
        "size_desc": lambda: by(-size, begin),
        "begin_asc": lambda: by(begin, -size),
        "conflict_weight_desc": lambda: by(-weight(), -size),
        "span_desc": lambda: by(-span, -size),
        "area_desc": lambda: by(-(size * span), begin),
        "degree_desc": lambda: by(-conflicts.degree, -size),
        "end_desc": lambda: by(-(begin + span), -size),
    }


PORTFOLIO: tuple[tuple[str, Fit], ...] = (
    ("size_desc", "best"), ("begin_asc", "first"), ("span_desc", "best"), ("size_desc", "first"),
    ("conflict_weight_desc", "best"), ("begin_asc", "best"), ("conflict_weight_desc", "first"), ("area_desc", "best"),
    ("area_desc", "first"), ("span_desc", "first"), ("degree_desc", "first"), ("end_desc", "first"), ("end_desc", "best"),
)  # fmt: skip
"""Order and fit of every candidate, in the order in which they are tried."""


def plan_hb(problem: MemoryProblem, bound: Callable[[MemoryPlan], int] | None = None) -> MemoryPlan:
    """Smallest plan of the portfolio. ``bound`` gives the peak at which to stop, asked once with the first candidate (a good
    plan makes a good bound cheap); default: the serial live bound.
    """
    if not problem.buffers:
        return MemoryPlan((), 0, "hb")
    n = len(problem.buffers)
    tries = PORTFOLIO if n <= SMALL else PORTFOLIO[:5] if n <= LARGE else PORTFOLIO[:3]
    conflicts = conflicts_of(problem)
    orders = _orders(problem, conflicts)
    sequences: dict[str, list[int]] = {}
    peaks: dict[str, int] = {}
    best: list[int] = []
    smallest = target = -1
    for name, fit in tries:
        if name not in sequences:
            sequences[name] = orders[name]()
        offsets, peak = place(problem, conflicts, sequences[name], fit)
        peaks[f"{name}/{fit}"] = peak
        if not best or peak < smallest:
            smallest, best = peak, offsets
        if target < 0:
            first = MemoryPlan(tuple(best), smallest, "hb")
            target = serial_live(problem).bytes if bound is None else bound(first)
        if smallest <= target:
            break
    return MemoryPlan(tuple(best), smallest, "hb", "model", MappingProxyType(peaks))


def plan_none(problem: MemoryProblem, bound: Callable[[MemoryPlan], int] | None = None) -> MemoryPlan:
    """No reuse: every buffer gets bytes of its own, in producer order (GE's ``ge.exec.disableReuseMemory=1``)."""
    offsets, at = [], 0
    for b in problem.buffers:
        offsets.append(at)
        at += b.size
    return MemoryPlan(tuple(offsets), at, "none")


PLANNERS: Registry[Callable[..., MemoryPlan]] = Registry(
    "memory planner",
    {
        "hb": "ge_explorer.memory.planner:plan_hb",
        "none": "ge_explorer.memory.planner:plan_none",
        "search": "ge_explorer.memory.search:plan_search",
        "arena": "ge_explorer.memory.teaching.arena:plan_arena",
        "interval": "ge_explorer.memory.teaching.intervals:plan_interval",
        "colouring": "ge_explorer.memory.teaching.colouring:plan_colouring",
        "size-slots": "ge_explorer.memory.teaching.size_slots:plan_size_slots",
        "first-fit": "ge_explorer.memory.teaching.fits:plan_first_fit",
        "best-fit": "ge_explorer.memory.teaching.fits:plan_best_fit",
        "pools": "ge_explorer.memory.teaching.pools:plan_pools",
        "partition": "ge_explorer.memory.teaching.partition:plan_partition",
    },
    group="ge_explorer.memory_planners",
)
"""Planner name -> function (problem, bound) -> plan. Origins and limits: teaching/catalogue.py."""

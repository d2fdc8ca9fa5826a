"""Which search runs when, and what may be claimed afterwards.

Start: the greedy portfolio, so no result is ever worse than greedy. Then, for every part of the conflict graph that still lies
above the bound: exact search at the bound under several ranks (a limit without slack prunes best), the beam to bring the plan
down, exact search again with more steps. Where nothing fits at the bound, the bound itself rises and the gap is halved.

The budget counts steps, so the same problem gives the same plan on every machine; seconds are only a cap on top.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from ge_explorer.graph.reach import bits
from ge_explorer.memory.bounds import Bound, serial_live
from ge_explorer.memory.conflicts import Conflicts
from ge_explorer.memory.model import MemoryPlan, MemoryProblem
from ge_explorer.memory.planner import Fit, place, plan_hb
from ge_explorer.memory.search.beam import Beam
from ge_explorer.memory.search.exact import Budget, Exact, OutOfSteps
from ge_explorer.memory.search.instance import MAX_BUFFERS, Instance, Ints, components, instance_of, restrict

DEFAULT_STEPS = 60_000
FIRST_LIMIT, GROWTH = 1_000, 4
"""Steps of the first exact runs, and how they grow from round to round."""
FIRST_WIDTH = 10
"""Plans side by side in the first beam runs; doubled from round to round."""
HALVINGS = 6
"""Limits the beam tries between bound and best plan, per round."""
EXHAUSTED = "exhausted search"


@dataclass(frozen=True, slots=True)
class SearchResult:
    """``plan`` with peak in bytes; no safe plan is below ``bound``; ``optimal``: the peak equals it.

    ``bound.name`` says why: serial live, antichain, heaviest stack (certificate in ``bound.buffers``), or exhausted search (every
    smaller limit was searched to the end; no certificate). ``method``: what found the plan; ``steps``: work spent; ``finished``:
    False when the budget ended first.
    """

    plan: MemoryPlan
    bound: Bound
    optimal: bool
    method: str
    steps: int
    finished: bool


@dataclass(slots=True)
class _Part:
    """One connected part while it is searched: offsets in units, its best peak, its proven bound."""

    inst: Instance
    offsets: Ints
    peak: int
    low: int
    method: str


def search(
    problem: MemoryProblem,
    bound: Bound | None = None,
    start: MemoryPlan | None = None,
    steps: int = DEFAULT_STEPS,
    seconds: float | None = None,
) -> SearchResult:
    """Smallest plan within the budget. ``bound``: a proven bound with certificate (default: serial live); ``start``: a safe plan
    to improve (default: the greedy portfolio).
    """
    budget = Budget(steps, None if seconds is None else time.monotonic() + seconds)
    known = bound or serial_live(problem)
    start = start or plan_hb(problem, lambda _: known.bytes)
    peaks = start.candidates
    method = min(peaks, key=lambda k: peaks[k], default=start.planner)
    if start.peak <= known.bytes or len(problem.buffers) > MAX_BUFFERS:
        return SearchResult(start, known, start.peak <= known.bytes, method, 0, start.peak <= known.bytes)
    inst = instance_of(problem, [known.buffers])
    weight, members = inst.heaviest()
    if weight * inst.unit > known.bytes:
        known = Bound(weight * inst.unit, "heaviest stack", members)
    start, method = _stack_first(problem, inst, known.bytes, start, method)
    at = np.array([start.offsets[b] for b in inst.ids.tolist()], dtype=np.int64)
    target = -(-known.bytes // inst.unit)
    parts: list[_Part] = []
    for mask in components(inst.masks, (1 << inst.count) - 1):
        chosen = list(bits(mask))
        piece = restrict(inst, chosen)
        units, peak = _start(piece, at[chosen])
        parts.append(_Part(piece, units, peak, piece.heaviest()[0], method))
    parts.sort(key=lambda p: -p.low)
    finished = True
    for part in parts:
        target = max([target, *(p.low for p in parts)])
        if part.peak <= target:
            continue
        try:
            _improve(part, target, budget)
        except OutOfSteps:
            finished = False
            break
    return _result(problem, start, known, inst.unit, parts, budget.used, finished)


def _stack_first(
    problem: MemoryProblem, inst: Instance, target: int, start: MemoryPlan, method: str
) -> tuple[MemoryPlan, str]:
    """Greedy orders that need the stacks: the fullest stack first, and inside it the earliest end, the longest span or the most
    conflicts. The better of these and ``start``; the first of them is the best single order on training graphs.
    """
    if start.peak <= target:
        return start, method
    total = _heaviest_of(inst)
    end = np.array([problem.lifetimes[b].end for b in inst.ids.tolist()], dtype=np.int64)
    conflicts = Conflicts(problem.before)
    empty = [b.id for b in problem.buffers if b.size == 0]
    peaks = dict(start.candidates)
    best = start
    for name, second in (("end_asc", end), ("span_desc", -inst.span), ("degree_desc", -inst.adjacent.sum(axis=1))):
        order = inst.ids[np.lexsort((np.arange(inst.count), second, -total))].tolist() + empty
        fits: tuple[Fit, Fit] = ("first", "best")
        for fit in fits:
            offsets, peak = place(problem, conflicts, order, fit)
            label = f"stack_first_{name}/{fit}"
            peaks[label] = peak
            if peak < best.peak:
                best, method = MemoryPlan(tuple(offsets), peak, start.planner, start.origin), label
        if best.peak <= target:
            break
    candidates = MappingProxyType(peaks)
    return MemoryPlan(best.offsets, best.peak, start.planner, start.origin, candidates), method


def _heaviest_of(inst: Instance) -> Ints:
    """Per buffer the units of the heaviest stack it is in."""
    total = np.zeros(inst.count, dtype=np.int64)
    for s in inst.stacks:
        total[s] = np.maximum(total[s], inst.size[s].sum())
    return total


def _start(piece: Instance, at: Ints) -> tuple[Ints, int]:
    """Offsets in units of a given plan. A plan in bytes that are no multiples of the unit is settled: pushed down in its order."""
    order = np.argsort(at, kind="stable").tolist()
    units = np.zeros(piece.count, dtype=np.int64)
    top = np.zeros(piece.count, dtype=np.int64)
    for k in order:
        units[k] = top[k]
        near = piece.adjacent[k]
        top[near] = np.maximum(top[near], units[k] + piece.size[k])
    return units, int((units + piece.size).max(initial=0))


def _result(
    problem: MemoryProblem, start: MemoryPlan, bound: Bound, unit: int, parts: list[_Part], steps: int, finished: bool
) -> SearchResult:
    offsets = [0] * len(problem.buffers)
    peak, method = 0, ""
    for p in parts:
        for b, u in zip(p.inst.ids.tolist(), p.offsets.tolist(), strict=True):
            offsets[b] = u * unit
        if p.peak * unit > peak:
            peak, method = p.peak * unit, p.method
    low = max((p.low for p in parts), default=0) * unit
    if low > bound.bytes:
        bound = Bound(low, EXHAUSTED, ())
    candidates = MappingProxyType({**start.candidates, "search": peak})
    plan = MemoryPlan(tuple(offsets), peak, "search", "model", candidates)
    return SearchResult(plan, bound, peak <= bound.bytes, method, steps, finished)


def ranks(inst: Instance) -> dict[str, Ints]:
    """Orders in which buffers are tried at one offset. Letters: T heaviest stack it is in, N number of stacks, W span,
    A size x span, B size x stacks, S size, D conflicts; all descending, the first letter decides first.
    """
    n = inst.count
    number = np.bincount(np.concatenate(inst.stacks), minlength=n)
    key = {
        "T": _heaviest_of(inst), "W": inst.span, "N": number, "A": inst.size.astype(float) * inst.span,
        "B": inst.size * number, "S": inst.size, "D": inst.adjacent.sum(axis=1),
    }  # fmt: skip
    out = {}
    for name in ("TWA", "TNB", "TAW", "WAT", "SDT"):
        rank = np.empty(n, dtype=np.int64)
        rank[np.lexsort([-key[c] for c in reversed(name)])] = np.arange(n)
        out[name] = rank
    return out


def _improve(part: _Part, target: int, budget: Budget) -> None:
    """Bring the peak of a part down to ``target`` (nothing below it counts) or prove that it cannot be. Raises OutOfSteps."""
    orders = ranks(part.inst)
    limit_of_round = FIRST_LIMIT
    width = FIRST_WIDTH
    while part.peak > max(part.low, target):
        for name, rank in orders.items():
            limit = max(part.low, target)
            if part.low > target:  # the bound was disproved once: halve what is left
                limit = (part.low + part.peak - 1) // 2
            if part.peak <= limit:
                return
            if _exact(part, limit, name, rank, budget, limit_of_round):
                return
        if part.low <= target:
            for ordered in (True, False):
                _descend(part, max(part.low, target), orders["TWA"], budget, width, ordered)
            width *= 2
        limit_of_round *= GROWTH


def _exact(part: _Part, limit: int, name: str, rank: Ints, budget: Budget, steps: int) -> bool:
    """One exact run; True when the part is done (peak equals the proven bound)."""
    own = budget.share(steps)
    try:
        found = Exact(part.inst, limit, rank, own).run()
    except OutOfSteps:
        budget.take_steps(own.used)
        return False
    budget.take_steps(own.used)
    if found is None:
        part.low = max(part.low, limit + 1)
    else:
        _accept(part, found, f"exact {name}")
    return part.peak <= part.low


def _descend(part: _Part, low: int, rank: Ints, budget: Budget, width: int, ordered: bool) -> None:
    """Beam runs between ``low`` and the best peak, halving the distance."""
    dead = low - 1
    for _ in range(HALVINGS):
        limit = max((dead + part.peak) // 2, low)
        if limit >= part.peak or limit <= dead:
            return
        found = Beam(part.inst, limit, rank, budget, width, ordered).run()
        if found is None:
            dead = limit
        else:
            _accept(part, found, "beam")


def _accept(part: _Part, units: list[int], method: str) -> None:
    peak = int((np.array(units, dtype=np.int64) + part.inst.size).max())
    if peak < part.peak:
        part.offsets, part.peak, part.method = np.array(units, dtype=np.int64), peak, method


def improve(problem: MemoryProblem, plan: MemoryPlan, bound: Bound, steps: int) -> tuple[MemoryPlan, Bound]:
    """A smaller plan of the same planner name, or the plan itself; and the best bound known afterwards."""
    if plan.peak <= bound.bytes or steps <= 0:
        return plan, bound
    found = search(problem, bound, plan, steps)
    if found.plan.peak >= plan.peak:
        return plan, found.bound
    better = MemoryPlan(found.plan.offsets, found.plan.peak, plan.planner, plan.origin, found.plan.candidates)
    return better, found.bound


def plan_search(problem: MemoryProblem, bound: Callable[[MemoryPlan], int] | None = None) -> MemoryPlan:
    """Planner ``search``: greedy portfolio, then the search with the default budget (planner.PLANNERS has the signature)."""
    start = plan_hb(problem, bound)
    return search(problem, None, start).plan if problem.buffers else start

"""The search against brute force, and what its claims rest on."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ge_explorer.memory.bounds import is_certificate, serial_live
from ge_explorer.memory.conflicts import Conflicts, IntervalConflicts
from ge_explorer.memory.model import MemoryProblem
from ge_explorer.memory.planner import plan_hb
from ge_explorer.memory.search import improve, search
from ge_explorer.memory.search.beam import Beam
from ge_explorer.memory.search.exact import Budget, Exact, OutOfSteps
from ge_explorer.memory.search.instance import components, instance_of, restrict
from ge_explorer.memory.search.solve import EXHAUSTED, ranks
from tests.memory.search.problems import (
    fits,
    from_rows,
    full_problem,
    interval_problems,
    is_safe,
    order_problems,
    smallest_peak,
)

TINY = st.one_of(interval_problems(6), order_problems(6))


@settings(max_examples=150, deadline=None)
@given(TINY)
def test_search_finds_the_optimum_of_tiny_problems_and_says_so(problem: MemoryProblem) -> None:
    found = search(problem)
    assert found.plan.peak == smallest_peak(problem)
    assert found.optimal
    assert found.finished
    assert found.bound.bytes == found.plan.peak
    assert found.bound.name == EXHAUSTED or is_certificate(problem, found.bound)
    assert is_safe(problem, found.plan.offsets)


@settings(max_examples=100, deadline=None)
@given(TINY, st.sampled_from(["TWA", "TNB", "TAW", "WAT", "SDT"]))
def test_exact_search_fits_at_the_optimum_and_not_below(problem: MemoryProblem, order: str) -> None:
    inst = instance_of(problem)
    if inst.count == 0:
        return
    optimum = smallest_peak(problem) // inst.unit
    rank = ranks(inst)[order]
    fits = Exact(inst, optimum, rank, Budget(10**6)).run()
    assert fits is not None
    assert max(o + int(s) for o, s in zip(fits, inst.size, strict=True)) == optimum
    assert Exact(inst, optimum - 1, rank, Budget(10**6)).run() is None


@settings(max_examples=40, deadline=None)
@given(st.one_of(interval_problems(30, 40), order_problems(24)), st.integers(0, 200))
def test_any_budget_gives_a_safe_plan_no_worse_than_greedy(problem: MemoryProblem, steps: int) -> None:
    greedy = plan_hb(problem)
    found = search(problem, steps=steps)
    assert found.plan.peak <= min(greedy.candidates.values(), default=0)
    assert is_safe(problem, found.plan.offsets)
    ends = [o + b.size for o, b in zip(found.plan.offsets, problem.buffers, strict=True)]
    assert max(ends, default=0) == found.plan.peak
    assert found.bound.bytes <= found.plan.peak
    assert found.optimal == (found.plan.peak == found.bound.bytes)


@settings(max_examples=30, deadline=None)
@given(st.one_of(interval_problems(20, 30), order_problems(20)), st.booleans())
def test_beam_plans_are_safe_and_below_their_limit(problem: MemoryProblem, ordered: bool) -> None:
    inst = instance_of(problem)
    if inst.count == 0:
        return
    limit = int(inst.size.sum())
    units = Beam(inst, limit, ranks(inst)["TWA"], Budget(10**6), 10, ordered).run()
    if units is None:
        assert ordered, "with room for everything only the order by rank makes a dead end"
        return
    assert max(u + s for u, s in zip(units, inst.size.tolist(), strict=True)) <= limit
    offsets = [0] * len(problem.buffers)
    for b, u in zip(inst.ids.tolist(), units, strict=True):
        offsets[b] = u * inst.unit
    assert is_safe(problem, offsets)


@settings(max_examples=60, deadline=None)
@given(TINY)
def test_stacks_are_sets_in_conflict_that_cover_every_buffer(problem: MemoryProblem) -> None:
    inst = instance_of(problem)
    covered: set[int] = set()
    for s in inst.stacks:
        members = s.tolist()
        covered |= set(members)
        assert all(inst.adjacent[x, y] for x in members for y in members if x != y)
        assert not any(all(inst.adjacent[x, y] for y in members) for x in range(inst.count) if x not in members)
    assert covered == set(range(inst.count))


def hard(seed: int = 3, count: int = 40) -> MemoryProblem:
    """Enough buffers that greedy misses the bound."""
    rng = random.Random(seed)
    return from_rows([(rng.randrange(40), rng.randrange(4, 16), rng.randrange(3, 60)) for _ in range(count)])


def test_same_problem_same_plan() -> None:
    one, two = search(hard(), steps=500), search(hard(), steps=500)
    assert (one.plan.offsets, one.steps, one.method) == (two.plan.offsets, two.steps, two.method)


def test_steps_end_a_search_without_a_claim() -> None:
    runs = [search(hard(seed, 60), steps=1) for seed in range(12)]
    cut = [r for r in runs if not r.finished]
    assert cut, "greedy is optimal on all of them: nothing was searched"
    assert all(not r.optimal and r.steps <= 3 for r in cut)


def test_seconds_are_a_cap() -> None:
    found = search(hard(1, 60), steps=10**9, seconds=0.05)
    assert found.finished or found.plan.peak > found.bound.bytes


def test_a_budget_is_spent_by_work_and_ends() -> None:
    budget = Budget(3)
    budget.spend(0)
    budget.spend(1 << 16)
    with pytest.raises(OutOfSteps):
        budget.spend(0)


def test_parts_without_conflicts_are_searched_alone() -> None:
    left = hard(3, 30)
    rows = [(x.begin, x.end - x.begin + 1, b.size) for x, b in zip(left.lifetimes, left.buffers, strict=True)]
    both = from_rows([*rows, *((a + 1000, d, s) for a, d, s in rows)])
    inst = instance_of(both)
    groups = components(inst.masks, (1 << inst.count) - 1)
    assert len(groups) == 2
    assert restrict(inst, range(30)).count == 30
    assert search(both, steps=5000).plan.peak == search(left, steps=5000).plan.peak


@pytest.mark.parametrize(("seed", "most", "load"), [(76, 16, 6), (240, 24, 4)])
def test_proof_without_certificate_is_an_exhausted_search(seed: int, most: int, load: int) -> None:
    problem = full_problem(seed, most, load)
    found = search(problem)
    assert serial_live(problem).bytes == load
    assert (found.bound.name, found.bound.buffers, found.optimal) == (EXHAUSTED, (), True)
    assert found.bound.bytes == found.plan.peak == load + 1
    assert not fits(problem, load)
    assert fits(problem, load + 1)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([4, 5, 6]))
def test_full_sections_leave_no_room_for_a_wrong_claim(seed: int, load: int) -> None:
    problem = full_problem(seed, 14, load)
    found = search(problem, steps=3000)
    assert is_safe(problem, found.plan.offsets)
    if found.optimal:
        assert fits(problem, found.plan.peak) and not fits(problem, found.plan.peak - 1)
    assert fits(problem, found.bound.bytes) or found.plan.peak > found.bound.bytes


def test_improve_keeps_the_planner_name_and_never_gets_worse() -> None:
    # The first made-up problem on which greedy misses the bound.
    problem = next(p for s in range(50) if plan_hb(p := hard(s, 60)).peak > serial_live(p).bytes)
    greedy = plan_hb(problem)
    better, bound = improve(problem, greedy, serial_live(problem), 2000)
    assert better.planner == "hb"
    assert better.peak < greedy.peak
    assert is_safe(problem, better.offsets)
    assert improve(problem, greedy, serial_live(problem), 0)[0] is greedy
    assert bound.bytes <= better.peak


@settings(max_examples=60, deadline=None)
@given(interval_problems(12))
def test_lifetimes_alone_give_the_same_conflicts(problem: MemoryProblem) -> None:
    begin = np.array([x.begin for x in problem.lifetimes], dtype=np.int64)
    end = np.array([x.end for x in problem.lifetimes], dtype=np.int64)
    short, full = IntervalConflicts(begin, end), Conflicts(problem.before)
    assert short.degree.tolist() == full.degree.tolist()
    for b in range(full.count):
        assert short.of(b).tolist() == full.of(b).tolist() == np.flatnonzero(full.row(b)).tolist()
        assert short.row(b).tolist() == full.row(b).tolist()

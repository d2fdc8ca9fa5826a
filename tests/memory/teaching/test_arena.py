"""Arena and pools: the article's numbers, and the bytes its samples lose."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ge_explorer.errors import OptionError
from ge_explorer.memory.teaching.arena import Arena, OutOfBytes
from ge_explorer.memory.teaching.fits import planner_of
from ge_explorer.memory.teaching.intervals import Request
from ge_explorer.memory.teaching.pools import OVERCOMMIT, budget, capacities, plan_pools_of, runtime_order
from tests.memory.teaching.graphs import case

MIB = 1 << 20


def sample() -> Arena:
    a = Arena(4096)
    assert [a.allocate(1024), a.allocate(2048), a.allocate(512)] == [0, 1024, 3072]
    assert (a.top, a.utilization) == (3584, 0.875)
    a.free(0)
    assert a.allocate(768) == 0
    return a


def test_b6_the_rest_of_a_reused_piece_stays_free() -> None:
    a = sample()
    assert (768, 256) in [(p.offset, p.size) for p in a.free_pieces]
    assert a.allocate(256) == 768, "the article drops these 256 bytes"


def test_b6_usage_is_what_is_in_use() -> None:
    a = sample()
    assert a.top == 3584
    assert a.used == 3328
    assert a.utilization == 3328 / 4096, "top / capacity would still say 87.5 %"


def test_b6_neighbours_merge_and_the_top_comes_down() -> None:
    a = Arena(4096)
    x, y, z = (a.allocate(1024) for _ in range(3))
    a.free(x)
    a.free(y)
    assert a.allocate(2048) == 0, "two freed neighbours are one piece of 2048"
    a.free(0)
    a.free(z)
    assert a.top == 0
    assert a.allocate(4096) == 0


def test_b6_wrong_frees_are_errors() -> None:
    a = Arena(4096)
    x = a.allocate(100)
    a.free(x)
    for wrong in (x, 64, 999):
        with pytest.raises(OptionError, match="nothing is allocated"):
            a.free(wrong)


def test_b6_no_division_by_zero_and_no_minus_one() -> None:
    a = Arena(0)
    assert a.utilization == 0.0
    with pytest.raises(OutOfBytes, match="64 bytes do not fit"):
        a.allocate(1)


def test_shortage_and_fragmentation_are_told_apart() -> None:
    a = Arena(3 * 64)
    x, _, z = a.allocate(64), a.allocate(64), a.allocate(64)
    a.free(x)
    a.free(z)
    with pytest.raises(OutOfBytes) as e:
        a.allocate(128)
    assert (e.value.largest, e.value.free) == (64, 128)


@settings(max_examples=80, deadline=None, derandomize=True)
@given(st.lists(st.tuples(st.booleans(), st.integers(1, 500)), max_size=40), st.sampled_from(["first", "best"]))
def test_no_byte_is_lost_or_given_twice(steps: list[tuple[bool, int]], fit: str) -> None:
    a = Arena(4096, 16, fit)  # type: ignore[arg-type]
    for allocate, value in steps:
        if allocate:
            largest = max((p.size for p in a.free_pieces), default=0)
            if largest >= -(-value // 16) * 16:
                a.allocate(value)
            else:
                with pytest.raises(OutOfBytes):
                    a.allocate(value)
        elif a.live:
            a.free(sorted(a.live)[value % len(a.live)])
        ranges = sorted([(o, s) for o, s in a.live.items()] + [(p.offset, p.size) for p in a.free_pieces])
        assert sum(s for _, s in ranges) == 4096
        assert all(o + s == p for (o, s), (p, _) in pairwise(ranges))
        assert a.free_pieces == tuple(sorted(a.free_pieces, key=lambda p: p.offset))


def test_b8_capacities_lose_no_byte() -> None:
    for total in (0, 1, 7, 8 << 30, 10**9 + 7):
        assert sum(capacities(total).values()) == total
        assert total - (total // 4 + total // 2 + total // 4) <= 3, "what the article loses"


def test_b8_pools_together_stay_within_the_device() -> None:
    half = [Request(p, 40 * MIB, 0, 9, p) for p in ("persistent", "temporary", "gradient")]
    plan = plan_pools_of(half, 100 * MIB, 1.2)
    planned = sum(p.request.size for p in plan.placed)
    assert planned <= 120 * MIB, "each pool against the whole device would let all three in, and up to 3.6 devices"
    assert [(u.request.name, u.pool) for u in plan.unplaced] == [("persistent", "persistent"), ("gradient", "gradient")]
    assert plan.unplaced[0].missing == 10 * MIB


def test_b8_the_device_is_a_limit_of_its_own() -> None:
    full = [
        Request(p, 25 * MIB if p != "temporary" else 50 * MIB, 0, 9, p) for p in ("persistent", "temporary", "gradient")
    ]
    assert plan_pools_of(full, 100 * MIB).unplaced == ()
    again = plan_pools_of([*full, Request("more", 64, 1, 2)], 100 * MIB)
    assert [(u.request.name, u.pool) for u in again.unplaced] == [("more", "device")]


def test_b8_unknown_pool_and_bad_overcommit() -> None:
    with pytest.raises(OptionError, match="Did you mean 'gradient'"):
        plan_pools_of([Request("x", 1, 0, 1, "gradients")], 100)
    for wrong in (0.5, float("nan"), float("inf")):
        with pytest.raises(OptionError, match="overcommit"):
            plan_pools_of([], 100, wrong)
    assert sorted(OVERCOMMIT.values()) == [1.0, 1.05, 1.2]


def test_b8_peak_is_not_the_sum_and_order_is_by_start() -> None:
    rows = [Request("late", 640, 5, 7), Request("early", 640, 0, 2), Request("mid", 640, 2, 4, "gradient")]
    plan = plan_pools_of(rows, 1 << 20)
    assert plan.peak["temporary"] == 640
    assert runtime_order(plan) == ("early", "mid", "late"), "sorting lifetime texts by a start key fails in the article"
    assert plan.utilization("persistent") == 0.0
    assert plan_pools_of([], 0).utilization("temporary") == 0.0


def test_b9_strategy_is_a_closed_list() -> None:
    assert [planner_of(s) for s in ("greedy", "firstfit", "bestfit")] == ["size-slots", "first-fit", "best-fit"]
    with pytest.raises(OptionError, match="Did you mean 'bestfit'"):
        planner_of("best-fit")


def test_pools_planner_keeps_gradients_apart() -> None:
    c = case(["a", "grad_a", "b"], "")
    plan = c.plan("pools")
    assert plan.peak == 12288 - 4096
    assert {p: need for p, need, _ in budget(c.problem, 1 << 30)} == {
        "persistent": 0,
        "temporary": 4096,
        "gradient": 4096,
    }

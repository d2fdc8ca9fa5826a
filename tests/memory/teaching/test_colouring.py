"""Colouring, slots, partitions, levels: the article's numbers and its defects."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from ge_explorer.errors import OptionError
from ge_explorer.memory.conflicts import conflicts_of
from ge_explorer.memory.formats.minimalloc_csv import intervals
from ge_explorer.memory.planner import PLANNERS
from ge_explorer.memory.teaching.catalogue import NOTES, TEACHING, plans_by_lifetime
from ge_explorer.memory.teaching.colouring import colour, plan_colouring, plan_of_slots
from ge_explorer.memory.teaching.levels import ARTICLE_ONLY_OPTIONS, LEVELS, level, unused_settings
from ge_explorer.memory.teaching.partition import RATIOS, crossings, partition_budget, partitions
from ge_explorer.pipelines import static
from ge_explorer.trace.passes import Pass
from tests.memory.search.problems import is_safe
from tests.memory.teaching.graphs import case

RESIDUAL = intervals(["main1", "main2", "shortcut", "add"], [0, 2, 0, 7], [5, 7, 7, 9], [1024] * 4)


def by_degree() -> list[int]:
    degree = conflicts_of(RESIDUAL).degree
    return sorted(range(4), key=lambda b: (-int(degree[b]), b))


def test_b7_three_live_tensors_need_three_colours() -> None:
    found = colour(conflicts_of(RESIDUAL), by_degree())
    assert found.colour == (0, 1, 2, 0)
    assert plan_colouring(RESIDUAL).peak == 3072


def test_b7_spilled_tensors_that_conflict_get_different_colours() -> None:
    found = colour(conflicts_of(RESIDUAL), by_degree(), limit=1)
    assert found.spilled == (1, 2)
    article = [0, 1, 1, 0]  # every spilled node gets colour max_colors, here 1
    assert not is_safe(RESIDUAL, plan_of_slots(RESIDUAL, article, "article").offsets)
    assert is_safe(RESIDUAL, plan_of_slots(RESIDUAL, found.colour, "ours").offsets)
    two = colour(conflicts_of(RESIDUAL), by_degree(), limit=2)
    assert two.spilled == (2,), "with two colours the shortcut cannot but spill"


def test_b7_a_colour_is_not_an_offset() -> None:
    p = intervals(["big", "small"], [0, 0], [2, 2], [5000, 100])
    plan = plan_colouring(p)
    assert sorted(plan.offsets) == [0, 5000]
    equal_slots = [k * 100 for k in (0, 1)]
    assert not is_safe(p, equal_slots), "colour x one slot size ignores the sizes"


def test_b20_slots_never_grow() -> None:
    p = intervals(["s", "l", "m"], [0, 2, 2], [2, 4, 4], [10, 90, 50])
    plan = PLANNERS.get("size-slots")(p)
    assert plan.peak == 140
    assert plan.offsets == (0, 0, 90)


GIB8 = 8 << 30


def test_b13_ratios_are_of_the_device() -> None:
    ours = partition_budget(GIB8)
    assert sum(ours.values()) == GIB8
    assert ours["inference"] == GIB8 * 2 // 5
    reserved = int(GIB8 * 0.2)
    article = [reserved, *(int((GIB8 - reserved) * r) for r in (0.4, 0.2, 0.2))]
    assert article == [1717986918, 2748779069, 1374389534, 1374389534]
    assert GIB8 - sum(article) == 1374389537, "16 % belong to nobody"
    with pytest.raises(OptionError, match="add up"):
        partition_budget(100, {**RATIOS, "more": Fraction(1, 2)})


def test_b13_a_tensor_that_crosses_streams_stays_with_its_maker() -> None:
    """A is read by B on the other stream while P, Q go on at home: by ticks Q could take A's bytes, B may still be reading."""
    c = case("ABPQ", "AB AP PQ", side="B")
    plan = c.plan("partition")
    assert c.races(plan) == []
    assert set(partitions(c.problem)) == {0, 1}
    a, q = plan.offsets[0], plan.offsets[3]
    assert abs(a - q) >= 4096
    by_tick = case("ABPQ", "AB AP PQ").plan("partition")
    assert by_tick.peak < plan.peak
    (crossing,) = crossings(c.problem, c.stream.tolist())
    assert (crossing.owner, crossing.readers) == (0, (1,))
    assert crossing.events_back == ((1, 0),), "B must be done before the next round writes A again"


def test_b13_no_byte_is_shared_between_streams() -> None:
    c = case("ABCDEF", "AB BC AD DE CF EF", side="DE")
    plan = c.plan("partition")
    where = partitions(c.problem)
    for b, at in zip(c.problem.buffers, plan.offsets, strict=True):
        base, size = where[b.stream]
        assert base <= at
        assert at + b.size <= base + size
    assert plan.peak >= c.plan("hb").peak


def test_b5_levels_are_a_closed_list_with_real_switches() -> None:
    layers = {n: (x.inplace, x.common_subexpressions, x.pool) for n, x in LEVELS.items()}
    assert layers == {
        "off": (False, False, False),
        "safe": (True, False, False),
        "balanced": (True, True, False),
        "aggressive": (True, True, True),
    }
    with pytest.raises(OptionError, match="Did you mean 'aggressive'"):
        level("agressive")
    for x in LEVELS.values():
        assert not ARTICLE_ONLY_OPTIONS & set(x.ge_options)


def test_b5_balanced_ignores_pool_settings_and_says_so() -> None:
    samples = {"pool_allocation_strategy": "bestfit", "pool_alignment": 64}
    assert unused_settings("balanced", samples) == ("pool_alignment", "pool_allocation_strategy")
    assert unused_settings("aggressive", samples) == ()


def test_b5_every_switch_is_one_that_the_pipeline_reads() -> None:
    steps: list[Pass] = [i.pass_ for i in static().items]
    known = {k for p in steps for k in p.option_keys}
    assert {k for x in LEVELS.values() for k in x.ge_options} <= known
    assert not ARTICLE_ONLY_OPTIONS & known


def test_every_planner_has_a_note_and_a_label() -> None:
    assert set(PLANNERS) | {"ge"} == set(NOTES)
    assert set(TEACHING) <= set(PLANNERS)
    assert {n for n in NOTES if plans_by_lifetime(n)} == {"arena", "interval"}
    assert all(n.title.zh and n.idea.zh for n in NOTES.values())


@pytest.mark.parametrize("name", [n for n in TEACHING if not plans_by_lifetime(n)])
def test_planners_that_know_streams_do_not_race(name: str) -> None:
    for edges, side in (("AB XY", "XY"), ("AX AB XY BY", "XY")):
        c = case("ABXY", edges, side=side)
        assert c.races(c.plan(name)) == []
    assert np.all(np.array(c.plan(name).offsets) % 512 == 0)

"""The article's cost model as data, gradient accumulation, dynamic shapes, Pareto front, pair reports."""

from __future__ import annotations

import numpy as np
import pytest

from ge_explorer.errors import OptionError
from ge_explorer.graph.edit import GraphEditor
from ge_explorer.memory.planner import plan_hb
from ge_explorer.memory.teaching.accumulation import share_accumulator
from ge_explorer.memory.teaching.claims import CLAIMS
from ge_explorer.memory.teaching.decision import decide, neighbours
from ge_explorer.memory.teaching.dynamic_shapes import isolated_pools, upper_bound, with_dims
from ge_explorer.memory.teaching.overhead import address_overhead_us, assumed, assumed_time_ms, scenario
from ge_explorer.memory.teaching.pareto import best_strategies, front, strategies
from tests.memory.teaching.graphs import case

GIB = 1 << 30


def test_b17_numbers_of_the_model() -> None:
    assert [address_overhead_us(n) for n in (GIB, 4 * GIB, GIB // 2)] == [20.48, 81.92, 10.24]
    savings = [scenario(s, GIB).saving for s in ("conservative", "balanced", "aggressive")]
    assert savings == pytest.approx([0.155, 0.28, 0.42])
    assert [assumed_time_ms(x) for x in ("off", "safe", "balanced", "aggressive")] == [100.0, 101.5, 103.0, 105.0]


def test_b17_the_scenarios_own_overhead_is_used() -> None:
    assert scenario("aggressive", GIB).overhead_us == pytest.approx(35.84)
    assert scenario("aggressive", GIB).overhead_us != address_overhead_us(GIB), "the article never passes it on"


def test_b17_the_prose_contradicts_the_formula() -> None:
    most = assumed(GIB, 1, 1, 1).saving
    assert most == pytest.approx(0.5)
    assert any(c.low > most for c in CLAIMS), "BERT-Large, 55 %"
    assert {c.origin for c in CLAIMS} == {"article"}
    assert all(c.objection.en and c.objection.zh for c in CLAIMS)


def test_b17_nothing_to_divide_by() -> None:
    assert assumed(0, 1, 1, 1).peak == 0
    with pytest.raises(OptionError, match="coverages"):
        assumed(GIB, 1.2, 0, 0)
    with pytest.raises(OptionError, match="memory level"):
        assumed_time_ms("max")


def test_b18_one_accumulator_needs_ordered_additions() -> None:
    c = case("abcd", "ab", side="cd")
    found = share_accumulator(1000, [0, 1, 2, 3], c.hb)
    assert (found.apart, found.shared, found.saved) == (4000, 1000, 3000)
    assert found.edges == ((1, 2),), "a before b and c before d by their streams; b before c by nothing"
    assert share_accumulator(1000, [0, 1]).edges == ((0, 1),)
    with pytest.raises(OptionError):
        share_accumulator(1000, [])
    with pytest.raises(OptionError):
        share_accumulator(1000, [1, 1])


def symbolic() -> GraphEditor:
    e = GraphEditor.empty("s")
    a = e.add_node("a", "Op", outputs=[(("b", 480), "int8")])
    x = e.add_node("x", "Op", inputs=[e.output(a)], outputs=[(("s", 480), "int8")])
    e.add_node("y", "Op", inputs=[e.output(x)], outputs=[((480,), "int8")])
    return e


def test_b19_one_plan_for_all_cases() -> None:
    g = symbolic().freeze()
    stream = np.zeros(3, dtype=np.int32)
    cases = [{"b": 8, "s": 1}, {"b": 1, "s": 8}]
    found = upper_bound(g, range(3), stream, cases)
    assert found.live == (4608, 4608)
    assert (found.of_all, found.slack) == (8192, 3584), (
        "both large at once never happens, but one plan must hold for both"
    )
    plan = plan_hb(found.problem)
    for dims in cases:
        one = upper_bound(g, range(3), stream, [dims]).problem
        assert all(a.size <= b.size for a, b in zip(one.buffers, found.problem.buffers, strict=True))
    assert plan.peak == 8192
    with pytest.raises(OptionError, match="no value"):
        with_dims(g, {"b": 3})
    with pytest.raises(OptionError, match="at least one"):
        upper_bound(g, range(3), stream, [])
    with pytest.raises(OptionError, match="at least 0"):
        with_dims(g, {"b": -1, "s": 1})


def test_b19_pools_of_models() -> None:
    assert isolated_pools({"m": 100, "n": 300}) == ({"m": (0, 100), "n": (100, 300)}, 100)
    assert isolated_pools({}) == ({}, 0)


def test_front_keeps_what_nobody_beats() -> None:
    assert front([(1, 5), (2, 2), (2, 3), (5, 1), (1, 5)], lambda p: p) == [(1, 5), (2, 2), (5, 1), (1, 5)]


def test_strategies_list_races_instead_of_hiding_them() -> None:
    c = case("ABXY", "AB XY", side="XY")
    found = {s.name: s for s in strategies(c.problem, c.hb, ("none", "interval", "hb", "partition"))}
    assert found["interval"].peak == 8192
    assert found["interval"].races == 2
    assert found["none"].handovers == 0
    kept = best_strategies(found.values())
    assert [s.name for s in kept] == ["none", "hb", "partition"]
    assert {s.peak for s in kept} == {16384}


def test_b16_a_pair_is_explained() -> None:
    c = case("ABXY", "AB XY", side="XY")
    plan = c.plan("interval")
    names = c.graph.unique_names
    d = decide(c.problem, plan, c.hb, names, 2, 0)
    assert (d.x, d.y, d.allowed, d.shared, d.overlap) == (0, 2, False, 4096, 0)
    assert (names[d.reader], names[d.producer]) == ("B", "X")
    assert "no path from B" in d.reason.en
    assert d.reason.zh
    same = case("ABXY", "AB XY")
    ok = decide(same.problem, same.plan("hb"), same.hb, names, 0, 2)
    assert ok.allowed
    assert ok.shared == 4096
    assert decide(c.problem, c.plan("none"), c.hb, names, 0, 1).overlap == 1
    assert neighbours(c.problem, 0) == ((1, 1), (2, 0), (3, 0))

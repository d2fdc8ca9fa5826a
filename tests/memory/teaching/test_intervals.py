"""Lifetimes and interval greedy: where the article's model is wrong, and what holds instead."""

from __future__ import annotations

import pytest

from ge_explorer.errors import GraphError
from ge_explorer.graph.edit import GraphEditor
from ge_explorer.memory.planner import PLANNERS
from ge_explorer.memory.teaching.intervals import (
    Request,
    lifetime,
    may_take_over,
    most_alive,
    most_bytes,
    overlap,
    requests_of,
    tensor_requests,
)
from tests.memory.teaching.graphs import case

M = 1 << 20


def test_chain_of_the_article() -> None:
    c = case("abcd", "ab bc cd", size=4 * M)
    found = requests_of(c.problem)
    assert [(r.start, r.end) for r in found] == [(0, 2), (1, 3), (2, 4), (3, 4)]
    assert most_alive(found[:3]) == 2
    assert most_bytes(found) == 8 * M == c.plan("interval").peak


def test_b1_the_first_tensor_is_still_read_at_tick_1() -> None:
    conv, bn = requests_of(case("abcd", "ab bc cd").problem)[:2]
    assert overlap(conv, bn) == 1, "the text calls conv's bytes free in [1, 2), where bn reads them"
    assert not may_take_over(conv, bn)


def test_b1_readers_count_per_tensor_not_per_node() -> None:
    e = GraphEditor.empty("g")
    a = e.add_node("a", "Split", outputs=[((480,), "int8"), ((480,), "int8")])
    e.add_node("b", "Op", inputs=[e.output(a, 0)], outputs=[((480,), "int8")])
    e.add_node("c", "Op", inputs=[e.output(a, 1)], outputs=[((480,), "int8")])
    g = e.freeze()
    by_tensor = {r.name: (r.start, r.end) for r in tensor_requests(g, range(3))}
    assert by_tensor["a:0"] == (0, 2)
    assert by_tensor["a:1"] == (0, 3)
    by_node = lifetime(0, g.succ[a])
    assert by_node == (0, 3), "all consumers of the node: a:0 would be held one tick too long"


def test_b1_an_unscheduled_producer_is_an_error() -> None:
    with pytest.raises(GraphError, match="start"):
        Request("t", 4, -1, 2)
    c = case("ab", "ab")
    with pytest.raises(GraphError, match="not scheduled"):
        tensor_requests(c.graph, [1])


def test_b1_results_live_to_the_end_and_weights_are_not_planned() -> None:
    e = GraphEditor.empty("g")
    w = e.add_node("w", "Const", outputs=[((480,), "int8")])
    a = e.add_node("a", "Op", inputs=[e.output(w)], outputs=[((480,), "int8")])
    b = e.add_node("b", "Op", outputs=[((480,), "int8")])
    e.add_node("out", "NetOutput", inputs=[e.output(a), e.output(b)])
    g = e.freeze()
    assert [(r.name, r.start, r.end) for r in tensor_requests(g, range(4))] == [("a:0", 1, 4), ("b:0", 2, 4)]


def test_b2_the_later_one_must_fit_whatever_the_argument_order() -> None:
    small, large = Request("small", 100, 0, 2), Request("large", 200, 2, 4)
    assert not may_take_over(small, large)
    assert not may_take_over(large, small), "the article compares by argument order and says yes here"
    early = Request("early", 200, 0, 2)
    assert may_take_over(early, Request("late", 100, 2, 4))
    assert may_take_over(Request("late", 100, 2, 4), early)


def test_b2_slots_say_nothing_about_bytes() -> None:
    rows = [Request("a", 1000, 0, 2), Request("b", 10, 1, 3), Request("c", 10, 2, 4), Request("d", 10, 2, 4)]
    assert most_alive(rows) == 3
    assert most_bytes(rows) == 1010, "the tick with most slots is not the tick with most bytes"


def test_b2_equal_ticks_do_not_overlap() -> None:
    assert most_alive([Request("a", 1, 0, 2), Request("b", 1, 2, 3)]) == 1


@pytest.mark.parametrize("planner", ["interval", "arena"])
def test_b1_intervals_know_nothing_of_streams(planner: str) -> None:
    """Part D 7: two independent streams. Ticks say X may take A's bytes; nothing orders them."""
    c = case("ABXY", "AB XY", side="XY")
    plan = c.plan(planner)
    assert plan.peak == 8192
    races = c.races(plan)
    assert {frozenset("ABXY"[i] for i in (r.x, r.y)) for r in races} == {frozenset("AX"), frozenset("BY")}
    assert any("nothing orders B (stream 0) before X (stream 1)" in m for m in c.issues(plan))
    assert c.plan("hb").peak == 16384
    assert case("ABXY", "AB XY").plan(planner).peak == 8192, "on one stream it is exact"


def test_reader_on_the_other_stream_5b() -> None:
    """Part D 5b, Z0 A1 | B2 C3 D4: A's only reader B runs on the other stream, and C after it there. So C may take A's bytes at
    once, while on its own stream A is never free again. Ticks agree here; happens-before reaches the bound.
    """
    c = case("ZABCD", "ZA AB BC CD", side="BCD", sizes={"Z": 512})
    assert c.problem.lifetimes[1].free_at == {0: -1, 1: 3}
    for planner, peak in (("interval", 8704), ("hb", 8192)):
        plan = c.plan(planner)
        assert (plan.peak, c.races(plan)) == (peak, [])


def test_no_way_back_4() -> None:
    """Part D 4: A is read on both streams and nothing returns; ticks end A at 2."""
    c = case("ABPCQD", "AB AP PQ BC CD", side="BCD")
    assert c.plan("hb").peak == 20480
    blind = c.plan("interval")
    assert blind.peak == 12288
    assert c.races(blind)


@pytest.mark.parametrize("name", sorted(set(PLANNERS) - {"search"}))
def test_empty_single_and_zero_sizes(name: str) -> None:
    from tests.memory.search.problems import from_rows

    for rows in ([], [(0, 1, 0)], [(0, 1, 7)], [(0, 2, 0), (1, 2, 5), (2, 2, 0)]):
        plan = PLANNERS.get(name)(from_rows(rows))
        assert plan.peak == max([o + s for o, (_, _, s) in zip(plan.offsets, rows, strict=True)], default=0)

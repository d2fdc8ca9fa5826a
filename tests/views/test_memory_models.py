"""Memory view models as data: shares add up, rectangles never overlap while live, curves count what the plan holds."""

from __future__ import annotations

import numpy as np
import pytest

from ge_explorer.errors import OptionError
from ge_explorer.views import memory_curve, memory_heatmap, memory_map, memory_raster
from ge_explorer.views.marks import as_json
from ge_explorer.views.memory_filter import SORTS, MemoryFilter
from ge_explorer.views.memory_peak import explain, taken_at
from tests.views.memory_cases import Case, chain, fork_join, random_case

CASES = [fork_join, chain, *(lambda s=s: random_case(s) for s in range(6))]


@pytest.fixture(params=CASES, ids=["fork", "chain", *(f"random{s}" for s in range(6))], scope="module")
def case(request: pytest.FixtureRequest) -> Case:
    return request.param()  # type: ignore[no-any-return]


@pytest.mark.parametrize("timed", [False, True], ids=["order", "time"])
@pytest.mark.parametrize("plan", ["current", "ge", "none"])
def test_rectangles_of_a_safe_plan_never_overlap_while_both_are_taken(case: Case, timed: bool, plan: str) -> None:
    v = case.lives(timed, plan)
    for i in range(v.count):
        both = (v.offset < v.offset[i] + v.size[i]) & (v.offset + v.size > v.offset[i])
        same_time = (v.begin < v.free[i]) & (v.free > v.begin[i]) & (v.last > v.begin)
        assert np.flatnonzero(both & same_time).tolist() in ([i], [])


@pytest.mark.parametrize("timed", [False, True], ids=["order", "time"])
def test_every_split_of_the_peak_adds_to_the_same_bytes_and_100_percent(case: Case, timed: bool) -> None:
    v = case.lives(timed)
    at, live = memory_curve.curve_top(v)
    p = explain(v, at, limit=3)
    assert p.total == live == p.in_use + p.waiting == int(v.size[taken_at(v, at)].sum())
    for shares in (p.buffers, p.by_op, p.by_stream, p.by_layer, p.by_scope, p.by_kind, p.by_use):
        assert sum(s.percent for s in shares) == 100
        assert sum(s.nbytes for s in shares) == live


def test_curve_is_what_the_plan_holds_and_never_more_than_its_peak(case: Case) -> None:
    v = case.lives()
    c = memory_curve.build(v, case.book.memory)
    assert (c.used.sum(axis=0) + c.waiting == c.total).all()
    assert (c.waiting >= 0).all()
    for at, total in zip(c.at.tolist(), c.total.tolist(), strict=True):
        assert total == int(v.size[taken_at(v, at)].sum())
    assert c.peak_live <= case.book.memory.plan.peak <= c.no_reuse
    assert ((c.fragmentation >= 0) & (c.fragmentation < 1)).all()


def test_line_changes_colour_at_the_last_reads_and_then_waits() -> None:
    case = fork_join()  # issue order a c d b e f g
    rows = {r.name: r for r in memory_heatmap.build(case.lives()).rows}
    assert [(s.begin, s.end, s.mark.letter, s.waiting) for s in rows["a:0"].segments] == [(1, 5, "A", False)]
    got = [(s.begin, s.end, s.mark.letter, s.waiting, s.never) for s in rows["d:0"].segments]
    # written on B, read by e on A; nothing on B is ordered after e, so B never gets the bytes back
    assert got == [(3, 4, "B", False, False), (4, 6, "A", False, False), (6, 9, "B", True, True)]


def test_waiting_can_be_asked_for_another_stream() -> None:
    case = fork_join()
    rows = {r.name: r for r in memory_heatmap.build(case.lives(), awaited=0).rows}
    assert not [s for s in rows["d:0"].segments if s.waiting]  # f on A comes right after e


def test_unfolded_buffer_has_one_line_a_stream() -> None:
    case = fork_join()
    rows = memory_heatmap.build(case.lives(), unfolded=(case.buffer("a:0"),)).rows
    lines = {r.name: r.segments for r in rows if r.stream_row}
    assert [n[-1] for n in lines] == ["A", "B", "C"]
    assert [(s.begin, s.end, s.waiting, s.never) for s in lines["a:0 → B"]] == [
        (1, 3, False, False),
        (3, 9, True, True),
    ]


def test_golden_heatmap_of_a_chain() -> None:
    got = as_json(memory_heatmap.build(chain(3).lives()).rows)
    assert [(r["name"], [(s["begin"], s["end"], s["waiting"]) for s in r["segments"]]) for r in got] == [
        ("layers.0.op0:0", [(1, 3, False)]),
        ("layers.0.op1:0", [(2, 4, False)]),
    ]


def test_many_lines_become_a_raster_with_the_same_meaning() -> None:
    case = random_case(3, nodes=400)
    v = case.lives()
    h = memory_heatmap.build(v)
    assert h.raster is not None
    assert not h.rows
    assert h.raster.shape == (v.count, memory_heatmap.RASTER[1])
    for k, i in enumerate(h.ids.tolist()):
        line = h.raster[v.count - 1 - k]
        first = int(v.begin[i]) * line.size // v.end
        assert memory_raster.meaning(int(line[first])) == (v.mark(i).index, False)
        assert (line[: max(first, 0)] == 0).all()


def test_raster_codes_round_trip() -> None:
    for index in (-1, 0, 7, 30):
        for waiting in (False, True):
            assert memory_raster.meaning(memory_raster.code(index, waiting)) == (index, waiting)
    assert memory_raster.meaning(0) is None


def test_filters_narrow_and_sorts_sort() -> None:
    case = random_case(1)
    v = case.lives()
    assert MemoryFilter(top=5).apply(v).size == 5
    assert set(v.stream[MemoryFilter(stream=1).apply(v)].tolist()) <= {1}
    assert all("op1" in v.names[i] for i in MemoryFilter(text="OP1").apply(v))
    for i in MemoryFilter(crossing=True).apply(v):
        assert len(v.problem.lifetimes[i].last_use) > 1 or int(v.stream[i]) not in v.problem.lifetimes[i].last_use
    for sort in SORTS:
        assert sorted(MemoryFilter(sort=sort).apply(v).tolist()) == list(range(v.count))
    assert (np.diff(v.size[MemoryFilter(sort="size").apply(v)]) <= 0).all()
    with pytest.raises(OptionError):
        MemoryFilter(sort="colour")


def test_map_keeps_the_curve_when_rectangles_are_filtered() -> None:
    case = random_case(2)
    v = case.lives()
    whole = memory_map.picture(v, case.book.memory)
    some = memory_map.picture(v, case.book.memory, keep=MemoryFilter(top=3).apply(v))
    assert len(some.rects) == 3
    assert some.live == whole.live
    assert some.shares == whole.shares

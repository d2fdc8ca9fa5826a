"""Memory picture: shares add up, rectangles are the plan, held bytes end where somebody reuses them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ge_explorer.ids import buffer
from ge_explorer.memory.model import FOREVER, Buffer, Lifetime, MemoryPlan, MemoryProblem
from ge_explorer.trace.state import MemoryState, Snapshot
from ge_explorer.views import memory_map
from ge_explorer.views.marks import whole_percent
from ge_explorer.views.memory_map import MemoryPicture
from tests.views.panel_cases import moe_session, moe_snapshot, moe_timeline


def picture(s: Snapshot | None = None, *, timed: bool = True, limit: int = 200) -> MemoryPicture:
    s = s or moe_snapshot()
    known = moe_session().identities
    table = {n: x for n in (0, 1) if (x := known.of(1, n)) is not None}
    p = memory_map.build(s, table, timeline=moe_timeline(s.graph) if timed else None, limit=limit)
    assert p is not None
    return p


@pytest.mark.parametrize("timed", [True, False])
def test_shares_at_the_peak_add_to_100_percent_of_the_live_bytes(timed: bool) -> None:
    p = picture(timed=timed)
    for shares in (p.shares, p.by_op, p.by_stream, p.by_layer):
        assert sum(x.percent for x in shares) == 100
        assert sum(x.nbytes for x in shares) == p.peak_live


def test_percentages_add_to_100_for_awkward_parts() -> None:
    for parts in ([1], [1, 1, 1], [1] * 7, [999, 1], [3, 3, 3, 0], list(range(1, 40))):
        assert sum(whole_percent(parts)) == 100


def test_rectangles_are_the_offsets_and_sizes_of_the_plan() -> None:
    s = moe_snapshot()
    assert s.memory is not None
    want = {(b.id, o, b.size) for b, o in zip(s.memory.problem.buffers, s.memory.plan.offsets, strict=True)}
    assert {(r.ref.id, r.offset, r.size) for r in picture(s).rects} == want


def test_live_curve_counts_the_buffers_in_use_or_held() -> None:
    p = picture()
    for at, live in p.live[:-1]:
        assert live == sum(r.size for r in p.rects if r.begin <= at < r.free)
    assert max(v for _, v in p.live) == p.peak_live <= p.peak


def test_buffer_read_on_the_other_stream_is_held_until_the_join() -> None:
    r = next(r for r in picture().rects if r.name == "post_norm:0")
    assert (r.last_use, r.free) == (42_000, 162_600)
    assert r.held is not None
    assert r.held.en == "held until add joins, 120.6 us"


def test_only_the_largest_are_drawn_and_the_rest_is_said() -> None:
    p = picture(limit=3)
    assert {r.name for r in p.rects} == {"gmm1:0", "dispatch:0", "gmm2:0"}
    assert p.left_out == 6
    assert "6 smaller buffers" in p.alt.en


def test_unknown_end_and_empty_name_are_clipped_and_named() -> None:
    s = moe_snapshot()
    i = s.graph.by_name["gate"]
    problem = MemoryProblem((Buffer(0, "", 512, (), (i,), (), stream=1),), (0,), (Lifetime(i, FOREVER, {1: i}, {}),))
    p = picture(s.evolve(memory=MemoryState(problem, MemoryPlan((0,), 512, "x"), 512)))
    assert p.rects[0].name == "(empty)"
    assert p.rects[0].free == p.end
    assert p.rects[0].held is not None


def test_held_bytes_end_where_another_buffer_takes_them() -> None:
    s = moe_snapshot()
    assert s.memory is not None
    plan = replace(s.memory.plan, offsets=(*s.memory.plan.offsets[:-3], 0, *s.memory.plan.offsets[-2:]))
    moved = s.memory.problem.buffers[-3]
    p = picture(s.evolve(memory=replace(s.memory, plan=plan)))
    taker = next(r for r in p.rects if r.ref == buffer(moved.id))
    first = next(r for r in p.rects if r.name == "post_norm:0")
    assert first.free <= max(first.last_use, taker.begin) or taker.begin < first.last_use


def test_before_planning_there_is_no_picture() -> None:
    assert memory_map.build(Snapshot(moe_snapshot().graph), {}) is None

"""Timeline picture: every idle nanosecond has a reason, cores stack, shares and spans are those of the timeline."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from ge_explorer.simulator.timeline import Timeline
from ge_explorer.text import Text
from ge_explorer.trace.state import Snapshot
from ge_explorer.views import timeline
from ge_explorer.views.marks import as_json
from ge_explorer.views.palette import StreamIdentity
from ge_explorer.views.timeline import TimelinePicture, Window, Windows
from ge_explorer.views.timeline_layout import place
from tests.views.panel_cases import moe_session, moe_snapshot, moe_timeline


def identities() -> dict[int, StreamIdentity]:
    s = moe_session()
    return {n: x for n in (0, 1) if (x := s.identities.of(1, n)) is not None}


def picture(t: Timeline | None = None, s: Snapshot | None = None) -> TimelinePicture:
    s = s or moe_snapshot()
    return timeline.build(s, t or moe_timeline(s.graph), identities())


def idle(p: TimelinePicture) -> dict[int, int]:
    busy = {n: sum(b.end_ns - b.start_ns for b in p.bars if b.lane == n) for n in range(len(p.lanes))}
    return {n: p.makespan_ns - b for n, b in busy.items()}


def test_main_stream_comes_first_although_its_ge_number_is_larger() -> None:
    assert [(x.mark.letter, x.mark.stream) for x in picture().lanes] == [("A", 1), ("B", 0)]


def test_every_gap_has_a_reason_and_gaps_fill_the_idle_time() -> None:
    p = picture()
    assert all(g.text.en and g.text.zh and g.reason != "unexplained" for g in p.gaps)
    for lane, ns in idle(p).items():
        assert sum(g.end_ns - g.start_ns for g in p.gaps if g.lane == lane) == ns


def test_idle_time_nobody_explained_is_said_not_dropped() -> None:
    s = moe_snapshot()
    p = picture(replace(moe_timeline(s.graph), gaps=()), s)
    for lane, ns in idle(p).items():
        assert sum(g.end_ns - g.start_ns for g in p.gaps if g.lane == lane) == ns
    assert {g.reason for g in p.gaps} == {"unexplained", "no_work"}
    assert all(g.start_ns == 75_900 for g in p.gaps if g.reason == "no_work")


def test_event_gap_names_event_and_sender() -> None:
    gap = next(g for g in picture().gaps if g.reason == "event")
    assert gap.text.en == "waits for event 0 (post_norm), 5.6 us"
    assert gap.short == "0"


def test_cores_in_use_at_any_time_are_the_sum_of_the_running_tasks() -> None:
    s = moe_snapshot()
    t = moe_timeline(s.graph)
    use = picture(t, s).cores
    for at in range(500, 165_600, 1700):
        running = (t.start_ns <= at) & (at < t.end_ns)
        for kind, held in zip(use, (t.aic, t.aiv), strict=True):
            drawn = sum(b.cores for b in kind.blocks if b.start_ns <= at < b.end_ns)
            assert drawn == int(held[running].sum())


def test_demand_above_the_chip_is_marked() -> None:
    s = moe_snapshot()
    t = replace(moe_timeline(s.graph), total_aic=20)
    over = picture(t, s).cores[0].over
    assert (42_400, 47_000) in over
    assert all(b > a for a, b in over)


def test_overlap_is_the_common_part_of_both_windows() -> None:
    wins = Windows(Window(42_400, 96_400, Text("d")), Window(5_600, 75_900, Text("s")))
    assert wins.overlap == (42_400, 75_900)
    assert Windows(Window(0, 5, Text("d")), Window(5, 9, Text("s"))).overlap is None


def test_thousands_of_tasks_are_merged_into_density_bars_and_counted() -> None:
    s, n = moe_snapshot(), 6000
    i = s.graph.by_name["gate"]
    start = np.arange(n, dtype=np.int64) * 10
    zero = np.zeros(n, np.int32)
    t = Timeline(
        np.full(n, i, np.int32), np.ones(n, np.int32), start, start + 9, zero, zero, ("model",) * n, (), (), "c", 24, 48
    )  # fmt: skip
    p = picture(t, s)
    assert len(p.bars) < 2000
    assert sum(b.count for b in p.bars) == n
    assert p.merged == n - len(p.bars)


def test_the_model_is_plain_json_in_both_languages() -> None:
    text = json.dumps(as_json(picture()), ensure_ascii=False)
    assert "等待事件" in text
    assert "waits for event" in text


@pytest.mark.parametrize("single", [170_000, 199_200, 400_000])
def test_label_of_the_single_stream_stands_where_it_covers_nothing(single: int) -> None:
    p = replace(picture(), single_ns=single)
    lay = place(p)
    at = next(n for n in lay.drawing(p, "en").notes if n["text"].startswith("single"))
    room = (lay.end_us - at["x"]) if at["align"] == "left" else at["x"] - p.makespan_ns / 1000
    assert room >= 0.2 * lay.end_us, "90 px of a narrow plot"
    assert lay.end_us >= 1.15 * p.makespan_ns / 1000, "so much stays for the makespan"

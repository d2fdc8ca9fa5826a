"""Loads and gauges: parts add up, the reserve counts, the biggest consumer is named, unknown limits are not zero."""

from __future__ import annotations

from functools import cache

import pytest

from ge_explorer.device.chips import chip_named
from ge_explorer.passes.physical.limits import RESERVE
from ge_explorer.provenance import Origin
from ge_explorer.session import Session
from ge_explorer.views import stream_budget
from ge_explorer.views.palette import StreamIdentity
from ge_explorer.views.parts_html import gauges_html
from ge_explorer.views.stream_load import stream_loads, task_counts
from tests.views.activation_cases import SPLIT, split_moe, switches
from tests.views.panel_cases import moe_snapshot


def letters(s: Session, step: int = -1) -> dict[int, StreamIdentity]:
    """GE stream number -> identity after a step (the last one)."""
    table = s.identities.by_step[step]
    return {stream: s.identities.items[i] for stream, i in table.items()}


@cache
def gauges(tasks: str = "40") -> dict[str, stream_budget.Gauge]:
    s = split_moe(tasks)
    return {g.key: g for g in stream_budget.build(s.trace.final, letters(s), chip_named(s.chip))}


def test_parts_carry_what_the_split_counted_and_fit() -> None:
    s = split_moe().trace.final
    loads = stream_loads(s)
    assert loads is not None
    assert s.physical is not None
    assert loads.split
    assert loads.origin is Origin.ASSUMED
    assert {p.physical: p.tasks for p in loads.parts} == dict(enumerate(s.physical.tasks))
    assert all(p.tasks + RESERVE <= 40 and not p.over for p in loads.parts)
    for logical in (0, 1):
        parts = loads.of(logical)
        assert [p.ordinal for p in parts] == list(range(1, len(parts) + 1))
        assert len(parts) == 1 + len(s.physical.parts[logical])


def test_before_the_split_a_stream_is_its_only_part_with_the_same_tasks_in_all() -> None:
    trace = split_moe().trace
    before, after = stream_loads(trace.step("count-tasks").after), stream_loads(trace.step("split-streams").after)
    assert before is not None
    assert after is not None
    assert not before.split
    assert [p.ordinal for p in before.parts] == [1, 1]
    for logical in (0, 1):
        assert sum(p.tasks for p in before.of(logical)) == sum(p.tasks for p in after.of(logical))
    assert stream_loads(trace.step("insert-events").after) is None


def test_gauges_name_the_biggest_consumer_and_where_numbers_come_from() -> None:
    found = gauges()
    assert (found["streams"].used, found["streams"].limit) == (5, 1984)
    assert found["streams"].mark.letter == "A"
    assert found["streams"].biggest is not None
    assert "3" in found["streams"].biggest.en
    tasks = found["tasks"]
    assert (tasks.used, tasks.reserve, tasks.limit, tasks.origin) == (13, 27, 40, Origin.ASSUMED)
    assert not tasks.over
    assert (found["events"].used, found["events"].limit) == (5, 65536)
    assert (found["notifies"].used, found["notifies"].limit) == (0, 1024)
    html = gauges_html(found.values(), "zh")
    assert html.count('class="gxp-o"') == 8
    assert "物理流" in html


def test_a_node_that_cannot_be_cut_off_turns_the_gauge_red_and_says_why() -> None:
    s = switches(SPLIT)
    tasks = next(g for g in stream_budget.build(s.trace.final, letters(s), chip_named(s.chip)) if g.key == "tasks")
    assert tasks.over
    assert tasks.note is not None
    assert "cannot cut" in tasks.note.en
    assert "over the limit" in gauges_html([tasks])


def test_too_many_streams_and_a_chip_without_a_number() -> None:
    s = moe_snapshot()
    small = chip_named("Ascend350_355e")
    found = {g.key: g for g in stream_budget.build(s, {}, small)}
    assert "tasks" not in found, "no task is counted there"
    assert found["events"].limit is None
    assert found["events"].note is not None
    assert "/ –" in gauges_html([found["events"]])
    assert found["streams"].biggest is None or found["streams"].limit


@pytest.mark.parametrize(("name", "tasks"), [("gmm1", 3), ("sh.quant", 3)])
def test_tasks_of_a_node_are_marked_assumed(name: str, tasks: int) -> None:
    s = split_moe().trace.final
    found = task_counts(s, s.graph.by_name[name])
    assert found is not None
    assert found == ((tasks, tasks), Origin.ASSUMED)
    wait = next(n.id for n in s.graph if n.op == "Recv")
    counted = task_counts(s, wait)
    assert counted is None or counted[0] == (1, 2)

"""Event balance: amounts between two totals add up, on random graphs too; spare events are those the minimum leaves out."""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from ge_explorer.passes.sync.minimum import minimum_events
from ge_explorer.views import event_economy_panel, events
from ge_explorer.views.event_economy_panel import Entry, ledger
from tests.passes.sync.sync_cases import events_of, random_graph
from tests.views.activation_cases import split_moe
from tests.views.panel_cases import moe_session


def balanced(entries: tuple[Entry, ...]) -> bool:
    """Every total is the sum of all amounts before it; the minimum, last, stands for itself."""
    so_far = 0
    for e in entries:
        if e.total and so_far != e.amount:
            return False
        so_far += 0 if e.total else e.amount
    return True


def test_the_balance_of_the_hand_made_block() -> None:
    s = moe_session()
    found = ledger(s.trace.final, s.trace, 2)
    assert [(e.amount, e.total) for e in found] == [(3, False), (3, True), (-1, False), (2, True), (2, True), (2, True)]
    assert "same sender" in found[2].text.en
    assert found[2].source == "stream_utils.cc"
    assert ledger(s.trace.initial) == ()


def test_the_split_adds_its_chain_events_and_the_list_shows_them() -> None:
    s = split_moe()
    found = ledger(s.trace.final, s.trace)
    assert found[-1].amount == 5
    assert balanced(found)
    p = events.build(s.trace.final, {}, trace=s.trace, timeline=s.timeline)
    assert [f.value.en for f in p.figures] == ["2", "2", "+3"]
    assert [r.cells[3][0].text.en for r in p.tables[0].rows][2:] == ["the stream was split here"] * 3


@given(st.integers(0, 100_000))
@settings(max_examples=60, deadline=None)
def test_the_balance_adds_up_and_spare_events_are_what_is_above_the_minimum(seed: int) -> None:
    trace = events_of(random_graph(random.Random(seed)))
    if trace.failed is not None:
        return
    s = trace.final
    assert balanced(ledger(s, trace))
    assert s.sync is not None
    least = minimum_events(s)
    spare = event_economy_panel.spare_events(s)
    assert least is not None
    assert len(s.sync.events) - least == len(spare)
    assert spare <= {e.uid for e in s.sync.events}

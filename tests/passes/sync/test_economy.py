"""Event economy: totals add up, and the redundant events are exactly those whose removal changes nothing."""

from __future__ import annotations

import random

import pytest

import ge_explorer as gx
from ge_explorer.passes.sync.economy import event_economy
from ge_explorer.trace.state import Snapshot
from tests.passes.sync.sync_cases import events_of, graph, random_graph


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("mode", ["", "minimal"])
def test_totals_add_up(seed: int, mode: str) -> None:
    t = events_of(random_graph(random.Random(seed), most=24), mode=mode)
    found = event_economy(t)
    sync = t.final.sync
    assert found is not None
    assert sync is not None
    assert found.inserted - sum(found.removed_by_rule.values()) == found.kept == len(sync.events)
    assert found.kept - len(found.redundant_uids) == found.minimum
    assert set(found.rule_step) == set(found.removed_by_rule)
    assert mode == "" or (found.redundant_uids == () and found.kept == found.minimum)


def test_crossing_pair_names_the_event_that_could_go() -> None:
    t = events_of(graph("A1:0 A2:0 B1:1 B2:1", "A1>B2 A2>B1"))
    found = event_economy(t)
    assert found is not None
    assert t.final.sync is not None
    names = t.final.graph.unique_names
    spare = [e for e in t.final.sync.events if e.uid in found.redundant_uids]
    assert [(names[e.send], names[e.recv]) for e in spare] == [("A1", "B2")]
    assert (found.inserted, found.kept, found.minimum, found.ratio) == (2, 2, 1, 2.0)


def test_nothing_before_there_are_events() -> None:
    assert event_economy(Snapshot(graph("A:0"))) is None


def test_ten_thousand_nodes_finish() -> None:
    from ge_explorer.loaders.generated import generated_graph

    trace = gx.compile(generated_graph(10_000, seed=2), options={"ge.autoMultistreamParallelMode": "LoadBalance:8"})
    found = event_economy(trace)
    assert found is not None
    assert 0 < found.minimum < found.kept

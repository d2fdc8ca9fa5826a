"""minimal-events: exactly the provable minimum, and the order of all tasks untouched, also where streams start one another."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ge_explorer as gx
from ge_explorer import pipelines
from ge_explorer.checks import check_snapshot, check_trace
from ge_explorer.checks.ordering import real_order
from ge_explorer.errors import OptionError
from ge_explorer.graph.model import Graph
from ge_explorer.passes.dynamic.enable import ENABLE
from ge_explorer.passes.sync.minimal_events import MODE
from ge_explorer.passes.sync.minimum import minimum_events
from ge_explorer.trace import Trace, run_trace
from ge_explorer.trace.state import Snapshot
from tests.passes.dynamic.dynamic_cases import dynamic_graphs
from tests.passes.sync.sync_cases import alive, events_of, graph, random_graph
from tests.property.graphs import graphs

ON = {MODE: "minimal"}


def order_of(s: Snapshot) -> dict[tuple[int, int], bool]:
    """All ordered pairs of tasks, as the checks see them."""
    hb = real_order(s)
    return {(u, v): hb.ordered(u, v) for u in hb.nodes for v in hb.nodes}


def same_clocks(a: Snapshot, b: Snapshot) -> bool:
    x, y = real_order(a), real_order(b)
    return x.nodes == y.nodes and bool(np.array_equal(x.clocks[: len(x.nodes)], y.clocks[: len(y.nodes)]))


def started(rng: random.Random) -> Graph:
    """Random streams where some are started by one or two nodes of other streams."""
    base = random_graph(rng, most=16)
    nodes = list(base)
    by_stream: dict[int, list[int]] = {}
    for n in nodes:
        by_stream.setdefault(int(n.attrs["stream"]), []).append(n.id)
    attrs: dict[int, dict[str, object]] = {n.id: {} for n in nodes}
    for stream, members in by_stream.items():
        if stream < 0 or rng.random() < 0.4:
            continue
        label = f"L{stream}"
        for i in members:
            attrs[i]["_stream_label"] = label
        others = [n.id for n in nodes if int(n.attrs["stream"]) not in (-1, stream) and n.id < members[0]]
        for a in rng.sample(others, min(len(others), rng.randint(1, 2))):
            attrs[a]["_active_label_list"] = [*attrs[a].get("_active_label_list", []), label]  # type: ignore[misc]
    return base.with_attrs(attrs)


@given(st.integers(0, 10**6), st.booleans())
@settings(max_examples=200, deadline=None, derandomize=True)
def test_same_order_with_exactly_the_minimum(seed: int, starts: bool) -> None:
    rng = random.Random(seed)
    g = started(rng) if starts else random_graph(rng, most=16)
    plain, small = events_of(g).final, events_of(g, mode="minimal").final
    assert order_of(plain) == order_of(small)
    assert plain.sync is not None
    assert small.sync is not None
    assert len(small.sync.events) == minimum_events(small) == minimum_events(plain) <= len(plain.sync.events)
    assert {(e.send, e.recv) for e in small.sync.events} <= {(e.send, e.recv) for e in plain.sync.events}
    for e in small.sync.events:  # none of them can go
        fewer = small.evolve(sync=_without(small, e.uid))
        assert order_of(fewer) != order_of(small)
    errors = {i.code for i in check_snapshot(plain) if i.severity == "error"}
    assert {i.code for i in check_snapshot(small) if i.severity == "error"} == errors


def _without(s: Snapshot, uid: int):  # type: ignore[no-untyped-def]
    from dataclasses import replace

    assert s.sync is not None
    return replace(s.sync, events=tuple(e for e in s.sync.events if e.uid != uid))


@given(graphs(max_nodes=40), st.sampled_from(["", "LoadBalance:3", "MainStream:4"]))
@settings(max_examples=40, deadline=None, derandomize=True)
def test_whole_pipeline_at_the_step(g: Graph, mode: str) -> None:
    options = {"ge.autoMultistreamParallelMode": mode} if mode else {}
    t = run_trace(g, pipelines.static(), {**options, **ON})
    if t.failed is not None:
        return
    step = t.step("minimal-events")
    assert step.after.sync is not None
    assert len(step.after.sync.events) == minimum_events(step.before) == minimum_events(step.after)
    assert same_clocks(step.before, step.after)
    assert not [i for i in check_trace(t) if i.severity == "error"]


@pytest.mark.parametrize("name", [*gx.examples.names()])
def test_examples_stay_correct(name: str) -> None:
    example = gx.examples.get(name)
    plain, small = (gx.compile(example.graph, options={**example.options, **o}) for o in ({}, ON))
    assert [i.code for i in check_trace(plain) if i.severity == "error"] == [
        i.code for i in check_trace(small) if i.severity == "error"
    ]
    a, b = plain.step("minimal-events").after, small.step("minimal-events").after
    assert same_clocks(a, b)


def crossing(mode: str) -> Trace:
    return events_of(graph("A1:0 A2:0 B1:1 B2:1", "A1>B2 A2>B1"), mode=mode)


def test_crossing_pair_loses_the_outer_event_and_names_what_covers_it() -> None:
    assert [pair[1:] for pair in alive(crossing(""), "minimal-events")] == [("A1", "B2"), ("A2", "B1")]
    small = crossing("minimal")
    assert [pair[1:] for pair in alive(small, "minimal-events")] == [("A2", "B1")]
    sync = small.final.sync
    assert sync is not None
    (gone,) = [r for r in sync.removed if r.step == "minimal-events"]
    assert (gone.rule, gone.by) == ("implied", (sync.events[0].uid,))
    assert sync.events[0].id == 0


def test_switched_off_by_default_and_other_values_are_refused() -> None:
    assert crossing("").step("minimal-events").status == "skipped"
    assert crossing("ge").step("minimal-events").status == "skipped"
    failed = crossing("fewest").failed
    assert failed is not None
    assert isinstance(failed.error, OptionError)
    assert "gx.eventMode has no value 'fewest'" in str(failed.error)


@given(dynamic_graphs())
@settings(max_examples=25, deadline=None, derandomize=True)
def test_dynamic_shapes_too(g: Graph) -> None:
    t = run_trace(g, pipelines.dynamic(), {ENABLE: "1", **ON})
    assert t.failed is None
    step = t.step("minimal-events")
    assert step.after.sync is not None
    assert len(step.after.sync.events) == minimum_events(step.after)
    assert same_clocks(step.before, step.after)
    assert run_trace(g, pipelines.dynamic(), ON).step("minimal-events").status == "skipped"

"""Random graphs on random streams: whatever the event passes drop, every dependency stays ordered."""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from ge_explorer.checks import check_snapshot
from ge_explorer.graph.reduction import reduced_predecessors
from ge_explorer.passes.sync.minimum import minimum_events, needed_pairs
from ge_explorer.trace import Trace
from tests.passes.sync.sync_cases import events_of, random_graph

SEEDS = st.integers(0, 10**6)


def trace_of(seed: int) -> Trace:
    """Up to 14 nodes on up to 5 streams, data and control edges forward; names in no useful order."""
    return events_of(random_graph(random.Random(seed), most=14))


def closure(count: int, pairs: set[tuple[int, int]]) -> set[tuple[int, int]]:
    """Warshall, on purpose nothing of the package."""
    reach = [[(i, j) in pairs for j in range(count)] for i in range(count)]
    for k in range(count):
        for i in range(count):
            if reach[i][k]:
                for j in range(count):
                    reach[i][j] = reach[i][j] or reach[k][j]
    return {(i, j) for i in range(count) for j in range(count) if reach[i][j]}


def program_order(t: Trace) -> set[tuple[int, int]]:
    assert t.final.streams is not None
    stream = t.final.streams.node.tolist()
    return {(i, j) for i in range(len(stream)) for j in range(i + 1, len(stream)) if stream[i] == stream[j] >= 0}


def event_pairs(t: Trace) -> set[tuple[int, int]]:
    assert t.final.sync is not None
    return {(e.send, e.recv) for e in t.final.sync.events}


@given(SEEDS)
@settings(max_examples=150, deadline=None, derandomize=True)
def test_every_dependency_is_ordered_after_all_event_passes(seed: int) -> None:
    t = trace_of(seed)
    count = t.final.graph.id_bound
    ordered = closure(count, program_order(t) | event_pairs(t))
    assert t.final.streams is not None
    stream = t.final.streams.node
    missing = {(a, b) for a, b in t.final.graph.dependencies if stream[a] >= 0} - ordered
    assert not missing
    assert not any((i, i) in ordered for i in range(count))
    # GX118: producers without a stream are part of the random graphs on purpose.
    assert [i for i in check_snapshot(t.final) if i.severity == "error" and i.code != "GX118"] == []


@given(SEEDS)
@settings(max_examples=100, deadline=None, derandomize=True)
def test_events_are_never_lost_and_ids_are_dense(seed: int) -> None:
    t = trace_of(seed)
    inserted, final = t.step("insert-events").after.sync, t.final.sync
    assert inserted is not None and final is not None
    uids = sorted([e.uid for e in final.events] + [r.event.uid for r in final.removed])
    assert uids == [e.uid for e in inserted.events] == list(range(final.next_uid))
    assert sorted(e.id for e in final.events) == list(range(final.event_num))
    alive = {e.uid for e in final.events}
    for r in final.removed:
        reasons, todo = set(), list(r.by)
        by_uid = {x.event.uid: x for x in final.removed}
        while todo:  # a reason dropped later has reasons of its own
            u = todo.pop()
            reasons.add(u)
            todo.extend(by_uid[u].by if u in by_uid else ())
        assert reasons & alive and r.event.uid not in reasons


@given(SEEDS)
@settings(max_examples=150, deadline=None, derandomize=True)
def test_the_minimum_keeps_the_order_and_no_event_of_it_can_go(seed: int) -> None:
    t = trace_of(seed)
    count = t.final.graph.id_bound
    program = program_order(t)
    wanted = closure(count, program | event_pairs(t))
    needed = set(needed_pairs(t.final))
    assert closure(count, program | needed) == wanted
    assert all(closure(count, program | needed - {pair}) != wanted for pair in needed)
    assert minimum_events(t.final) == len(needed) <= len(event_pairs(t))


@given(SEEDS)
@settings(max_examples=100, deadline=None, derandomize=True)
def test_the_minimum_is_the_transitive_reduction_without_the_stream_arcs(seed: int) -> None:
    t = trace_of(seed)
    arcs = program_order(t) | event_pairs(t)
    pred: dict[int, list[int]] = {}
    for a, b in sorted(arcs):
        pred.setdefault(b, []).append(a)
    reduced = reduced_predecessors(range(t.final.graph.id_bound), pred)
    crossing = [(a, b) for b, row in reduced.items() for a in row if (a, b) not in program_order(t)]
    assert sorted(crossing) == sorted(needed_pairs(t.final))

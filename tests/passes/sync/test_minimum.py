"""The provable minimum against networkx's transitive reduction, on worked examples and random graphs."""

from __future__ import annotations

import random

import networkx as nx
import pytest

from ge_explorer.passes.sync.minimum import minimum_events, needed_pairs
from ge_explorer.trace.state import Snapshot
from tests.passes.sync.sync_cases import events_of, graph, random_graph


def reduction(s: Snapshot) -> set[tuple[int, int]]:
    """Cross-stream edges of the transitive reduction of program order and dependencies."""
    assert s.streams is not None
    assert s.sequence is not None
    stream = s.streams.node.tolist()
    g = nx.DiGraph()
    last: dict[int, int] = {}
    for i in s.sequence:
        if stream[i] < 0:
            continue
        g.add_node(i)
        if stream[i] in last:
            g.add_edge(last[stream[i]], i)
        last[stream[i]] = i
    for a, b in s.graph.dependencies:
        if stream[a] >= 0 and stream[b] >= 0:
            g.add_edge(a, b)
    return {(a, b) for a, b in nx.transitive_reduction(g).edges if stream[a] != stream[b]}


@pytest.mark.parametrize("seed", range(150))
def test_equals_the_transitive_reduction(seed: int) -> None:
    s = events_of(random_graph(random.Random(seed), most=26)).final
    assert set(needed_pairs(s)) == reduction(s)
    assert s.sync is not None
    assert minimum_events(s) <= len(s.sync.events)


def test_crossing_pair_and_triangle_can_do_with_fewer() -> None:
    assert minimum_events(events_of(graph("A1:0 A2:0 B1:1 B2:1", "A1>B2 A2>B1")).final) == 1
    assert minimum_events(events_of(graph("P:0 Q:1 R:2", "P>Q Q>R P>R")).final) == 2
    assert minimum_events(events_of(graph("z:0 x:1 y:2 m:0", "z>x z>y x>m y>m")).final) == 4


def test_a_started_stream_begins_after_its_only_starter() -> None:
    attrs = {"act": {"_active_label_list": ["L"]}, "x": {"_stream_label": "L"}}
    g = graph("u:0 act:1 x:2", "u>x u>act", attrs=attrs)
    assert minimum_events(events_of(g).final) == 1


def test_nothing_before_there_are_events() -> None:
    assert minimum_events(Snapshot(graph("A:0"))) is None


def test_ten_thousand_nodes_finish() -> None:
    rng = random.Random(5)
    n = 10_000
    nodes = " ".join(f"n{i}:{rng.randrange(8)}" for i in range(n))
    edges = " ".join(f"n{rng.randrange(max(0, i - 200), i)}>n{i}" for i in range(1, n) for _ in range(2))
    s = events_of(graph(nodes, edges)).final
    fewest = minimum_events(s)
    assert s.sync is not None
    assert 0 < fewest <= len(s.sync.events)

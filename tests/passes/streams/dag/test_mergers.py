"""Worked examples of the two strategies with their scores, the cover, and the limits."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import pairwise

import networkx as nx
import pytest

from ge_explorer.errors import PassFailed
from ge_explorer.graph.edit import GraphEditor
from ge_explorer.graph.model import Graph
from ge_explorer.passes.streams.dag.allocator import Cover, by_path_cover
from ge_explorer.passes.streams.dag.mode import KEY, Strategy, mode_text, parse_mode
from ge_explorer.passes.streams.dag.model import Dag, DagNode
from ge_explorer.passes.streams.dag.path_cover import match_successors, routes
from ge_explorer.passes.streams.dag.residual import residual

DIAMOND = [(0, 1), (0, 2), (1, 3), (2, 3)]
FORK = [(0, 1), (1, 2), (2, 3), (3, 7), (0, 4), (4, 5), (5, 6), (6, 7)]
"""1→2→3→4→8 beside 1→5→6→7→8, counted from 0."""


def dag(count: int, edges: Sequence[tuple[int, int]], times: Sequence[float] | None = None, **labels: str) -> Dag:
    nodes = [DagNode(f"n{i}", labels.get(f"n{i}", ""), *(() if times is None else (times[i],))) for i in range(count)]
    return Dag(tuple(nodes), tuple(edges))


def scores(cover: Cover, unit: int) -> dict[int, float]:
    placed = next(p for p in cover.merged.placements if p.unit == unit)
    return {c.stream: c.total for c in placed.candidates}


def test_diamond_stays_on_one_stream_because_an_event_costs_three() -> None:
    cover = by_path_cover(dag(4, DIAMOND), "LoadBalance", limit=2)
    assert cover.routes == ((0, 1, 3), (2,))
    assert scores(cover, 1) == {0: 16, 1: 18}
    assert cover.node_streams == (0, 0, 0, 0)
    assert cover.required == 1


def test_long_fork_splits() -> None:
    cover = by_path_cover(dag(8, FORK), "LoadBalance", limit=2)
    assert scores(cover, 1) == {0: 36, 1: 28}
    assert cover.node_streams == (0, 0, 0, 0, 1, 1, 1, 0)


def test_main_stream_scores() -> None:
    assert scores(by_path_cover(dag(4, DIAMOND), "MainStream", limit=2), 1) == {0: 4, 1: 8}
    cover = by_path_cover(dag(8, FORK), "MainStream", limit=2)
    assert scores(cover, 1) == {0: 12, 1: 8}
    assert cover.node_streams == (0, 0, 0, 0, 1, 1, 1, 0)
    assert cover.merged.placements[0].forced


def test_measured_times_split_the_diamond() -> None:
    cover = by_path_cover(dag(4, DIAMOND, [10, 60, 20, 10]), "WeightedLoadBalance", limit=2)
    assert scores(cover, 1) == {0: 5000, 1: 48}
    assert cover.node_streams == (0, 0, 1, 0)


def test_labels_have_their_own_streams_outside_the_limit() -> None:
    cover = by_path_cover(dag(3, [(0, 1), (0, 2)], n1="a", n2="b"), "LoadBalance", limit=1, base=5)
    assert cover.node_streams == (5, 6, 7)
    assert cover.label_streams == {"a": 6, "b": 7}
    assert cover.required == 3


def test_nodes_without_time_are_looked_through() -> None:
    d = dag(4, [(0, 1), (1, 2), (1, 3)], [1, 0, 1, 1])
    assert residual(d).edges() == [(0, 2), (0, 3)]
    cover = by_path_cover(d, "LoadBalance", limit=4)
    assert cover.node_streams[1] == -1


def test_a_cycle_assigns_nothing() -> None:
    cover = by_path_cover(dag(2, [(0, 1), (1, 0)]), "LoadBalance", limit=2)
    assert cover.failure
    assert cover.node_streams == (-1, -1)
    assert cover.required == 0


@pytest.mark.parametrize("seed", range(30))
def test_cover_is_minimal(seed: int) -> None:
    """Against networkx: the least number of vertex-disjoint paths is nodes minus a maximum matching."""
    rng = random.Random(seed)
    n = rng.randrange(1, 40)
    succ = [sorted({rng.randrange(i + 1, n) for _ in range(rng.randrange(4))}) if i + 1 < n else [] for i in range(n)]
    paths = routes(match_successors(succ))
    g = nx.Graph()
    g.add_nodes_from(("out", i) for i in range(n))
    g.add_edges_from((("out", u), ("in", v)) for u, row in enumerate(succ) for v in row)
    matching = nx.bipartite.maximum_matching(g, [("out", i) for i in range(n)])
    assert len(paths) == n - len(matching) // 2
    assert sorted(i for p in paths for i in p) == list(range(n))
    for p in paths:
        assert all(b in succ[a] for a, b in pairwise(p))


@pytest.mark.parametrize("strategy", ["LoadBalance", "MainStream", "WeightedLoadBalance"])
def test_limit_holds_and_ten_thousand_nodes_take_about_a_second_at_most(strategy: Strategy) -> None:
    rng = random.Random(1)
    n = 10_000
    edges = [(rng.randrange(max(0, i - 60), i), i) for i in range(1, n) for _ in range(rng.choice((1, 1, 2, 3)))]
    cover = by_path_cover(dag(n, edges), strategy, limit=7)
    assert cover.required <= 7
    assert min(cover.node_streams) == 0


def graph_with(attrs: dict[str, object]) -> Graph:
    return GraphEditor.empty("g", attrs=attrs).freeze()


@pytest.mark.parametrize("text", ["LoadBalance:1", "LoadBalance:64", "MainStream:4", "WeightedLoadBalance:2"])
def test_legal_strategies(text: str) -> None:
    mode = parse_mode(text)
    assert (mode.kind, f"{mode.strategy}:{mode.limit}") == ("dag", text)


@pytest.mark.parametrize(
    "text", ["LoadBalance", "LoadBalance:", ":8", "LoadBalance:0", "LoadBalance:65", "LoadBalance:-5", "Other:4",
             "LoadBalance:4:4", "LoadBalance: 4", "LoadBalance:٣", "CV", "default"],
)  # fmt: skip
def test_illegal_modes_are_e10001(text: str) -> None:
    with pytest.raises(PassFailed) as e:
        parse_mode(text)
    assert e.value.code == "E10001"


def test_default_is_legal_on_the_graph_only_and_an_empty_attribute_hides_the_option() -> None:
    assert parse_mode("default", from_graph=True).kind == "default"
    assert mode_text(graph_with({KEY: ""}), "LoadBalance:4") == ("", True)
    assert mode_text(graph_with({}), "LoadBalance:4") == ("LoadBalance:4", False)

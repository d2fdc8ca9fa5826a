"""The path cover is minimum, its routes share no node and follow edges; every merge keeps to its limit."""

from __future__ import annotations

from itertools import pairwise

import networkx as nx
from hypothesis import given, settings
from hypothesis import strategies as st

from ge_explorer.passes.streams.dag.allocator import by_path_cover
from ge_explorer.passes.streams.dag.mode import STRATEGIES, Strategy
from ge_explorer.passes.streams.dag.model import Dag, DagNode
from ge_explorer.passes.streams.dag.path_cover import match_successors, routes
from ge_explorer.passes.streams.dag.residual import residual
from tests.passes.streams.dag.dags import dags


def largest_matching(succ: list[list[int]]) -> int:
    """Edges of a maximum matching between nodes as sources and nodes as targets, by networkx."""
    g = nx.Graph()
    g.add_nodes_from(("out", i) for i in range(len(succ)))
    g.add_edges_from((("out", u), ("in", v)) for u, row in enumerate(succ) for v in row)
    return len(nx.bipartite.maximum_matching(g, [("out", i) for i in range(len(succ))])) // 2


@settings(max_examples=200, deadline=None)
@given(dags(max_nodes=24))
def test_cover_is_minimum_and_vertex_disjoint(succ: list[list[int]]) -> None:
    paths = routes(match_successors(succ))
    assert len(paths) == len(succ) - largest_matching(succ)
    assert sorted(i for p in paths for i in p) == list(range(len(succ)))
    assert all(b in succ[a] for p in paths for a, b in pairwise(p))


@settings(max_examples=120, deadline=None)
@given(dags(), st.data(), st.sampled_from(STRATEGIES), st.integers(1, 5), st.integers(0, 2))
def test_every_result_is_whole(
    succ: list[list[int]], data: st.DataObject, strategy: Strategy, limit: int, repairs: int
) -> None:
    """Streams stay below the limit and are all used; routes are whole; labels come after; free nodes get none."""
    kinds = data.draw(st.lists(st.sampled_from(["", "", "", "a", "b", "free"]), min_size=len(succ), max_size=len(succ)))
    nodes = [
        DagNode(f"n{i}", k if k in ("a", "b") else "", 0.0 if k == "free" else float(i % 3 + 1))
        for i, k in enumerate(kinds)
    ]
    dag = Dag(tuple(nodes), tuple((a, b) for a, row in enumerate(succ) for b in row))
    cover = by_path_cover(dag, strategy, limit=limit, base=7, repair_moves=repairs)
    assert not cover.failure
    unit_streams = {cover.node_streams[i] for route in cover.routes for i in route}
    assert unit_streams == set(range(7, 7 + len(unit_streams)))
    assert len(unit_streams) <= limit
    for route in cover.routes:
        assert len({cover.node_streams[i] for i in route}) == 1
    for label, stream in cover.label_streams.items():
        assert stream not in unit_streams
        assert {cover.node_streams[i] for i, n in enumerate(nodes) if n.serial == label} == {stream}
    assert all(cover.node_streams[i] == -1 for i, k in enumerate(kinds) if k == "free")
    assert cover.required == len(unit_streams) + len(cover.label_streams)


@settings(max_examples=80, deadline=None)
@given(dags(), st.data())
def test_residual_edges_are_paths_through_dropped_nodes(succ: list[list[int]], data: st.DataObject) -> None:
    gone = data.draw(st.sets(st.integers(0, len(succ) - 1)))
    nodes = tuple(DagNode(f"n{i}", time=0.0 if i in gone else 1.0) for i in range(len(succ)))
    rest = residual(Dag(nodes, tuple((a, b) for a, row in enumerate(succ) for b in row)))
    g = nx.DiGraph((a, b) for a, row in enumerate(succ) for b in row)
    g.add_nodes_from(range(len(succ)))
    want = {
        (a, b) for a in g for b in g
        if a not in gone and b not in gone and a != b and nx.has_path(g.subgraph({a, b, *gone}), a, b)
    }  # fmt: skip
    assert set(rest.edges()) == want
    assert len(rest.edges()) == len(want), "no edge twice"


def test_a_way_back_to_the_same_node_is_no_edge() -> None:
    nodes = (DagNode("a"), DagNode("free", time=0.0))
    assert residual(Dag(nodes, ((0, 1), (1, 0)))).edges() == []

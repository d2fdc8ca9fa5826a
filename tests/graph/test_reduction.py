"""Transitive reduction against networkx, against the definition for any-of nodes, and in blocks of a few bits."""

from __future__ import annotations

import random

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ge_explorer.graph.reduction as module
from ge_explorer.errors import GraphError
from ge_explorer.graph.reduction import reduced_predecessors


def random_dag(seed: int, n: int, density: float) -> dict[int, list[int]]:
    rng = random.Random(seed)
    return {v: [u for u in range(v) if rng.random() < density] for v in range(n)}


def networkx_arcs(pred: dict[int, list[int]]) -> set[tuple[int, int]]:
    g = nx.DiGraph()
    g.add_nodes_from(pred)
    g.add_edges_from((u, v) for v, us in pred.items() for u in us)
    return set(nx.transitive_reduction(g).edges)


def arcs(reduced: dict[int, list[int]]) -> set[tuple[int, int]]:
    return {(u, v) for v, us in reduced.items() for u in us}


@given(st.integers(0, 10**6), st.integers(1, 40), st.sampled_from([0.05, 0.15, 0.4]), st.sampled_from([1, 2, 5, 1024]))
@settings(max_examples=120, deadline=None, derandomize=True)
def test_agrees_with_networkx_in_blocks_of_any_size(seed: int, n: int, density: float, block: int) -> None:
    pred = random_dag(seed, n, density)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "BLOCK", block)
        patch.setattr(module, "FAR", 2 * block)
        patch.setattr(module, "FAR_BLOCK", 2 * block)
        assert arcs(reduced_predecessors(range(n), pred)) == networkx_arcs(pred)


@given(st.integers(0, 10**6))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_node_names_and_repeats_do_not_matter(seed: int) -> None:
    pred = random_dag(seed, 20, 0.3)
    name = list(range(100, 120))
    random.Random(seed).shuffle(name)
    renamed = {name[v]: [name[u] for u in us for _ in (0, 1)] + [7] for v, us in pred.items()}
    assert {(name.index(u), name.index(v)) for u, v in arcs(reduced_predecessors(name, renamed))} == networkx_arcs(pred)


def closure(n: int, pred: dict[int, list[int]], any_of: set[int]) -> list[set[int]]:
    """Strict pasts, by the definition of any-of."""
    past: list[set[int]] = []
    for v in range(n):
        pasts = [past[u] | {u} for u in pred[v]]
        past.append(set.intersection(*pasts) if v in any_of and pasts else set().union(*pasts))
    return past


@given(st.integers(0, 10**6))
@settings(max_examples=150, deadline=None, derandomize=True)
def test_any_of_nodes_keep_the_order_and_nothing_else_can_go(seed: int) -> None:
    rng = random.Random(seed)
    n = 14
    pred = random_dag(seed, n, 0.3)
    any_of = {v for v in range(n) if rng.random() < 0.25}
    reduced = reduced_predecessors(range(n), pred, any_of)
    wanted = closure(n, pred, any_of)
    assert closure(n, reduced, any_of) == wanted
    for v in range(n):
        if v in any_of:
            assert reduced[v] == pred[v]
            continue
        for u in reduced[v]:
            fewer = {**reduced, v: [p for p in reduced[v] if p != u]}
            assert closure(n, fewer, any_of) != wanted


def test_wrong_order_is_refused() -> None:
    with pytest.raises(GraphError, match="comes after its consumer"):
        reduced_predecessors([0, 1], {0: [1], 1: []})
    with pytest.raises(GraphError, match="comes after its consumer"):
        reduced_predecessors([5, 3], {5: [3]})


@pytest.mark.parametrize("back", [200, 100_000])
def test_a_hundred_thousand_connected_nodes(back: int) -> None:
    rng = random.Random(4)
    pred = [[rng.randrange(max(0, v - back), v) for _ in range(2)] if v else [] for v in range(100_000)]
    reduced = reduced_predecessors(range(len(pred)), pred)
    assert all(row for v, row in reduced.items() if v)
    assert sum(map(len, reduced.values())) < sum(map(len, pred))

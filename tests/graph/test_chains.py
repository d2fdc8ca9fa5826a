"""Chain covers against networkx, against brute force, and through their own proofs."""

from __future__ import annotations

import random
from itertools import combinations

import networkx as nx
from hypothesis import given, settings
from hypothesis import strategies as st

from ge_explorer.graph.chains import chains, cover_by_arcs, cover_by_paths, is_antichain
from ge_explorer.graph.reach import Reach


def random_rows(seed: int, most: int) -> tuple[list[list[int]], list[list[int]]]:
    """(predecessors, successors) of a random DAG."""
    rng = random.Random(seed)
    n, density = rng.randint(1, most), rng.choice([0.05, 0.15, 0.4])
    pred = [[u for u in range(v) if rng.random() < density] for v in range(n)]
    succ: list[list[int]] = [[] for _ in range(n)]
    for v, row in enumerate(pred):
        for u in row:
            succ[u].append(v)
    return pred, succ


def largest_matching(n: int, arcs: set[tuple[int, int]]) -> int:
    g = nx.Graph()
    g.add_nodes_from(range(n))
    g.add_edges_from((u, n + v) for u, v in arcs)
    return len(nx.bipartite.maximum_matching(g, range(n))) // 2


@given(st.integers(0, 10**6))
@settings(max_examples=250, deadline=None, derandomize=True)
def test_arc_cover_is_a_largest_matching_and_proves_it(seed: int) -> None:
    _, succ = random_rows(seed, 30)
    arcs = {(u, v) for u, row in enumerate(succ) for v in row}
    found = cover_by_arcs(succ)
    used = [(u, v) for u, v in enumerate(found.after) if v >= 0]
    assert set(used) <= arcs
    assert len({v for _, v in used}) == len(used) == found.matched == largest_matching(len(succ), arcs)
    assert all(u in found.left or v in found.right for u, v in arcs)
    assert len(found.left) + len(found.right) == found.matched


@given(st.integers(0, 10**6))
@settings(max_examples=250, deadline=None, derandomize=True)
def test_path_cover_has_as_many_chains_as_the_antichain_has_nodes(seed: int) -> None:
    pred, succ = random_rows(seed, 30)
    reach = Reach.of(range(len(pred)), pred)
    for found in (cover_by_paths(succ), cover_by_paths(succ, cover_by_arcs(succ).after)):
        made = chains(found.after)
        assert sorted(v for chain in made for v in chain) == list(range(len(pred)))
        assert all(reach.reaches(u, v) for u, v in enumerate(found.after) if v >= 0)
        assert len(made) == found.width
        assert not any(reach.reaches(u, v) for u in found.antichain for v in found.antichain)
        assert is_antichain(pred, found.antichain)


@given(st.integers(0, 10**6))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_width_is_the_largest_antichain_there_is(seed: int) -> None:
    pred, succ = random_rows(seed, 9)
    sizes = [
        k for k in range(1, len(pred) + 1) if any(is_antichain(pred, c) for c in combinations(range(len(pred)), k))
    ]
    assert cover_by_paths(succ).width == max(sizes)


def test_antichain_check_can_fail() -> None:
    assert is_antichain([[], [], [0, 1]], [0, 1])
    assert not is_antichain([[], [0], [1]], [0, 2])


def test_ten_thousand_nodes_finish() -> None:
    rng = random.Random(2)
    succ: list[list[int]] = [[] for _ in range(10_000)]
    for v in range(1, 10_000):
        for u in {rng.randrange(max(0, v - 100), v) for _ in range(2)}:
            succ[u].append(v)
    found = cover_by_paths(succ, cover_by_arcs(succ).after)
    assert len(chains(found.after)) == found.width

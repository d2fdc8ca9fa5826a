import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ge_explorer.views.layout import ROW_PITCH, Links, layered, rank_nodes
from ge_explorer.views.layout_lanes import COL_PITCH, NODE_H, NODE_W, place
from ge_explorer.views.layout_routes import Router


@st.composite
def dags(draw):
    n = draw(st.integers(1, 30))
    pairs = draw(st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=60))
    lanes = draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    return n, [(min(p), max(p)) for p in pairs], lanes


def test_weights_stand_just_before_their_consumer():
    links = Links.of(5, [(0, 1), (1, 2), (2, 3), (4, 3)])
    assert rank_nodes(links).tolist() == [0, 1, 2, 3, 2]
    assert rank_nodes(links, pull_down=False).tolist() == [0, 1, 2, 3, 0]


def test_a_data_fed_side_chain_stays_beside_its_producer():
    links = Links.of(6, [(0, 1), (1, 2), (2, 3), (3, 5), (0, 4), (4, 5)])
    fed = np.asarray([True] + [False] * 5)
    assert rank_nodes(links, fed=fed).tolist()[4] == 1


def test_a_cycle_still_gets_ranks():
    r = rank_nodes(Links.of(3, [(0, 1), (1, 2), (2, 0)]))
    assert sorted(r.tolist()) == [0, 1, 2]


@settings(derandomize=True, max_examples=60, deadline=None)
@given(dags())
def test_layered_keeps_direction_and_distance(case):
    n, pairs, _ = case
    r = layered(Links.of(n, pairs))
    assert (r.rank[r.links.dst] > r.rank[r.links.src]).all()
    for rank in range(int(r.rank.max()) + 1):
        y = np.sort(r.y[r.rank == rank])
        assert (np.diff(y) >= ROW_PITCH * 0.999).all()
    again = layered(Links.of(n, pairs))
    assert np.array_equal(r.x, again.x)
    assert np.array_equal(r.y, again.y)


@settings(derandomize=True, max_examples=120, deadline=None)
@given(dags())
def test_no_route_passes_behind_a_node(case):
    n, pairs, lanes = case
    links = Links.of(n, pairs)
    lane = np.asarray(lanes, np.int32)
    grid = place(links, rank_nodes(links), lane, sorted(set(lanes)))
    cells = list(zip(grid.col.tolist(), grid.row.tolist(), strict=True))
    assert len(set(cells)) == n
    edges = [(int(s), int(d), "data") for s, d in zip(links.src, links.dst, strict=True)]
    routed = Router(grid, np.zeros(n, bool)).route(edges)
    x = grid.col * COL_PITCH + NODE_W / 2
    y = routed.row_y[grid.row]
    assert (np.diff(routed.row_y) >= NODE_H).all()
    for e, (s, d, _) in enumerate(edges):
        p = routed.points[routed.index[e] : routed.index[e + 1]]
        assert len(p) >= 2
        for (ax, ay), (bx, by) in zip(p[:-1].tolist(), p[1:].tolist(), strict=True):
            others = [i for i in range(n) if i not in (s, d)]
            hit = [
                i
                for i in others
                if max(min(ax, bx), x[i] - NODE_W / 2 + 1) < min(max(ax, bx), x[i] + NODE_W / 2 - 1) + (ax == bx) * 1e-6
                and max(min(ay, by), y[i] - NODE_H / 2 + 1)
                < min(max(ay, by), y[i] + NODE_H / 2 - 1) + (ay == by) * 1e-6
            ]
            assert not hit


@pytest.mark.bench
def test_layered_time_at_10k_nodes():
    rng = np.random.default_rng(1)
    pairs = [(max(0, i - int(rng.integers(1, 6))), i) for i in range(1, 10_000)] + [
        (max(0, i - int(rng.integers(1, 9))), i) for i in range(1, 3000)
    ]
    start = time.process_time()
    layered(Links.of(10_000, pairs))
    print(f"10,000 nodes: {time.process_time() - start:.3f} s")

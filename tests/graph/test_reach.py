"""Reachability and happens-before against networkx and against the definition."""

from __future__ import annotations

import random
from itertools import pairwise

import networkx as nx
import pytest

import ge_explorer.graph.reach as reach_module
from ge_explorer.errors import GraphError
from ge_explorer.graph.builder import GraphBuilder
from ge_explorer.graph.happens_before import DeadlockError, Order, dependency_orders, happens_before, holder_orders
from ge_explorer.graph.reach import Reach, bits


def random_dag(seed: int, n: int, density: float) -> dict[int, list[int]]:
    rng = random.Random(seed)
    return {v: [u for u in range(v) if rng.random() < density] for v in range(n)}


def networkx_of(pred: dict[int, list[int]]) -> nx.DiGraph:
    g = nx.DiGraph()
    g.add_nodes_from(pred)
    g.add_edges_from((u, v) for v, us in pred.items() for u in us)
    return g


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("per_component", [False, True])
def test_closure_agrees_with_networkx(seed: int, per_component: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if per_component:
        monkeypatch.setattr(reach_module, "COMPONENT_LIMIT", 3)
    pred = random_dag(seed, 24, 0.08)
    r, g = Reach.of(range(24), pred), networkx_of(pred)
    for v in range(24):
        assert r.ancestors(v) == sorted(nx.ancestors(g, v))
        assert r.descendants(v) == sorted(nx.descendants(g, v))
        assert [u for u in range(24) if r.reaches(u, v)] == r.ancestors(v)


def test_bits_lists_positions() -> None:
    assert list(bits(0)) == []
    assert list(bits(1 << 70 | 1)) == [0, 70]


def test_wrong_order_is_refused() -> None:
    with pytest.raises(GraphError, match="comes after its consumer"):
        Reach.of([0, 1], {0: [1], 1: []})


@pytest.mark.parametrize("seed", range(8))
def test_clocks_agree_with_plain_reachability(seed: int) -> None:
    rng = random.Random(seed)
    n = 30
    stream = [rng.choice([-1, 0, 1, 2, 3]) for _ in range(n)]
    orders = [Order(u, v, "event") for v in range(n) for u in range(v) if rng.random() < 0.08]
    hb = happens_before(range(n), stream, orders)
    g = nx.DiGraph()
    g.add_nodes_from(range(n))
    for s in range(4):
        row = [v for v in range(n) if stream[v] == s]
        g.add_edges_from(pairwise(row))
    g.add_edges_from((o.first, o.second) for o in orders if stream[o.first] >= 0 and stream[o.second] >= 0)
    for v in range(n):
        for u in range(n):
            expected = stream[u] >= 0 and stream[v] >= 0 and u in nx.ancestors(g, v)
            assert hb.ordered(u, v) == expected
            if u in hb and v in hb:
                assert bool(hb.anc[v] >> hb.row[u] & 1) == expected


def test_deadlock_shows_who_blocks_whom() -> None:
    # stream 0: 0, 1; stream 1: 2, 3; 1 -> 2 and 3 -> 0 close a circle
    with pytest.raises(DeadlockError) as e:
        happens_before([0, 1, 2, 3], [0, 0, 1, 1], [Order(1, 2, "event", 7), Order(3, 0, "event", 8)])
    assert {(b.node, b.by) for b in e.value.chain} == {(0, 3), (3, 2), (2, 1), (1, 0)}
    assert {b.event for b in e.value.chain} == {-1, 7, 8}


def test_a_stream_with_two_activators_follows_neither_alone() -> None:
    # 0 -> 1 (branch a), 0 -> 2 (branch b); the virtual point 9 starts stream 3 after one of them
    orders = [Order(0, 1, "event"), Order(0, 2, "event"), Order(1, 9, "x"), Order(2, 9, "x"), Order(9, 3, "x")]
    hb = happens_before([0, 1, 2, 3], [0, 1, 2, 3], orders, any_of=[9])
    assert hb.ordered(0, 3)
    assert not hb.ordered(1, 3)
    assert not hb.ordered(2, 3)


def test_a_stream_started_again_later_is_no_deadlock() -> None:
    # 0 starts the stream of 1; 2 runs behind 1 and starts that stream once more
    orders = [Order(0, 9, "x"), Order(2, 9, "x"), Order(9, 1, "x"), Order(1, 2, "event")]
    hb = happens_before([0, 1, 2], [0, 1, 2], orders, any_of=[9])
    assert hb.ordered(0, 1) and hb.ordered(0, 2) and hb.ordered(1, 2)


def test_two_streams_that_start_each_other_again_follow_neither_start_alone() -> None:
    # 0 or 3 starts the stream of 2 (point 9), 1 or 2 that of 3 (point 8): either may be the first, so neither 0 nor 1 is sure
    orders = [
        Order(0, 9, "x"),
        Order(3, 9, "x"),
        Order(9, 2, "x"),
        Order(1, 8, "x"),
        Order(2, 8, "x"),
        Order(8, 3, "x"),
    ]
    hb = happens_before([0, 1, 2, 3], [0, 1, 2, 3], orders, any_of=[8, 9])
    assert not hb.ordered(0, 2) and not hb.ordered(1, 3)


def test_a_stream_that_only_its_own_followers_start_is_a_deadlock() -> None:
    orders = [Order(1, 9, "x"), Order(2, 9, "x"), Order(9, 0, "x"), Order(0, 1, "event"), Order(0, 2, "event")]
    with pytest.raises(DeadlockError):
        happens_before([0, 1, 2], [0, 1, 2], orders, any_of=[9])


def test_holder_orders_tie_a_body_to_its_surroundings() -> None:
    b = GraphBuilder("g")
    p, x = b.data("p", (), "bool"), b.data("x", (8,))
    pre = b.op("Relu", x, name="pre")
    branch = b.op("If", p, pre, name="if", shape=(8,))
    with b.subgraph(branch, "then") as (inner,):
        b.outputs(b.op("Relu", inner, name="r"))
    g = b.build(b.op("Relu", branch, name="post"))
    stream = [-1 if n.is_source else 1 if n.name == "then/r" else 0 for n in g]
    hb = happens_before(g.walk(), stream, [*dependency_orders(g, stream), *holder_orders(g, stream)])
    name = g.by_name
    assert hb.ordered(name["pre"], name["then/r"])
    assert hb.ordered(name["then/r"], name["post"])
    assert not hb.ordered(name["then/r"], name["if"])
    bare = happens_before(g.walk(), stream, dependency_orders(g, stream))
    assert not bare.ordered(name["pre"], name["then/r"]), "streams and events alone do not prove it"

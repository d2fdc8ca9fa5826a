"""Memory-aware order: the article's readiness test lets only sources run; its limit counts slots without the candidate."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given, settings

from ge_explorer.errors import GraphError
from ge_explorer.graph.edit import GraphEditor
from ge_explorer.graph.model import Graph
from ge_explorer.memory.teaching.intervals import most_bytes, tensor_requests
from ge_explorer.memory.teaching.scheduler import schedule, schedule_until_stable
from tests.property.graphs import graphs
from tests.property.test_memory import Case, cases


def fan(widths: int = 3) -> Graph:
    """Sources of large tensors, each reduced to a small one, then joined; listed breadth first, which is the worst order."""
    e = GraphEditor.empty("fan")
    big = [e.add_node(f"big{k}", "Op", outputs=[((8160,), "int8")]) for k in range(widths)]
    small = [e.add_node(f"small{k}", "Op", inputs=[e.output(b)], outputs=[((480,), "int8")]) for k, b in enumerate(big)]
    e.add_node("join", "Op", inputs=[e.output(s) for s in small], outputs=[((480,), "int8")])
    return e.freeze()


def test_b12_more_than_the_sources_run() -> None:
    g = fan()
    ready_in_the_article = [n.id for n in g if not n.inputs]
    assert len(ready_in_the_article) == 3
    found = schedule(g)
    assert len(found.order) == len(g) == 7
    names = [g.node(v).name for v in found.order]
    assert names.index("small0") < names.index("big1"), "free the large tensor before the next one is made"
    assert found.peak == 9728 == 8192 + 3 * 512
    assert most_bytes(tensor_requests(g, range(7))) == 3 * 8192 + 512


def test_b12_the_limit_is_in_bytes_and_counts_the_candidate() -> None:
    e = GraphEditor.empty("g")
    a = e.add_node("a", "Op", outputs=[((480,), "int8")])
    e.add_node("wide", "Op", inputs=[e.output(a)], outputs=[((9000,), "int8")])
    e.add_node("slim", "Op", inputs=[e.output(a)], outputs=[((480,), "int8")])
    g = e.freeze()
    assert [g.node(v).name for v in schedule(g).order] == ["a", "wide", "slim"]
    limited = schedule(g, limit=4096)
    assert [g.node(v).name for v in limited.order] == ["a", "slim", "wide"]
    assert [g.node(v).name for v in limited.over] == ["wide"], "what cannot fit runs last and is named"
    assert schedule(g, limit=10**6).over == ()


def test_b12_a_circle_is_an_error() -> None:
    e = GraphEditor.empty("g")
    a = e.add_node("a", "Op", outputs=[((8,), "int8")])
    b = e.add_node("b", "Op", inputs=[e.output(a)], outputs=[((8,), "int8")])
    e.add_control(b, a)
    with pytest.raises(GraphError, match="circle"):
        schedule(e.freeze())


def test_the_loop_ends_and_never_gets_worse() -> None:
    found = schedule_until_stable(fan())
    assert found.peaks[0] == 25088
    assert found.best.peak == min(found.peaks) == 9728
    assert found.ended in ("stable", "repeated")


@settings(max_examples=40, deadline=None, derandomize=True)
@given(cases(14))
def test_orders_are_topological_and_peaks_true(c: Case) -> None:
    for found in (schedule(c.graph), schedule_until_stable(c.graph).best, schedule(c.graph, limit=4096)):
        place = {v: k for k, v in enumerate(found.order)}
        assert sorted(found.order) == list(range(len(c.graph)))
        assert all(place[p] < place[v] for v in place for p in c.graph.pred[v])
        assert found.peak == most_bytes(tensor_requests(c.graph, found.order))
    assert schedule_until_stable(c.graph).best.peak <= most_bytes(tensor_requests(c.graph, range(len(c.graph))))


@settings(max_examples=25, deadline=None, derandomize=True)
@given(cases(6))
def test_never_below_the_best_of_all_orders(c: Case) -> None:
    n = len(c.graph)
    best = min(
        most_bytes(tensor_requests(c.graph, order))
        for order in permutations(range(n))
        if all(order.index(p) < order.index(v) for v in range(n) for p in c.graph.pred[v])
    )
    assert best <= schedule_until_stable(c.graph).best.peak


@settings(max_examples=10, deadline=None, derandomize=True)
@given(graphs(max_nodes=25))
def test_any_graph_can_be_ordered(graph: object) -> None:
    assert schedule_until_stable(graph).best.order  # type: ignore[arg-type]

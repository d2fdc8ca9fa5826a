"""Bounds of full parallelism and the mode that reaches them, against every possible assignment of small graphs."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ge_explorer as gx
from ge_explorer import pipelines
from ge_explorer.checks import check_trace
from ge_explorer.checks.ordering import real_order
from ge_explorer.graph.chains import is_antichain
from ge_explorer.graph.edit import GraphEditor
from ge_explorer.graph.model import Graph
from ge_explorer.graph.reach import Reach
from ge_explorer.graph.reduction import reduced_predecessors
from ge_explorer.passes.streams.concurrency import ConcurrencyBounds, stream_bounds, task_graph
from ge_explorer.passes.streams.max_concurrency import FEWEST_STREAMS, FEWEST_WAITS, MODE
from ge_explorer.trace import Trace, run_trace
from tests.property.graphs import graphs

MINIMAL = {"gx.eventMode": "minimal"}


def plain(seed: int, most: int) -> Graph:
    """A random graph of one engine, no labels, no bodies."""
    rng = random.Random(seed)
    e = GraphEditor.empty("plain")
    made: list[int] = []
    x = e.add_node("x", "Data", outputs=[((16,), "float16")])
    for i in range(rng.randint(1, most)):
        feeds = rng.sample(made, min(len(made), rng.randint(0, 3))) or [x]
        ins, own = [e.output(f) for f in feeds], {"_gx_engine": "AIcoreEngine"}
        made.append(e.add_node(f"n{i}", "Relu", inputs=ins, outputs=[((16,), "float16")], attrs=own))
    return e.freeze()


def run(g: Graph, mode: str) -> tuple[Trace, ConcurrencyBounds]:
    t = run_trace(g, pipelines.static(), {MODE: mode, **MINIMAL})
    assert t.failed is None, t.failed.error
    found = stream_bounds(t)
    assert found is not None
    return t, found


def assignments(n: int) -> Iterator[list[int]]:
    """Every partition of n tasks, as stream numbers in order of first use."""

    def more(chosen: list[int]) -> Iterator[list[int]]:
        if len(chosen) == n:
            yield chosen
            return
        for k in range(max(chosen, default=-1) + 2):
            yield from more([*chosen, k])

    return more([])


@given(st.integers(0, 10**6))
@settings(max_examples=40, deadline=None, derandomize=True)
def test_no_assignment_that_keeps_the_parallelism_does_better(seed: int) -> None:
    t, found = run(plain(seed, 6), FEWEST_STREAMS)
    g = task_graph(t.final)
    n = len(g.nodes)
    reach = Reach.of(range(n), g.pred)
    streams, waits = [], []
    for chosen in assignments(n):
        pairs = [(u, v) for v in range(n) for u in range(v) if chosen[u] == chosen[v]]
        if all(reach.reaches(u, v) for u, v in pairs):
            pred = {v: [*g.pred[v], *(u for u, w in pairs if w == v)] for v in range(n)}
            left = reduced_predecessors(range(n), pred)
            streams.append(max(chosen) + 1)
            waits.append(sum(chosen[u] != chosen[v] for v, row in left.items() for u in row))
    assert found.width == min(streams)
    assert found.minimum_waits == min(waits)


@given(st.integers(0, 10**6))
@settings(max_examples=80, deadline=None, derandomize=True)
def test_each_mode_reaches_its_bound_and_orders_nothing_more(seed: int) -> None:
    g = plain(seed, 40)
    few, found = run(g, FEWEST_STREAMS)
    assert (found.streams_used, found.waits) == (found.width, found.waits_at_width)
    other, again = run(g, FEWEST_WAITS)
    assert (again.streams_used, again.waits) == (again.streams_at_minimum_waits, again.minimum_waits)
    assert found.width <= again.streams_used
    assert again.minimum_waits <= found.waits_at_width
    for t, b in ((few, found), (other, again)):
        assert b.keeps_parallelism
        tasks = task_graph(t.final)
        reach = Reach.of(range(len(tasks.nodes)), tasks.pred)
        hb = real_order(t.final)
        for i, u in enumerate(tasks.nodes):
            for j, v in enumerate(tasks.nodes):
                assert hb.ordered(u, v) == reach.reaches(i, j)
        assert not [i for i in check_trace(t) if i.severity == "error"]


@given(st.integers(0, 10**6))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_the_proofs_hold(seed: int) -> None:
    t = gx.compile(plain(seed, 30))
    found = stream_bounds(t)
    assert found is not None
    g, proof = task_graph(t.final), found.proof
    place = {v: k for k, v in enumerate(g.nodes)}
    assert len(proof.antichain) == found.width
    assert is_antichain(g.pred, [place[v] for v in proof.antichain])
    arcs = {(g.nodes[u], g.nodes[v]) for v, row in enumerate(g.pred) for u in row}
    assert len(arcs) == found.arcs
    assert set(proof.matching) <= arcs
    assert all(u in proof.before or v in proof.after for u, v in arcs)
    assert len(proof.before) + len(proof.after) == len(proof.matching) == found.arcs - found.minimum_waits


@given(graphs(max_nodes=40), st.sampled_from([FEWEST_STREAMS, FEWEST_WAITS]))
@settings(max_examples=40, deadline=None, derandomize=True)
def test_labels_and_bodies_are_left_alone_and_stay_correct(g: Graph, mode: str) -> None:
    t = run_trace(g, pipelines.static(), {MODE: mode})
    if t.failed is not None:
        return
    step = t.step("max-concurrency")
    assert step.before.streams is not None
    assert step.after.streams is not None
    for n in g:
        if n.scope or n.attrs.get("_stream_label") or step.before.streams.node[n.id] < 0:
            assert step.before.streams.node[n.id] == step.after.streams.node[n.id]
    assert not [i for i in check_trace(t) if i.severity == "error"]


def test_one_stream_gives_parallelism_up_and_says_so() -> None:
    found = stream_bounds(gx.compile(gx.examples.attention_block(), options={"ge.enableSingleStream": "true"}))
    assert found is not None
    assert (found.streams_used, found.waits) == (1, 0)
    assert found.width == 3
    assert found.minimum_waits > 0
    assert not found.keeps_parallelism


def test_off_by_default_and_other_values_are_refused() -> None:
    g = gx.examples.fork_join()
    assert gx.compile(g).step("max-concurrency").status == "skipped"
    assert gx.compile(g, options={MODE: FEWEST_WAITS, "ge.enableSingleStream": "true"}).step("max-concurrency").reason
    failed = run_trace(g, pipelines.static(), {MODE: "all"}).failed
    assert failed is not None
    assert "gx.streamMode has no value 'all'" in str(failed.error)


@pytest.mark.parametrize("mode", ["", "LoadBalance:4"])
def test_ten_thousand_nodes_finish(mode: str) -> None:
    from ge_explorer.loaders.generated import generated_graph

    options = {"ge.autoMultistreamParallelMode": mode} if mode else {}
    t = gx.compile(generated_graph(10_000, seed=1), pipeline="static,-plan-memory", options=options)
    found = stream_bounds(t)
    assert found is not None
    assert found.width > 1

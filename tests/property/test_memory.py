"""Random graphs on random streams: safe plans, spoilt plans caught, exact bounds, and the order relation by definition."""

from __future__ import annotations

from dataclasses import dataclass, replace

import networkx as nx
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ge_explorer.graph.edit import GraphEditor
from ge_explorer.graph.happens_before import HappensBefore, Order, dependency_orders, happens_before
from ge_explorer.graph.model import Graph
from ge_explorer.memory.antichain import heaviest_antichain
from ge_explorer.memory.bounds import best_bound, is_certificate, serial_live
from ge_explorer.memory.model import MemoryProblem
from ge_explorer.memory.planner import plan_hb, plan_none
from ge_explorer.memory.problem import build_problem
from ge_explorer.memory.reuse import handovers, takeovers
from ge_explorer.memory.verify import find_races, verify

QUICK = settings(max_examples=60, deadline=None, derandomize=True)


@dataclass
class Case:
    graph: Graph
    stream: np.ndarray
    hb: HappensBefore
    problem: MemoryProblem


@st.composite
def cases(draw: st.DrawFn, most: int = 24) -> Case:
    """Up to ``most`` nodes with 1-2 outputs, some dead, some with a workspace, on up to 4 streams; control edges too."""
    n = draw(st.integers(1, most))
    e = GraphEditor.empty("g")
    outputs: list[int] = []
    for v in range(n):
        ins = draw(st.lists(st.sampled_from(outputs), max_size=3)) if outputs else []
        sizes = draw(st.lists(st.sampled_from([1, 400, 900, 3000, 9000]), min_size=1, max_size=2))
        attrs = {"workspace_bytes": [700]} if draw(st.integers(0, 5)) == 0 else None
        i = e.add_node(f"n{v}", "Op", inputs=ins, outputs=[((s,), "int8") for s in sizes], attrs=attrs)
        outputs += [e.output(i, k) for k in range(len(sizes))]
        if v and draw(st.integers(0, 4)) == 0:
            e.add_control(draw(st.integers(0, v - 1)), v)
    g = e.freeze()
    stream = np.array(draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)), dtype=np.int32)
    hb = happens_before(range(n), stream, dependency_orders(g, stream))
    return Case(g, stream, hb, build_problem(g, range(n), stream, hb=hb))


def finished_first(c: Case, x: int, y: int) -> bool:
    """The definition: every task that touches X is done before any first writer of Y starts."""
    a, b = c.problem.buffers[x], c.problem.buffers[y]
    return all(c.hb.ordered(u, d) for u in a.accessors for d in b.producers)


@QUICK
@given(cases())
def test_before_masks_are_the_definition(c: Case) -> None:
    n = len(c.problem.buffers)
    for y in range(n):
        assert c.problem.before[y] == sum(1 << x for x in range(n) if finished_first(c, x, y))


@QUICK
@given(cases())
def test_free_at_is_the_first_task_that_may_follow(c: Case) -> None:
    for b, life in zip(c.problem.buffers, c.problem.lifetimes, strict=True):
        for s, node in life.free_at.items():
            free = [v for v in c.hb.on_stream(s) if all(c.hb.ordered(u, v) for u in b.accessors)]
            assert node == (free[0] if free else -1)
        assert life.begin == min(b.accessors)
        assert life.end == max(b.accessors)


@QUICK
@given(cases())
def test_plans_are_safe_and_between_bound_and_sum(c: Case) -> None:
    names, stream = c.graph.unique_names, c.stream.tolist()
    for plan in (plan_hb(c.problem), plan_none(c.problem)):
        assert verify(c.problem, plan, c.hb, names, stream) == ()
    plan = plan_hb(c.problem)
    bound = best_bound(c.problem, c.hb, plan)
    assert is_certificate(c.problem, bound)
    assert serial_live(c.problem).bytes <= bound.bytes <= plan.peak <= sum(b.size for b in c.problem.buffers)
    assert plan_hb(c.problem).offsets == plan.offsets


@QUICK
@given(cases(16))
def test_antichain_bound_is_exact(c: Case) -> None:
    found = heaviest_antichain(c.problem, c.hb, plan_hb(c.problem))
    assert found is not None
    g = nx.Graph()
    n = len(c.problem.buffers)
    g.add_nodes_from((i, {"weight": c.problem.buffers[i].size}) for i in range(n))
    g.add_edges_from(
        (x, y) for y in range(n) for x in range(y) if not finished_first(c, x, y) and not finished_first(c, y, x)
    )
    _, best = nx.max_weight_clique(g)
    assert sum(c.problem.buffers[i].size for i in found) == best


@QUICK
@given(cases(), st.data())
def test_a_spoilt_plan_is_caught(c: Case, data: st.DataObject) -> None:
    """Move one buffer onto a random other one: the verifier complains exactly if the two are not ordered."""
    n = len(c.problem.buffers)
    x, y = data.draw(st.integers(0, n - 1)), data.draw(st.integers(0, n - 1))
    plan = plan_none(c.problem)
    offsets = list(plan.offsets)
    offsets[x] = offsets[y]
    spoilt = replace(plan, offsets=tuple(offsets), peak=2 * plan.peak)
    races = {frozenset((r.x, r.y)) for r in find_races(c.problem.buffers, spoilt.offsets, c.hb)}
    upto = offsets[x] + c.problem.buffers[x].size
    touched = [
        z for z in range(n) if z != x and offsets[z] < upto and offsets[x] < offsets[z] + c.problem.buffers[z].size
    ]
    expected = {frozenset((x, z)) for z in touched if not finished_first(c, x, z) and not finished_first(c, z, x)}
    assert races == expected
    issues = verify(c.problem, spoilt, c.hb, c.graph.unique_names, c.stream.tolist())
    assert [i.code for i in issues] == ["GX201"] * len(expected)


@QUICK
@given(cases())
def test_an_event_from_user_to_writer_mends_that_pair(c: Case) -> None:
    plan = replace(plan_none(c.problem), offsets=(0,) * len(c.problem.buffers))
    race = next(find_races(c.problem.buffers, plan.offsets, c.hb), None)
    if race is None or c.hb.ordered(race.writer, race.user) or race.user == race.writer:
        return
    more = [*dependency_orders(c.graph, c.stream), Order(race.user, race.writer, "event")]
    n = len(c.stream)
    assert happens_before(range(n), c.stream, more).ordered(race.user, race.writer)


@QUICK
@given(cases())
def test_bytes_are_handed_over_in_order_and_once(c: Case) -> None:
    plan = plan_hb(c.problem)
    given_away: dict[int, int] = {}
    for x, y, amount in handovers(c.problem, plan):
        assert amount > 0
        assert finished_first(c, x, y)
        given_away[x] = given_away.get(x, 0) + amount
    assert all(total <= c.problem.buffers[x].size for x, total in given_away.items())
    fresh = sum(b.size for b in c.problem.buffers) - sum(given_away.values())
    assert fresh <= plan.peak
    assert [bool(t) for t in takeovers(c.problem, plan)] == [
        any(y == b.id for _, y, _ in handovers(c.problem, plan)) for b in c.problem.buffers
    ]

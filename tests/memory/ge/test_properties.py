"""GE's planner on random multi-stream graphs: the independent verifier accepts every plan, and its steps tell the whole story."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ge_explorer.graph.edit import GraphEditor
from ge_explorer.graph.happens_before import dependency_orders, happens_before
from ge_explorer.memory.ge.decisions import pool_before
from ge_explorer.memory.ge.planner import plan_ge
from ge_explorer.memory.ge.wording import WHY
from ge_explorer.memory.verify import verify
from ge_explorer.passes.memory.plan_memory import ge_local_nodes
from ge_explorer.pipelines import mode_options, static
from ge_explorer.trace.runner import run_trace
from tests.memory.ge.plans import PRIORITY, Planned, races
from tests.property.graphs import graphs

QUICK = settings(max_examples=60, deadline=None, derandomize=True)
LONG = settings(max_examples=1500, deadline=None, derandomize=True)


@st.composite
def planned(draw: st.DrawFn, references: bool = False, most: int = 24) -> Planned:
    """Up to ``most`` nodes with 1-2 outputs, some dead, some with workspaces, on up to 4 streams, both policies."""
    n = draw(st.integers(1, most))
    e = GraphEditor.empty("g")
    made: list[int] = []
    for v in range(n):
        ins = draw(st.lists(st.sampled_from(made), max_size=3)) if made else []
        sizes = draw(st.lists(st.sampled_from([1, 400, 900, 3000, 9000, 70000]), min_size=1, max_size=2))
        attrs = {"workspace_bytes": [700, 0, 3000]} if draw(st.integers(0, 4)) == 0 else None
        i = e.add_node(f"n{v}", "Op", inputs=ins, outputs=[((s,), "int8") for s in sizes], attrs=attrs)
        if references and ins and draw(st.integers(0, 3)) == 0:
            e.set_tensor(e.output(i), attrs={"reuse_input": True, "reuse_input_index": 0})
        made += [e.output(i, k) for k in range(len(sizes))]
        if v and draw(st.integers(0, 4)) == 0:
            e.add_control(draw(st.integers(0, v - 1)), v)
    graph = e.freeze()
    stream = np.array(draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)), dtype=np.int32)
    options = PRIORITY if draw(st.booleans()) else {}
    return Planned(graph, stream, plan_ge(graph, stream.tolist(), None, options))


def is_safe(p: Planned) -> None:
    assert p.result.failure == ""
    assert races(p) == ()


@QUICK
@given(planned())
def test_every_plan_is_safe(p: Planned) -> None:
    is_safe(p)


@QUICK
@given(planned(references=True))
def test_every_plan_with_references_is_safe(p: Planned) -> None:
    is_safe(p)


@pytest.mark.slow
@LONG
@given(st.booleans().flatmap(lambda r: planned(references=r, most=40)))
def test_many_plans_are_safe(p: Planned) -> None:
    is_safe(p)


@QUICK
@given(planned(references=True))
def test_blocks_are_disjoint_or_nested(p: Planned) -> None:
    for c in p.result.candidates:
        by_uid = {b.uid: b for b in c.blocks}
        top = sorted((b.head, b.head + b.size) for b in c.blocks if b.parent < 0)
        assert all(a[1] <= b[0] for a, b in pairwise(top))
        assert c.size == top[-1][1] <= c.statistics[2].total
        for b in c.blocks:
            assert max((m.real for m in b.members), default=0) <= b.size
            if b.parent >= 0:
                over = by_uid[b.parent]
                assert over.head <= b.head
                assert b.head + b.size <= over.head + over.size
    sizes = [c.size for c in p.result.candidates]
    assert p.result.chosen == sizes.index(min(sizes))


@QUICK
@given(planned(references=True))
def test_steps_tell_the_whole_story(p: Planned) -> None:
    for c in p.result.candidates:
        placed = Counter((d.node, d.kind, d.index) for d in c.steps if d.action in ("take", "new", "refer"))
        members = Counter((m.node, m.kind, m.index) for b in c.blocks for m in b.members)
        assert placed == members
        for k, d in enumerate(c.steps):
            if d.action == "take":
                assert d.block in pool_before(c.steps, k)[d.pool]
        assert {d.why for d in c.steps} | {why for d in c.steps for why, _ in d.refused} <= set(WHY)
        nested = {d.block: d.other for d in c.steps if d.action == "nest"}
        assert nested == {b.uid: b.parent for b in c.blocks if b.parent >= 0}


@QUICK
@given(planned())
def test_the_same_graph_gives_the_same_plan(p: Planned) -> None:
    again = plan_ge(p.graph, p.stream.tolist(), None, PRIORITY if len(p.result.candidates) == 6 else {})
    assert (again.offsets, again.workspaces) == (p.result.offsets, p.result.workspaces)
    assert again.decisions == p.result.decisions


@settings(max_examples=15, deadline=None, derandomize=True)
@given(graphs(max_nodes=30), st.sampled_from(["default", "LoadBalance:4"]), st.booleans())
def test_ge_planner_in_the_pipeline(graph: object, mode: str, priority: bool) -> None:
    """Engines, labels, branches: GE's plan of the whole pipeline passes the verifier under the order GE plans for."""
    options = {**mode_options(mode), "gx.memoryPlanner": "ge", **(PRIORITY if priority else {})}
    t = run_trace(graph, static(), options)  # type: ignore[arg-type]
    assert [s.error for s in t.steps if s.status == "failed"] == []
    s = t.final
    assert s.memory is not None
    assert s.memory.plan.planner == "ge"
    assert s.streams is not None
    assert s.sequence is not None
    stream = s.streams.node
    hb = happens_before(s.sequence, stream, dependency_orders(s.graph, stream))
    assert verify(s.memory.problem, s.memory.plan, hb, s.graph.unique_names, stream.tolist()) == ()
    assert s.memory.plan.peak >= s.memory.lower_bound
    assert all(s.graph.node(i).op != "NetOutput" for i in ge_local_nodes(s.graph))

"""What each strength does to the graph: labels, core strings, Identity nodes with a control edge."""

from __future__ import annotations

import pytest

from ge_explorer import examples
from ge_explorer.errors import GraphError, OptionError
from ge_explorer.graph.builder import GraphBuilder
from ge_explorer.graph.model import Graph
from ge_explorer.plan.apply import apply
from ge_explorer.plan.builtin import plan_for, plans
from ge_explorer.plan.model import CoreLimit, Plan, StreamSpec, SyncPoint

LABEL, AIC, AIV = "_user_stream_label", "_op_aicore_num", "_op_vectorcore_num"


def graph() -> Graph:
    b = GraphBuilder("g")
    x = b.data("x", (64, 64))
    m = b.op("MatMulV2", x, x, name="m")
    s = b.op("Relu", x, name="s")
    t = b.op("Relu", s, name="t")
    return b.build(b.op("Add", m, t, name="end"))


PLAN = Plan("p", "g", (StreamSpec("side", "7", ("s", "t")),), (CoreLimit(("m",), 16, 32),), (SyncPoint("t", "m"),))


def test_single_has_no_labels_and_asks_for_one_stream() -> None:
    labelled, _ = apply(graph(), PLAN, "C2")
    g, options = apply(labelled, PLAN, "single")
    assert options == {"ge.enableSingleStream": "true"}
    assert not [n.name for n in g if {LABEL, AIC, AIV} & set(n.attrs)]


def test_c1_labels_only_the_side() -> None:
    g, options = apply(graph(), PLAN, "C1")
    assert options == {}
    assert {n.name: n.attrs[LABEL] for n in g if LABEL in n.attrs} == {"s": "7", "t": "7"}
    assert not [n.name for n in g if AIC in n.attrs]


def test_c2_writes_core_limits_as_decimal_strings() -> None:
    g, _ = apply(graph(), PLAN, "C2")
    assert (g.node("m").attrs[AIC], g.node("m").attrs[AIV]) == ("16", "32")
    assert "t_wait_m_0" not in g.by_name


@pytest.mark.parametrize("strength", ["C3", "C1+sync"])
def test_sync_points_become_an_identity_with_a_control_edge(strength: str) -> None:
    g, _ = apply(graph(), PLAN, strength)
    wait = g.node("t_wait_m_0")
    assert wait.op == "Identity"
    assert wait.attrs[LABEL] == "7"
    assert wait.control_in == (g.node("m").id,)
    assert g.tensor(wait.inputs[0] or 0).producer == g.node("s").id
    assert g.node("t").inputs == (wait.outputs[0],)
    assert (AIC in g.node("m").attrs) is (strength == "C3")


def test_applying_twice_changes_nothing_more() -> None:
    once, _ = apply(graph(), PLAN, "C2")
    twice, _ = apply(once, PLAN, "C2")
    assert [dict(n.attrs) for n in once] == [dict(n.attrs) for n in twice]


def test_wrong_names_and_cycles() -> None:
    with pytest.raises(GraphError, match="Did you mean"):
        apply(graph(), Plan("p", "g", (StreamSpec("side", "7", ("tt",)),)), "C1")
    with pytest.raises(OptionError, match="cycle"):
        apply(graph(), Plan("p", "g", PLAN.streams, syncs=(SyncPoint("s", "end"),)), "C3")
    with pytest.raises(OptionError, match="Known"):
        apply(graph(), PLAN, "C9")


def test_built_in_plans_fit_their_examples() -> None:
    for name in ("moe_shared_expert", "silu_barrier:A", "silu_barrier:B"):
        g = examples.get(name).graph
        plan = plan_for(g)
        assert plan is plans()[g.name] or plan == plans()[g.name]
        assert plan is not None
        for strength in plan.strengths:
            apply(g, plan, strength)
        assert all(n in g.by_name for n in plan.dominator)


def test_labels_in_a_graph_are_read_as_a_plan() -> None:
    labelled, _ = apply(graph(), PLAN, "C1")
    found = plan_for(labelled)
    assert found is not None
    assert (found.strengths, found.side_ops) == (("single", "C1"), ("s", "t"))
    assert plan_for(graph()) is None


def test_a_dump_of_a_built_in_example_gets_no_plan_it_was_not_compiled_with() -> None:
    g = examples.get("moe_shared_expert").graph
    bare = g.with_attrs({n.id: {"_user_stream_label": None} for n in g if "_user_stream_label" in n.attrs})
    assert plan_for(bare) is not None
    assert plan_for(bare, from_file=True) is None
    labelled = plan_for(g, from_file=True)
    assert labelled is not None and labelled.source == "user stream labels found in the graph"

"""The runner: contracts, failures, per-scope expansion, prefix cache."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import pytest

from ge_explorer.errors import ContractError, PassFailed
from ge_explorer.graph.edit import GraphEditor
from ge_explorer.graph.model import Graph
from ge_explorer.ids import node
from ge_explorer.text import Text
from ge_explorer.trace import Pipeline, run_trace
from ge_explorer.trace.passes import Pass, PassContext, Rule
from ge_explorer.trace.runner import TraceCache
from ge_explorer.trace.state import Snapshot, StreamAssignment, int_array

RULES = {"r": Rule(Text("because", "因为"), "ours")}


@dataclass(frozen=True)
class Sort(Pass):
    name: ClassVar[str] = "sort"
    reads: ClassVar[frozenset[str]] = frozenset({"graph"})
    writes: ClassVar[frozenset[str]] = frozenset({"order", "sequence", "scope_order"})

    def run(self, s: Snapshot, ctx: PassContext) -> Snapshot:
        seq = tuple(s.graph.walk())
        return s.evolve(
            order=int_array(range(s.graph.id_bound)), sequence=seq, scope_order=tuple(s.graph.subgraph_order())
        )


@dataclass(frozen=True)
class Fill(Pass):
    name: ClassVar[str] = "fill"
    reads: ClassVar[frozenset[str]] = frozenset({"graph", "sequence"})
    writes: ClassVar[frozenset[str]] = frozenset({"streams"})
    option_keys: ClassVar[frozenset[str]] = frozenset({"ge.x"})
    rules = RULES
    value: int = 0

    def run(self, s: Snapshot, ctx: PassContext) -> Snapshot:
        ctx.option("ge.x")
        ctx.decide(node(0), "stream", -1, self.value, "r")
        return s.evolve(streams=StreamAssignment(int_array([self.value] * s.graph.id_bound)))


@dataclass(frozen=True)
class PerScope(Pass):
    name: ClassVar[str] = "per-scope"
    reads: ClassVar[frozenset[str]] = frozenset({"streams"})
    per_scope: ClassVar[bool] = True

    def run(self, s: Snapshot, ctx: PassContext) -> Snapshot:
        return s  # the guarded view itself: "nothing changed"


@dataclass(frozen=True)
class Sneaky(Pass):
    name: ClassVar[str] = "sneaky"
    mode: str = "read"

    def run(self, s: Snapshot, ctx: PassContext) -> Snapshot:
        if self.mode == "read":
            assert s.graph
        if self.mode == "option":
            ctx.option("ge.secret")
        if self.mode == "rule":
            ctx.decide(node(0), "stream", 0, 1, "nope")
        if self.mode == "crash":
            raise ZeroDivisionError("oops")
        return s.evolve(streams=None) if self.mode == "write" else s


@dataclass(frozen=True)
class Fails(Pass):
    name: ClassVar[str] = "fails"

    def run(self, s: Snapshot, ctx: PassContext) -> Snapshot:
        raise PassFailed("labels clash", code="E10055", ge_status="PARAM_INVALID")


@pytest.fixture
def graph() -> Graph:
    e = GraphEditor.empty("g")
    x = e.add_node("x", "Data", outputs=1)
    h = e.add_node("h", "If", inputs=[e.output(x)], outputs=1)
    for branch in ("then", "else"):
        s = e.add_scope(branch, h)
        e.add_node(f"{branch}_a", "Relu", scope=s, outputs=1)
    return e.freeze()


def test_changed_is_computed_and_unchanged_steps_share_the_snapshot(graph: Graph) -> None:
    t = run_trace(graph, Pipeline.of([Sort(), Fill(), Fill()]), strict=True)
    assert [s.status for s in t] == ["changed", "changed", "unchanged"]
    assert t.steps[1].changed == ("streams",)
    assert t.steps[2].after is t.steps[1].after


def test_same_pass_twice_is_numbered(graph: Graph) -> None:
    p = Pipeline.of([Sort(), Fill(), Fill(value=2)])
    assert [i.key for i in p] == ["sort", "fill", "fill#2"]
    t = run_trace(graph, p.with_disabled(["fill#2"]), strict=True)
    assert [s.status for s in t] == ["changed", "changed", "disabled"]


def test_per_scope_chain_runs_scope_by_scope_last_branch_first(graph: Graph) -> None:
    t = run_trace(graph, Pipeline.of([Sort(), Fill(), PerScope(), PerScope()]), strict=True)
    assert [s.name for s in t] == [
        "sort", "fill", "per-scope", "per-scope#2", "per-scope@else", "per-scope#2@else", "per-scope@then",
        "per-scope#2@then",
    ]  # fmt: skip


@pytest.mark.parametrize("mode", ["read", "write", "option", "rule"])
def test_undeclared_access_is_a_contract_error(graph: Graph, mode: str) -> None:
    with pytest.raises(ContractError, match="undeclared|declaring|unknown rule"):
        run_trace(graph, Pipeline.of([Sneaky(mode)]), strict=True)
    assert run_trace(graph, Pipeline.of([Sneaky(mode)])).steps[0].status == "failed"


def test_a_crash_is_kept_as_failed_step_and_raised_when_strict(graph: Graph) -> None:
    step = run_trace(graph, Pipeline.of([Sneaky("crash")])).steps[0]
    assert step.status == "failed"
    assert "ZeroDivisionError" in str(step.error)
    with pytest.raises(ZeroDivisionError):
        run_trace(graph, Pipeline.of([Sneaky("crash")]), strict=True)


def test_failed_step_stays_and_later_steps_do_not_run(graph: Graph) -> None:
    t = run_trace(graph, Pipeline.of([Sort(), Fails(), Fill()]), strict=True)
    assert [s.status for s in t] == ["changed", "failed", "not_run"]
    assert t.failed is t.steps[1]
    assert t.steps[1].ge_status == "PARAM_INVALID"
    assert t.final is t.steps[0].after


def test_switching_off_what_others_need_names_the_pass_to_switch_on(graph: Graph) -> None:
    t = run_trace(graph, Pipeline.of([Sort(), Fill()]).with_disabled(["sort"]), strict=True)
    assert t.failed is not None
    assert "Switch 'sort' on again" in str(t.failed.error)


def test_prefix_cache_reruns_only_from_the_first_difference(graph: Graph) -> None:
    cache = TraceCache()
    p = Pipeline.of([Sort(), Fill(), Fill(value=3)])
    a = run_trace(graph, p, cache=cache, strict=True)
    b = run_trace(graph, p.with_disabled(["fill#2"]), cache=cache, strict=True)
    assert (cache.hits, cache.misses) == (2, 4)
    assert b.steps[0].after.order is a.steps[0].after.order
    run_trace(graph, p, {"ge.other": "1"}, cache=cache, strict=True)
    assert cache.misses == 4, "an option nobody reads changes nothing"
    c = run_trace(graph, p, {"ge.x": "1"}, cache=cache, strict=True)
    assert cache.misses == 6, "from the first pass that reads it"
    assert c.final.options.get("ge.x") == "1"


def test_cached_and_fresh_traces_agree(graph: Graph) -> None:
    cache = TraceCache()
    p = Pipeline.of([Sort(), Fill(), Fill(value=3)])
    run_trace(graph, p.with_disabled(["fill"]), cache=cache, strict=True)
    cached, fresh = run_trace(graph, p, cache=cache, strict=True), run_trace(graph, p, strict=True)
    assert [(s.name, s.status, s.changed) for s in cached] == [(s.name, s.status, s.changed) for s in fresh]
    assert cached.diff(-1, 2).counts == fresh.diff(-1, 2).counts


def test_why_marks_the_decision_that_holds(graph: Graph) -> None:
    t = run_trace(graph, Pipeline.of([Sort(), Fill(value=1), Fill(value=2)]), strict=True)
    assert [(w.decision.after, w.final) for w in t.why("x")] == [(1, False), (2, True)]
    assert [w.decision.after for w in t.why("x", upto=1)] == [1]

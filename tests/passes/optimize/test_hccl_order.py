"""Order of collectives: groups of fused nodes, the tail of the step, branches of switches and of functional control flow."""

from __future__ import annotations

from typing import Any

import pytest

from ge_explorer import pipelines
from ge_explorer.graph.builder import GraphBuilder, Value
from ge_explorer.graph.model import Graph
from ge_explorer.passes.optimize.fusion_rewrite import acyclic
from ge_explorer.trace.pipeline import parse_pipeline
from ge_explorer.trace.runner import run_trace
from ge_explorer.trace.trace import Trace

TAILING = {"ge.exec.isTailingOptimization": "1"}
TRAIN = {"ge.graphRunMode": "1", "ge.exec.hccl_tailing_optimize": "1"}


def run(g: Graph, passes: str, options: dict[str, str] | None = None) -> Trace:
    t = run_trace(
        g, parse_pipeline(passes, pipelines.PASSES.get, {}), {"gx.hccl": "on", **(options or {})}, strict=True
    )
    assert t.failed is None, t.failed and t.failed.error
    return t


def edges(g: Graph) -> set[tuple[str, str]]:
    return {(g.node(a).name, g.node(b).name) for a, b in g.control}


def reduce(b: GraphBuilder, name: str, x: Value, **attrs: Any) -> Value:
    return b.op("HcomAllReduce", x, name=name, attrs={"group": "w", **attrs})


# ---------------------------------------------------------------- hccl-group
def followed(switch: bool = False) -> Graph:
    b = GraphBuilder("g")
    x = b.data("x", (8,))
    a = reduce(b, "a", b.op("Sigmoid", x, name="s"), _hccl_fused_node=True)
    first = b.op("Mul", a, a, name="mul")
    second = reduce(b, "b", b.op("Relu", first, name="r"), _hccl_fused_node=True)
    b.control(a, second)
    outs = [b.op("Neg", second, name="n")]
    if switch:
        outs.append(b.op("Switch", x, b.data("p", (), "bool"), name="sw", shape=(8,)))
    return b.build(*outs)


def test_readers_of_a_fused_collective_get_its_name_up_to_the_next_one() -> None:
    g = run(followed(), "hccl-group", TAILING).final.graph
    marks = {n.name: n.attrs["_hccl_fused_group"] for n in g if "_hccl_fused_group" in n.attrs}
    end = next(n.name for n in g if n.op == "NetOutput")
    assert marks == {"mul": "a", "r": "a", "n": "b", end: "b"}
    assert edges(g) == {("a", "b")}  # no Switch, so nothing is tied to the results


def test_with_a_switch_the_last_one_is_tied_to_the_results() -> None:
    g = run(followed(switch=True), "hccl-group", TAILING).final.graph
    end = next(n for n in g if n.op == "NetOutput")
    assert ("b", end.name) in edges(g)
    assert ("a", end.name) not in edges(g)


def test_the_group_needs_its_option_and_level() -> None:
    assert run(followed(), "hccl-group").steps[0].status == "skipped"
    assert run(followed(), "hccl-group", {**TAILING, "ge.oo.level": "O1"}).steps[0].status == "skipped"
    switch = {**TAILING, "ge.optimizationSwitch": "HcclGroupPass:off"}
    assert run(followed(), "hccl-group", switch).steps[0].status == "skipped"


# ---------------------------------------------------------------- hccl-sequence
def sequence(*, marked: bool = True, tail_first: bool = False) -> Graph:
    b = GraphBuilder("g")
    x = b.data("x", (8,))
    one, two, three = (reduce(b, f"ar{k}", b.op("Sigmoid", x, name=f"s{k}")) for k in (1, 2, 3))
    b.control(one, two)
    b.control(two, three)
    lone = reduce(b, "lone", b.op("Relu", three if tail_first else x, name="r"))
    attrs = {"_hccl_fused_group": "hccl"} if marked else {}
    branch = b.op("If", b.data("p", (), "bool"), lone, name="if", shape=(8,), attrs=attrs)
    for k in range(2):
        with b.subgraph(branch, f"b{k}") as (inner,):
            b.outputs(b.op("Neg", inner, name="n"))
    return b.build(one, two, three, branch)


def test_the_lone_all_reduce_goes_before_the_tail_of_the_chain() -> None:
    g = run(sequence(), "hccl-sequence", TAILING).final.graph
    assert ("lone", "ar3") in edges(g)
    assert len(edges(g)) == 3


def test_no_edge_without_a_marked_holder_or_against_a_path() -> None:
    assert run(sequence(marked=False), "hccl-sequence", TAILING).steps[0].status == "unchanged"
    t = run(sequence(tail_first=True), "hccl-sequence", TAILING)
    assert t.steps[0].status == "unchanged"
    assert [d.rule for d in t.steps[0].decisions] == ["already"]


# ---------------------------------------------------------------- hccl-tailing
def tail(*, loop: bool = False) -> Graph:
    b = GraphBuilder("g")
    x = b.data("x", (8,))
    a = reduce(b, "a", b.op("Sigmoid", x, name="s"))
    first = b.op("TransData", a, name="t1")
    second = b.op("Cast", first, name="t2", dtype="float")
    flag = b.op("Neg", first if loop else x, name="flag")
    use = b.op("Relu", second, name="use")
    b.control(flag, use)
    return b.build(use, flag)


def test_a_conversion_waits_for_what_its_readers_wait_for() -> None:
    g = run(tail(), "hccl-tailing", TRAIN).final.graph
    assert edges(g) == {("flag", "use"), ("flag", "t1")}
    assert run(g, "hccl-tailing", TRAIN).final.graph is g


def test_an_edge_that_would_close_a_loop_is_left_out_and_said() -> None:
    t = run(tail(loop=True), "hccl-tailing", TRAIN)
    assert t.steps[0].status == "unchanged"
    assert [d.rule for d in t.steps[0].decisions] == ["loop"]


@pytest.mark.parametrize("options", [{}, {"ge.graphRunMode": "1"}, {"ge.exec.hccl_tailing_optimize": "1"}])
def test_tailing_is_for_training_with_the_option(options: dict[str, str]) -> None:
    assert run(tail(), "hccl-tailing", options).steps[0].status == "skipped"


# ---------------------------------------------------------------- chains and branches
def branches(first: bool, second: bool) -> Graph:
    b = GraphBuilder("g")
    x = b.data("x", (8,))
    before = reduce(b, "ar", b.op("Sigmoid", x, name="s"))
    branch = b.op("If", b.data("p", (), "bool"), x, name="if", shape=(8,))
    for k, has in enumerate((first, second)):
        with b.subgraph(branch, f"b{k}") as (inner,):
            y = b.op("Relu", inner, name=f"r{k}")
            b.outputs(reduce(b, f"c{k}", y) if has else y)
    return b.build(before, branch)


@pytest.mark.parametrize(("first", "second"), [(True, True), (True, False), (False, True), (False, False)])
def test_a_holder_counts_for_its_first_branch_only(first: bool, second: bool) -> None:
    t = run(branches(first, second), "hccl-prepare,hccl-chain")
    assert edges(t.final.graph) == ({("ar", "if")} if first else set())
    lost = [d for s in t.steps for d in s.decisions if d.rule == "first-branch"]
    assert bool(lost) is (second and not first)


def test_no_second_edge_where_data_already_orders() -> None:
    b = GraphBuilder("g")
    one = reduce(b, "one", b.op("Sigmoid", b.data("x", (8,)), name="s"))
    assert not edges(run(b.build(reduce(b, "two", one)), "hccl-prepare,hccl-chain").final.graph)


def switched(where: tuple[bool, bool], after: bool = False) -> Graph:
    """cast -> two StreamSwitch (true, false) -> a branch each -> StreamMerge; a collective outside, before or behind it."""
    b = GraphBuilder("g")
    x, p = b.data("x", (8,)), b.data("p", (), "bool")
    outside = None if after else reduce(b, "out", b.op("Sigmoid", x, name="s"))
    cast = b.op("Cast", p, name="cast", dtype="int32")
    ends = []
    for k in range(2):
        switch = b.op(
            "StreamSwitch", cast, name=f"sw{k}", attrs={"_switch_true_branch_flag": k == 0, "_stream_label": f"l{k}"}
        )
        y = b.op("Relu", x, name=f"r{k}", attrs={"_stream_label": f"l{k}"})
        b.control(switch, y)
        ends.append(reduce(b, f"c{k}", y, _stream_label=f"l{k}") if where[k] else y)
    merge = b.op("StreamMerge", *ends, name="merge", shape=(8,))
    outs = [merge] if outside is None else [outside, merge]
    if after:
        outs.append(reduce(b, "out", b.op("Neg", merge, name="neg")))
    return b.build(*outs)


def test_a_collective_before_a_switch_is_ordered_against_its_condition() -> None:
    g = run(switched((True, True)), "hccl-prepare,hccl-chain").final.graph
    new = edges(g) - edges(switched((True, True)))
    assert new in ({("out", "cast")}, {("merge", "out")})
    assert acyclic(g)


def test_a_collective_behind_the_merge_follows_by_data() -> None:
    g = run(switched((True, False), after=True), "hccl-prepare,hccl-chain").final.graph
    new = edges(g) - edges(switched((True, False), after=True))
    assert new == {("merge", "out")}


def test_two_branches_of_one_switch_are_not_ordered() -> None:
    g = switched((True, True), after=True)
    new = edges(run(g, "hccl-prepare,hccl-chain").final.graph) - edges(g)
    assert not [e for e in new if e in (("c0", "c1"), ("c1", "c0"))]


def test_a_switch_without_a_merge_fails_as_in_ge() -> None:
    b = GraphBuilder("g")
    x, p = b.data("x", (8,)), b.data("p", (), "int32")
    switch = b.op("StreamSwitch", p, name="sw", attrs={"_switch_true_branch_flag": True})
    a = reduce(b, "a", x)
    b.control(switch, a)
    t = run_trace(b.build(a), parse_pipeline("hccl-prepare,hccl-chain", pipelines.PASSES.get, {}), {"gx.hccl": "on"})
    assert t.failed is not None
    assert "no merge" in str(t.failed.error)

"""List scheduling: never worse than GE's LoadBalance under the simulator, correct, bounded from below, explained."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ge_explorer as gx
from ge_explorer import pipelines
from ge_explorer.checks import check_trace
from ge_explorer.device.chips import CHIPS
from ge_explorer.device.cost import cost_table
from ge_explorer.errors import OptionError
from ge_explorer.graph.edit import GraphEditor
from ge_explorer.graph.model import Graph
from ge_explorer.passes.streams.list_schedule import COSTS, stream_limit
from ge_explorer.passes.streams.max_concurrency import MODE
from ge_explorer.passes.sync.economy import event_economy
from ge_explorer.simulator import build_program, simulate, simulate_program
from ge_explorer.simulator.verify import verify
from ge_explorer.trace import Trace, run_trace
from tests.passes.streams.test_concurrency import plain
from tests.property.graphs import graphs

AUTO = "ge.autoMultistreamParallelMode"


def run(g: Graph, mode: str, **more: str) -> Trace:
    options = {MODE if mode.startswith("list") else AUTO: mode, **{k.replace("_", "."): v for k, v in more.items()}}
    return run_trace(g, pipelines.static(), options)


def fork() -> Graph:
    """a 10 µs → b 30 µs and c 20 µs → d 10 µs, beside them e 5 µs."""
    e = GraphEditor.empty("fork")
    x = e.add_node("x", "Data", outputs=[((16,), "float16")])
    made = {"": x}
    for name, needs, us in (("a", [""], 10), ("b", ["a"], 30), ("c", ["a"], 20), ("d", ["b", "c"], 10), ("e", [""], 5)):
        made[name] = e.add_node(
            name, "Relu", inputs=[e.output(made[k]) for k in needs], outputs=[((16,), "float16")],
            attrs={"_gx_engine": "AIcoreEngine", "_gx_duration_ns": 1000 * us},
        )  # fmt: skip
    return e.freeze()


def test_the_longer_branch_stays_with_its_producer() -> None:
    trace = run(fork(), "list-schedule:2", gx_scheduleCosts="free")
    s = trace.final.streams
    assert s is not None
    of = {n.name: int(s.node[n.id]) for n in trace.final.graph}
    assert of["a"] == of["b"] == of["d"] != of["c"] == of["e"]
    note = trace.step("list-schedule").issues[0].message
    assert "50.0 µs, provably the shortest (no plan is below 50.0 µs: critical path)" in note.en
    found = trace.step("list-schedule").decisions
    why = {trace.final.graph.node(d.subject.id).name: d for d in found if d.rule == "earliest-finish"}
    assert why["c"].note is not None
    assert "rank 30 µs; would be over at 60 µs on stream 0, 30 µs on stream 1" in why["c"].note.en.replace(
        f"stream {why['b'].after}", "stream 0"
    ).replace(f"stream {why['c'].after}", "stream 1")


@given(graphs(max_nodes=40), st.sampled_from(["1", "2", "3", "8"]), st.sampled_from(["ge", "minimal"]))
@settings(max_examples=40, deadline=None, derandomize=True)
def test_never_worse_than_load_balance_and_correct(g: Graph, k: str, events: str) -> None:
    theirs = run(g, f"LoadBalance:{k}", gx_eventMode=events)
    ours = run(g, f"list-schedule:{k}", gx_eventMode=events)
    if theirs.failed is not None:
        return
    assert ours.failed is None, ours.failed.error
    assert not [i for i in check_trace(ours) if i.severity == "error"]
    program = build_program(ours.final, CHIPS["Ascend910B1"])
    timeline = simulate_program(program, "Ascend910B1")
    assert verify(program, timeline) == []
    assert timeline.makespan_ns <= simulate(theirs.final).makespan_ns


@given(graphs(max_nodes=40), st.sampled_from(["2", "4"]))
@settings(max_examples=30, deadline=None, derandomize=True)
def test_labels_and_bodies_keep_load_balances_streams_together(g: Graph, k: str) -> None:
    theirs, ours = run(g, f"LoadBalance:{k}"), run(g, f"list-schedule:{k}")
    if theirs.failed is not None or ours.failed is not None:
        return
    a, step = theirs.step("mini-dag").after.streams, ours.step("list-schedule")
    b = step.after.streams
    assert a is not None
    assert b is not None
    placed = [n for n in step.after.graph if a.node[n.id] >= 0]
    pinned = [n.id for n in placed if n.scope or n.attrs.get("_stream_label") or n.attrs.get("_rts_label_node")]
    assert [int(a.node[i]) for i in pinned] == [int(b.node[i]) for i in pinned]
    assert len({int(b.node[n.id]) for n in placed} - {int(b.node[i]) for i in pinned}) <= int(k)


@given(st.integers(0, 10**6), st.sampled_from(["2", "3"]))
@settings(max_examples=30, deadline=None, derandomize=True)
def test_events_are_provably_minimal_if_asked(seed: int, k: str) -> None:
    trace = run(plain(seed, 40), f"list-schedule:{k}", gx_eventMode="minimal")
    found = event_economy(trace)
    assert found is None or found.ratio in (None, 1.0)


def test_it_beats_load_balance_where_a_better_order_exists() -> None:
    g = gx.examples.attention_block()
    ours, theirs = simulate(run(g, "list-schedule:4").final), simulate(run(g, "LoadBalance:4").final)
    assert ours.makespan_ns < theirs.makespan_ns


def test_the_same_run_gives_the_same_plan() -> None:
    g = gx.examples.attention_block()
    one, two = run(g, "list-schedule:3").final, run(g, "list-schedule:3").final
    assert one.sequence == two.sequence
    assert one.streams is not None
    assert two.streams is not None
    assert one.streams.node.tolist() == two.streams.node.tolist()


def test_the_bound_is_below_every_plan_of_ge() -> None:
    g = gx.examples.attention_block()
    trace = run(g, "list-schedule:2")
    said = trace.step("list-schedule").issues[0].message.en
    least = float(said.split("no plan is below ")[1].split(" µs")[0].replace(",", ""))
    for mode in ("LoadBalance:2", "MainStream:2", "WeightedLoadBalance:2"):
        t = run(g, mode)
        assert cost_table(t.final.graph, t.final.placement, CHIPS["Ascend910B1"])
        assert simulate(t.final).makespan_ns >= 1000 * least - 100


def test_option_values() -> None:
    assert [stream_limit(m) for m in ("list-schedule", "list-schedule:2", "fewest-waits", "")] == [4, 2, None, None]
    for bad in ("list-schedule:0", "list-schedule:65", "list-schedule:", "list-schedule:two", "list-schedule:²"):
        with pytest.raises(OptionError, match="number of streams"):
            stream_limit(bad)
    g = gx.examples.fork_join()
    failed = run_trace(g, pipelines.static(), {MODE: "list-schedule", COSTS: "guess"}).failed
    assert failed is not None
    assert "gx.scheduleCosts" in str(failed.error)
    off = run_trace(
        gx.examples.attention_block(), pipelines.static(), {MODE: "list-schedule", "ge.enableSingleStream": "true"}
    )
    assert off.step("list-schedule").status == "skipped"
    assert gx.compile(g).step("list-schedule").status == "skipped"


def test_the_chip_comes_from_the_options() -> None:
    g = gx.examples.attention_block()
    said = run(g, "list-schedule:2", gx_chip="Ascend310P3").step("list-schedule").issues[0].message.en
    assert "Our model of Ascend310P3" in said

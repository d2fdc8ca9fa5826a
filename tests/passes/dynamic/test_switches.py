"""What switches the allocator on, what it refuses, and what it says when it does not run."""

from __future__ import annotations

import pytest

from ge_explorer import pipelines
from ge_explorer.errors import OptionError, PassFailed
from ge_explorer.graph.builder import GraphBuilder
from ge_explorer.passes.dynamic import DYNAMIC_STEPS
from ge_explorer.passes.dynamic.enable import AC_PARALLEL, ENABLE, multi_stream_enabled
from ge_explorer.trace import Pipeline, run_trace
from tests.passes.dynamic.dynamic_cases import AI, HCCL, MODE, RTS, STEPS, graph_of, passes, run, streams

ROWS = [("data", "", []), ("a", AI, ["data"]), ("ar", HCCL, ["a"]), ("out", RTS, ["ar"])]


@pytest.mark.parametrize(
    ("value", "on"), [("1", True), ("", False), ("0", False), ("true", False), ("01", False), (" 1", False)]
)
def test_only_a_plain_one_switches_it_on(value: str, on: bool) -> None:
    assert multi_stream_enabled(value) is on
    t = run(graph_of(ROWS), {ENABLE: value}, on=False)
    assert len(set(streams(t).values())) == (2 if on else 1)


@pytest.mark.parametrize("mode", ["cv", "LoadBalance:8", "MainStream:8", "nonsense"])
def test_off_no_option_matters_and_every_step_says_how_to_switch_it_on(mode: str) -> None:
    t = run(graph_of(ROWS), {MODE: mode, AC_PARALLEL: "7"}, on=False)
    assert t.failed is None
    assert set(streams(t).values()) == {0}
    skipped = [s for s in t if s.name.startswith("dynamic-") and s.name != "dynamic-start"]
    assert all(s.status == "skipped" for s in skipped)
    texts = {s.reason.en for s in skipped if s.reason is not None and "attached" not in s.name}
    assert len(texts) == 1
    assert f"set {ENABLE} to 1" in texts.pop()
    assert t.why("ar")[-1].decision.rule == "off"
    assert t.final.streams is not None
    assert (t.final.streams.main_count, t.final.streams.next_stream) == (1, 1)


@pytest.mark.parametrize("value", ["2", "true", "on", " ", "11"])
def test_a_bad_ac_parallel_enable_is_refused_before_anything_is_placed(value: str) -> None:
    t = run(graph_of(ROWS), {AC_PARALLEL: value})
    assert t.failed is not None
    assert t.failed.name == "dynamic-start"
    error = t.failed.error
    assert isinstance(error, PassFailed)
    assert (error.code, error.ge_status) == ("E10001", "PARAM_INVALID")
    assert AC_PARALLEL in str(error) and repr(value) in str(error)


@pytest.mark.parametrize("mode", ["LoadBalance:0", "LoadBalance:65", "loadbalance:4", "MainStream", "default"])
def test_a_bad_automatic_mode_is_refused(mode: str) -> None:
    t = run(graph_of(ROWS), {MODE: mode})
    assert t.failed is not None
    error = t.failed.error
    assert isinstance(error, PassFailed)
    assert (error.code, error.ge_status) == ("E10001", "PARAM_INVALID")


def test_a_graph_of_known_shapes_is_refused_at_once() -> None:
    t = run(graph_of(ROWS, dynamic=False))
    assert t.failed is not None
    assert t.failed.name == "dynamic-start"
    assert "static" in str(t.failed.error)


def test_known_shape_steps_refuse_the_bodies_of_unknown_shapes() -> None:
    b = GraphBuilder("g", dynamic=True)
    x = b.data("x", (1,))
    call = b.op("PartitionedCall", x, shape=(1,), name="call")
    with b.subgraph(call, "body") as inner:
        b.outputs(b.op("Relu", *inner, shape=(1,), name="inner"))
    t = run_trace(b.build(call), pipelines.pipeline("static"))
    assert t.failed is not None and t.failed.name == "refresh-streams"
    assert "shapes are unknown" in str(t.failed.error) and "pipeline" in str(t.failed.error)


def test_single_stream_mode_of_static_graphs_has_no_effect() -> None:
    t = run(graph_of(ROWS), {"ge.enableSingleStream": "true", MODE: "LoadBalance:2"})
    assert t.step("dynamic-mini-dag").status == "changed"


def test_notify_mode_of_static_graphs_has_no_effect() -> None:
    t = run(graph_of(ROWS), {"ge.event": "notify"})
    assert t.final.sync is not None
    assert {e.kind for e in t.final.sync.events} == {"event"}
    assert t.final.sync.event_num == 2


def test_steps_name_their_passes_and_explain_themselves() -> None:
    for name, _ in DYNAMIC_STEPS:
        p = STEPS.get(name)()
        assert p.name == name
        assert p.title.en and p.title.zh and p.summary.en and p.summary.zh
        assert p.source and p.ge_name and p.rules
        assert "GE source" in (type(p).__doc__ or "")
        for rule in p.rules.values():
            assert rule.text.en and rule.text.zh and rule.source


@pytest.mark.parametrize("off", [name for name, _ in DYNAMIC_STEPS])
def test_switching_a_step_off_never_crashes(off: str) -> None:
    pipeline = Pipeline.of(passes()).with_disabled([off])
    t = run_trace(graph_of(ROWS, {"a": {"_stream_label": "L"}}), pipeline, {ENABLE: "1"}, strict=True)
    if t.failed is not None:
        assert isinstance(t.failed.error, PassFailed | OptionError)
        assert "on again" in str(t.failed.error)


def test_steps_shown_twice_are_unchanged() -> None:
    t = run(graph_of(ROWS))
    again = STEPS.get("dynamic-renumber")()
    twice = run_trace(graph_of(ROWS), Pipeline.of([*passes(), again]), {ENABLE: "1"}, strict=True)
    assert twice.steps[-1].status == "unchanged"
    assert len(twice) == len(t) + 1

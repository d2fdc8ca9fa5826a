"""Figures row: change against one stream, words where nothing applies, cores counted at one moment."""

from __future__ import annotations

import numpy as np
import pytest

from ge_explorer import examples
from ge_explorer.graph.builder import GraphBuilder
from ge_explorer.passes.sync.minimum import minimum_events
from ge_explorer.session import Session
from ge_explorer.trace.state import Snapshot
from ge_explorer.views.figures import figures_model, most_cores
from ge_explorer.views.palette import identify
from ge_explorer.views.sentence import sentence
from ge_explorer.widgets.session_view import SessionView
from tests.views import small_trace


def figures(strength: str, **kwargs: object) -> dict[str, dict]:
    t = small_trace.trace()
    model = figures_model(small_trace.RESULTS, strength, small_trace.timeline(t), **kwargs)
    return {f["key"]: f for f in model["figures"]}


def test_change_against_one_stream() -> None:
    f = figures("C2")
    assert f["makespan"]["value"]["en"] == "−33.6"
    assert f["makespan"]["notes"][0]["en"] == "−16.9 %"
    assert (f["overlap"]["value"]["en"], f["overlap"]["notes"][0]["zh"]) == ("0.62", "真并行")
    assert f["streams"]["notes"][0]["en"] == "+1"
    assert (f["peak"]["value"]["en"], f["peak"]["unit"], f["peak"]["notes"][0]["en"]) == ("41.25", "MiB", "+5.75")
    assert {k: v["origin"] for k, v in f.items()} == {
        "makespan": "model", "overlap": "model", "streams": "ge", "events": "ge", "peak": "model", "cores": "assumed",
    }  # fmt: skip


def test_one_stream_says_not_applicable_in_words() -> None:
    f = figures("single")
    assert f["overlap"]["value"] == {"en": "not applicable", "zh": "不适用"}
    assert f["overlap"]["origin"] == ""
    assert f["makespan"]["value"]["en"] == "199.2"
    assert f["makespan"]["notes"] == []


def test_not_computed_and_failed_are_not_numbers() -> None:
    assert figures("C3")["makespan"]["value"]["en"] == "…"
    failed = figures("C2", failed=True)
    assert all(failed[k]["value"]["en"] == "–" for k in ("makespan", "overlap", "streams", "events", "peak"))


def test_strength_switch_carries_the_makespans() -> None:
    model = figures_model(small_trace.RESULTS, "C1")
    assert [(s["key"], s["value"]["en"], s["on"]) for s in model["strengths"]] == [
        ("single", "199.2 us", False), ("C1", "169.6 us", True), ("C2", "165.6 us", False), ("C3", "…", False),
    ]  # fmt: skip


def test_cores_of_tasks_that_touch_do_not_add_up() -> None:
    t = small_trace.timeline(small_trace.trace())
    brute = max(
        int(t.aic[(t.start_ns <= x) & (t.end_ns > x)].sum()) for x in np.unique(np.concatenate([t.start_ns, t.end_ns]))
    )
    assert most_cores(t)[0] == brute == 24


def test_sentence_in_both_languages() -> None:
    t = small_trace.trace()
    s = sentence(t, small_trace.timeline(t), identify(t))
    assert (
        s.en == "7 operators, 2 streams, 2 events. Makespan 40.0 us. A works 100 %, B works 50 % of it. Peak 7.00 MiB."
    )
    assert "2 条流" in s.zh
    failed = sentence(small_trace.trace(disabled=("assign",)))
    assert failed.en.startswith("Step 5, Plan memory, failed:")


def test_events_figure_shows_the_minimum_and_says_of_what() -> None:
    e = figures("C1", minimum=1)["events"]
    assert e["value"]["en"] == "2"
    assert [n["en"] for n in e["notes"]] == ["+2", "minimum 1"]
    assert "1 is the fewest that give the same order" in e["tip"]["en"]
    assert "同样顺序" in e["tip"]["zh"]
    assert [n["en"] for n in figures("C1")["events"]["notes"]] == ["+2"]
    assert figures("C3", minimum=1)["events"]["notes"] == [], "not computed yet"


def test_minimum_of_a_state_is_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Snapshot] = []

    def counted(s: Snapshot) -> int | None:
        asked.append(s)
        return minimum_events(s)

    monkeypatch.setattr("ge_explorer.session.minimum_events", counted)
    view = SessionView(Session(examples.three_stream_crossing()))
    final, first = view.trace.final, view.trace.initial
    assert final.sync is not None
    for _ in range(3):
        assert view.minimum_events(final) == minimum_events(final)
        assert view.minimum_events(first) is None
    assert asked == [final, first]
    assert 0 < (view.minimum_events(final) or 0) <= len(final.sync.events)


def test_a_small_peak_is_not_nothing() -> None:
    b = GraphBuilder("small")
    s = Session(b.build(b.op("Relu", b.op("Relu", b.data("x", (1, 64)), shape=(1, 64)), shape=(1, 64))))
    peak = s.trace.final.memory.plan.peak
    assert 0 < peak < 1024
    assert sentence(s.trace, s.timeline, s.identities).en.endswith(f"Peak {peak} B.")
    one = small_trace.Result(s.timeline.makespan_ns, None, "", 1, 0, peak)
    found = {f["key"]: f for f in figures_model({"": one}, "", s.timeline)["figures"]}["peak"]
    assert (found["value"]["en"], found["unit"]) == (str(peak), "B")

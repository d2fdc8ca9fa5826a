"""The explorer's Python side without a browser: gestures, repair, undo, search, state texts, lazily built panels."""

from __future__ import annotations

import asyncio

import pytest

from ge_explorer.ids import Ref
from ge_explorer.session import Session
from ge_explorer.views.selection_state import SelectionState
from ge_explorer.widgets.explorer import Explorer
from ge_explorer.widgets.selection import Selection
from tests.views import small_trace


@pytest.fixture
def explorer() -> Explorer:
    return Explorer(Session(small_trace.graph(), pipeline=small_trace.PIPELINE))


def gesture(e: Explorer, kind: str, **payload: object) -> None:
    n = (e.top.intents[-1]["n"] if e.top.intents else 0) + 1
    e.top.intents = [*e.top.intents, {"n": n, "kind": kind, **payload}]
    assert e.top.ack == n


def status(e: Explorer, key: str) -> str:
    return next(s["status"] for c in e.top.data["strip"]["chapters"] for s in c["steps"] if s["key"] == key)


def test_opens_on_the_last_step_with_one_panel(explorer: Explorer) -> None:
    assert explorer.selection.state.step == explorer.top.step == 6
    assert list(explorer.area.panels) == ["timeline"]
    explorer.top.tab = "events"
    assert list(explorer.area.panels) == ["timeline", "events"]


def test_pass_off_fails_visibly_and_repair_returns(explorer: Explorer) -> None:
    explorer.selection.set(step=5, selected=(Ref("node", 2),))
    gesture(explorer, "toggle", key="assign", on=False)
    assert (status(explorer, "plan"), explorer.top.step, explorer.state.data["kind"]) == ("failed", 4, "failed")
    assert explorer.selection.state.disabled == frozenset({"assign"})
    repair = explorer.state.data["repairs"][0]
    explorer.state.intents = [{"n": 1, "kind": repair["action"], "key": repair["key"], "on": repair["on"]}]
    assert (explorer.state.ack, status(explorer, "plan"), explorer.top.step, explorer.state.data) == (
        1,
        "changed",
        5,
        {},
    )
    assert explorer.selection.state.selected == (Ref("node", 2),), "the selection survives"


@pytest.mark.parametrize("key", [i.key for i in small_trace.PIPELINE])
def test_every_pass_off_one_at_a_time_never_breaks_the_screen(explorer: Explorer, key: str) -> None:
    gesture(explorer, "toggle", key=key, on=False)
    assert status(explorer, key) == "disabled"
    for tab in ("events", "streams", "diff", "issues", "memory"):
        explorer.top.tab = tab
    gesture(explorer, "undo")
    assert explorer.session.trace.failed is None


def test_two_gestures_in_one_message_run_once_each(explorer: Explorer) -> None:
    explorer.top.intents = [
        {"n": 1, "kind": "toggle", "key": "optimise", "on": False},
        {"n": 2, "kind": "toggle", "key": "nothing", "on": False},
    ]
    assert explorer.session.disabled == frozenset({"optimise", "nothing"})
    gesture(explorer, "undo")
    assert explorer.session.disabled == frozenset({"optimise"})


def test_wrong_gesture_is_said_and_changes_nothing(explorer: Explorer) -> None:
    gesture(explorer, "chip", name="Ascend999")
    assert "Ascend999" in explorer.status.data["label"]["en"]
    gesture(explorer, "toggle", key="nope", on=False)
    assert explorer.session.disabled == frozenset()


def test_search_selects_and_walks(explorer: Explorer) -> None:
    gesture(explorer, "search", query="quant")
    assert explorer.top.data["toolbar"]["search"] == {"query": "quant", "hits": 2, "at": 0}
    first = explorer.top.selected
    gesture(explorer, "find", dir=1, query="quant")
    assert explorer.top.selected != first
    gesture(explorer, "find", dir=1, query="quant")
    assert explorer.top.selected == first


def test_copied_state_restores_settings_and_view(explorer: Explorer) -> None:
    gesture(explorer, "toggle", key="nothing", on=False)
    explorer.selection.set(step=3, selected=(Ref("stream", 0),), lang="zh", tab="events")
    text = explorer.top.data["share"]
    other = Explorer(Session(small_trace.graph(), pipeline=small_trace.PIPELINE))
    other.selection.state = SelectionState.from_share(text)
    assert other.session.disabled == frozenset({"nothing"})
    assert (other.top.step, other.top.selected, other.top.lang) == (3, ["stream:0"], "zh")
    assert other.inspector.data["ref"] == "stream:0"


@pytest.mark.parametrize("form", ["json", "state", "mermaid", "perfetto"])
def test_exports_carry_text(explorer: Explorer, form: str) -> None:
    gesture(explorer, "export", format=form)
    assert explorer.top.download["name"].startswith("moe_small")
    assert len(explorer.top.download["text"]) > 30


def test_many_changes_in_one_turn_redraw_once() -> None:
    calls: list[int] = []
    selection = Selection()

    async def run() -> None:
        once = selection.follow(lambda: calls.append(selection.state.step))
        for step in range(20):
            selection.set(step=step)
        assert calls == []
        await asyncio.sleep(0)
        assert calls == [19]
        selection.set(step=19)
        await asyncio.sleep(0)
        assert calls == [19], "an equal state tells nobody"
        once.stop()
        selection.set(step=3)
        await asyncio.sleep(0)
        assert calls == [19]

    asyncio.run(run())


def test_saved_notebook_keeps_a_sentence(explorer: Explorer) -> None:
    bundle = explorer._repr_mimebundle_()
    data = bundle[0] if isinstance(bundle, tuple) else bundle
    assert "2 streams, 2 events" in data["text/html"]
    assert "application/vnd.jupyter.widget-view+json" in data

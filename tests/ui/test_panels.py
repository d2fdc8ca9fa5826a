"""Panels in Python: data sources change in place, clicks become references, the version banner speaks."""

from __future__ import annotations

import pytest

from ge_explorer.ids import Ref, buffer, node, stream
from ge_explorer.views.selection_state import SelectionState
from ge_explorer.views.theme import Theme
from ge_explorer.widgets.bokeh_host import BokehHost, bokehjs, mismatch
from ge_explorer.widgets.panels import (
    show_diff,
    show_events,
    show_issues,
    show_memory,
    show_mermaid,
    show_streams,
    show_timeline,
)
from ge_explorer.widgets.panels.context import PanelContext
from ge_explorer.widgets.panels.events import EventsPanel
from ge_explorer.widgets.panels.memory import MemoryPanel
from ge_explorer.widgets.panels.mermaid import MermaidPanel
from ge_explorer.widgets.panels.timeline import TimelinePanel
from tests.views.panel_cases import moe_session


def context(*selected: Ref, step: int = 1, lang: str = "en", theme: Theme | None = None) -> PanelContext:
    return PanelContext(moe_session(), SelectionState(step=step, selected=selected, lang=lang), theme)


def test_timeline_updates_its_sources_in_place() -> None:
    panel = TimelinePanel()
    panel.update(context())
    root, bars = panel._make(), panel.sources["bars"]
    assert set(bars.data["line_width"]) == {1}
    i = moe_session().graph.by_name["sh.gate_up"]
    panel.update(context(node(i)))
    assert panel.sources["bars"] is bars
    assert bars.data["line_width"].count(2) == 1
    assert bars.data["name"][bars.data["line_width"].index(2)] == "sh.gate_up"
    assert {len(v) for v in bars.data.values()} == {14}
    assert root.document is None or bars in root.document.models


def test_timeline_places_become_references() -> None:
    panel = TimelinePanel()
    panel.update(context())
    assert panel.layout is not None
    y = sum(panel.layout.lane(1)) / 2
    by = moe_session().graph.by_name
    assert panel.hit(20.0, y) == node(by["sh.gate_up"])
    assert panel.hit(2.0, y) == node(by["post_norm"])  # the gap waits for it
    assert panel.hit(120.0, y) is None
    assert panel.hit(20.0, panel.layout.height + 50) is None


def test_memory_places_become_references() -> None:
    panel = MemoryPanel()
    panel.update(context())
    chart = panel.chart("map")
    assert chart.hit(10.0, 1.0) == buffer(0)
    assert chart.hit(100.0, 1.0) == buffer(0)  # held, still taken
    assert chart.hit(164.0, 1.0) is None


def test_memory_before_planning_says_so_and_recovers() -> None:
    panel = MemoryPanel()
    panel.update(context(step=-1))
    assert "not planned yet" in panel.body.html
    panel.update(context(step=1))
    assert len(panel.chart("map").sources["rects"].data["left"]) == 9


def test_dark_theme_and_chinese_change_colours_and_words() -> None:
    panel = TimelinePanel()
    panel.update(context(theme=Theme.named("light")))
    light = panel.sources["bars"].data["fill"][0]
    panel.update(context(theme=Theme.named("dark"), lang="zh"))
    assert panel.sources["bars"].data["fill"][0] != light
    assert "关键路径" in panel.host.head.html


def test_click_on_a_row_selects_and_rubbish_is_ignored() -> None:
    got: list[tuple[Ref, ...]] = []
    panel = EventsPanel(got.append)
    panel.update(context())
    panel.widget.clicked = {"ref": "event:2", "n": 1}
    panel.widget.clicked = {"ref": "<img>", "n": 2}
    panel.widget.clicked = {}
    assert got == [(Ref("event", 2),)]


def test_selected_row_is_marked() -> None:
    panel = EventsPanel()
    panel.update(context(Ref("event", 2)))
    assert panel.widget.html.count('aria-selected="true"') == 1


def test_stream_selection_is_bold_in_the_lane_head() -> None:
    panel = TimelinePanel()
    panel.update(context(stream(0)))
    heads = panel.sources["head_text"].data
    assert heads["style"][heads["text"].index("side")] == "bold"


def test_mermaid_has_a_plain_text_twin() -> None:
    panel = MermaidPanel()
    panel.update(context())
    data = panel.output.outputs[0]["data"]
    assert data["text/vnd.mermaid"] == data["text/plain"]


def test_version_mismatch_is_said_in_words() -> None:
    assert mismatch("3.9.0", "3.9.2") is None
    said = mismatch("3.4.1", "3.9.2")
    assert said is not None
    assert "3.4.1" in said.en
    assert "3.9.2" in said.get("zh")
    panel = TimelinePanel()
    panel.update(context())
    panel.host.head.loaded = {"version": "2.4.3", "n": 1}
    banner = panel.host._chart.children[0]
    assert 'role="alert"' in banner.html
    assert "2.4.3" in banner.html


def test_page_without_bokehjs_gets_it_from_the_package() -> None:
    sent: list[object] = []
    host = BokehHost("x", lambda: pytest.fail("no chart before BokehJS is there"))
    host.head.send = sent.append
    host._on_message(host.head, {"kind": "need-bokehjs"}, [])
    host._on_message(host.head, "rubbish", [])
    assert sent == [{"kind": "bokehjs", "code": bokehjs()}]
    assert len(bokehjs()) > 500_000


def test_every_panel_works_alone() -> None:
    s = moe_session()
    for widget in (
        show_timeline(s),
        show_memory(s),
        show_events(s),
        show_streams(s),
        show_diff(s, -1, 1),
        show_issues(s),
    ):
        assert "gx-alone" in widget._dom_classes
    assert set(show_mermaid(s)._repr_mimebundle_()) == {"text/vnd.mermaid", "text/plain"}

"""Memory panel in Python: views are built when they are shown, controls change them, the page is not trusted."""

from __future__ import annotations

import pytest

from ge_explorer.errors import OptionError
from ge_explorer.ids import Ref, buffer
from ge_explorer.views.memory_page import VIEWS
from ge_explorer.views.selection_state import SelectionState
from ge_explorer.widgets.panels import show_memory
from ge_explorer.widgets.panels.context import PanelContext
from ge_explorer.widgets.panels.memory import MemoryPanel
from tests.views.memory_cases import Case, chain, fork_join, random_case
from tests.views.panel_cases import moe_session


def context(case: Case, *selected: Ref, lang: str = "en") -> PanelContext:
    last = len(case.session.trace) - 1
    return PanelContext(case.session, SelectionState(step=last, selected=selected, lang=lang))


def press(panel: MemoryPanel, do: str, value: str = "") -> None:
    panel.bar.clicked = {"do": do, "value": value, "n": len(do) + len(value) + len(panel.bar.html)}


def test_only_the_open_view_is_built() -> None:
    panel = MemoryPanel()
    panel.update(context(fork_join()))
    assert panel.page is not None
    assert panel.page.built == ["lives", "map"]
    press(panel, "view", "lifetimes")
    assert panel.page.built == ["lives", "map", "lifetimes"]
    assert set(panel.charts) == {"map", "lifetimes"}


def test_page_is_kept_while_the_state_stays() -> None:
    case = fork_join()
    panel = MemoryPanel(view="planners")
    panel.update(context(case))
    page = panel.page
    panel.update(context(case, buffer(0)))
    assert panel.page is page
    other = random_case(1)
    panel.choice = panel.choice.but(pinned=3, at=9)
    panel.update(context(other))
    assert panel.page is not page
    assert (panel.choice.pinned, panel.choice.at) == (None, None)


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("view", list(VIEWS))
def test_every_view_says_something_in_both_languages(view: str, lang: str) -> None:
    case = random_case(2)
    panel = MemoryPanel(view=view)
    panel.update(context(case, buffer(3), lang=lang))
    shown = panel.charts[view].host.head.html if view in panel.charts else panel.body.html
    assert len(shown) > 80
    assert any("\u4e00" <= c <= "\u9fff" for c in shown) == (lang == "zh")
    assert VIEWS[view].get(lang) in panel.bar.html
    if view not in ("steps",):
        assert "gxp-o" in shown or view == "reuse"  # numbers carry their origin


def test_filters_change_what_is_shown_and_say_so() -> None:
    panel = MemoryPanel(view="lifetimes")
    panel.update(context(random_case(2, nodes=90)))
    chart = panel.chart("lifetimes")
    everything = chart.lines
    press(panel, "top", "20")
    assert chart.lines == 20 < everything
    press(panel, "text", "op1")
    assert all("op1" in r.name for r in chart.picture.rows)
    assert 'value="op1"' in panel.bar.html
    for do, value in (
        ("top", "7"),
        ("sort", "<img>"),
        ("stream", "99"),
        ("kind", "x"),
        ("jump-x", ""),
        ("nonsense", "1"),
    ):
        press(panel, do, value)
    assert panel.choice.filter.top == 20


def test_pinned_and_selected_buffer_make_a_pair() -> None:
    case = fork_join()
    panel = MemoryPanel(view="reuse")
    panel.update(context(case))
    assert "Select a buffer" in panel.body.html
    panel.update(context(case, buffer(case.buffer("c:0"))))
    assert "buffers may take its bytes" in panel.body.html
    press(panel, "pin")
    panel.update(context(case, buffer(case.buffer("f:0"))))
    assert "May share" in panel.body.html
    assert "event" in panel.body.html
    press(panel, "unpin")
    assert panel.choice.pinned is None


def test_ge_steps_walk_and_jump() -> None:
    panel = MemoryPanel(view="steps")
    panel.update(context(random_case(1)))
    assert ">1 / " in panel.body.html
    press(panel, "jump-next")
    assert ">2 / " in panel.body.html
    press(panel, "jump-take")
    assert "takes a block" in panel.body.html
    press(panel, "jump-last")
    press(panel, "jump-next")
    assert panel.page is not None
    assert panel.choice.ge_step == panel.page.steps_of(panel.choice) - 1


def test_position_on_the_curve_is_explained_and_forgotten() -> None:
    panel = MemoryPanel(view="curve")
    panel.update(context(fork_join()))
    chart = panel.chart("curve")
    chart.on_at(0)
    assert panel.choice.at == 0
    assert "back to the peak" in panel.bar.html
    press(panel, "peak")
    assert panel.choice.at is None


def test_lines_and_places_become_references() -> None:
    case = fork_join()
    got: list[tuple[Ref, ...]] = []
    panel = MemoryPanel(got.append, view="lifetimes")
    panel.update(context(case))
    chart = panel.chart("lifetimes")
    assert chart.hit(chart.lines - 0.5) == chart.picture.rows[0].ref
    assert chart.hit(chart.lines + 1.0) is None
    panel.body.clicked = {"ref": "buffer:2", "n": 1}
    panel.body.clicked = {"ref": "<img>", "n": 2}
    assert got == [(buffer(2),)]


def test_raster_lines_become_references(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ge_explorer.views.memory_heatmap.EXACT", 10)
    case = random_case(4)
    panel = MemoryPanel(view="lifetimes")
    panel.update(context(case))
    chart = panel.chart("lifetimes")
    assert chart.picture.raster is not None
    assert chart.hit(chart.lines - 0.5) == buffer(int(chart.picture.ids[0]))
    assert chart.sources["raster"].data["image"][0].dtype.name == "uint32"


def test_state_without_order_has_no_plans_but_says_why() -> None:
    panel = MemoryPanel(view="planners")
    panel.update(PanelContext(moe_session(), SelectionState(step=1)))
    assert "nothing can be planned" in panel.body.html


def test_single_stream_has_no_stream_controls() -> None:
    panel = MemoryPanel(view="lifetimes")
    panel.update(context(chain()))
    assert "crossing" in panel.bar.html or 'data-do="stream"' not in panel.bar.html


def test_unknown_view_is_an_option_error() -> None:
    with pytest.raises(OptionError):
        show_memory(fork_join().session, view="pie")
    assert "gx-alone" in show_memory(fork_join().session, view="ab", a="none", b="hb")._dom_classes


def test_large_graphs_ask_before_they_run_slow_planners(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ge_explorer.views.memory_plans.SEARCH_UPTO", 3)
    panel = MemoryPanel(view="ab")
    panel.update(context(random_case(1)))
    assert panel.page is not None
    assert panel.page.book is not None
    for view in ("ab", "steps", "planners"):
        press(panel, "view", view)
        assert "only when asked" in panel.body.html
        assert 'data-do="everything"' in panel.bar.html
        assert not panel.page.book.has("ge")
    press(panel, "everything")
    assert panel.page.book.has("ge")
    assert "only when asked" not in panel.body.html


def test_selection_does_not_build_a_raster_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ge_explorer.views.memory_heatmap.EXACT", 10)
    case = random_case(4)
    panel = MemoryPanel(view="lifetimes")
    panel.update(context(case))
    before = panel.chart("lifetimes").sources["raster"].data["image"][0]
    panel.update(context(case, buffer(7)))
    assert panel.page is not None
    assert panel.page.built.count("lifetimes") == 1
    assert panel.chart("lifetimes").sources["raster"].data["image"][0] is before
    assert len(panel.chart("lifetimes").sources["picked"].data["left"]) == 1


def test_ab_lays_both_curves_over_one_axis() -> None:
    case = random_case(2)
    panel = MemoryPanel(view="ab")
    panel.update(context(case))
    assert panel.body.html.count("<polyline") == 2
    press(panel, "a", "none")
    assert panel.page is not None
    held = panel.page._pair
    assert held is not None
    assert held[0] == ("none", "current")
    assert held[1][0].plan.peak > held[1][1].plan.peak, "without reuse A needs more"


def test_curves_of_ab_are_drawn_to_the_width_of_the_page() -> None:
    panel = MemoryPanel(view="ab")
    panel.update(context(fork_join()))
    assert 'width="820"' in panel.body.html
    panel.body.ground = {"w": 600}
    assert 'width="576"' in panel.body.html

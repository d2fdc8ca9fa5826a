"""Comparison on screen: one selection for both graphs and the table, A/B in the explorer, the exported page in Chromium."""

from __future__ import annotations

from pathlib import Path

import pytest

import ge_explorer as gx
from ge_explorer.ids import Ref
from ge_explorer.views.comparison import Comparison
from ge_explorer.views.selection_state import SelectionState
from ge_explorer.widgets.compare_view import CompareView
from ge_explorer.widgets.explorer import Explorer
from ge_explorer.widgets.panels.compare import ComparePanel
from tests.ui.lab import Watch, chromium


def comparison() -> Comparison:
    found = gx.compare(
        gx.open_session("moe_shared_expert", strength="single"), gx.open_session("moe_shared_expert", strength="C2")
    )
    assert isinstance(found, Comparison)
    return found


def click(part: object, **said: object) -> None:
    part.clicked = {**said, "n": len(str(said))}  # type: ignore[attr-defined]


def test_one_selection_for_both_graphs_and_the_table() -> None:
    heard: list[tuple[Ref, ...]] = []
    view = CompareView(heard.append)
    view.show(comparison())
    a, b = view.graphs
    a.selected = ["node:10"]
    assert b.selected == ["node:10"]
    assert 'aria-selected="true"' in view.body.html
    assert heard == [(Ref("node", 10),)]
    click(view.body, ref="node:11")
    assert a.selected == b.selected == ["node:11"]
    side = next(s for s, x in view.comparison.identities(1).items() if x.letter == "A")  # type: ignore[union-attr]
    b.selected = [f"stream:{side}"]
    assert a.selected == ["stream:0"], "the same letter, each with its own number"


def test_views_and_filter_of_the_part_below() -> None:
    view = CompareView()
    view.show(comparison(), "zh")
    assert "换了流" in view.head.html
    click(view.body, do="kind", value="event")
    assert view.body.html.count("<tr") == 3
    click(view.body, do="find", value="sh.down")
    assert view.body.html.count("<tr") == 2
    for name, word in (("timelines", "gx-timeline"), ("memory", "gx-memory-ab"), ("differences", "gxp-t")):
        click(view.body, do="view", value=name)
        assert word in view.body.html
    click(view.body, do="view", value="nothing")
    assert view.view == "differences"


@pytest.fixture
def explorer() -> Explorer:
    e = gx.explore("moe_shared_expert", strength="C1")
    e.top.tab = "compare"
    return e


def panel(e: Explorer) -> ComparePanel:
    found = e.area.panels["compare"]
    assert isinstance(found, ComparePanel)
    return found


def test_keep_as_a_then_change_the_strength(explorer: Explorer) -> None:
    p = panel(explorer)
    assert "Keep the current settings as A" in p.bar.html
    assert len(p.widget.children) == 1
    click(p.bar, do="keep")
    assert "A has the current settings" in p.bar.html
    explorer.session.set_strength("C2")
    explorer.redraw()
    c = p.shown.comparison
    assert c is not None
    assert (c.a.title.en, c.b.title.en.split(", ")[0]) == ("C1", "C2")
    assert "A has the current settings" not in p.bar.html
    letters = {x.letter for x in c.identities(1).values()}
    assert letters == {explorer.view.identities.items[i].letter for i in explorer.view.identities.by_step[-1].values()}
    p.shown.graphs[0].selected = ["node:10"]
    assert explorer.selection.state.selected == (Ref("node", 10),)
    click(p.bar, do="drop")
    assert explorer.selection.state.kept == ""
    assert len(p.widget.children) == 1


def test_the_copied_state_holds_a_and_the_open_views(explorer: Explorer) -> None:
    p = panel(explorer)
    click(p.bar, do="pick", value="strength single")
    click(p.shown.body, do="view", value="memory")
    explorer.top.tab = "memory"
    click(explorer.area.panels["memory"].bar, do="view", value="curve")  # type: ignore[attr-defined]
    text = explorer.selection.state.to_share()
    again = gx.explore("moe_shared_expert", state=text)
    assert again.area.panels["memory"].view == "curve"  # type: ignore[attr-defined]
    again.top.tab = "compare"
    q = panel(again)
    assert q.shown.view == "memory"
    assert q.shown.comparison is not None
    assert q.shown.comparison.a.title.en == "single stream"
    assert again.selection.state == SelectionState.from_share(text).but(tab="compare")


def test_unusable_kept_settings_are_said_and_break_nothing(explorer: Explorer) -> None:
    explorer.selection.set(kept='{"strength":"C9"}')
    explorer.redraw()
    assert "C9" in panel(explorer).bar.html
    assert 'role="alert"' in panel(explorer).bar.html
    explorer.selection.set(kept="")
    explorer.redraw()
    assert 'role="alert"' not in panel(explorer).bar.html


@pytest.mark.browser
def test_page_selects_and_filters_without_kernel_and_network(tmp_path: Path) -> None:
    target = comparison().to_html(tmp_path / "c.html")
    with chromium() as browser:
        tab = browser.new_context(offline=True, viewport={"width": 1400, "height": 900}).new_page()
        watch = Watch()
        watch.attach(tab)
        tab.goto(target.as_uri())
        tab.wait_for_selector('body[data-gx-state="ready"]')
        tab.locator('main[data-lang="en"] .gx-graph [data-ref="node:10"]').first.click()
        assert tab.get_attribute("body", "data-gx-selected") == "node:10"
        assert tab.locator('main[data-lang="en"] .gx-graph g.on').count() == 2, "in both graphs"
        assert tab.locator('main[data-lang="en"] tr[aria-selected="true"]').count() == 2
        assert tab.locator('main[data-lang="en"] .gx-timeline .pick.on').count() == 2
        tab.locator('main[data-lang="en"] [data-find]').fill("gate_up")
        rows = tab.locator('main[data-lang="en"] [data-part="differences"] tbody tr:visible')
        assert rows.count() > 0
        assert all("gate_up" in t for t in rows.all_inner_texts())
        tab.locator('main[data-lang="en"] [data-act="lang"]').click()
        assert tab.locator('main[data-lang="zh"]').is_visible()
        assert not tab.locator('main[data-lang="en"]').is_visible()
        tab.locator('main[data-lang="zh"] [data-act="theme"]').click()
        assert tab.evaluate("document.documentElement.dataset.theme") == "dark"
        assert watch.urls == [target.as_uri()]
        assert watch.errors == []

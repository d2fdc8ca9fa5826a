"""Folding on screen: control of the canvas, gestures to Python, the copied state, Mermaid."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

import ge_explorer as gx
from ge_explorer.views.fold_instances import Folding
from ge_explorer.views.graph import build
from ge_explorer.views.picture import GraphPicture
from ge_explorer.widgets.canvas import graph
from ge_explorer.widgets.explorer import Explorer
from tests.ui.canvas_page import page
from tests.ui.lab import Watch, chromium
from tests.views.test_folding import blocks


def boxes(canvas: Any) -> list[str]:
    return [b["title"] for b in canvas.meta.get("boxes", {}).values()]


@pytest.fixture(scope="module")
def session() -> gx.Session:
    return gx.open_session(blocks())


def test_explorer_folds_and_the_copied_state_keeps_it(session: gx.Session) -> None:
    e = Explorer(session)
    assert e.canvas.meta["insides"]["kinds"] == ["functions", "scopes"]
    assert boxes(e.canvas) == []
    e.canvas.fold = "functions"
    assert boxes(e.canvas) == [f"layers/{k}/block" for k in range(3)]
    e.canvas.flipped = ["f:layers/0/block"]
    assert "layers/0/block" not in boxes(e.canvas)
    e.top.tab = "mermaid"
    assert "layers/1/block<br/>" in e.area.panels["mermaid"].text  # type: ignore[attr-defined]
    again = gx.explore(blocks(), state=e.selection.state.to_share())
    assert boxes(again.canvas) == boxes(e.canvas)
    assert (again.canvas.fold, again.canvas.flipped) == ("functions", ["f:layers/0/block"])
    e.selection.set(fold="", flipped=frozenset())
    e.redraw()
    assert boxes(e.canvas) == []
    assert e.canvas.fold == ""


def test_graph_alone_in_a_cell_folds_by_itself(session: gx.Session) -> None:
    canvas = graph(session.trace, fold="functions")
    assert len(boxes(canvas)) == 3
    canvas.fold = ""
    assert boxes(canvas) == []


def test_a_graph_without_functions_and_scopes_offers_nothing() -> None:
    e = gx.explore("fork_join")
    assert "insides" not in e.canvas.meta


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as b:
        yield b


def opened(browser: Browser, tmp_path: Path, session: gx.Session, **traits: Any) -> tuple[Page, Watch, GraphPicture]:
    picture = build(session.trace, identities=session.identities, folding=Folding("functions"))
    tab = browser.new_page(viewport={"width": 1014, "height": 320})
    watch = Watch()
    watch.attach(tab)
    file = tmp_path / "p.html"
    file.write_text(page(picture, foldable=True, fold="functions", flipped=[], **traits), "utf-8")
    tab.goto(file.as_uri())
    tab.wait_for_selector('[data-gx-state="ready"]')
    return tab, watch, picture


@pytest.mark.browser
def test_control_boxes_and_double_click(browser: Browser, tmp_path: Path, session: gx.Session) -> None:
    tab, watch, picture = opened(browser, tmp_path, session)
    assert tab.get_attribute(".gxc", "data-gx-boxes") == "3"
    assert tab.locator('.gxc-fg [aria-checked="true"]').inner_text() == "Functions"
    row = sorted(picture.boxes)[1]
    width, height = picture.frames[0].size[0]
    kx = min(1.25, (1014 - 98 - 36) / width)
    cx, cy = (float(v) for v in picture.frames[picture.state(picture.step).frame].positions[0, row])
    x, y = 98 + 18 + cx * kx, 34 + cy + max(0.0, (304 - 34 - 40 - height) / 6)
    tab.mouse.click(x, y)
    chosen = (tab.get_attribute(".gxc", "data-gx-selected") or "").split()
    names = {f"node:{n.id}": n.name for s in (session.trace.initial, session.trace.final) for n in s.graph}
    assert len(chosen) >= 4
    assert all("layers/1/block" in names.get(r, "layers/1/block") for r in chosen), "a click selects what is inside"
    assert tab.locator(".gxc-one").inner_text() == "Unfold block"
    tab.mouse.dblclick(x, y)
    assert tab.evaluate("model.get('flipped')") == ["f:layers/1/block"]
    tab.focus(".gxc")
    tab.keyboard.press("g")
    assert tab.evaluate("model.get('flipped')") == []
    tab.locator('[data-fold="none"]').click()
    assert tab.evaluate("model.get('fold')") == ""
    assert watch.errors == []
    assert watch.outside == []
    tab.close()


@pytest.mark.browser
def test_control_speaks_chinese_and_leaves_room_for_the_zoom(
    browser: Browser, tmp_path: Path, session: gx.Session
) -> None:
    tab, _, _ = opened(browser, tmp_path, session, lang="zh")
    assert tab.locator(".gxc-fg").inner_text().split() == ["展开", "函数", "模块"]
    for width in (1014, 560, 420):
        tab.set_viewport_size({"width": width, "height": 320})
        tab.wait_for_timeout(100)
        a, b = tab.locator(".gxc-folds").bounding_box(), tab.locator(".gxc-zoom").bounding_box()
        assert a is not None
        assert b is not None
        assert a["x"] + a["width"] <= b["x"] + 1
    tab.close()

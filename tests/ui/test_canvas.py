"""The canvas in Chromium on a page without a kernel."""

from pathlib import Path

import pytest

from ge_explorer.views.graph import build
from tests.ui.canvas_page import moe_trace, page
from tests.ui.lab import chromium

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def browser():
    with chromium() as b:
        yield b


@pytest.fixture
def opened(browser, tmp_path: Path):
    """Opens a page; on leaving asserts a clean console and that nothing was fetched."""
    errors: list[str] = []
    urls: list[str] = []
    pages = []

    def go(**traits):
        p = browser.new_page(viewport={"width": 1014, "height": 320})
        p.on("console", lambda m: errors.append(m.text) if m.type in ("error", "warning") else None)
        p.on("pageerror", lambda e: errors.append(str(e)))
        p.on("request", lambda r: urls.append(r.url))
        file = tmp_path / f"p{len(pages)}.html"
        file.write_text(page(build(moe_trace(), compare=1), **traits), "utf-8")
        p.goto(file.as_uri())
        p.wait_for_selector('[data-gx-state="ready"]')
        pages.append(p)
        return p

    yield go
    for p in pages:
        p.close()
    assert not errors
    assert all(u.startswith(("file:", "data:", "blob:")) for u in urls)


def spot(p, name: str) -> tuple[float, float]:
    """Screen position of a node, from the picture and the fit rule seen by the user (asked of the page)."""
    trace = moe_trace()
    picture = build(trace)
    i = picture.names.index(name)
    x, y = picture.frames[0].positions[0, i]
    width, height = picture.frames[0].size[0]
    kx = min(1.25, (1014 - 98 - 36) / width)
    return 98 + 18 + float(x) * kx, 34 + float(y) + max(0.0, (304 - 34 - 40 - height) / 6)


def test_stepping_repaints_in_the_browser(opened):
    p = opened()
    root = p.locator(".gxc")
    assert root.get_attribute("data-gx-step") == "2"
    before = p.screenshot()
    p.focus(".gxc")
    for _ in range(3):
        p.keyboard.press("ArrowLeft")
    p.wait_for_selector('[data-gx-step="-1"]')
    assert p.evaluate("model.get('step')") == -1
    assert p.screenshot() != before
    assert "Before the first step" in p.locator(".gxc > canvas").get_attribute("aria-label")


def test_click_selects_node_event_and_stream(opened):
    p = opened()
    graph = moe_trace().final.graph
    want = graph.node("sh.gate_up").id
    p.mouse.click(*spot(p, "sh.gate_up"))
    p.wait_for_selector(f'[data-gx-selected="node:{want}"]')
    p.mouse.click(20, 210)
    p.wait_for_selector('[data-gx-selected="stream:0"]')
    x, _ = spot(p, "add")
    p.mouse.click(x, 191)
    p.wait_for_selector('[data-gx-selected="event:2"]')
    p.mouse.click(300, 95)  # empty ground
    p.wait_for_selector('[data-gx-selected=""]')


def test_selection_from_outside_is_drawn(opened):
    p = opened()
    plain = p.screenshot()
    p.evaluate("model.set('selected', ['event:0'])")
    p.wait_for_selector('[data-gx-selected="event:0"]')
    assert p.screenshot() != plain


def test_keys_work_only_with_focus_and_walk_the_nodes(opened):
    p = opened()
    p.keyboard.press("l")
    assert p.locator(".gxc").get_attribute("data-gx-layout") == "lanes"
    p.focus(".gxc")
    p.keyboard.press("l")
    p.wait_for_selector('[data-gx-layout="layered"]')
    p.keyboard.press("ArrowDown")
    p.keyboard.press("Enter")
    p.wait_for_selector('[data-gx-selected^="node:"]')
    p.keyboard.press("Escape")
    p.wait_for_selector('[data-gx-selected=""]')


def test_tooltip_comes_late_and_names_the_stream(opened):
    p = opened()
    p.mouse.move(*spot(p, "gate"))
    assert p.locator(".gxc-tip").is_hidden()
    p.wait_for_selector(".gxc-tip:visible")
    assert p.locator(".gxc-tip").inner_text().split("\n") == ["gate", "MatMulV2", "stream A, GE id 1"]


def test_theme_and_language_follow_the_page(opened):
    p = opened()
    light = p.screenshot()
    p.evaluate("document.documentElement.dataset.theme = 'dark'")
    p.wait_for_selector('[data-gx-theme="dark"]')
    assert p.screenshot() != light
    p.evaluate("model.set('lang', 'zh')")
    p.wait_for_selector(".gxc-seg >> text=流泳道")
    assert "2 个事件" in p.locator(".gxc > canvas").get_attribute("aria-label")


def test_a_theme_whose_style_sheet_loads_late_is_taken_over(opened):
    p = opened()
    css = ":root{--jp-layout-color1:#111111 !important;--jp-ui-font-color0:#ffffff !important}"
    p.evaluate(
        "css => { const s = document.createElement('style'); s.textContent = css; document.head.append(s); }", css
    )
    p.wait_for_selector('[data-gx-theme="dark"]', timeout=5000)


def test_unmount_leaves_nothing(opened):
    p = opened()
    p.evaluate("unmount()")
    assert p.locator(".gxc").count() == 0
    p.evaluate("model.set('step', 0)")

"""The shell in a real browser, on a static page with stub models: drawn, keyboard, gestures, escaping, no overlap, no network."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.ui.lab import Watch, chromium
from tests.ui.shell_page import shell_states, small_states, write_page
from tests.views import small_trace

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as b:
        yield b


@pytest.fixture
def opened(browser: Any, tmp_path: Path) -> Iterator[Any]:
    """Function that opens a page with given states; every page must be silent and stay on this machine."""
    pages = []

    def open_(states: dict | None = None, theme: str = "light", width: int = 1400) -> Any:
        page = browser.new_page(viewport={"width": width, "height": 860})
        watch = Watch()
        watch.attach(page)
        pages.append((page, watch))
        page.goto(write_page(tmp_path / "shell.html", states or small_states(), theme))
        page.wait_for_selector('.gx-a-foot[data-gx-state="ready"]', timeout=5000)
        return page

    yield open_
    for page, watch in pages:
        assert page.evaluate("window.pwned") is None
        page.close()
        assert watch.errors == []
        assert watch.outside == []


def intents(page: Any) -> list[dict]:
    return page.evaluate("window.models.top.get('intents')")


def top(page: Any, name: str) -> str:
    return page.get_attribute(".gx-a-top", f"data-gx-{name}")


def test_every_part_is_ready_and_hostile_names_are_text(opened: Any) -> None:
    page = opened(small_states(selected=f"node:{small_trace.graph().by_name[small_trace.EVIL]}"))
    for area in ("top", "tabs", "ins", "panel", "foot"):
        assert page.get_attribute(f".gx-a-{area}", "data-gx-state") == "ready"
    assert small_trace.EVIL in page.inner_text(".gx-a-ins h3")
    assert page.query_selector("img") is None


def test_stepping_by_key_and_click_moves_every_part(opened: Any) -> None:
    page = opened()
    page.focus('[data-k="go-6"]')
    page.keyboard.press("ArrowLeft")
    assert top(page, "step") == "5"
    assert page.get_attribute(".gx-a-ins", "data-gx-step") == "5"
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    assert top(page, "step") == "0", "steps that changed nothing are jumped over while they are hidden"
    page.keyboard.press("h")
    page.keyboard.press("ArrowRight")
    assert top(page, "step") == "1"
    page.click('[data-k="go-4"]')
    assert page.get_attribute('[data-k="go-4"]', "aria-current") == "step"
    page.click('[data-k="go-3"]', modifiers=["Shift"])
    assert page.evaluate("window.models.ins.get('compare')") == 3
    assert "gx-cmp" in page.get_attribute('[data-step="3"]', "class")


def test_keys_do_nothing_without_focus(opened: Any) -> None:
    page = opened()
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("2")
    assert top(page, "step") == "6"
    assert intents(page) == []


def test_gestures_reach_python_in_order(opened: Any) -> None:
    page = opened()
    page.click('[data-k="tg-3"]')
    assert top(page, "state") == "busy"
    page.click('[data-strength="C1"]')
    page.focus('[data-k="go-6"]')
    page.keyboard.press("0")
    page.keyboard.press("Control+z")
    got = [(i["n"], i["kind"], i.get("key"), i.get("on")) for i in intents(page)]
    assert got == [
        (1, "toggle", "assign", False),
        (2, "strength", "C1", None),
        (3, "strength", "single", None),
        (4, "undo", None, None),
    ]
    page.evaluate("window.models.top.set('ack', 4)")
    assert top(page, "state") == "ready"


def test_menus_and_search(opened: Any) -> None:
    page = opened()
    page.click('[data-k="options"]')
    page.fill(".gx-menu input", "true")
    page.keyboard.press("Tab")
    page.keyboard.press("Escape")
    page.click('[data-k="chip"]')
    page.click('.gx-menu [role="menuitemradio"]')
    assert page.query_selector(".gx-menu") is None
    page.keyboard.press("/")
    page.keyboard.type("gmm")
    page.keyboard.press("Enter")
    kinds = [(i["kind"], i.get("value") or i.get("name") or i.get("query")) for i in intents(page)]
    assert kinds[:2] == [("option", "true"), ("chip", "Ascend910B1")]
    assert kinds[-1] == ("find", "gmm")


def test_search_keeps_the_focus_while_answers_arrive(opened: Any) -> None:
    page = opened()
    page.keyboard.press("/")
    page.focus(".gx-search input")
    page.keyboard.type("gm")
    answer = """() => { const m = window.models.top, d = m.get('data');
        m.set('data', {...d, toolbar: {...d.toolbar, search: {query: 'gm', hits: 3, at: 1}}}); }"""
    page.evaluate(answer)
    page.keyboard.type("m")
    assert page.input_value(".gx-search input") == "gmm"
    assert page.inner_text(".gx-search span") == "2 / 3"
    page.keyboard.press("Enter")
    page.evaluate(answer)
    assert page.evaluate("document.activeElement.dataset.k") == "query"
    order = "[...document.querySelector('.gx-tb').children].map((c) => c.dataset.k || c.className).join(' ')"
    now = page.evaluate(order)
    page.evaluate("document.activeElement.blur()")
    page.evaluate(answer)
    assert page.evaluate(order) == now


def test_tabs_links_and_pin(opened: Any) -> None:
    page = opened()
    page.focus('[data-tab="timeline"]')
    page.keyboard.press("ArrowRight")
    assert page.get_attribute(".gx-a-tabs", "data-gx-tab") == "memory"
    page.click('.gx-a-ins [data-ref="event:0"]')
    assert top(page, "selected") == "event:0"
    page.click('.gx-a-ins [data-k="pin"]')
    page.evaluate("window.models.ins.set('data', {ref: 'node:9', title: 'other', subtitle: '', sections: [{}]})")
    assert page.get_attribute(".gx-a-ins", "data-gx-ref") == "node:2"


def test_language_switch_leaves_no_english_sentence(opened: Any) -> None:
    page = opened()
    page.click('[data-k="lang"]')
    text = page.inner_text(".gx-explorer")
    for word in ("Hide unchanged", "Copy state", "Overlap", "Peak", "Why", "Timeline", "Simulated", "decision"):
        assert word not in text
    for word in ("隐藏无变化", "复制状态", "重叠率", "内存峰值", "为什么", "时间线", "仿真结果"):
        assert word in text


def test_tooltip_after_a_moment(opened: Any) -> None:
    page = opened()
    page.hover('[data-k="undo"]')
    assert page.query_selector(".gx-tip") is None
    page.wait_for_selector(".gx-tip", timeout=2000)
    assert page.inner_text(".gx-tip").startswith("Undo")


def test_failed_step_is_repaired_with_one_click(opened: Any) -> None:
    t = small_trace.trace(disabled=("assign",))
    page = opened(shell_states(t, None, dict(small_trace.RESULTS), "C2", "en", selected=""))
    assert page.get_attribute('[data-pass="plan"]', "data-status") == "failed"
    page.click('[data-k="repair-0"]')
    got = page.evaluate("window.models.panel.get('intents')")
    assert (got[0]["kind"], got[0]["key"], got[0]["on"]) == ("toggle", "assign", True)


OVERFLOW = """() => {
  const bad = [];
  for (const sel of [".gx-tb", ".gx-figs", ".gx-a-tabs", ".gx-sc"]) {
    const box = document.querySelector(sel), r = box.getBoundingClientRect();
    const kids = [...box.children].filter((c) => c.getClientRects().length).map((c) => c.getBoundingClientRect());
    kids.forEach((k, i) => {
      if (k.right > r.right + 0.5) bad.push(`${sel} child ${i} ends ${k.right - r.right} px outside`);
      if (i && kids[i - 1].right > k.left + 0.5 && kids[i - 1].bottom > k.top + 0.5) bad.push(`${sel} child ${i} overlaps`);
    });
  }
  if (document.documentElement.scrollWidth > innerWidth) bad.push("page scrolls sideways");
  return bad;
}"""


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("width", [1400, 1121, 1000, 900])
def test_nothing_overlaps_or_clips(opened: Any, width: int, lang: str) -> None:
    page = opened(small_states(lang), theme="dark", width=width)
    assert page.evaluate(OVERFLOW) == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_contrast(opened: Any, theme: str) -> None:
    """Secondary text on the ground reaches 4.5:1 in both themes (colours computed by the browser)."""
    page = opened(theme=theme)
    ratio = page.evaluate(
        """() => {
          const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
          const rgb = (c) => { canvas.fillStyle = c; canvas.fillRect(0, 0, 1, 1);
            return [...canvas.getImageData(0, 0, 1, 1).data]; };
          const lum = (c) => { const [r, g, b] = rgb(c).map((v) => { v /= 255;
            return v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; });
            return .2126 * r + .7152 * g + .0722 * b; };
          const a = lum(getComputedStyle(document.querySelector(".gx-fig .gx-l")).color);
          const b = lum(getComputedStyle(document.querySelector(".gx-a-top")).backgroundColor);
          return (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
        }"""
    )
    assert ratio >= 4.5


@pytest.mark.parametrize("width", [980, 880, 810, 760, 680, 620, 420])
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_narrow_toolbar_wraps_and_clips_nothing(opened: Any, width: int, lang: str) -> None:
    states = small_states(lang)
    states["top"]["data"]["toolbar"]["graph"] = "a_graph_with_a_name_that_is_far_too_long_for_a_narrow_cell"
    page = opened(states, width=width)
    edges = page.evaluate(
        """() => { const bar = document.querySelector('.gx-tb').getBoundingClientRect();
        return [bar.left, bar.right, bar.bottom, ...[...document.querySelectorAll('.gx-tb > button, .gx-tb > label')].map((b) => {
          const r = b.getBoundingClientRect(); return [r.left, r.right, r.bottom, r.width]; })]; }"""
    )
    left, right, bottom, *rest = edges
    assert len(rest) >= 9
    for x0, x1, y1, wide in rest:
        assert wide > 10
        assert x0 >= left - 0.5
        assert x1 <= right + 0.5
        assert y1 <= bottom + 0.5
    name = page.locator(".gx-tb .gx-name").first
    assert name.get_attribute("title") == states["top"]["data"]["toolbar"]["graph"]
    assert name.evaluate("e => getComputedStyle(e).textOverflow") == "ellipsis"


def long_states(lang: str = "en") -> dict[str, dict[str, Any]]:
    """Seven chapters of four steps that changed something, as a whole compile has, and large numbers in the figures."""
    states = small_states(lang)
    strip = states["top"]["data"]["strip"]
    chip = strip["chapters"][0]["steps"][0]
    names = ("Optimise", "Partition", "Streams", "Memory", "Events", "Physical", "Activation")
    strip["chapters"] = [
        {
            "key": name.lower(),
            "title": {"en": name, "zh": name},
            "steps": [{**chip, "index": 4 * k + i, "key": f"{name}-{i}", "status": "changed"} for i in range(4)],
        }
        for k, name in enumerate(names)
    ]
    strip["count"], strip["quiet"] = 28, []
    for state in states.values():
        state["step"], state["compare"] = 27, -2
    for figure in states["top"]["data"]["figures"]["figures"]:
        figure["notes"] = [*figure["notes"], {"en": "+12,345 against one", "zh": "相对 +12,345"}]
    return states


@pytest.mark.parametrize("width", [1400, 1220, 1000, 800])
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_issues_stay_whole_in_a_crowded_row(opened: Any, width: int, lang: str) -> None:
    page = opened(long_states(lang), width=width)
    row, button = (page.locator(s).bounding_box() for s in (".gx-figs", '[data-k="issues"]'))
    assert button["x"] + button["width"] <= row["x"] + row["width"]
    assert page.evaluate(OVERFLOW) == []


def test_every_chapter_stays_in_sight(opened: Any) -> None:
    """The chapters farthest from the current step shrink to a count; a click opens one, the current one never shrinks."""
    page = opened(long_states(), width=1400)
    shut = page.locator(".gx-ch.gx-shut").evaluate_all("l => l.map((c) => c.dataset.chapter)")
    assert shut
    assert shut == ["optimise", "partition", "streams", "memory", "events", "physical"][: len(shut)]
    assert page.locator(".gx-more:visible").count() == 0
    assert (
        page.evaluate("(() => { const s = document.querySelector('.gx-sw'); return s.scrollWidth - s.clientWidth; })()")
        <= 0
    )
    assert page.locator('[data-step="0"]').is_hidden()
    page.click('[data-k="chapter-optimise"]')
    assert page.locator('[data-step="0"]').is_visible()
    assert page.locator('[data-step="27"]').is_visible()
    page.click('[data-k="go-0"]')
    assert page.get_attribute(".gx-ch:not(.gx-shut)", "data-chapter") == "optimise"
    assert page.locator('[data-step="27"]').is_hidden()

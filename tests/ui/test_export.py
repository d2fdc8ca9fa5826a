"""The one-file export in Chromium with the network blocked: steps, selects, switches, asks for nothing, stays quiet."""

from __future__ import annotations

from pathlib import Path

import pytest

from ge_explorer.trace.trace import Step, Trace
from ge_explorer.views.export_html import export_html, page
from tests.ui.lab import Watch, chromium
from tests.views.panel_cases import FakeEvents, hostile_snapshot, moe_session

pytestmark = pytest.mark.browser


def test_export_steps_and_selects_without_kernel_and_network(tmp_path: Path) -> None:
    target = export_html(moe_session(), tmp_path / "page.html")
    side = moe_session().graph.by_name["sh.gate_up"]
    with chromium() as browser:
        context = browser.new_context(offline=True, viewport={"width": 1400, "height": 900})
        tab = context.new_page()
        watch = Watch()
        watch.attach(tab)
        tab.goto(target.as_uri())
        tab.wait_for_selector('body[data-gx-state="ready"]')
        assert tab.get_attribute("body", "data-gx-step") == "1"
        node = f'.gx-graph [data-ref="node:{side}"]'
        assert "gxp-c1" in (tab.get_attribute(node, "class") or "")
        assert tab.locator(".gx-edge.event").count() == 2

        tab.click(node)
        assert tab.get_attribute("body", "data-gx-selected") == f"node:{side}"
        assert "First sight of a label" in tab.inner_text(".gx-side")
        assert tab.locator(f'.gx-panel [data-ref="node:{side}"].on').count() == 1  # the same thing in the timeline

        tab.keyboard.press("ArrowLeft")
        assert tab.get_attribute("body", "data-gx-step") == "0"
        assert tab.locator(".gx-edge.event").count() == 0
        tab.keyboard.press("ArrowLeft")
        assert "none" in (tab.get_attribute(node, "class") or "")
        tab.click('[data-step="1"]')
        assert tab.get_attribute("body", "data-gx-step") == "1"

        tab.click('[data-tab="events"]')
        tab.click('.gx-panel tr[data-ref="event:2"]')
        assert tab.locator(".gx-node.on").count() == 2  # sender and receiver
        for name in ("memory", "streams", "diff", "mermaid", "issues"):
            tab.click(f'[data-tab="{name}"]')
            assert len(tab.inner_text(".gx-panel")) > 40
        tab.click("#lang")
        assert "仿真结果" in tab.inner_text("body")
        tab.click("#theme")
        assert tab.evaluate("document.documentElement.dataset.theme") == "dark"
        assert watch.urls == [target.as_uri()]
        assert watch.errors == []


def test_export_of_hostile_names_runs_nothing(tmp_path: Path) -> None:
    session, s = moe_session(), hostile_snapshot()
    session.trace, session.issues = (
        Trace(s, (Step(0, FakeEvents(), "failed", s, s, name="x", error=ValueError("<b>")),)),
        (),
    )
    target = export_html(session, tmp_path / "page.html")
    with chromium() as browser:
        tab = browser.new_context(offline=True).new_page()
        watch = Watch()
        watch.attach(tab)
        tab.goto(target.as_uri())
        tab.wait_for_selector('body[data-gx-state="ready"]')
        for name in ("events", "streams", "diff", "mermaid"):
            tab.click(f'[data-tab="{name}"]')
        assert tab.locator("img").count() == 0
        assert tab.locator("script").count() == 2
        assert watch.errors == []


def test_export_forbids_every_request_and_says_what_it_is() -> None:
    html = page(moe_session())
    assert "default-src 'none'" in html
    assert "http://" not in html.replace("http://www.w3.org/", "")
    assert "https://" not in html
    for word in ("Simulated, not measured", "GE rule", "our model", "assumed"):
        assert word in html


def test_export_has_words_for_what_was_decided_and_the_figures_of_the_panels() -> None:
    html = page(moe_session())
    assert "provable minimum for the same order" in html
    assert "同样顺序下可证明的最少" in html
    assert "data-gauge" in html, "budgets stand against the chip's limits"
    assert "/ 1,984" in html
    assert '{"en":"stream","zh":"流"}' in html.replace(": ", ":").replace(', "', ',"')

"""The start notebook in a real JupyterLab: step, toggle, C1/C2/C3, click a node, and every view follows. Nothing leaves this
machine and the console stays clean.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page

from tests.ui.lab import Watch, chromium, copy_notebook, jupyterlab, open_notebook, run_all

NOTEBOOK = Path(__file__).resolve().parents[2] / "notebooks" / "00_start.ipynb"
CODE_CELLS = sum(c["cell_type"] == "code" for c in json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"])

pytestmark = [pytest.mark.browser, pytest.mark.timeout(420)]


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Page, Watch]]:
    tmp = tmp_path_factory.mktemp("lab")
    copy_notebook(NOTEBOOK, tmp / "nb")
    with chromium() as browser, jupyterlab(tmp / "nb", tmp) as address:
        page = browser.new_context(viewport={"width": 1760, "height": 1300}).new_page()
        watch = Watch()
        watch.attach(page)
        open_notebook(page, address, NOTEBOOK.name)
        run_all(page, CODE_CELLS)
        page.wait_for_selector('.gx-top[data-gx-state="ready"]', timeout=90000)
        page.wait_for_selector('.gxc[data-gx-state="ready"]', timeout=90000)
        yield page, watch


def part(page: Page, name: str) -> Locator:
    """Part of the first explorer of the notebook."""
    return page.locator(f".{name}").first


def wait(page: Page, name: str, attribute: str, value: str) -> None:
    """Wait for a state attribute of the first explorer's part."""
    page.wait_for_function(
        "([c, a, v]) => document.querySelector('.' + c)?.getAttribute(a) === v",
        arg=[name, attribute, value],
        timeout=30000,
    )


def test_every_cell_ran_and_nothing_left_this_machine(lab: tuple[Page, Watch]) -> None:
    page, watch = lab
    assert page.locator(".jp-OutputArea-output [data-mime-type*=error], .jp-RenderedError").count() == 0
    assert page.locator("text=Click to show javascript error").count() == 0
    assert watch.outside == []
    assert watch.errors == []


def test_stepping_repaints_the_canvas_and_the_other_parts(lab: tuple[Page, Watch]) -> None:
    page, _ = lab
    top, canvas = part(page, "gx-top"), part(page, "gxc")
    before = int(canvas.get_attribute("data-gx-step") or "-9")
    top.locator('[data-k="prev"], .gx-prev').first.click()
    page.wait_for_function(
        "(b) => document.querySelector('.gxc').getAttribute('data-gx-step') !== String(b)", arg=before, timeout=10000
    )
    now = canvas.get_attribute("data-gx-step") or ""
    assert int(now) < before
    wait(page, "gx-top", "data-gx-step", now)
    wait(page, "gx-inspector", "data-gx-step", now)


def test_strengths_switch_and_show_their_own_makespan(lab: tuple[Page, Watch]) -> None:
    page, _ = lab
    seen = set()
    for name in ("C1", "C3", "C2"):
        part(page, "gx-top").get_by_text(name, exact=True).first.click()
        wait(page, "gx-top", "data-gx-strength", name)
        page.wait_for_timeout(400)
        seen.add(part(page, "gx-top").inner_text())
    assert len(seen) == 3


def test_clicking_a_node_selects_it_everywhere(lab: tuple[Page, Watch]) -> None:
    page, _ = lab
    canvas = part(page, "gxc")
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    assert box is not None
    found = ""
    for fy in (0.5, 0.73, 0.55, 0.45):
        for fx in (0.25, 0.33, 0.42, 0.5):
            page.mouse.click(box["x"] + fx * box["width"], box["y"] + fy * box["height"])
            page.wait_for_timeout(150)
            found = canvas.get_attribute("data-gx-selected") or ""
            if found.startswith("node:"):
                break
        if found.startswith("node:"):
            break
    assert found.startswith("node:"), "a click on a node selects it"
    wait(page, "gx-inspector", "data-gx-selected", found)
    wait(page, "gx-top", "data-gx-selected", found)
    page.wait_for_function("() => document.querySelector('.gx-inspector').innerText.includes('.cc')", timeout=10000)
    assert "GE id" in part(page, "gx-inspector").inner_text()


def test_toggling_a_pass_off_and_on_again(lab: tuple[Page, Watch]) -> None:
    page, watch = lab
    top = part(page, "gx-top")
    box = top.locator('.gx-tg[aria-label="Insert events"]').first
    assert box.get_attribute("aria-checked") == "true"
    box.scroll_into_view_if_needed()
    box.click()
    off = ".gx-top .gx-tg[aria-label='Insert events'][aria-checked='false']"
    page.wait_for_selector(off, timeout=30000)
    page.wait_for_function("() => /Issues\\s*[1-9]/.test(document.querySelector('.gx-top').innerText)", timeout=30000)
    page.locator(off).first.click()
    page.wait_for_selector(".gx-top .gx-tg[aria-label='Insert events'][aria-checked='true']", timeout=30000)
    page.wait_for_function("() => /Issues\\s*0/.test(document.querySelector('.gx-top').innerText)", timeout=30000)
    assert watch.errors == []
    assert watch.outside == []

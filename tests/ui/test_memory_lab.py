"""The lesson on memory and streams in a real JupyterLab: every view of the memory panel opens, draws and answers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page

from tests.ui.lab import Watch, chromium, copy_notebook, jupyterlab, open_notebook, run_all

NOTEBOOK = Path(__file__).resolve().parents[2] / "notebooks" / "07_memory_multi_stream.ipynb"
CODE_CELLS = sum(c["cell_type"] == "code" for c in json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"])
CHARTS = ("map", "lifetimes", "curve")

pytestmark = [pytest.mark.browser, pytest.mark.timeout(420)]


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Page, Watch]]:
    tmp = tmp_path_factory.mktemp("lab")
    copy_notebook(NOTEBOOK, tmp / "nb")
    with chromium() as browser, jupyterlab(tmp / "nb", tmp) as address:
        page = browser.new_context(viewport={"width": 1400, "height": 1200}).new_page()
        watch = Watch()
        watch.attach(page)
        open_notebook(page, address, NOTEBOOK.name)
        run_all(page, CODE_CELLS)
        page.wait_for_selector('.gx-memory-panel [data-gx-state="ready"]', timeout=90000)
        yield page, watch


def panel(page: Page) -> Locator:
    """The panel of the last cell: ResNet-50 on the streams of LoadBalance:4."""
    found = page.locator(".gx-memory-panel").last
    found.scroll_into_view_if_needed()
    return found


def show(page: Page, view: str) -> Locator:
    found = panel(page)
    found.locator(f'button[data-value="{view}"]').click()
    found.locator(f'button[data-value="{view}"][aria-pressed="true"]').wait_for(timeout=30000)
    return found


@pytest.mark.parametrize("view", ["map", "lifetimes", "curve", "reuse", "ab", "planners", "steps"])
def test_every_view_opens_and_draws(lab: tuple[Page, Watch], view: str) -> None:
    page, watch = lab
    found = show(page, view)
    if view in CHARTS:
        found.locator("canvas").first.wait_for(timeout=30000)
    else:
        found.locator('[data-gx-panel="memory-table"]').wait_for(timeout=30000)
    assert watch.errors == []
    assert watch.outside == []


def test_steps_walk_with_the_keyboard_and_keep_the_focus(lab: tuple[Page, Watch]) -> None:
    page, _ = lab
    found = show(page, "steps")
    button = found.locator('button[data-do="jump-next"]')
    button.focus()
    for k in (2, 3):
        page.keyboard.press("Enter")
        found.get_by_text(f"{k} / ", exact=False).first.wait_for(timeout=10000)
    page.wait_for_function("() => document.activeElement?.getAttribute('data-do') === 'jump-next'", timeout=5000)


def test_filter_by_name_narrows_the_lifetimes(lab: tuple[Page, Watch]) -> None:
    page, watch = lab
    found = show(page, "lifetimes")
    box = found.locator('input[data-do="text"]')
    box.fill("n16")
    box.press("Enter")
    found.get_by_text(re.compile(r"^([1-9]|1\d) of \d+ buffers")).first.wait_for(timeout=20000)
    assert found.locator('input[data-do="text"]').input_value() == "n16"
    assert watch.errors == []


def test_row_of_the_shares_selects_and_the_reuse_view_tells_its_story(lab: tuple[Page, Watch]) -> None:
    page, _ = lab
    found = show(page, "map")
    found.locator('[data-gx-panel="memory-shares"] tr[data-ref]').first.click()
    found.locator('[data-gx-panel="memory-shares"] tr[aria-selected="true"]').first.wait_for(timeout=10000)
    show(page, "reuse")
    found.get_by_text("buffers may take its bytes").wait_for(timeout=10000)

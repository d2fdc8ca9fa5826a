"""Comparison in a real JupyterLab: one selection over both graphs, A/B beside the explorer, nothing leaves the machine."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page

from tests.ui.lab import Watch, chromium, jupyterlab, open_notebook, run_all

pytestmark = [pytest.mark.browser, pytest.mark.timeout(420)]
CELLS = [
    'import ge_explorer as gx\ngx.compare("moe_shared_expert", {"strength": "C2"}, strength="single")',
    'explorer = gx.explore("moe_shared_expert", strength="C1")\nexplorer.top.tab = "compare"\nexplorer',
]


def notebook(folder: Path) -> str:
    cells = [
        {"cell_type": "code", "id": f"c{k}", "metadata": {}, "execution_count": None, "outputs": [], "source": source}
        for k, source in enumerate(CELLS)
    ]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    folder.mkdir()
    text = json.dumps({"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5})
    (folder / "compare.ipynb").write_text(text, encoding="utf-8")
    return "compare.ipynb"


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Page, Watch]]:
    tmp = tmp_path_factory.mktemp("lab")
    name = notebook(tmp / "nb")
    with chromium() as browser, jupyterlab(tmp / "nb", tmp) as address:
        page = browser.new_context(viewport={"width": 1500, "height": 2600}).new_page()
        watch = Watch()
        watch.attach(page)
        open_notebook(page, address, name)
        run_all(page, len(CELLS))
        page.wait_for_selector('.gx-ab .gxc[data-gx-state="ready"]', timeout=90000)
        page.wait_for_selector('.gx-explorer [data-gx-panel="compare-bar"][data-gx-state="ready"]', timeout=90000)
        yield page, watch


def test_a_row_selects_in_both_graphs(lab: tuple[Page, Watch]) -> None:
    page, _ = lab
    row = page.locator('.gx-ab tr[data-ref^="node:"]').first
    ref = row.get_attribute("data-ref")
    row.click()
    page.wait_for_function(
        "(r) => [...document.querySelectorAll('.gx-ab-side .gxc')].slice(0, 2).every((e) => e.dataset.gxSelected === r)",
        arg=ref, timeout=15000,
    )  # fmt: skip
    page.wait_for_selector(f'.gx-ab tr[data-ref="{ref}"][aria-selected="true"]', timeout=15000)


def test_both_graphs_move_together(lab: tuple[Page, Watch]) -> None:
    page, _ = lab
    a, b = (page.locator(".gx-ab-side .gxc").nth(k) for k in (0, 1))
    before = b.screenshot()
    a.focus()
    page.keyboard.press("a")
    page.wait_for_timeout(400)
    assert b.screenshot() != before


def test_keep_as_a_and_change_the_strength(lab: tuple[Page, Watch]) -> None:
    page, watch = lab
    page.locator('.gx-explorer button[data-do="keep"]').click()
    page.wait_for_selector(".gx-explorer .gx-ab .gxc", timeout=20000)
    page.locator(".gx-explorer .gx-top").get_by_text("C3", exact=True).first.click()
    page.wait_for_function(
        "() => document.querySelector('.gx-explorer .gx-ab .gxp-lead')?.innerText.includes('B: C3')", timeout=30000
    )
    assert "A: C1" in page.locator(".gx-explorer .gx-ab .gxp-lead").inner_text()
    assert watch.errors == []
    assert watch.outside == []

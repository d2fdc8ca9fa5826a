"""Hints and health as a view: the same figures as the planner gives, and the words for thresholds."""

from __future__ import annotations

from ge_explorer.memory.teaching.hint_plan import plan_hinted
from ge_explorer.memory.teaching.hints import Hint, Wish, apply_hints
from ge_explorer.views import memory_hints
from ge_explorer.views.marks import size
from ge_explorer.views.memory_page import MemoryChoice
from ge_explorer.widgets.panels.memory import MemoryPanel
from tests.ui.test_memory_panel import context
from tests.views.memory_cases import random_case


def test_cells_are_the_change_of_the_peak_with_that_hint() -> None:
    panel = MemoryPanel(view="hints")
    panel.update(context(random_case(2)))
    page = panel.page
    assert page is not None
    assert page.book is not None
    book = page.book
    picture = page.table("hints", MemoryChoice())
    s, problem = book.planned, book.memory.problem
    base = plan_hinted(apply_hints(s.graph, problem, book.hb, book.order, {})).peak
    assert picture.figures[1].value.en == size(base)
    for row in picture.tables[0].rows:
        op = row.cells[0][0].text.en
        for h, cell in zip(Hint, row.cells[2:], strict=True):
            peak = plan_hinted(apply_hints(s.graph, problem, book.hb, book.order, {op: Wish(h)})).peak
            assert cell[0].text.en == ("±0" if peak == base else size(peak - base, signed=True))
    worst = float(page.curve.fragmentation.max(initial=0.0))
    assert picture.figures[0].value.en == f"{100 * worst:,.0f} %"
    word = "compaction" if worst > 0.3 else "above the warning" if worst > 0.2 else "below"
    assert word in picture.figures[0].label.en
    assert len(picture.tables[0].rows) <= memory_hints.TYPES

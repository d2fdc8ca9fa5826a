"""Diff panel: the compare step against the step shown."""

from __future__ import annotations

from ge_explorer.views import diff_view
from ge_explorer.views.selection_state import NO_COMPARE
from ge_explorer.views.table import TablePicture
from ge_explorer.views.table_html import text
from ge_explorer.widgets.panels.context import PanelContext
from ge_explorer.widgets.panels.table_panel import TablePanel


class DiffPanel(TablePanel):
    """Difference from the compare step (the step before, when none is chosen) to the step shown."""

    name = "diff"

    def picture(self, ctx: PanelContext) -> TablePicture:
        """Counts, then entries."""
        i, j = ctx.state.compare, ctx.step
        if i == NO_COMPARE:
            i = max(-1, j - 1)
        i = min(i, ctx.final_step)
        i, j = min(i, j), max(i, j)
        return diff_view.build(ctx.session.trace, i, j, ctx.identities_at(i), ctx.identities_at(j))

    def head(self, picture: TablePicture, lang: str) -> str:
        """Which two steps: the panel must say it in words, not only the strip."""
        return f'<p class="gxp-lead">{text(picture.tables[0].title, lang)}</p>'

"""Mermaid panel: JupyterLab draws it itself, offline; other front ends get the text."""

from __future__ import annotations

from typing import Any

import ipywidgets as w

from ge_explorer.views import mermaid
from ge_explorer.views.fold_instances import Folding
from ge_explorer.views.table_html import text
from ge_explorer.views.theme import Theme
from ge_explorer.widgets.bokeh_host import PanelHtml
from ge_explorer.widgets.panels.context import OnSelect, PanelContext

RANK, WIDEST = 132, 6000
"""Pixels a rank of the drawing needs so that its names stay readable, and the widest drawing; a wide one scrolls sideways."""


class MermaidPanel:
    """Note line and the drawing in an Output. Redrawn only when the text changed (Mermaid is slow)."""

    name = "mermaid"

    def __init__(self, on_select: OnSelect | None = None) -> None:
        self.on_select = on_select
        self.head = PanelHtml(name=self.name)
        self.output = w.Output()
        self.drawing = w.Box([self.output], layout=w.Layout(display="block", overflow="visible"))
        scroll = w.Box([self.drawing], layout=w.Layout(display="block", max_height="640px", overflow="auto"))
        scroll.add_class("gx-mermaid")
        self.widget = w.VBox([self.head, scroll], layout=w.Layout(width="100%"))
        self.text = ""
        self._ctx: PanelContext | None = None
        self.head.observe(self._ground, "ground")

    def _ground(self, _change: dict[str, Any]) -> None:
        if self._ctx is not None and self._ctx.theme is None:
            self.update(self._ctx)

    def update(self, ctx: PanelContext) -> None:
        """Show the step of ``ctx``."""
        self._ctx = ctx
        theme: Theme = ctx.theme or self.head.theme()
        folding = Folding(ctx.state.fold, ctx.state.flipped)
        m = mermaid.build(
            ctx.snapshot, ctx.identities_at(ctx.step), selected=ctx.selected, theme=theme, folding=folding
        )
        self.head.lang = ctx.lang
        self.head.html = f'<p class="gxp-note">{text(m.note, ctx.lang)}</p>'
        if m.text != self.text:
            self.text = m.text
            self.drawing.layout.min_width = f"{min(m.ranks * RANK, WIDEST)}px"
            self.output.outputs = (
                {"output_type": "display_data", "metadata": {}, "data": {mermaid.MIME: m.text, "text/plain": m.text}},
            )

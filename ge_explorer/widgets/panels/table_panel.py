"""Panel that is a table: HTML text part with row clicks. Events, streams, diff and issues are made of it."""

from __future__ import annotations

import contextlib
from typing import Any

from ge_explorer.ids import Ref
from ge_explorer.views.table import TablePicture
from ge_explorer.views.table_html import picture_html
from ge_explorer.widgets.bokeh_host import PanelHtml
from ge_explorer.widgets.panels.context import OnSelect, PanelContext


def clicked_ref(value: dict[str, Any]) -> Ref | None:
    """Reference in a click message; None for anything that is not one (the page is not trusted)."""
    with contextlib.suppress(ValueError):
        return Ref.parse(str(value.get("ref", "")))
    return None


class TablePanel:
    """Base: subclasses give ``name`` and ``picture(ctx)``. A click calls ``on_select`` with the row's reference."""

    name = ""

    def __init__(self, on_select: OnSelect | None = None) -> None:
        self.widget = PanelHtml(name=self.name)
        self.on_select = on_select
        self.widget.observe(self._clicked, "clicked")

    def picture(self, ctx: PanelContext) -> TablePicture:
        """Model to show."""
        raise NotImplementedError(type(self).__name__)

    def head(self, picture: TablePicture, lang: str) -> str:
        """HTML before the figures."""
        return ""

    def update(self, ctx: PanelContext) -> None:
        """Show the state of ``ctx``; nothing is sent when nothing changed."""
        with self.widget.hold_sync():
            self.widget.lang = ctx.lang
            picture = self.picture(ctx)
            self.widget.html = picture_html(picture, ctx.lang, ctx.selected, self.head(picture, ctx.lang))

    def _clicked(self, change: dict[str, Any]) -> None:
        ref = clicked_ref(change["new"])
        if ref is not None and self.on_select is not None:
            self.on_select((ref,))

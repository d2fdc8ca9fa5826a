"""Streams panel: budget table, physical parts, activation graph, GE's summary."""

from __future__ import annotations

from ge_explorer.device.chips import chip_named
from ge_explorer.views.streams_page import VIEWS, StreamsPage
from ge_explorer.views.table import TablePicture
from ge_explorer.widgets.panels.context import OnSelect, PanelContext
from ge_explorer.widgets.panels.switch_panel import SwitchPanel


class StreamsPanel(SwitchPanel):
    """Streams of the step shown. Load on the timeline belongs to the final state only.

    Only the view that is open is built; a new selection redraws it from its kept model.
    """

    name = "streams"
    views = VIEWS

    def __init__(self, on_select: OnSelect | None = None, view: str = "") -> None:
        super().__init__(on_select, view)
        self._page: StreamsPage | None = None
        self._key: tuple[object, ...] = ()

    def picture(self, ctx: PanelContext) -> TablePicture:
        """Table of the step shown."""
        return self.page(ctx).table()

    def page(self, ctx: PanelContext) -> StreamsPage:
        """The page of the step shown, kept while state, letters and chip stay the same."""
        s = ctx.snapshot
        timeline = ctx.timeline if s.streams is ctx.session.trace.final.streams else None
        identities = ctx.identities_at(ctx.step)
        key = (ctx.session.chip, tuple(identities.items()))
        page = self._page
        if page is None or page.s is not s or page.timeline is not timeline or self._key != key:
            self._key = key
            self._page = page = StreamsPage(s, identities, chip_named(ctx.session.chip), timeline)
        return page

    def body(self, ctx: PanelContext) -> str:
        """The open view."""
        return self.page(ctx).html(self.view, ctx.lang, ctx.selected)

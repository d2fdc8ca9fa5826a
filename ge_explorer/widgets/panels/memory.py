"""Memory panel: a switch over map, lifetimes, live bytes, reuse, A/B, planners and GE's steps. Only the open view is built."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ipywidgets as w

from ge_explorer.ids import Ref
from ge_explorer.text import Text
from ge_explorer.trace.state import Snapshot
from ge_explorer.views.memory_bar import apply, bar_html, reset_for
from ge_explorer.views.memory_page import CHARTS, VIEWS, MemoryChoice, MemoryPage
from ge_explorer.views.memory_plans import PlanBook, planned_state
from ge_explorer.views.table_html import picture_html, text
from ge_explorer.widgets.bokeh_host import PanelHtml
from ge_explorer.widgets.panels.context import OnSelect, PanelContext
from ge_explorer.widgets.panels.picked import picked_buffers
from ge_explorer.widgets.panels.table_panel import clicked_ref

NONE = Text(
    "Memory is not planned yet at this step; it is planned after the streams.",
    "此步骤还没有内存规划；内存在流分配之后规划。",
)
SINGLE_UPTO = 4_000
"""Nodes up to which a panel alone compiles the graph a second time to say what one stream needs."""
CURVES = 820
"""Widest the overlaid curves of A/B are drawn."""
KEPT = 4
"""Planned states whose other plans are kept."""


class MemoryPanel:
    """``view`` is the open view, ``choice`` what its controls say, ``page`` the models (None before memory is planned).

    ``alone``: in a cell of its own, with more room than below the graph.
    """

    name = "memory"

    def __init__(self, on_select: OnSelect | None = None, view: str = "", *, alone: bool = False) -> None:
        self.on_select, self.alone = on_select, alone
        self.on_view: Callable[[str], None] | None = None
        self.view = view if view in VIEWS else next(iter(VIEWS))
        self.choice = MemoryChoice()
        self.page: MemoryPage | None = None
        self.bar = PanelHtml(name="memory-bar")
        self.body = PanelHtml(name="memory-table")
        self.charts: dict[str, Any] = {}
        self.widget = w.VBox([self.bar], layout=w.Layout(width="100%", overflow="hidden"))
        self.widget.add_class("gx-memory-panel")
        self._books: dict[int, tuple[Snapshot, PlanBook]] = {}
        self._key: tuple[Any, ...] = ()
        self._ctx: PanelContext | None = None
        self.bar.observe(self._used, "clicked")
        self.body.observe(self._used, "clicked")
        self.body.observe(self._sized, "ground")

    def chart(self, view: str) -> Any:
        """Chart of a view, made when it is first shown."""
        if view not in self.charts:
            if view == "map":
                from ge_explorer.widgets.panels.memory_map_chart import MAP_HEIGHT, MAP_IN_EXPLORER, MapChart

                self.charts[view] = MapChart(self._select, MAP_HEIGHT if self.alone else MAP_IN_EXPLORER)
            elif view == "lifetimes":
                from ge_explorer.widgets.panels.memory_life_chart import TALL, TALL_IN_EXPLORER, LifeChart

                self.charts[view] = LifeChart(self._select, TALL if self.alone else TALL_IN_EXPLORER)
            else:
                from ge_explorer.widgets.panels.memory_curve_chart import HEIGHT, HEIGHT_IN_EXPLORER, CurveChart

                self.charts[view] = CurveChart(
                    self._select, self._explain, HEIGHT if self.alone else HEIGHT_IN_EXPLORER
                )
        return self.charts[view]

    # ---------------------------------------------------------------- models
    def _open(self, ctx: PanelContext) -> MemoryPage | None:
        """Page of the state shown; the same one while state, timeline and letters stay."""
        s = ctx.snapshot
        if s.memory is None:
            return None
        identities = ctx.identities_at(ctx.step)
        known = len(s.graph) <= SINGLE_UPTO or hasattr(
            ctx.session, "results"
        )  # a session of its own would compile again
        single = ctx.single("peak") if known else None
        key = (id(s), id(ctx.timeline), tuple(identities.items()), single, id(ctx.session.trace))
        if self.page is not None and key == self._key and self.page.s is s:
            return self.page
        if self.page is not None and self.page.memory.problem is not s.memory.problem:
            self.choice = reset_for(self.choice)
        self._key = key
        return MemoryPage(
            s, identities, ctx.timeline, self._book(ctx), None if ctx.session.trace.failed else ctx.session.trace.final, single
        )  # fmt: skip

    def _book(self, ctx: PanelContext) -> PlanBook | None:
        planned = planned_state(ctx.session.trace, ctx.step)
        if planned is None or planned.streams is None or planned.order is None or planned.sequence is None:
            return None
        held = self._books.get(id(planned))
        if held is None:
            held = self._books[id(planned)] = (planned, PlanBook(planned))
            while len(self._books) > KEPT:
                del self._books[next(iter(self._books))]
        return held[1]

    # ---------------------------------------------------------------- showing
    def update(self, ctx: PanelContext) -> None:
        """Show the state of ``ctx`` in the open view."""
        self._ctx = ctx
        if self.on_view is not None:  # in the explorer the open view is part of the state
            asked = ctx.state.views.get(self.name, "")
            self.view = asked if asked in VIEWS else next(iter(VIEWS))
        page = self.page = self._open(ctx)
        picked = self._picked(ctx)
        for part in (self.bar, self.body):
            part.lang = ctx.lang
        self.bar.html = bar_html(page, self.view, self.choice, ctx.lang, picked)
        shown: Any = self.body
        if page is None:
            self.body.html = f'<p class="gxp-note">{text(NONE, ctx.lang)}</p>'
        elif self.view in CHARTS:
            chart = self.chart(self.view)
            chart.update(ctx, page, self.choice)
            shown = chart.widget
        else:
            table = picture_html(page.table(self.view, self.choice, picked), ctx.lang, ctx.selected)
            curves = page.ab_curves(self.choice, ctx.lang, self._px) if self.view == "ab" else ""
            self.body.html = curves + table
        if self.widget.children != (self.bar, shown):
            self.widget.children = (self.bar, shown)

    @property
    def _px(self) -> int:
        """Width of the curves: that of the page as last measured, so that their text keeps its size."""
        wide = self.body.ground.get("w")
        return min(CURVES, max(440, wide - 24)) if isinstance(wide, int) and wide > 0 else CURVES

    def _sized(self, _change: object) -> None:
        if self.view == "ab" and self._ctx is not None:
            self.update(self._ctx)

    @staticmethod
    def _picked(ctx: PanelContext) -> tuple[int, ...]:
        """Selected buffers, those selected themselves last."""
        own = [r.id for r in ctx.selected if r.kind == "buffer"]
        return (*sorted(picked_buffers(ctx) - set(own)), *own)

    # ---------------------------------------------------------------- gestures
    def _select(self, refs: tuple[Ref, ...]) -> None:
        if self.on_select is not None:
            self.on_select(refs)

    def _explain(self, at: int) -> None:
        self.choice = self.choice.but(at=at)
        if self._ctx is not None:
            self.update(self._ctx)

    def _used(self, change: dict[str, Any]) -> None:
        do, value = str(change["new"].get("do", "")), str(change["new"].get("value", ""))
        if not do:
            ref = clicked_ref(change["new"])
            if ref is not None:
                self._select((ref,))
            return
        if do == "view":
            self.view = value if value in VIEWS else self.view
            if self.on_view is not None:
                self.on_view(self.view)
                return
        else:
            picked = self._picked(self._ctx) if self._ctx is not None else ()
            self.choice = apply(self.page, self.choice, do, value, picked)
        if self._ctx is not None:
            self.update(self._ctx)

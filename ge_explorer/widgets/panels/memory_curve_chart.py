"""Live bytes by stream with what waits on top, bounds, and fragmentation below; a tap explains that position. Bokeh canvas."""

from __future__ import annotations

from typing import Any

import numpy as np
from bokeh.core.properties import value
from bokeh.events import Tap
from bokeh.layouts import column
from bokeh.models import ColumnDataSource, LayoutDOM, Range1d

from ge_explorer.ids import Ref
from ge_explorer.provenance import Origin
from ge_explorer.text import Text
from ge_explorer.views.marks import number, size
from ge_explorer.views.memory_curve import Curve
from ge_explorer.views.memory_page import MemoryChoice, MemoryPage
from ge_explorer.views.memory_peak import PeakExplained
from ge_explorer.views.memory_table import shares_html
from ge_explorer.views.palette import BOKEH_HATCH, hatch
from ge_explorer.views.table_html import mark_html, origin_html, text
from ge_explorer.views.theme import Theme
from ge_explorer.views.wording import axis_unit
from ge_explorer.widgets.bokeh_host import BokehHost, PanelHtml
from ge_explorer.widgets.panels.chart_style import FONT_SIZE, add_hover, add_zoom, new_figure, style
from ge_explorer.widgets.panels.context import OnSelect, PanelContext
from ge_explorer.widgets.panels.memory_map_chart import SIDE
from ge_explorer.widgets.panels.picked import picked_buffers
from ge_explorer.widgets.panels.table_panel import clicked_ref

HEIGHT, HEIGHT_IN_EXPLORER, BELOW = 170, 134, 46
LEFT = 52


def head_html(c: Curve, e: PeakExplained, lang: str, at: str, origin: Origin) -> str:
    """Conclusion: bytes at the position, split in use and waiting, the lines, and the fragmentation."""
    model = origin_html(Origin.MODEL, lang)

    def fact(label: Text, nbytes: int, mark: str = model, strong: bool = False) -> str:
        figure = f"<b>{size(nbytes)}</b>" if strong else size(nbytes)
        return f'<span><span class="gxp-muted">{text(label, lang)}</span> {figure}{mark}</span>'

    parts = [
        fact(Text(f"taken at {at}", f"{at} 处占用"), e.total, strong=True), fact(Text("in use", "使用中"), e.in_use),
        fact(Text("waiting", "等待中"), e.waiting),
    ]  # fmt: skip
    parts += [fact(x.name, x.nbytes, origin_html(origin if x.key == "peak" else x.origin, lang)) for x in c.lines]
    parts.append(fact(Text("no reuse", "不复用"), c.no_reuse))
    worst = number(100 * float(c.fragmentation.max(initial=0.0)), 0)
    label = text(Text("fragmentation up to", "碎片率最高"), lang)
    parts.append(f'<span><span class="gxp-muted">{label}</span> {worst} %{model}</span>')
    key = "".join(f"<span>{mark_html(m)}</span>" for m in c.marks)
    parts.append(
        f'<span class="gxp-key">{key}<span><i class="gxp-wait"></i>{text(Text("waiting", "等待中"), lang)}</span></span>'
    )
    return f'<div class="gxp-head" title="{text(c.alt, lang)}">{"".join(parts)}</div>'


class CurveChart:
    """``update(ctx, page, choice)``; ``on_at`` is called with the position (axis units) that was tapped."""

    name = "memory-curve"

    def __init__(self, on_select: OnSelect, on_at: Any, height: int = HEIGHT) -> None:
        self.on_select, self.on_at, self.height = on_select, on_at, height
        self.side = PanelHtml(name="memory-shares-at")
        self.side.layout.width = f"{SIDE}px"
        self.side.layout.flex = "none"
        self.host = BokehHost(self.name, self._make, self.side)
        self.widget = self.host.widget
        self.curve: Curve | None = None
        self.sources = {n: ColumnDataSource({}) for n in ("total", "lines", "notes", "holes", "at")}
        self.bands: list[ColumnDataSource] = []
        self._figure: Any = None
        self._below: Any = None
        self._glyphs: list[Any] = []
        self._last: tuple[PanelContext, MemoryPage, MemoryChoice] | None = None
        self.host.head.observe(lambda _c: self._last and self.update(*self._last), "ground")
        self.side.observe(self._clicked, "clicked")

    def _make(self) -> LayoutDOM:
        s = self.sources
        ranges = Range1d(start=0, end=1, bounds=(0, None))
        f = new_figure(self.height, x_axis=None, y_range=Range1d(start=0, end=1), x_range=ranges)
        f.min_border_top, f.min_border_left, f.min_border_bottom = 6, LEFT, 2
        total = f.step("x", "y", source=s["total"], mode="after", line_width=1.25, name="total")
        f.segment("x0", "y0", "x1", "y1", source=s["lines"], line_color="color", line_dash="dash", line_width=1.25)
        f.segment("x", 0, "x", "y", source=s["at"], line_color="color", line_width=2)
        f.text("x", "y", "text", source=s["notes"], text_color="color", text_align="right", text_baseline="bottom",
               text_font_size=FONT_SIZE, name="notes", x_offset=-4, y_offset=-2,
               background_fill_color="fill", background_fill_alpha=0.8)  # fmt: skip
        g = new_figure(BELOW, x_axis="below", y_range=Range1d(start=0, end=1), x_range=ranges)
        g.min_border_top, g.min_border_left, g.min_border_bottom = 4, LEFT, 20
        holes = g.step("x", "y", source=s["holes"], mode="after", line_width=1.25, name="holes")
        add_hover(f, [total], [("", "@name")])
        add_hover(g, [holes], [("", "@name")])
        for x in (f, g):
            add_zoom(x)
            x.on_event(Tap, self._tap)
        self._figure, self._below = f, g
        if self._last is not None:
            self.update(*self._last)
        return column(f, g, sizing_mode="stretch_width")

    def _theme(self) -> Theme:
        return (self._last[0].theme if self._last else None) or self.host.head.theme()

    def update(self, ctx: PanelContext, page: MemoryPage, choice: MemoryChoice) -> None:
        """Show the curve of ``page``."""
        self._last = (ctx, page, choice)
        lang, theme = ctx.lang, self._theme()
        self.host.head.lang = self.side.lang = lang
        c = self.curve = page.curve
        e = page.explained(choice)
        self.host.head.html = head_html(c, e, lang, page.lives.at_text(e.at), page.origin)
        self.side.html = shares_html(e, lang, {Ref("buffer", b) for b in picked_buffers(ctx)})
        if self._figure is not None:
            self._fill(page, c, e, theme, lang)

    def _fill(self, page: MemoryPage, c: Curve, e: PeakExplained, theme: Theme, lang: str) -> None:
        k = 1 / 1000 if c.axis == "time" else 1.0
        x = np.append(c.at, c.end) * k
        base = np.zeros(x.size)
        unit_name, unit = self._unit(c)
        self._figure.yaxis.axis_label = unit_name
        self._below.yaxis.axis_label = Text("frag", "碎片").get(lang)
        self._bands(len(c.marks) + 1)
        rows = [*c.used, c.waiting]
        for j, (row, source) in enumerate(zip(rows, self.bands, strict=True)):
            top = base + np.append(row, row[-1:] if row.size else [0]) / unit
            source.data = {"x": x, "y1": base, "y2": top}
            base = top
            glyph = self._glyphs[j].glyph
            index = c.marks[j].index if j < len(c.marks) else -1
            waiting = j == len(c.marks)
            glyph.update(
                fill_color=theme.bg if waiting else theme.area(index),
                hatch_pattern="/" if waiting else BOKEH_HATCH[hatch(index)],
                hatch_color=theme.ink3 if waiting else theme.hatch(index), hatch_scale=7, hatch_weight=1,
            )  # fmt: skip
        v = page.lives
        said = [f"{v.at_text(int(a))}: {size(int(n))}" for a, n in zip(c.at, c.total, strict=True)]
        self.sources["total"].data = {"x": x, "y": base, "name": [*said, *said[-1:]] if said else [""] * x.size}
        frag = [
            f"{v.at_text(int(a))}: {number(100 * float(n), 0)} %"
            for a, n in zip(c.holes_at, c.fragmentation, strict=True)
        ]
        self.sources["holes"].data = {"x": c.holes_at * k, "y": c.fragmentation, "name": frag}
        self._lines(c, e, theme, lang, k)
        self._figure.select_one({"name": "notes"}).glyph.text_font = value(theme.font)
        for f, axis in ((self._figure, ""), (self._below, "us" if c.axis == "time" else "")):
            style(f, theme, axis)
            f.ygrid.grid_line_color = theme.line
            f.xgrid.grid_line_color = None
        self._below.yaxis.ticker = [0, 0.5, 1]
        self._below.yaxis.major_label_overrides = {0: "0", 0.5: "50 %", 1: "100 %"}
        self._figure.select_one({"name": "total"}).glyph.line_color = theme.ink2
        self._below.select_one({"name": "holes"}).glyph.line_color = theme.ink

    @staticmethod
    def _unit(c: Curve) -> tuple[str, float]:
        """(unit, bytes of one) of the axis of bytes."""
        return axis_unit(max([c.peak_live, *(x.nbytes for x in c.lines)]))

    def _bands(self, n: int) -> None:
        """One area a stream and one for what waits; areas are made once and emptied when not needed."""
        while len(self.bands) < n:
            source = ColumnDataSource({"x": [], "y1": [], "y2": []})
            self.bands.append(source)
            self._glyphs.append(
                self._figure.varea_step("x", "y1", "y2", source=source, step_mode="after", level="underlay")
            )
        for source in self.bands[n:]:
            source.data = {"x": [], "y1": [], "y2": []}
        del self.bands[n:]
        for r in self._glyphs[n:]:
            self._figure.renderers.remove(r)
        del self._glyphs[n:]

    def _lines(self, c: Curve, e: PeakExplained, theme: Theme, lang: str, k: float) -> None:
        end, unit = c.end * k * 1.02, self._unit(c)[1]
        top = max([c.peak_live, *(x.nbytes for x in c.lines)]) * 1.16 / unit
        lines: dict[str, list[Any]] = {n: [] for n in ("x0", "x1", "y0", "y1", "color", "dash")}
        notes: dict[str, list[Any]] = {n: [] for n in ("x", "y", "text", "color", "fill")}
        by_value: dict[int, list[str]] = {}
        for x in c.lines:
            by_value.setdefault(x.nbytes, []).append(x.name.get(lang))
        used: list[float] = []
        for nbytes, names in by_value.items():
            y = nbytes / unit
            near = sum(abs(y - u) < 14 / self.height * top for u in used)
            used.append(y)
            color = theme.ink if nbytes == c.lines[0].nbytes else theme.ink2
            for key, val in (("x0", 0), ("x1", end), ("y0", y), ("y1", y), ("color", color)):
                lines[key].append(val)
            lines["dash"].append("solid" if nbytes == c.lines[0].nbytes else "dotted")
            for key, val in (("x", end * (1 - 0.4 * near)), ("y", y), ("text", f"{' = '.join(names)} {size(nbytes)}"),
                             ("color", color), ("fill", theme.bg)):  # fmt: skip
                notes[key].append(val)
        self.sources["lines"].data, self.sources["notes"].data = lines, notes
        self.sources["at"].data = {"x": [e.at * k], "y": [e.total / unit], "color": [theme.ink]}
        self._figure.x_range.update(start=0, end=end)
        self._figure.y_range.update(start=0, end=max(top, 1e-6))

    # ---------------------------------------------------------------- clicks
    def _clicked(self, change: dict[str, Any]) -> None:
        ref = clicked_ref(change["new"])
        if ref is not None:
            self.on_select((ref,))

    def _tap(self, e: Tap) -> None:
        if e.x is not None and self.curve is not None:
            at = e.x * (1000 if self.curve.axis == "time" else 1)
            self.on_at(int(min(max(at, 0), self.curve.end)))

"""Memory map: lifetime × address with the live curve, peak lines, and who holds the peak. Bokeh canvas.

The largest buffers are shapes; the others lie below them as one raster.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from bokeh.core.properties import value
from bokeh.events import Tap
from bokeh.models import ColumnDataSource, LayoutDOM, Range1d

from ge_explorer.ids import Ref
from ge_explorer.provenance import Origin
from ge_explorer.text import Text
from ge_explorer.views.marks import number, size, us
from ge_explorer.views.memory_map import MemoryPicture, Rect
from ge_explorer.views.memory_page import MemoryChoice, MemoryPage
from ge_explorer.views.memory_raster import code, paint, pixels
from ge_explorer.views.memory_table import shares_html
from ge_explorer.views.palette import BOKEH_HATCH, hatch
from ge_explorer.views.table_html import origin_html, text
from ge_explorer.views.theme import Theme
from ge_explorer.views.wording import axis_unit
from ge_explorer.widgets.bokeh_host import BokehHost, PanelHtml
from ge_explorer.widgets.panels.chart_style import FONT_SIZE, Labels, add_hover, add_zoom, new_figure, style
from ge_explorer.widgets.panels.context import OnSelect, PanelContext
from ge_explorer.widgets.panels.picked import picked_buffers
from ge_explorer.widgets.panels.table_panel import clicked_ref

MAP_HEIGHT, MAP_IN_EXPLORER = 244, 184
"""Pixels of the drawing: alone in a cell, and below the graph, where controls and conclusion must fit beside it."""
SIDE = 250
RASTER = (244, 900)
"""Rows and columns of the raster of small buffers."""


def price_html(peaks: tuple[int, int | None], lang: str, origin: Origin) -> str:
    """What the streams cost in this planner: (peak, peak on one stream); nothing on one stream."""
    peak, single = peaks
    if single is None:
        return ""
    more = peak - single
    label = Text("against one stream", "相对单流")
    percent = f" ({100 * more / single:+.1f} %)".replace("-", "−") if single and more else ""
    return (
        f'<span><span class="gxp-muted">{text(label, lang)}</span> <b>{size(more, signed=True)}</b>{percent}'
        f"{origin_html(origin, lang)}</span>"
    )


def head_html(p: MemoryPicture, lang: str, origin: Origin) -> str:
    """Conclusion line: price of the streams, peak, bound, what is not drawn."""
    parts = [price_html((p.peak, p.single_peak), lang, origin)]
    peak = text(Text("peak", "峰值"), lang)
    parts.append(f'<span><span class="gxp-muted">{peak}</span> <b>{size(p.peak)}</b>{origin_html(origin, lang)}</span>')
    live = text(Text("live at most", "最多存活"), lang)
    parts.append(
        f'<span><span class="gxp-muted">{live}</span> {size(p.peak_live)}{origin_html(Origin.MODEL, lang)}</span>'
    )
    if p.lower_bound:
        bound = text(Text("lower bound", "下界"), lang)
        title = text(Text(p.bound_name), lang)
        parts.append(f'<span title="{title}"><span class="gxp-muted">{bound}</span> {size(p.lower_bound)}'
                     f"{origin_html(Origin.MODEL, lang)}</span>")  # fmt: skip
    if p.left_out:
        words = Text("the {a} largest of {b} buffers; {n} smaller ones ({s}) as a plain ground",
                     "突出最大的 {a} / {b} 个缓冲区；其余 {n} 个（{s}）作为底图").format(
            a=number(len(p.rects)), b=number(len(p.rects) + p.left_out), n=number(p.left_out), s=size(p.left_out_bytes)
        )  # fmt: skip
        parts.append(f'<span class="gxp-muted">{text(words, lang)}</span>')
    if p.axis != "time":
        order = text(Text("x is GE's order, not time", "横轴为 GE 次序，不是时间"), lang)
        parts.append(f'<span class="gxp-muted">{order}</span>')
    return f'<div class="gxp-head" title="{text(p.alt, lang)}">{"".join(parts)}</div>'


class MapChart:
    """``update(ctx, page, choice)`` changes the data sources in place; a tap selects a buffer, so does a row of the shares."""

    name = "memory"

    def __init__(self, on_select: OnSelect, height: int = MAP_HEIGHT) -> None:
        self.on_select, self.height = on_select, height
        self.side = PanelHtml(name="memory-shares")
        self.side.layout.width = f"{SIDE}px"
        self.side.layout.flex = "none"
        self.host = BokehHost(self.name, self._make, self.side)
        self.widget = self.host.widget
        self.picture: MemoryPicture | None = None
        self.sources = {n: ColumnDataSource({}) for n in ["rects", "held", "live", "lines", "notes", "ground"]}
        self._figure: Any = None
        self._labels: Labels | None = None
        self._last: tuple[PanelContext, MemoryPage, MemoryChoice] | None = None
        self._shown: tuple[Any, ...] | None = None
        self._grounded: tuple[Any, ...] = ()
        self.host.head.observe(lambda _c: self._last and self.update(*self._last), "ground")
        self.side.observe(self._clicked, "clicked")

    def _make(self) -> LayoutDOM:
        p, s = self.picture, self.sources
        end, top = self._ranges(p)
        f = new_figure(
            self.height,
            x_axis="below",
            y_range=Range1d(start=0, end=top),
            x_range=Range1d(start=0, end=end, bounds=(0, None)),
        )
        f.min_border_top, f.min_border_left, f.min_border_bottom = 6, 44, 20
        f.image_rgba("image", x=0, y=0, dw="dw", dh="dh", source=s["ground"], global_alpha=0.55)
        held = f.quad("left", "right", "top", "bottom", source=s["held"], fill_color=None, line_color="line", line_dash=[3, 2],
                      hatch_pattern="/", hatch_color="hatch_color", hatch_scale=7, hatch_weight=1)  # fmt: skip
        rects = f.quad("left", "right", "top", "bottom", source=s["rects"], fill_color="fill", line_color="line",
                       line_width="line_width", hatch_pattern="hatch", hatch_color="hatch_color", hatch_scale=6,
                       hatch_weight=1)  # fmt: skip
        f.step("x", "y", source=s["live"], mode="after", line_width=1.25, name="live")
        f.segment("x0", "y0", "x1", "y1", source=s["lines"], line_color="color", line_dash="dash", line_width=1.25)
        self._labels = Labels(f, s["rects"], s["held"])
        f.text("x", "y", "text", source=s["notes"], text_color="color", text_font_style="style", text_align="right",
               text_baseline="bottom", text_font_size=FONT_SIZE, name="notes",
               x_offset=-4, y_offset=-2, background_fill_color="fill",
               background_fill_alpha=0.8)  # fmt: skip
        add_hover(f, [rects], [("", "@name @full"), ("", "@span"), ("", "@place")])
        add_hover(f, [held], [("", "@text")])
        add_zoom(f)
        f.on_event(Tap, self._tap)
        self._figure = f
        self._restyle(self._theme())
        return f  # type: ignore[no-any-return]  # bokeh's figure is untyped here

    def _theme(self) -> Theme:
        return (self._last[0].theme if self._last else None) or self.host.head.theme()

    def _restyle(self, theme: Theme) -> None:
        if self._figure is None or self._labels is None:
            return
        style(self._figure, theme, "us" if self.picture is None or self.picture.axis == "time" else "")
        self._figure.yaxis.axis_label = Text(
            f"address, {self._unit(self.picture)[0]}", f"地址，{self._unit(self.picture)[0]}"
        ).get(self.host.head.lang)
        self._figure.select_one({"name": "notes"}).glyph.text_font = value(theme.font)
        self._figure.ygrid.grid_line_color = theme.line
        self._figure.xgrid.grid_line_color = None
        self._figure.select_one({"name": "live"}).glyph.line_color = theme.ink2
        self._labels.style(theme)

    @staticmethod
    def _ranges(p: MemoryPicture | None) -> tuple[float, float]:
        if p is None:
            return 1.0, 1.0
        scale = 1000 if p.axis == "time" else 1
        return p.end * 1.02 / scale, MapChart._top(p) * 1.1 / MapChart._unit(p)[1]

    @staticmethod
    def _top(p: MemoryPicture) -> int:
        """Highest address drawn, bytes."""
        return max(p.peak, p.single_peak or 0, p.peak_live, max((r.offset + r.size for r in p.rects), default=0), 1)

    @staticmethod
    def _unit(p: MemoryPicture | None) -> tuple[str, float]:
        """(unit, bytes of one) of the address axis."""
        return axis_unit(2**20 if p is None else MapChart._top(p))

    def update(self, ctx: PanelContext, page: MemoryPage, choice: MemoryChoice) -> None:
        """Show the plan of ``page`` with the selection of ``ctx``."""
        self._last = (ctx, page, choice)
        lang = self.host.head.lang = self.side.lang = ctx.lang
        p = self.picture = page.map(choice)
        theme, picked = self._theme(), picked_buffers(ctx)
        self.host.head.html = head_html(p, lang, page.origin)
        self.side.html = shares_html(page.explained(choice.but(at=None)), lang, {Ref("buffer", b) for b in picked})
        self._fill(p, theme, lang, picked)
        self._ground(page, p, theme)
        end, top = self._ranges(p)
        key = (end, top, theme, p.axis, lang)
        if self._figure is not None and key != self._shown:
            self._figure.x_range.update(start=0, end=end)
            self._figure.y_range.update(start=0, end=top)
            self._restyle(theme)
        self._shown = key

    def _ground(self, page: MemoryPage, p: MemoryPicture, theme: Theme) -> None:
        """Raster of all buffers, when not all of them are shapes."""
        if self._grounded == (id(p), theme):
            return
        self._grounded = (id(p), theme)
        if not p.left_out:
            self.sources["ground"].data = {"image": [], "dw": [], "dh": []}
            return
        v = page.lives
        top = max(int((v.offset + v.size).max(initial=1)), 1)
        codes = np.array([code(i) for i in v.mark_index.tolist()], dtype=np.int64)
        cells = paint(RASTER, v.begin, v.last, v.offset, v.offset + v.size, codes, (v.end, top))
        k = 1 / 1000 if p.axis == "time" else 1.0
        self.sources["ground"].data = {
            "image": [pixels(cells, theme)],
            "dw": [v.end * k],
            "dh": [top / self._unit(p)[1]],
        }

    def _set(self, name: str, rows: list[dict[str, Any]], columns: str) -> None:
        self.sources[name].data = {c: [r[c] for r in rows] for c in columns.split()}

    def _fill(self, p: MemoryPicture, theme: Theme, lang: str, picked: set[int]) -> None:
        k = 1 / 1000 if p.axis == "time" else 1.0
        end, top = self._ranges(p)
        px, unit = self.height / top, self._unit(p)[1]
        rects, held = [], []
        for r in sorted(p.rects, key=lambda r: r.ref.id in picked):
            low, high = r.offset / unit, (r.offset + r.size) / unit
            i, tall = r.mark.index, (high - low) * px
            chosen = r.ref.id in picked
            ty = high - 9 / px if tall > 34 else (low + high) / 2
            rects.append({
                "left": r.begin * k, "right": max(r.last_use * k, r.begin * k), "bottom": low, "top": high, "ty": ty, "room": tall,
                "name": r.name, "more": size(r.size), "fill": theme.bar(i), "solid": theme.stream(i),
                "line": theme.ink if chosen else theme.stream(i),
                "line_width": 2 if chosen else 1, "hatch": BOKEH_HATCH[hatch(i)] if tall > 8 else " ",
                "hatch_color": theme.hatch(i), "full": self._facts(r, lang), "span": self._span(p, r), "place": self._place(r),
            })  # fmt: skip
            if r.free > r.last_use:
                why = r.held.get(lang) if r.held else ""
                held.append({"left": r.last_use * k, "right": r.free * k, "bottom": low, "top": high, "ty": (low + high) / 2,
                             "text": why if tall >= 12 else "", "short": "", "line": theme.ink2,
                             "hatch_color": theme.line2})  # fmt: skip
        self._set(
            "rects",
            rects,
            "left right bottom top ty room name more fill solid line line_width hatch hatch_color full span place",
        )
        self._set("held", held, "left right bottom top ty text short line hatch_color")
        self.sources["live"].data = {"x": [x * k for x, _ in p.live], "y": [y / unit for _, y in p.live]}
        self._lines(p, theme, lang, end)

    def _lines(self, p: MemoryPicture, theme: Theme, lang: str, end: float) -> None:
        lines, notes = [], []
        at = [(p.peak, Text("peak", "峰值"), theme.ink, "bold", "solid")]
        if p.single_peak is not None and p.single_peak != p.peak:
            at.append((p.single_peak, Text("single stream", "单流"), theme.ink2, "normal", "dashed"))
        if p.lower_bound and p.lower_bound != p.peak:
            at.append((p.lower_bound, Text("lower bound", "下界"), theme.ink2, "normal", "dotted"))
        used: list[float] = []
        top = self._ranges(p)[1]
        for nbytes, word, color, weight, dash in at:
            y = nbytes / self._unit(p)[1]
            lines.append({"x0": 0, "x1": end, "y0": y, "y1": y, "color": color, "dash": dash})
            near = any(abs(y - u) < 14 / self.height * top for u in used)
            used.append(y)
            x = end * 0.78 if near else end
            notes.append(
                {
                    "x": x,
                    "y": y,
                    "text": f"{word.get(lang)} {size(nbytes)}",
                    "color": color,
                    "style": weight,
                    "fill": theme.bg,
                }
            )
        self._set("lines", lines, "x0 x1 y0 y1 color dash")
        self._set("notes", notes, "x y text color style fill")

    @staticmethod
    def _facts(r: Rect, lang: str) -> str:
        assumed = Text(" (unknown size counted as 1)", "（未知维按 1 计）").get(lang) if r.assumed else ""
        return f"{r.mark.letter} {size(r.size)}{assumed}"

    @staticmethod
    def _span(p: MemoryPicture, r: Rect) -> str:
        if p.axis == "time":
            return f"{us(r.begin)} – {us(r.last_use)}"
        return f"{r.begin} – {r.last_use}"

    @staticmethod
    def _place(r: Rect) -> str:
        return f"@ {r.offset:,} … {r.offset + r.size:,} B"

    # ---------------------------------------------------------------- clicks
    def _clicked(self, change: dict[str, Any]) -> None:
        ref = clicked_ref(change["new"])
        if ref is not None:
            self.on_select((ref,))

    def _tap(self, e: Tap) -> None:
        if e.x is not None and e.y is not None:
            ref = self.hit(e.x, e.y)
            self.on_select((ref,) if ref is not None else ())

    def hit(self, x: float, y: float) -> Ref | None:
        """Buffer at a place (us or GE order, address in the unit of the axis), its held part included; None on empty ground."""
        if self._last is None or self.picture is None:
            return None
        v = self._last[1].lives
        at, byte = x * (1000 if v.axis == "time" else 1), y * self._unit(self.picture)[1]
        inside = (v.begin <= at) & (at <= np.maximum(v.free, v.last)) & (v.offset <= byte) & (byte < v.offset + v.size)
        found = np.flatnonzero(inside).tolist()
        best = min(found, key=lambda i: (bool(v.last[i] < at), int(v.size[i])), default=None)
        return None if best is None else Ref("buffer", v.buffer(best).id)

"""Figures in the look of the design: hairline grid, no toolbar, fonts and colours from the page, labels that fit their bars."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from bokeh.core.properties import value
from bokeh.models import ColumnDataSource, CustomJS, CustomJSTickFormatter, HoverTool, PanTool, Range1d, WheelZoomTool
from bokeh.plotting import figure

from ge_explorer.views.theme import Theme

FONT_SIZE = "11px"
TOP, BOTTOM = 22, 4
"""Borders above (axis labels) and below the frame in px."""

_FIT = """
const W = fig.inner_width, lo = fig.x_range.start, hi = fig.x_range.end;
if (!(W > 0) || !(hi > lo)) return;
const ctx = (window.__gx_measure ??= document.createElement("canvas").getContext("2d"));
const k = W / (hi - lo), col = (s, n) => s.data[n] ?? [];
const font = "11px " + names_glyph.text_font.value, bold = "600 " + font;
const width = (t, f) => { ctx.font = f; return ctx.measureText(t).width; };
const cut = (t, room, f) => {
  if (width(t, f) <= room) return t;
  let a = 0, b = t.length;
  while (a < b) { const m = (a + b + 1) >> 1; if (width(t.slice(0, m) + "…", f) <= room) a = m; else b = m - 1; }
  return a >= 2 ? t.slice(0, a) + "…" : "";
};
const E = {left: [], right: [], top: [], bottom: [], color: []};
const N = {x: [], y: [], text: [], fill: []}, D = {x: [], y: [], text: [], dx: [], fill: []};
const left = col(bars, "left"), right = col(bars, "right"), ty = col(bars, "ty"), room = col(bars, "room");
const tops = col(bars, "top"), bottoms = col(bars, "bottom"), solid = col(bars, "solid");
const name = col(bars, "name"), more = col(bars, "more"), fill = col(bars, "fill");
for (let i = 0; i < left.length; i++) {
  const a = Math.max(left[i], lo), b = Math.min(right[i], hi), w = (b - a) * k;
  if (w > 2 && left[i] >= lo) {
    E.left.push(a); E.right.push(a + Math.min(3, w / 2) / k); E.top.push(tops[i]);
    E.bottom.push(bottoms[i]); E.color.push(solid[i]);
  }
  if (w < 26 || room[i] < min_room) continue;
  const t = cut(name[i], w - 14, bold);
  if (!t) continue;
  N.x.push(a); N.y.push(ty[i]); N.text.push(t); N.fill.push(fill[i]);
  const nw = width(t, bold);
  if (t === name[i] && w > nw + width(more[i], font) + 20) {
    D.x.push(a); D.y.push(ty[i]); D.text.push(more[i]); D.dx.push(13 + nw); D.fill.push(fill[i]);
  }
}
const G = {x: [], y: [], text: []}, S = {x: [], y: [], text: [], shape: [], size: []};
const gl = col(gaps, "left"), gr = col(gaps, "right"), gy = col(gaps, "ty"), gt = col(gaps, "text"), gs = col(gaps, "short");
for (let i = 0; i < gl.length; i++) {
  const a = Math.max(gl[i], lo), b = Math.min(gr[i], hi), w = (b - a) * k;
  if (w > width(gt[i], font) + 14) { G.x.push(a); G.y.push(gy[i]); G.text.push(gt[i]); }
  else if (gs[i] && w > 11 + 4 * gs[i].length) {
    S.x.push((a + b) / 2); S.y.push(gy[i]); S.text.push(gs[i]); S.shape.push(gs[i] === "c" ? "square" : "circle");
    S.size.push(10 + 4 * gs[i].length);
  }
  else if (w > 46) { const t = cut(gt[i], w - 14, font); if (t) { G.x.push(a); G.y.push(gy[i]); G.text.push(t); } }
}
const filled = [[edges, E], [names, N], [durations, D], [reasons, G], [symbols, S]];
for (const [source, data] of filled) source.setv({data}, {sync: false});
"""


def new_figure(
    height: int, *, x_axis: Literal["above", "below"] | None = "above", y_range: Range1d | None = None, **more: Any
) -> Any:
    """Bare figure: no toolbar, no title, fixed frame height, stretching width."""
    bare: dict[str, Any] = {
        n: None for n in ("border_line_color",) if n in figure.properties()
    }  # newer Bokeh frames all
    f = figure(
        height=height + TOP + BOTTOM, sizing_mode="stretch_width", min_width=120, toolbar_location=None, tools="",
        x_axis_location=x_axis, y_range=y_range or Range1d(start=height, end=0), output_backend="canvas", min_border=0,
        outline_line_color=None, **bare, **more,
    )  # fmt: skip
    f.min_border_top, f.min_border_bottom, f.min_border_left, f.min_border_right = TOP, BOTTOM, 0, 6
    return f


def add_zoom(f: Any) -> None:
    """Drag pans in time; Ctrl + wheel zooms, so that the notebook still scrolls. Double tap is left to the panel."""
    pan = PanTool(dimensions="width")
    wheel = WheelZoomTool(dimensions="width")
    if "modifiers" in WheelZoomTool.properties():
        wheel.modifiers = "ctrl"
        f.add_tools(pan, wheel)
        f.toolbar.active_drag, f.toolbar.active_scroll = pan, wheel
    else:
        f.add_tools(pan)
        f.toolbar.active_drag = pan


def add_hover(f: Any, renderers: Iterable[Any], tooltips: list[tuple[str, str]]) -> None:
    """Tooltip; Bokeh escapes the values."""
    f.add_tools(HoverTool(renderers=list(renderers), tooltips=tooltips, point_policy="follow_mouse"))


def style(f: Any, theme: Theme, unit: str = "us") -> None:
    """Fonts, grid and ground of a figure."""
    f.background_fill_color = f.border_fill_color = theme.bg
    for axis in f.axis:
        axis.axis_line_color = axis.major_tick_line_color = axis.minor_tick_line_color = None
        axis.major_label_text_color = axis.axis_label_text_color = theme.ink2
        axis.major_label_text_font = axis.axis_label_text_font = theme.font
        axis.major_label_text_font_size = axis.axis_label_text_font_size = FONT_SIZE
        axis.axis_label_text_font_style = "normal"
        axis.major_label_standoff = 4
    for grid in f.grid:
        grid.grid_line_color = None
    f.xgrid.grid_line_color = theme.line
    f.xaxis.formatter = CustomJSTickFormatter(
        args={"unit": unit},
        code="const t = tick.toLocaleString('en-US'); return tick === 0 && unit ? t + ' ' + unit : t",
    )


class Labels:
    """Solid left edges (3 px at any zoom), names and durations inside bars, reasons inside gaps, symbols in narrow gaps.

    Measured in the browser whenever width or range changes; nothing is sent to Python.
    ``bars`` needs left, right, top, bottom, ty, room (height in px), name, more, fill, solid;
    ``gaps`` needs left, right, ty, text, short.
    """

    def __init__(self, f: Any, bars: ColumnDataSource, gaps: ColumnDataSource, min_room: int = 12) -> None:
        empty: dict[str, Any] = {"x": [], "y": [], "text": []}
        self.names = ColumnDataSource({**empty, "fill": []})
        self.durations = ColumnDataSource({**empty, "fill": [], "dx": []})
        self.reasons = ColumnDataSource(dict(empty))
        self.symbols = ColumnDataSource({**empty, "shape": [], "size": []})
        common: dict[str, Any] = {"text_baseline": "middle", "text_font_size": FONT_SIZE}
        box: dict[str, Any] = {"background_fill_color": "fill", "background_fill_alpha": 0.85}
        edges = ColumnDataSource({"left": [], "right": [], "top": [], "bottom": [], "color": []})
        f.quad("left", "right", "top", "bottom", source=edges, fill_color="color", line_color=None)
        n = f.text("x", "y", "text", source=self.names, x_offset=8, text_font_style="bold", **common, **box)
        d = f.text("x", "y", "text", source=self.durations, x_offset="dx", **common, **box)
        g = f.text("x", "y", "text", source=self.reasons, x_offset=8, **common)
        c = f.scatter("x", "y", source=self.symbols, marker="shape", size="size", line_width=1.25)
        s = f.text("x", "y", "text", source=self.symbols, text_align="center", y_offset=0.5, **common)
        self._texts, self._reason, self._circle = (n, d, s), g, c
        fit = CustomJS(
            args={
                "fig": f, "bars": bars, "edges": edges, "gaps": gaps, "names": self.names, "durations": self.durations,
                "reasons": self.reasons, "symbols": self.symbols, "names_glyph": n.glyph, "min_room": min_room,
            },
            code=_FIT,
        )  # fmt: skip
        bars.js_on_change("data", fit)
        gaps.js_on_change("data", fit)
        f.js_on_change("inner_width", fit)
        f.x_range.js_on_change("start", fit)
        f.x_range.js_on_change("end", fit)
        n.glyph.js_on_change("text_font", fit)  # the page's font is known only after the first drawing

    def style(self, theme: Theme) -> None:
        """Colours and font."""
        for r in self._texts:
            r.glyph.text_color, r.glyph.text_font = theme.ink, value(theme.font)
        self._reason.glyph.text_color, self._reason.glyph.text_font = theme.ink2, value(theme.font)
        self._reason.glyph.background_fill_color = theme.bg
        self._circle.glyph.fill_color, self._circle.glyph.line_color = theme.bg, theme.ink

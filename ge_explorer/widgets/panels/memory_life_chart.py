"""Lifetimes chart: one line a buffer, or a raster when there are many. Bokeh canvas."""

from __future__ import annotations

from typing import Any

from bokeh.events import Tap
from bokeh.models import ColumnDataSource, FixedTicker, LayoutDOM, Range1d

from ge_explorer.ids import Ref
from ge_explorer.provenance import Origin
from ge_explorer.text import Text
from ge_explorer.views.marks import number, size
from ge_explorer.views.memory_heatmap import Heatmap, HeatRow
from ge_explorer.views.memory_page import MemoryChoice, MemoryPage
from ge_explorer.views.memory_raster import pixels
from ge_explorer.views.palette import BOKEH_HATCH, hatch
from ge_explorer.views.table_html import mark_html, origin_html, text
from ge_explorer.views.theme import Theme
from ge_explorer.widgets.bokeh_host import BokehHost
from ge_explorer.widgets.panels.chart_style import add_hover, add_zoom, new_figure, style
from ge_explorer.widgets.panels.context import OnSelect, PanelContext
from ge_explorer.widgets.panels.memory_map_chart import price_html
from ge_explorer.widgets.panels.picked import picked_buffers

PITCH, NAMED = 13, 40
"""Pixels a line while up to so many lines are named; more lines share ``TALL`` px."""
TALL, TALL_IN_EXPLORER = 480, 216
LEAST = 120
LABEL = 130
HOVERED = 1_500
"""Lines up to which a raster answers the pointer."""


def head_html(h: Heatmap, lang: str, price: str = "") -> str:
    """Conclusion: how much of the taken bytes × time is waiting, for whom, and what a line stands for."""
    waste = text(Text("bytes × time spent waiting", "用于等待的 字节×时间"), lang)
    key = "".join(f"<span>{mark_html(m)}</span>" for m in h.marks)
    waits = text(Text("last read done, not yet reusable", "已读完，尚不可复用"), lang)
    if h.awaited is not None:
        waits = text(Text(f"not yet reusable on {h.awaited.letter}", f"尚不可复用于 {h.awaited.letter}"), lang)
    share = f"{number(100 * h.waste, 1)} %"
    parts = [
        price,
        f'<span><span class="gxp-muted">{waste}</span> <b>{share}</b>{origin_html(Origin.MODEL, lang)}</span>',
        f'<span class="gxp-key">{key}<span><i class="gxp-wait"></i>{waits}</span></span>',
        '<span class="gxp-sp"></span>',
    ]
    shown = Text("{a} of {b} buffers", "{b} 个缓冲区中的 {a} 个").format(a=number(int(h.ids.size)), b=number(h.total))
    if h.per_line > 1:
        more = Text(", up to {n} a line, the largest on top", "，每行至多 {n} 个，最大者在上").format(n=h.per_line)
        shown = Text(shown.en + more.en, shown.get("zh") + more.get("zh"))
    parts.append(f'<span class="gxp-muted">{text(shown, lang)}</span>')
    return f'<div class="gxp-head" title="{text(h.alt, lang)}">{"".join(parts)}</div>'


class LifeChart:
    """``update(ctx, page, choice)`` fills the sources; a tap selects the buffer of a line and unfolds it by stream."""

    name = "memory-lifetimes"

    def __init__(self, on_select: OnSelect, tall: int = TALL) -> None:
        self.on_select, self.tall = on_select, tall
        self.host = BokehHost(self.name, self._make)
        self.widget = self.host.widget
        self.picture: Heatmap | None = None
        self.sources = {n: ColumnDataSource({}) for n in ("use", "wait", "reads", "raster", "lines", "picked")}
        self._figure: Any = None
        self._last: tuple[PanelContext, MemoryPage, MemoryChoice] | None = None
        self._painted: tuple[Any, ...] = ()
        self.host.head.observe(lambda _c: self._last and self.update(*self._last), "ground")

    def _make(self) -> LayoutDOM:
        s = self.sources
        f = new_figure(
            LEAST, x_axis="below", y_range=Range1d(start=0, end=1), x_range=Range1d(start=0, end=1, bounds=(0, None))
        )
        f.min_border_top, f.min_border_left, f.min_border_bottom = 4, LABEL, 20
        f.image_rgba("image", x=0, y=0, dw="dw", dh="dh", source=s["raster"])
        lines = f.quad("left", "right", "top", "bottom", source=s["lines"], fill_color=None, line_color=None)
        wait = f.quad("left", "right", "top", "bottom", source=s["wait"], fill_color="fill", line_color="line",
                      line_dash=[3, 2], hatch_pattern="/", hatch_color="hatch_color", hatch_scale=6, hatch_weight=1)  # fmt: skip
        use = f.quad("left", "right", "top", "bottom", source=s["use"], fill_color="fill", line_color="line",
                     hatch_pattern="hatch", hatch_color="hatch_color", hatch_scale=6, hatch_weight=1)  # fmt: skip
        f.quad("left", "right", "top", "bottom", source=s["reads"], fill_color="color", line_color=None)
        f.quad("left", "right", "top", "bottom", source=s["picked"], fill_color=None, line_color="line", line_width=2)
        add_hover(f, [lines, use, wait], [("", "@name"), ("", "@what"), ("", "@span")])
        add_zoom(f)
        f.on_event(Tap, self._tap)
        self._figure = f
        self._frame()
        return f  # type: ignore[no-any-return]  # bokeh's figure is untyped here

    def _theme(self) -> Theme:
        return (self._last[0].theme if self._last else None) or self.host.head.theme()

    def update(self, ctx: PanelContext, page: MemoryPage, choice: MemoryChoice) -> None:
        """Show the lifetimes of ``page``."""
        self._last = (ctx, page, choice)
        self.host.head.lang = ctx.lang
        picked = tuple(sorted(picked_buffers(ctx)))
        h = self.picture = page.heatmap(choice, picked[-4:])
        self.host.head.html = head_html(h, ctx.lang, price_html(page.map_figures, ctx.lang, page.origin))
        self._fill(page, h, self._theme(), ctx.lang, set(picked))
        self._frame()

    # ---------------------------------------------------------------- filling
    @property
    def lines(self) -> int:
        """Lines drawn."""
        h = self.picture
        return 0 if h is None else len(h.rows) if h.raster is None else h.raster.shape[0]

    def _fill(self, page: MemoryPage, h: Heatmap, theme: Theme, lang: str, picked: set[int]) -> None:
        k = 1 / 1000 if h.axis == "time" else 1.0
        use: list[dict[str, Any]] = []
        wait: list[dict[str, Any]] = []
        reads: list[dict[str, Any]] = []
        for y, r in enumerate(reversed(h.rows)):
            self._row(page, r, y, k, theme, lang, use, wait, reads)
        self._set("use", use, "left right top bottom fill line hatch hatch_color name what span")
        self._set("wait", wait, "left right top bottom fill line hatch_color name what span")
        self._set("reads", reads, "left right top bottom color")
        v = page.lives
        lines, chosen = [], []
        if h.raster is None:
            self.sources["raster"].data = {"image": [], "dw": [], "dh": []}
            self._painted = ()
        else:
            n, height = int(h.ids.size), h.raster.shape[0]
            tall = max(1, self.tall // height)
            if self._painted != (id(h), theme):
                self.sources["raster"].data = {
                    "image": [pixels(h.raster, theme, tall)],
                    "dw": [h.end * k],
                    "dh": [height],
                }
            self._painted = (id(h), theme)
            for at, i in enumerate(h.ids.tolist()):
                if n > HOVERED and v.buffer(i).id not in picked:
                    continue
                y = height - 1 - at * height // n
                box = {
                    "left": int(v.begin[i]) * k,
                    "right": max(int(v.ready[i]), int(v.last[i])) * k,
                    "bottom": y,
                    "top": y + 1,
                }
                if v.buffer(i).id in picked:
                    chosen.append({**box, "line": theme.ink})
                if n <= HOVERED:
                    lines.append({**box, "name": v.names[i], "what": f"{v.mark(i).letter} {size(v.buffer(i).size)}",
                                  "span": v.span_text(int(v.begin[i]), int(v.last[i]))})  # fmt: skip
        for y, r in enumerate(reversed(h.rows)):
            if r.ref.id in picked and not r.stream_row:
                a, b = min(s.begin for s in r.segments), max(s.end for s in r.segments)
                chosen.append({"left": a * k, "right": b * k, "bottom": y + 0.08, "top": y + 0.92, "line": theme.ink})
        self._set("lines", lines, "left right top bottom name what span")
        self._set("picked", chosen, "left right top bottom line")

    def _row(
        self, page: MemoryPage, r: HeatRow, y: int, k: float, theme: Theme, lang: str, use: list[dict[str, Any]],
        wait: list[dict[str, Any]], reads: list[dict[str, Any]],
    ) -> None:  # fmt: skip
        v, pad = page.lives, 0.3 if r.stream_row else 0.14
        for s in r.segments:
            i = s.mark.index
            box = {"left": s.begin * k, "right": s.end * k, "bottom": y + pad, "top": y + 1 - pad, "name": r.name,
                   "span": v.span_text(s.begin, s.end)}  # fmt: skip
            if s.waiting:
                said = Text(f"{s.mark.letter} may take the bytes afterwards", f"之后 {s.mark.letter} 可接用字节")
                if s.never:
                    said = Text(f"{s.mark.letter} never gets the bytes", f"{s.mark.letter} 永远得不到这些字节")
                wait.append(
                    {**box, "fill": theme.bg, "line": theme.ink2, "hatch_color": theme.ink3, "what": said.get(lang)}
                )
            else:
                wide = (s.end - s.begin) * k > 0
                use.append({**box, "fill": theme.bar(i), "line": theme.stream(i), "hatch": BOKEH_HATCH[hatch(i)] if wide else " ",
                            "hatch_color": theme.hatch(i), "what": f"{s.mark.letter} {size(r.size)}"})  # fmt: skip
        tick = v.end * k / 300
        for m, at in r.reads:
            if m.stream != r.mark.stream:
                reads.append({"left": at * k - tick, "right": at * k, "bottom": y + 0.04, "top": y + 0.96,
                              "color": theme.stream(m.index)})  # fmt: skip

    def _set(self, name: str, rows: list[dict[str, Any]], columns: str) -> None:
        self.sources[name].data = {c: [r[c] for r in rows] for c in columns.split()}

    def _frame(self) -> None:
        """Height, ranges, labels and colours for what is shown."""
        h, f = self.picture, self._figure
        if h is None or f is None:
            return
        theme = self._theme()
        style(f, theme, "us" if h.axis == "time" else "")
        k = 1 / 1000 if h.axis == "time" else 1.0
        n = max(self.lines, 1)
        pitch = PITCH if n <= NAMED else min(9.0, max(2.5, self.tall / n))
        height = self.tall if h.raster is not None else max(LEAST, int(n * pitch))
        f.height = height + 28
        f.x_range.update(start=0, end=h.end * k * 1.01)
        f.y_range.update(start=0, end=max(n, height / pitch) if h.raster is None else n)
        picked = picked_buffers(self._last[0]) if self._last else set()
        rows = [
            (y + 0.5, r) for y, r in enumerate(reversed(h.rows)) if n <= NAMED or r.stream_row or r.ref.id in picked
        ]
        names = {y: _short(r) for y, r in rows}
        f.yaxis.ticker = FixedTicker(ticks=list(names))
        f.yaxis.major_label_overrides = names
        f.min_border_left = LABEL if names else 18
        f.ygrid.grid_line_color = None

    # ---------------------------------------------------------------- clicks
    def _tap(self, e: Tap) -> None:
        if e.y is not None:
            ref = self.hit(float(e.y))
            self.on_select((ref,) if ref is not None else ())

    def hit(self, y: float) -> Ref | None:
        """Buffer of the line at a height."""
        h, n = self.picture, self.lines
        if h is None or not 0 <= y < n:
            return None
        line = n - 1 - int(y)
        if h.raster is None:
            return h.rows[line].ref
        page = self._last[1] if self._last else None
        count = int(h.ids.size)
        first, last = -(-line * count // n), -(-(line + 1) * count // n)
        here = h.ids[first : max(last, first + 1)].tolist()
        if page is None or not here:
            return None
        return Ref("buffer", page.lives.buffer(max(here, key=lambda i: int(page.lives.size[i]))).id)


def _short(r: HeatRow) -> str:
    lead = "→ " + r.mark.letter if r.stream_row else r.name
    return lead if len(lead) <= 18 else "…" + lead[-17:]

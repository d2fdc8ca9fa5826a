"""Timeline panel: lanes with bars and explained gaps, windows and overlap, critical path, core use. Bokeh canvas."""

from __future__ import annotations

from html import escape
from typing import Any

from bokeh.core.properties import value
from bokeh.events import Tap
from bokeh.layouts import row
from bokeh.models import ColumnDataSource, LayoutDOM, Range1d

from ge_explorer.ids import Ref
from ge_explorer.ids import stream as stream_ref
from ge_explorer.text import Text
from ge_explorer.views import timeline
from ge_explorer.views.marks import us
from ge_explorer.views.palette import BOKEH_HATCH, hatch
from ge_explorer.views.table_html import origin_html, text
from ge_explorer.views.theme import Theme, mix
from ge_explorer.views.timeline import TimelinePicture
from ge_explorer.views.timeline_layout import GUTTER, Layout, place
from ge_explorer.widgets.bokeh_host import BokehHost
from ge_explorer.widgets.panels.chart_style import (
    BOTTOM,
    FONT_SIZE,
    TOP,
    Labels,
    add_hover,
    add_zoom,
    new_figure,
    style,
)
from ge_explorer.widgets.panels.context import OnSelect, PanelContext
from ge_explorer.widgets.panels.picked import picked_nodes
from ge_explorer.widgets.panels.windows import windows_of

_BADGE = {"real": "●", "partial": "◐", "fake": "○"}
_VERDICT = {"real": Text("real", "真并行"), "partial": Text("partial", "部分并行"), "fake": Text("fake", "假并行")}
NONE = Text("No timeline: a step failed, so nothing can be run.", "没有时间线：有步骤失败，无法运行。")


def head_html(p: TimelinePicture, lang: str) -> str:
    """Conclusion line: overlap, makespan, where the numbers come from, what the black line means."""
    parts = []
    v = p.windows
    if v.verdict and v.overlap_pct is not None:
        word = f"{v.overlap_pct:.2f} {text(_VERDICT[v.verdict], lang)}"
        parts.append(f'<span class="gxp-badge">{_BADGE[v.verdict]} {word}</span>')
        if v.busy_pct is not None:
            label = text(Text("by busy time", "按忙碌时间"), lang)
            parts.append(
                f'<span><span class="gxp-muted">{label}</span> {v.busy_pct:.2f}{origin_html(p.origin, lang)}</span>'
            )
    elif len(p.lanes) == 1:
        parts.append(
            f"<span>{text(Text('One stream, so nothing can overlap.', '只有一条流，不存在重叠。'), lang)}</span>"
        )
    for n in v.notes:
        parts.append(f'<span class="gxp-muted">{text(n, lang)}</span>')
    span = text(Text("makespan", "总时长"), lang)
    parts.append(
        f'<span><span class="gxp-muted">{span}</span> <b>{us(p.makespan_ns)}</b>{origin_html(p.origin, lang)}</span>'
    )
    if p.merged:
        merged = Text("{n} short tasks are merged into wider bars", "{n} 个短任务已合并显示").format(n=p.merged)
        parts.append(f'<span class="gxp-muted">{text(merged, lang)}</span>')
    parts.append('<span class="gxp-sp"></span>')
    critical = text(Text("critical path", "关键路径"), lang)
    parts.append(f'<span class="gxp-muted"><span class="gxp-rule"></span>{critical}</span>')
    parts.append(f'<span class="gxp-muted">{escape(p.chip)}</span>')
    return f'<div class="gxp-head" title="{text(p.alt, lang)}">{"".join(parts)}</div>'


class TimelinePanel:
    """``update(ctx)`` changes the data sources in place; a tap selects the task, the event of a gap, or the stream."""

    name = "timeline"

    def __init__(self, on_select: OnSelect | None = None) -> None:
        self.on_select = on_select
        self.host = BokehHost(self.name, self._make)
        self.widget = self.host.widget
        self.picture: TimelinePicture | None = None
        self.layout: Layout | None = None
        self._ctx: PanelContext | None = None
        self._shown: tuple[Any, ...] | None = None
        names = "lanes bars gaps critical blocks caps notes brackets shade lines heads head_text"
        self.sources = {n: ColumnDataSource({}) for n in names.split()}
        self._figures: tuple[Any, Any] | None = None
        self._labels: Labels | None = None
        self.host.head.observe(lambda _c: self._ctx and self.update(self._ctx), "ground")

    # ---------------------------------------------------------------- the figure, once
    def _make(self) -> LayoutDOM:
        theme, lay = self._theme(), self.layout or place(None)
        y = Range1d(start=lay.height, end=0)
        gutter = new_figure(lay.height, x_axis=None, y_range=y, x_range=Range1d(start=0, end=GUTTER), width=GUTTER)
        gutter.sizing_mode, gutter.min_width, gutter.width = "fixed", GUTTER, GUTTER
        gutter.min_border_right = 0
        main = new_figure(lay.height, y_range=y, x_range=Range1d(start=0, end=lay.end_us, bounds=(0, None)))
        for f in (gutter, main):
            f.yaxis.visible = False
            f.ygrid.visible = False
        s = self.sources
        gutter.quad("left", "right", "top", "bottom", source=s["heads"], fill_color="fill", line_color=None,
                    hatch_pattern="hatch", hatch_color="hatch_color", hatch_scale=8, hatch_weight=1)  # fmt: skip
        gutter.text("x", "y", "text", source=s["head_text"], text_color="color", text_font_style="style", text_align="align",
                    text_font_size=FONT_SIZE, text_baseline="middle", name="words")  # fmt: skip
        main.quad("left", "right", "top", "bottom", source=s["shade"], fill_color="fill", line_color=None)
        main.segment("x0", "y0", "x1", "y1", source=s["lanes"], line_color="color")
        gaps = main.quad("left", "right", "top", "bottom", source=s["gaps"], fill_color=None, line_color="line",
                         line_dash=[2, 2])  # fmt: skip
        blocks = main.quad("left", "right", "top", "bottom", source=s["blocks"], fill_color="fill", line_color=None,
                           hatch_pattern="hatch", hatch_color="hatch_color", hatch_scale=8, hatch_weight=1)  # fmt: skip
        main.segment("x0", "y0", "x1", "y1", source=s["caps"], line_color="color", line_width="width")
        bars = main.quad("left", "right", "top", "bottom", source=s["bars"], fill_color="fill", line_color="line",
                         line_width="line_width", hatch_pattern="hatch", hatch_color="hatch_color", hatch_scale=8,
                         hatch_weight=1)  # fmt: skip
        main.segment("x0", "y0", "x1", "y1", source=s["critical"], line_color="color", line_width=2)
        main.multi_line("xs", "ys", source=s["brackets"], line_color="color")
        main.segment("x0", "y0", "x1", "y1", source=s["lines"], line_color="color", line_dash="dash", line_width=1.25)
        self._labels = Labels(main, s["bars"], s["gaps"])
        main.text("x", "y", "text", source=s["notes"], text_color="color", text_font_style="style", text_align="align",
                  x_offset="dx", text_font_size=FONT_SIZE, text_baseline="middle", name="words",
                  background_fill_color="fill", background_fill_alpha=0.9)  # fmt: skip
        add_hover(main, [bars], [("", "@full"), ("", "@op"), ("", "@span"), ("", "@cores")])
        add_hover(main, [gaps], [("", "@text")])
        add_hover(main, [blocks], [("", "@text")])
        add_zoom(main)
        main.on_event(Tap, self._tap)
        gutter.on_event(Tap, self._tap_head)
        self._figures = (gutter, main)
        self._restyle(theme)
        return row(gutter, main, sizing_mode="stretch_width", spacing=0)

    def _theme(self) -> Theme:
        return (self._ctx.theme if self._ctx else None) or self.host.head.theme()

    def _restyle(self, theme: Theme) -> None:
        if self._figures is not None and self._labels is not None:
            for f in self._figures:
                style(f, theme)
                f.select_one({"name": "words"}).glyph.text_font = value(theme.font)
            self._figures[0].xgrid.visible = False
            self._labels.style(theme)

    # ---------------------------------------------------------------- data
    def update(self, ctx: PanelContext) -> None:
        """Show the final timeline with the selection of ``ctx``."""
        self._ctx = ctx
        t = ctx.timeline
        self.host.head.lang = ctx.lang
        if t is None:
            self.picture = self.layout = None
            self.host.head.html = f'<p class="gxp-note">{text(NONE, ctx.lang)}</p>'
            for source in self.sources.values():
                source.data = {k: [] for k in source.data}
            return
        theme = self._theme()
        single = ctx.single("makespan_ns")
        p = timeline.build(ctx.session.trace.final, t, ctx.identities_at(ctx.final_step), single_ns=single,
                           windows=windows_of(ctx))  # fmt: skip
        self.picture, self.layout = p, place(p)
        self.host.head.html = head_html(p, ctx.lang)
        self._fill(
            p, self.layout, theme, ctx.lang, picked_nodes(ctx), {r.id for r in ctx.selected if r.kind == "stream"}
        )
        key = (self.layout.height, self.layout.end_us, theme)
        if self._figures is not None and key != self._shown:
            for f in self._figures:
                f.height = self.layout.height + TOP + BOTTOM
                f.y_range.start = self.layout.height
            self._figures[1].x_range.update(start=0, end=self.layout.end_us)
            self._restyle(theme)
        self._shown = key

    def _set(self, name: str, rows: list[dict[str, Any]], columns: str) -> None:
        self.sources[name].data = {c: [r[c] for r in rows] for c in columns.split()}

    def _fill(
        self, p: TimelinePicture, lay: Layout, theme: Theme, lang: str, picked: set[int], streams: set[int]
    ) -> None:
        k = 1 / 1000
        index = [x.mark.index for x in p.lanes]
        bars = []
        for b in p.bars:
            top, bottom = lay.lane(b.lane)
            i, chosen = index[b.lane], b.ref.id in picked and b.count == 1
            wide = (b.end_ns - b.start_ns) * 300 > p.span_ns
            origin = "" if b.count > 1 else f" {b.origin.mark} {b.origin.text.get(lang)}"
            bars.append({
                "left": b.start_ns * k, "right": b.end_ns * k, "top": top, "bottom": bottom, "ty": (top + bottom) / 2,
                "room": bottom - top, "name": b.name, "more": f"{(b.end_ns - b.start_ns) * k:,.1f}", "fill": theme.bar(i),
                "solid": theme.stream(i),
                "line": theme.ink if chosen else theme.stream(i), "line_width": 2 if chosen else 1,
                "hatch": BOKEH_HATCH[hatch(i)] if wide else " ", "hatch_color": theme.hatch(i), "full": b.name, "op": b.op,
                "span": f"{b.start_ns * k:,.1f} – {b.end_ns * k:,.1f} us ({us(b.end_ns - b.start_ns)}){origin}",
                "cores": f"{b.aic} AIC, {b.aiv} AIV",
            })  # fmt: skip
        self._set(
            "bars",
            bars,
            "left right top bottom ty room name more fill solid line line_width hatch hatch_color full op span cores",
        )
        gaps = []
        for g in p.gaps:
            top, bottom = lay.lane(g.lane)
            gaps.append({"left": g.start_ns * k, "right": g.end_ns * k, "top": top + 5, "bottom": bottom - 5,
                         "ty": (top + bottom) / 2,
                         "text": g.text.get(lang), "short": g.short, "line": theme.ink3})  # fmt: skip
        self._set("gaps", gaps, "left right top bottom ty text short line")
        critical = [{"x0": a * k, "x1": b * k, "y0": lay.lane(x)[1] + 3, "y1": lay.lane(x)[1] + 3, "color": theme.ink}
                    for x, a, b in p.critical]  # fmt: skip
        self._set("critical", critical, "x0 x1 y0 y1 color")
        self._fill_cores(p, lay, theme, lang, index)
        self._fill_frame(p, lay, theme, lang, streams)

    def _fill_cores(self, p: TimelinePicture, lay: Layout, theme: Theme, lang: str, index: list[int]) -> None:
        k = 1 / 1000
        blocks, caps = [], []
        for n, use in enumerate(p.cores):
            top, bottom = lay.core(n)
            unit = (bottom - top) / use.total
            for c in use.blocks:
                i = index[c.lane]
                a, b = bottom - min(c.base, use.total) * unit, bottom - min(c.base + c.cores, use.total) * unit
                wide = (c.end_ns - c.start_ns) * 300 > p.span_ns
                tip = f"{p.lanes[c.lane].mark.letter}: {c.cores} / {use.total} {use.kind.get(lang)}"
                blocks.append({"left": c.start_ns * k, "right": c.end_ns * k, "top": b, "bottom": a, "fill": theme.area(i),
                               "hatch": BOKEH_HATCH[hatch(i)] if wide else " ",
                               "hatch_color": mix(theme.stream(i), theme.area(i), 40),
                               "text": tip})  # fmt: skip
                caps.append(
                    {
                        "x0": c.start_ns * k,
                        "x1": c.end_ns * k,
                        "y0": b,
                        "y1": b,
                        "color": theme.stream(i),
                        "width": 1.25,
                    }
                )
            caps += [
                {"x0": a * k, "x1": b * k, "y0": top - 3, "y1": top - 3, "color": theme.error, "width": 3}
                for a, b in use.over
            ]
            for y in (top, bottom):
                caps.append({"x0": 0, "x1": lay.end_us, "y0": y, "y1": y, "color": theme.line2, "width": 1})
        self._set("blocks", blocks, "left right top bottom fill hatch hatch_color text")
        self._set("caps", caps, "x0 x1 y0 y1 color width")

    def _fill_frame(self, p: TimelinePicture, lay: Layout, theme: Theme, lang: str, streams: set[int]) -> None:
        heads, words, lines = [], [], []
        for n, x in enumerate(p.lanes):
            top, bottom = lay.lane(n)
            middle, i = (top + bottom) / 2, x.mark.index
            heads.append({"left": 8, "right": 26, "top": middle - 9, "bottom": middle + 9, "fill": theme.bar(i),
                          "hatch": " ", "hatch_color": theme.hatch(i)})  # fmt: skip
            heads.append({"left": 8, "right": 11, "top": middle - 9, "bottom": middle + 9, "fill": theme.stream(i), "hatch": " ",
                          "hatch_color": theme.bg})  # fmt: skip
            words.append(
                {"x": 18.5, "y": middle, "text": x.mark.letter, "color": theme.ink, "style": "bold", "align": "center"}
            )
            chosen = "bold" if x.mark.stream in streams else "normal"
            words.append(
                {
                    "x": 32,
                    "y": middle,
                    "text": x.mark.role.get(lang),
                    "color": theme.ink,
                    "style": chosen,
                    "align": "left",
                }
            )
            for y in (lay.lane_edge(n), lay.lane_edge(n + 1)):
                lines.append({"x0": 0, "x1": lay.end_us, "y0": y, "y1": y, "color": theme.line})
        of = Text("of {n}", "共 {n}")
        for n, use in enumerate(p.cores):
            top, _ = lay.core(n)
            words.append(
                {
                    "x": 8,
                    "y": top + 8,
                    "text": use.kind.get(lang),
                    "color": theme.ink,
                    "style": "normal",
                    "align": "left",
                }
            )
            words.append({"x": 8, "y": top + 22, "text": of.format(n=use.total).get(lang), "color": theme.ink2, "style": "normal",
                          "align": "left"})  # fmt: skip
        self._set("heads", heads, "left right top bottom fill hatch hatch_color")
        self._set("head_text", words, "x y text color style align")
        self._set("lanes", lines, "x0 x1 y0 y1 color")
        d = lay.drawing(p, lang)
        color = {"ink": theme.ink, "ink2": theme.ink2, "bg": theme.bg, "soft2": theme.soft2}
        self._set("shade", [{**s, "fill": theme.soft2} for s in d.shade], "left right top bottom fill")
        self._set("brackets", [{**b, "color": theme.ink2} for b in d.brackets], "xs ys color")
        self._set("lines", [{**x, "color": color[x["color"]]} for x in d.lines], "x0 x1 y0 y1 color dash")
        self._set("notes", [{**x, "color": color[x["color"]], "fill": color[x["fill"]]} for x in d.notes],
                  "x y text color style align dx fill")  # fmt: skip

    # ---------------------------------------------------------------- clicks
    def _tap(self, e: Tap) -> None:
        ref = self.hit(e.x, e.y)
        if self.on_select is not None and e.x is not None:
            self.on_select((ref,) if ref is not None else ())

    def _tap_head(self, e: Tap) -> None:
        p, lay = self.picture, self.layout
        if p is None or lay is None or self.on_select is None:
            return
        n = lay.lane_at(e.y)
        if n is not None:
            self.on_select((stream_ref(p.lanes[n].mark.stream),))

    def hit(self, x_us: float | None, y: float | None) -> Ref | None:
        """What is at a place (us, px from the top): the task, else what a gap waits for; None on empty ground."""
        if self.picture is None or self.layout is None or x_us is None or y is None:
            return None
        lane = self.layout.lane_at(y)
        if lane is None:
            return None
        ns, near = x_us * 1000, self.picture.span_ns / 300
        bars = [b for b in self.picture.bars if b.lane == lane]
        inside = [b for b in bars if b.start_ns <= ns <= b.end_ns]
        close = inside or [b for b in bars if min(abs(b.start_ns - ns), abs(b.end_ns - ns)) <= near]
        if close:
            return min(close, key=lambda b: abs((b.start_ns + b.end_ns) / 2 - ns)).ref
        return next((g.ref for g in self.picture.gaps if g.lane == lane and g.start_ns <= ns <= g.end_ns), None)

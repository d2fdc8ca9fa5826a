"""Timeline picture as SVG: same rows as the Bokeh panel. Bars and gaps carry ``data-ref`` and a ``<title>``."""

from __future__ import annotations

from dataclasses import replace
from html import escape

from ge_explorer.views.marks import us
from ge_explorer.views.svg_text import LIGHT, document, fit, line, patterns, rect, stream_box, width, words
from ge_explorer.views.timeline import Bar, GapBar, TimelinePicture
from ge_explorer.views.timeline_layout import GUTTER, Layout, place

_AXIS = 20


def svg(p: TimelinePicture, lang: str = "en", px: int = 1000, end_us: float = 0.0) -> str:
    """Drawing ``px`` wide. ``end_us``: right end of the axis where another timeline sets it."""
    lay = place(p)
    lay = replace(lay, end_us=max(lay.end_us, end_us))
    scale = (px - GUTTER - 8) / lay.end_us
    out = [patterns(x.mark.index for x in p.lanes), _axis(lay, scale)]
    d = lay.drawing(p, lang)

    def x(us_: float) -> float:
        return GUTTER + us_ * scale

    for s in d.shade:
        out.append(rect(x(s["left"]), _AXIS + s["top"], (s["right"] - s["left"]) * scale, s["bottom"] - s["top"],
                        fill=LIGHT.soft2, fill_class="f-soft2"))  # fmt: skip
    for n, lane in enumerate(p.lanes):
        out.append(_head(lay, n, lane.mark.index, lane.mark.letter, lane.mark.role.get(lang), lane.mark.stream))
        out.append(line(GUTTER, _AXIS + lay.lane_edge(n + 1), px - 8, _AXIS + lay.lane_edge(n + 1), "line"))
    out += [_gap(g, lay, scale, lang) for g in p.gaps]
    out += [_bar(b, lay, scale, p.lanes[b.lane].mark.index, lang) for b in p.bars]
    for lane_no, a, b in p.critical:
        y = _AXIS + lay.lane(lane_no)[1] + 3
        out.append(line(x(a / 1000), y, x(b / 1000), y, "ink", 2))
    out.append(_cores(p, lay, scale, lang, px))
    for br in d.brackets:
        points = " ".join(f"{x(a):.1f},{_AXIS + b:.1f}" for a, b in zip(br["xs"], br["ys"], strict=True))
        out.append(f'<polyline class="s-ink2" points="{points}" fill="none" stroke="{LIGHT.ink2}"/>')
    for ln in d.lines:
        out.append(line(x(ln["x0"]), _AXIS + ln["y0"], x(ln["x1"]), _AXIS + ln["y1"], ln["color"], 1.25,
                        "" if ln["dash"] == "solid" else "4 3"))  # fmt: skip
    anchors = {"left": "start", "right": "end", "center": "middle"}
    for n_ in d.notes:
        out.append(words(x(n_["x"]) + n_["dx"], _AXIS + n_["y"] + 4, n_["text"], role=n_["color"], bold=n_["style"] == "bold",
                         anchor=anchors[n_["align"]], halo=n_["fill"]))  # fmt: skip
    return document(px, _AXIS + lay.height, "".join(out), p.alt.get(lang), "gx-timeline")


def ticks(end: float, room: float) -> list[float]:
    """Round positions from 0 to ``end``, at least 60 px apart on ``room`` px.

    >>> ticks(205, 900)
    [0.0, 20.0, 40.0, 60.0, 80.0, 100.0, 120.0, 140.0, 160.0, 180.0, 200.0]
    """
    least = end * 60 / max(room, 60)
    base = 10.0 ** len(str(int(least))) / 10 if least >= 1 else 0.1
    step = next((base * m for m in (1, 2, 5, 10, 20, 50) if base * m >= least), base * 100)
    return [round(k * step, 6) for k in range(int(end / step + 1e-9) + 1)]


def _axis(lay: Layout, scale: float) -> str:
    out = []
    for v in ticks(lay.end_us, lay.end_us * scale):
        at = GUTTER + v * scale
        out.append(line(at, _AXIS, at, _AXIS + lay.height - 2, "line"))
        out.append(
            words(at, 13, f"{v:,g}" + (" us" if v == 0 else ""), role="ink2", anchor="start" if v == 0 else "middle")
        )
    return "".join(out)


def _head(lay: Layout, n: int, index: int, letter: str, role: str, stream: int) -> str:
    top, bottom = lay.lane(n)
    y = _AXIS + (top + bottom) / 2
    box = stream_box(8, y - 9, 18, 18, index)
    text = words(18.5, y + 4, letter, bold=True, anchor="middle") + words(32, y + 4, fit(role, GUTTER - 36))
    return f'<g class="pick" data-ref="stream:{stream}" tabindex="0">{box}{text}</g>'


def _bar(b: Bar, lay: Layout, scale: float, index: int, lang: str) -> str:
    top, bottom = lay.lane(b.lane)
    left, w = GUTTER + b.start_ns / 1000 * scale, (b.end_ns - b.start_ns) / 1000 * scale
    y, h = _AXIS + top, bottom - top
    label = ""
    if w > 26 and h >= 12:
        name = fit(b.name, w - 14, bold=True)
        if name:
            took = f"{(b.end_ns - b.start_ns) / 1000:,.1f}"
            both = name == b.name and w > width(b.name, bold=True) + width(took) + 18
            label = words(left + 8, y + h / 2 + 4, name, bold=True, light=took if both else "")
    origin = "" if b.count > 1 else f" {b.origin.text.get(lang)}"
    tip = f"{b.name} {b.op} {b.start_ns / 1000:,.1f} – {b.end_ns / 1000:,.1f} us{origin}, {b.aic} AIC, {b.aiv} AIV"
    ref = f' data-ref="{b.ref}" tabindex="0"' if b.count == 1 else ""
    return f'<g class="pick"{ref}><title>{escape(tip)}</title>{stream_box(left, y, w, h, index)}{label}</g>'


def _gap(g: GapBar, lay: Layout, scale: float, lang: str) -> str:
    top, bottom = lay.lane(g.lane)
    left, w = GUTTER + g.start_ns / 1000 * scale, (g.end_ns - g.start_ns) / 1000 * scale
    y, h = _AXIS + top + 5, bottom - top - 10
    if w < 1:
        return ""
    why = g.text.get(lang)
    body = rect(left, y, w, h, stroke=LIGHT.ink3, stroke_class="s-ink3", dash="2 2", fill="transparent")
    if w > width(why) + 14:
        body += words(left + 8, y + h / 2 + 4, why, role="ink2", halo="bg")
    elif g.short and w > 11 + 4 * len(g.short):
        cx, cy = left + w / 2, y + h / 2
        r = 5 + 2 * len(g.short)
        shape = (
            f'<circle class="f-bg s-ink" cx="{cx:.1f}" cy="{cy:.1f}" r="{r}" fill="{LIGHT.bg}" stroke="{LIGHT.ink}"/>'
        )
        if g.short == "c":
            shape = rect(
                cx - 6.5, cy - 6.5, 13, 13, fill=LIGHT.bg, fill_class="f-bg", stroke=LIGHT.ink, stroke_class="s-ink"
            )
        body += shape + words(cx, cy + 4, g.short, anchor="middle")
    ref = f' data-ref="{g.ref}"' if g.ref is not None else ""
    return f'<g class="pick"{ref}><title>{escape(why)}</title>{body}</g>'


def _cores(p: TimelinePicture, lay: Layout, scale: float, lang: str, px: int) -> str:
    out = []
    for n, use in enumerate(p.cores):
        top, bottom = lay.core(n)
        unit = (bottom - top) / use.total
        out.append(words(8, _AXIS + top + 12, use.kind.get(lang)))
        out.append(words(8, _AXIS + top + 26, f"{'共' if lang == 'zh' else 'of'} {use.total}", role="ink2"))
        for c in use.blocks:
            left, w = GUTTER + c.start_ns / 1000 * scale, (c.end_ns - c.start_ns) / 1000 * scale
            high, low = bottom - min(c.base + c.cores, use.total) * unit, bottom - min(c.base, use.total) * unit
            mark = p.lanes[c.lane].mark
            tip = f"{mark.letter}: {c.cores} / {use.total}, {us(c.start_ns)} – {us(c.end_ns)}"
            box = stream_box(left, _AXIS + high, w, low - high, mark.index, area=True)
            out.append(f"<g><title>{escape(tip)}</title>{box}</g>")
        out += [rect(GUTTER + a / 1000 * scale, _AXIS + top - 4, (b - a) / 1000 * scale, 3, fill=LIGHT.error, fill_class="f-error")
                for a, b in use.over]  # fmt: skip
        out += [line(GUTTER, _AXIS + y, px - 8, _AXIS + y, "line2") for y in (top, bottom)]
    return "".join(out)

"""Memory map picture as SVG: lifetime × address, held bytes hatched, live curve, peak and bound lines."""

from __future__ import annotations

from html import escape

from ge_explorer.text import Text
from ge_explorer.views.marks import size, us
from ge_explorer.views.memory_map import MemoryPicture, Rect
from ge_explorer.views.svg_text import LIGHT, document, fit, line, patterns, rect, stream_box, width, words
from ge_explorer.views.svg_timeline import ticks
from ge_explorer.views.wording import axis_unit

_LEFT, _TOP, _BOTTOM = 44, 18, 20


def svg(p: MemoryPicture, lang: str = "en", px: int = 740, height: int = 280) -> str:
    """Drawing ``px`` wide and ``height`` tall."""
    top = max(p.peak, p.single_peak or 0, p.peak_live, 1) * 1.06
    sx, sy = (px - _LEFT - 10) / max(1, p.end), (height - _TOP - _BOTTOM) / top
    base = height - _BOTTOM

    def x(v: float) -> float:
        return _LEFT + v * sx

    def y(nbytes: float) -> float:
        return base - nbytes * sy

    name, one = axis_unit(top)
    out = [patterns(r.mark.index for r in p.rects if r.mark.index >= 0), words(4, 12, name, role="ink2")]
    for v in ticks(top / one, (height - _TOP - _BOTTOM) * 1.6):
        out.append(line(_LEFT, y(v * one), px - 10, y(v * one), "line"))
        out.append(words(_LEFT - 6, y(v * one) + 4, f"{v:,g}", role="ink2", anchor="end"))
    unit = 1000 if p.axis == "time" else 1
    for v in ticks(p.end / unit, px - _LEFT):
        first = " us" if v == 0 and p.axis == "time" else ""
        out.append(
            words(x(v * unit), height - 5, f"{v:,g}{first}", role="ink2", anchor="start" if v == 0 else "middle")
        )
    out += [_rect(r, p, x(r.begin), x(r.last_use), x(r.free), y(r.offset + r.size), y(r.offset), lang) for r in p.rects]
    points, last = [], 0
    for at, live in p.live:
        points += [f"{x(at):.1f},{y(last):.1f}", f"{x(at):.1f},{y(live):.1f}"]
        last = live
    out.append(
        f'<polyline class="s-ink2" points="{" ".join(points)}" fill="none" stroke="{LIGHT.ink2}" stroke-width="1.25"/>'
    )
    lines = [(p.peak, Text("peak", "峰值"), "ink", "")]
    if p.single_peak is not None and p.single_peak != p.peak:
        lines.append((p.single_peak, Text("single stream", "单流"), "ink2", "4 3"))
    if p.lower_bound and p.lower_bound != p.peak:
        lines.append((p.lower_bound, Text("lower bound", "下界"), "ink2", "1 3"))
    used: list[float] = []
    for nbytes, word, role, dash in lines:
        at_y = y(nbytes)
        near = any(abs(at_y - u) < 14 for u in used)
        used.append(at_y)
        out.append(line(_LEFT, at_y, px - 10, at_y, role, 1.25, dash))
        out.append(words(px - 12 - (170 if near else 0), at_y - 4, f"{word.get(lang)} {size(nbytes)}", role=role,
                         bold=role == "ink",                         anchor="end", halo="bg"))  # fmt: skip
    return document(px, height, "".join(out), p.alt.get(lang), "gx-memory")


def _rect(r: Rect, p: MemoryPicture, x0: float, x1: float, x2: float, high: float, low: float, lang: str) -> str:
    h, w = low - high, max(x1 - x0, 1.0)
    body = ""
    if x2 > x1 + 0.5:
        body += f'<rect x="{x1:.1f}" y="{high:.1f}" width="{x2 - x1:.1f}" height="{h:.1f}" fill="url(#gxheld)"/>'
        body += rect(x1, high, x2 - x1, h, stroke=LIGHT.ink2, stroke_class="s-ink2", dash="3 2")
        if r.held is not None and h >= 12 and x2 - x1 > width(r.held.get(lang)) + 14:
            body += words(x1 + 8, (high + low) / 2 + 4, r.held.get(lang), role="ink2", halo="bg")
    body += stream_box(x0, high, w, h, r.mark.index, hatched=h > 8)
    name = fit(r.name, w - 14, bold=True) if h >= 12 and w > 26 else ""
    if name:
        at = high + 13 if h > 34 else (high + low) / 2 + 4
        both = name == r.name and w > width(r.name, bold=True) + width(size(r.size)) + 18
        body += words(x0 + 8, at, name, bold=True, light=size(r.size) if both else "")
    span = f"{us(r.begin)} – {us(r.last_use)}" if p.axis == "time" else f"{r.begin} – {r.last_use}"
    held = f", {r.held.get(lang)}" if r.held is not None else ""
    tip = f"{r.name} {size(r.size)} @ {r.offset:,} B, {span}{held}"
    return f'<g class="pick" data-ref="{r.ref}" tabindex="0"><title>{escape(tip)}</title>{body}</g>'

"""Pieces of SVG: escaped text, measured text, hatch patterns, and colours that follow the page's theme.

Colours are written twice: as plain values (so that the file works anywhere) and as classes that a page may override for its
dark theme with ``dark_css``.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from ge_explorer.views.palette import hatch
from ge_explorer.views.theme import Theme, mix

LIGHT, DARK = Theme.named("light"), Theme.named("dark")
_NARROW, _WIDE = frozenset("ijltfr.,:;'|!()[] "), frozenset("mwMW@%")
_ROLES = ("ink", "ink2", "ink3", "line", "line2", "soft2", "bg", "error")


def width(text: str, px: float = 11, bold: bool = False) -> float:
    """Width of a text in px, on the generous side (Inter and DejaVu Sans)."""
    total = 0.0
    for c in text:
        if ord(c) > 0x2E7F:
            total += 1.0
        elif c in _NARROW:
            total += 0.38
        elif c in _WIDE:
            total += 0.95
        else:
            total += 0.72 if c.isupper() else 0.63
    return total * px * (1.06 if bold else 1.0)


def fit(text: str, room: float, px: float = 11, bold: bool = False) -> str:
    """Text cut with an ellipsis to ``room`` px; "" when not even two characters fit."""
    if width(text, px, bold) <= room:
        return text
    for n in range(len(text) - 1, 1, -1):
        if width(text[:n] + "…", px, bold) <= room:
            return text[:n] + "…"
    return ""


def words(
    x: float,
    y: float,
    text: str,
    *,
    role: str = "ink",
    bold: bool = False,
    anchor: str = "start",
    halo: str = "",
    light: str = "",
) -> str:
    """Text at a baseline. ``halo``: role of the ground it must stand out from; ``light`` follows in regular weight."""
    weight = ' font-weight="600"' if bold else ""
    around = ""
    if halo:
        around = f' stroke="{getattr(LIGHT, halo)}" stroke-width="3" stroke-linejoin="round" paint-order="stroke"'
    more = f'<tspan font-weight="400" dx="5">{escape(light)}</tspan>' if light else ""
    css = f"f-{role}" + (f" s-{halo}" if halo else "")
    return (
        f'<text class="{css}" x="{x:.1f}" y="{y:.1f}" fill="{getattr(LIGHT, role)}" text-anchor="{anchor}"{weight}{around}>'
        f"{escape(text)}{more}</text>"
    )


def line(x0: float, y0: float, x1: float, y1: float, role: str, stroke: float = 1, dash: str = "") -> str:
    """Straight line in a role's colour."""
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    return (
        f'<line class="s-{role}" x1="{x0:.1f}" y1="{y0:.1f}" x2="{x1:.1f}" y2="{y1:.1f}" stroke="{getattr(LIGHT, role)}" '
        f'stroke-width="{stroke}"{dashed}/>'
    )


def rect(x: float, y: float, w: float, h: float, *, fill: str = "none", fill_class: str = "", stroke: str = "none",
         stroke_class: str = "", stroke_width: float = 1, dash: str = "", extra: str = "") -> str:  # fmt: skip
    """Rectangle; fill and stroke are plain colours with the classes that override them."""
    css = " ".join(c for c in (fill_class, stroke_class) if c)
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    return (
        f'<rect class="{css}" x="{x:.1f}" y="{y:.1f}" width="{max(w, 0.5):.1f}" height="{max(h, 0.5):.1f}" fill="{fill}" '
        f'stroke="{stroke}" stroke-width="{stroke_width}"{dashed}{extra}/>'
    )


def stream_box(x: float, y: float, w: float, h: float, index: int, *, area: bool = False, hatched: bool = True) -> str:
    """Tinted box with solid edge and hatch of an identity: the stream's mark in bars, rectangles and areas."""
    fill, css = (LIGHT.area(index), "a") if area else (LIGHT.bar(index), "b")
    k = index % 8
    stroke = {} if area else {"stroke": LIGHT.stream(index), "stroke_class": f"e{k}"}
    out = rect(x, y, w, h, fill=fill, fill_class=f"{css}{k}", **stroke)  # type: ignore[arg-type]  # two known keywords
    if hatched and w > 6 and hatch(index) != "none":
        out += f'<rect x="{x:.1f}" y="{y:.1f}" width="{w:.1f}" height="{h:.1f}" fill="url(#gxh{index})" pointer-events="none"/>'
    if not area:
        out += rect(x, y, min(3.0, w), h, fill=LIGHT.stream(index), fill_class=f"k{k}")
    return out


_TILES = {
    "slash": "M0 6L6 0M-1 1L1 -1M5 7L7 5",
    "backslash": "M0 0L6 6M-1 5L1 7M5 -1L7 1",
    "horizontal": "M0 3H6",
    "vertical": "M3 0V6",
    "cross": "M0 0L6 6M0 6L6 0",
    "plus": "M3 0V6M0 3H6",
    "dots": "M3 2.2V3.8",
}


def patterns(indices: Iterable[int]) -> str:
    """Hatch patterns of the identities in use, and the grey one of held memory."""
    out = []
    for i in sorted(set(indices)):
        kind = hatch(i)
        if kind != "none":
            colour = mix(LIGHT.stream(i), LIGHT.bar(i), 45)
            out.append(_pattern(f"gxh{i}", _TILES[kind], colour, f"h{i % 8}"))
    out.append(_pattern("gxheld", _TILES["slash"], LIGHT.ink3, "s-ink3"))
    return f"<defs>{''.join(out)}</defs>"


def _pattern(name: str, path: str, colour: str, css: str) -> str:
    return (
        f'<pattern id="{name}" width="6" height="6" patternUnits="userSpaceOnUse">'
        f'<path class="{css}" d="{path}" stroke="{colour}" stroke-width="1" fill="none" opacity="0.75"/></pattern>'
    )


def document(w: float, h: float, body: str, alt: str, css_class: str) -> str:
    """Whole SVG element with its sentence as title and label."""
    font = escape(LIGHT.font, quote=True)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="gx-picture {css_class}" viewBox="0 0 {w:.0f} {h:.0f}" width="{w:.0f}" '
        f'height="{h:.0f}" role="img" aria-label="{escape(alt, quote=True)}" font-family="{font}" font-size="11">'
        f"<title>{escape(alt)}</title>{body}</svg>"
    )


def dark_css(scope: str = '[data-theme="dark"] .gx-picture') -> str:
    """Rules that turn the light pictures dark inside a page."""
    out = []
    for r in _ROLES:
        colour = getattr(DARK, r)
        out.append(f"{scope} .f-{r}{{fill:{colour}}}{scope} .s-{r}{{stroke:{colour}}}")
    for i in range(8):
        out.append(
            f"{scope} .b{i}{{fill:{DARK.bar(i)}}}{scope} .a{i}{{fill:{DARK.area(i)}}}{scope} .k{i}{{fill:{DARK.stream(i)}}}"
            f"{scope} .e{i}{{stroke:{DARK.stream(i)}}}{scope} .h{i}{{stroke:{mix(DARK.stream(i), DARK.bar(i), 45)}}}"
        )
    return "".join(out)

"""Taken bytes of two memory plans on one axis as SVG: A dashed and secondary, B solid ink on a faint ground, both peaks as lines.

No stream colours: the two curves are two plans, not streams. In a notebook and in the export the classes follow the theme.
"""

from __future__ import annotations

import numpy as np

from ge_explorer.text import Text
from ge_explorer.views.marks import number, size
from ge_explorer.views.memory_curve import taken_curve
from ge_explorer.views.memory_life import Lives
from ge_explorer.views.svg_text import LIGHT, document, fit, line, width, words
from ge_explorer.views.svg_timeline import ticks

LEFT, RIGHT, TOP, BELOW = 60, 12, 22, 34
_MIB = 2**20
_UNITS = (("B", 1), ("KiB", 2**10), ("MiB", _MIB), ("GiB", 2**30))


def svg(a: Lives, b: Lives, titles: tuple[Text, Text], lang: str = "en", px: int = 1000, height: int = 210) -> str:
    """Both curves, ``px`` wide. With one axis in time and one in nodes both run from 0 to 100 % of their own order."""
    timed = a.axis == b.axis == "time"
    ends = (max(a.end, 1), max(b.end, 1))
    end = max(ends)
    room, floor = px - LEFT - RIGHT, height - BELOW
    curves = [taken_curve(a), taken_curve(b)]
    peaks = [int(total.max(initial=0)) for _, total in curves]
    plans = [a.plan.peak, b.plan.peak]
    top = max(*peaks, *plans, 1) * 1.08

    def y(nbytes: float) -> float:
        return TOP + (floor - TOP) * (1 - nbytes / top)

    def x(side: int, at: float) -> float:
        return LEFT + room * at / (end if timed else ends[side])

    out = [_axes(top, y, end, room, floor, timed, px, lang)]
    for side in (1, 0):
        at, total = curves[side]
        points = _steps([x(side, float(p)) for p in at], [y(float(t)) for t in total], x(side, float(ends[side])))
        role, dash, stroke = ("ink", "", 1.75) if side else ("ink2", "5 3", 1.5)
        if side:
            ground = f"M{points[0]} L" + " ".join(points[1:]) + f" V{y(0):.1f} H{points[0].split(',')[0]} Z"
            out.append(f'<path class="f-soft2" d="{ground}" fill="{LIGHT.soft2}"/>')
        dashed = f' stroke-dasharray="{dash}"' if dash else ""
        out.append(
            f'<polyline class="s-{role}" points="{" ".join(points)}" fill="none" stroke="{getattr(LIGHT, role)}" '
            f'stroke-width="{stroke}"{dashed}/>'
        )
    out.append(_legend(titles, plans, px, lang))
    d = plans[1] - plans[0]
    alt = Text(
        f"Taken bytes of A and B on one axis; A needs {size(plans[0])}, B {size(plans[1])} ({size(d, signed=True)}).",
        f"A 与 B 的占用字节画在同一坐标上；A 需要 {size(plans[0])}，B 需要 {size(plans[1])}（{size(d, signed=True)}）。",
    )
    return document(px, height, "".join(out), alt.get(lang), "gx-memory-ab")


def _steps(xs: list[float], ys: list[float], end: float) -> list[str]:
    """Corner points of a step curve."""
    out: list[str] = []
    for k, (p, q) in enumerate(zip(xs, ys, strict=True)):
        out += [f"{p:.1f},{ys[k - 1]:.1f}", f"{p:.1f},{q:.1f}"] if k else [f"{p:.1f},{q:.1f}"]
    return [*out, f"{end:.1f},{ys[-1]:.1f}"]


def _axes(top: float, y: object, end: int, room: float, floor: float, timed: bool, px: int, lang: str) -> str:
    assert callable(y)
    unit, scale = next(((n, s) for n, s in reversed(_UNITS) if top >= 2 * s), _UNITS[0])
    out = []
    for v in _nice(top / scale):
        at = y(v * scale)
        out.append(line(LEFT, at, px - RIGHT, at, "line"))
        out.append(words(LEFT - 6, at + 4, f"{number(v, 0 if v == int(v) else 1)}", role="ink2", anchor="end"))
    out.append(words(LEFT - 6, TOP - 8, unit, role="ink2", anchor="end"))
    if timed:
        for t in ticks(end / 1000, room):
            at = LEFT + room * t * 1000 / end
            out.append(line(at, floor, at, floor + 4, "line2"))
            out.append(words(at, floor + 17, "0 us" if t == 0 else f"{t:,g}", role="ink2", anchor="middle"))
    else:
        for share in (0, 25, 50, 75, 100):
            at = LEFT + room * share / 100
            out.append(line(at, floor, at, floor + 4, "line2"))
            out.append(words(at, floor + 17, f"{share} %", role="ink2", anchor="end" if share == 100 else "middle"))
        name = Text("share of the run", "执行进度").get(lang)
        out.append(words(LEFT, floor + 31, name, role="ink2"))
    return "".join(out)


def _nice(top: float) -> list[float]:
    """Round values from 0 to ``top``, four or fewer steps.

    >>> _nice(37.0)
    [0.0, 10.0, 20.0, 30.0]
    """
    raw = top / 4
    base = 10.0 ** np.floor(np.log10(raw)) if raw > 0 else 1.0
    step = float(next(base * m for m in (1, 2, 2.5, 5, 10) if base * m >= raw))
    return [k * step for k in range(int(top / step) + 1)]


def _legend(titles: tuple[Text, Text], plans: list[int], px: int, lang: str) -> str:
    out, at = [], float(LEFT)
    for side in (0, 1):
        role, dash, stroke = ("ink", "", 1.75) if side else ("ink2", "5 3", 1.5)
        out.append(line(at, 9, at + 24, 9, role, stroke, dash))
        whole = f"{'AB'[side]}{'：' if lang == 'zh' else ': '}{titles[side].get(lang)}"
        said = f"{fit(whole, (px - LEFT) / 2 - 110)}, {size(plans[side])}"
        out.append(words(at + 30, 13, said, role=role))
        at += 30 + width(said) + 24
    return "".join(out)

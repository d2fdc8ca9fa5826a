"""Where the parts of a timeline picture go: rows in pixels from the top, horizontal places in microseconds.

Used by the Bokeh panel and by the SVG writer, so both look the same.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ge_explorer.text import Text
from ge_explorer.views.marks import us
from ge_explorer.views.timeline import TimelinePicture, Window

GUTTER = 96
_TOP, _BRACKET, _CORE, _CORE_GAP = 6, 26, 38, 10


@dataclass(frozen=True)
class Drawing:
    """Lines and notes in plain form; colours are names (ink, ink2, bg, soft2) for the drawer to fill in."""

    shade: list[dict[str, Any]] = field(default_factory=list)
    brackets: list[dict[str, Any]] = field(default_factory=list)
    lines: list[dict[str, Any]] = field(default_factory=list)
    notes: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class Layout:
    """Rows of a picture with ``lanes`` lanes of ``pitch`` px and ``cores`` core rows. ``end_us``: right end of the axis."""

    lanes: int
    cores: int
    pitch: int
    top: int
    below: int
    end_us: float

    @property
    def height(self) -> int:
        """Height of the drawing in px."""
        return self.top + self.lanes * self.pitch + self.below + self.cores * (_CORE + _CORE_GAP) + 2

    def lane_edge(self, n: int) -> int:
        """Line above lane ``n``."""
        return self.top + n * self.pitch

    def lane(self, n: int) -> tuple[int, int]:
        """Top and bottom of the bars of lane ``n``."""
        pad = 5 if self.pitch >= 30 else 2
        return self.lane_edge(n) + pad, self.lane_edge(n + 1) - pad - 1

    def lane_at(self, y: float | None) -> int | None:
        """Lane at a height; None outside the lanes."""
        n = int((y - self.top) // self.pitch) if y is not None else -1
        return n if 0 <= n < self.lanes else None

    def core(self, n: int) -> tuple[int, int]:
        """Top and bottom of core row ``n``."""
        top = self.lane_edge(self.lanes) + self.below + n * (_CORE + _CORE_GAP) + _CORE_GAP
        return top, top + _CORE

    def drawing(self, p: TimelinePicture, lang: str) -> Drawing:
        """Windows, overlap shade, makespan and single-stream lines with their texts."""
        d = Drawing()
        bottom = self.height - 2
        wins, k = p.windows, 1 / 1000
        below = self.lane_edge(self.lanes) + 4
        overlap = wins.overlap
        if overlap:
            a, b = overlap
            d.shade.append({"left": a * k, "right": b * k, "top": 2, "bottom": below + 8})
            if (b - a) * 10 > p.span_ns:
                word = Text("overlap", "重叠").get(lang)
                d.notes.append(_note((a + b) / 2 * k, 9, f"{word} {us(b - a)}", "ink", "bold", "center", 0, "soft2"))
        if wins.dominator:
            self._bracket(d, wins.dominator, 24, 6, lang)
        if wins.side:
            self._bracket(d, wins.side, below + 6, -6, lang)
        end = p.makespan_ns * k
        d.lines.append({"x0": end, "x1": end, "y0": 0, "y1": bottom, "color": "ink", "dash": "solid"})
        middle = (self.lane(0)[0] + self.lane(0)[1]) / 2 if self.lanes else 12
        d.notes.append(_note(end, middle - 7, us(p.makespan_ns), "ink", "bold", "left", 5, "bg"))
        if p.single_ns:
            x = p.single_ns * k
            d.lines.append({"x0": x, "x1": x, "y0": 0, "y1": bottom, "color": "ink2", "dash": "dashed"})
            word = Text("single", "单流").get(lang)
            right = x > 0.55 * self.end_us and not _near(p)
            y = middle + 8
            d.notes.append(
                _note(
                    x,
                    y,
                    f"{word} {us(p.single_ns)}",
                    "ink2",
                    "normal",
                    "right" if right else "left",
                    -4 if right else 4,
                    "bg",
                )
            )
        return d

    def _bracket(self, d: Drawing, w: Window, y: float, hook: float, lang: str) -> None:
        a, b = w.start_ns / 1000, w.end_ns / 1000
        d.brackets.append({"xs": [a, a, b, b], "ys": [y + hook, y, y, y + hook]})
        note = f"{w.name.get(lang)} {us(w.end_ns - w.start_ns)}"
        left = b < 0.7 * self.end_us
        d.notes.append(
            _note(b if left else a, y, note, "ink2", "normal", "left" if left else "right", 6 if left else -6, "bg")
        )


def place(p: TimelinePicture | None) -> Layout:
    """Layout of a picture; lanes get thinner from nine on. None gives an empty one."""
    if p is None:
        return Layout(1, 0, 38, _TOP, 0, 1.0)
    lanes = len(p.lanes)
    pitch = 38 if lanes <= 2 else 32 if lanes <= 8 else 28 if lanes <= 20 else 16
    top = _BRACKET + _TOP if p.windows.dominator else _TOP
    below = 22 if p.windows.side else 4
    room = 1.28 if _near(p) else 1.02  # a label that does not fit between the two lines stands right of the second
    end = max(p.makespan_ns * 1.16, (p.single_ns or 0) * room, 1) / 1000
    return Layout(max(1, lanes), len(p.cores), pitch, top, below, end)


def _near(p: TimelinePicture) -> bool:
    """The single-stream line follows the makespan so closely that its label does not fit between them."""
    return p.single_ns is not None and 0 <= p.single_ns - p.makespan_ns < 0.28 * p.single_ns


def _note(x: float, y: float, text: str, color: str, style: str, align: str, dx: float, fill: str) -> dict[str, Any]:
    return {"x": x, "y": y, "text": text, "color": color, "style": style, "align": align, "dx": dx, "fill": fill}

"""The graph canvas as static SVG: README, exports, saved notebooks. Same positions, routes and marks as in the browser.

Nodes, events and lane heads carry ``data-ref`` and a ``<title>``. Names come from files and are escaped.
"""

from __future__ import annotations

from collections.abc import Collection
from html import escape
from itertools import pairwise

import numpy as np

from ge_explorer.text import Text
from ge_explorer.views.layout_lanes import NODE_H, NODE_W, PILL_H
from ge_explorer.views.palette import NODE_TINT, hatch
from ge_explorer.views.picture import (
    EDGE_CONTROL,
    EDGE_LONG,
    KIND_DATA,
    NO_COMPARE,
    Frame,
    GraphPicture,
    LayoutName,
)
from ge_explorer.views.svg_text import LIGHT, document, fit, line, patterns, rect, stream_box, words
from ge_explorer.views.theme import mix

MAX_NODES = 1500
"""Larger pictures leave out what is right of this many nodes and say so: an SVG of 10,000 nodes serves nobody."""
_GUTTER, _MARGIN, _ROUND, _FOOT = 98.0, 10.0, 10.0, 22.0
_NO_STREAM = Text("no stream", "无流")
_GE_ID = Text("GE id", "GE 编号")
_LABEL = Text("label", "标签")
_NODES = Text("{n:,} nodes", "{n:,} 个节点")
_LATER = Text("not at this step", "此步尚无")
_NOT_HERE = Text("not here", "此处没有")
_LEFT_OUT = Text("The first {shown:,} of {n:,} nodes are drawn.", "仅绘制前 {shown:,} 个节点（共 {n:,} 个）。")
_REMOVED = Text("removed", "已删")

_STYLE = {
    "data": ("ink3", 1.25, "", "gxm-data"),
    "long": ("line2", 1.0, "", "gxm-data"),
    "control": ("ink2", 1.5, "1 3", "gxm-control"),
    "event": ("ink", 1.5, "5 3", "gxm-event"),
    "gone": ("ink3", 1.25, "5 3", "gxm-data"),
}


def svg(
    p: GraphPicture,
    step: int | None = None,
    compare: int | None = None,
    layout: LayoutName | None = None,
    lang: str = "en",
    selected: Collection[str] = (),
) -> str:
    """Drawing in world units (1 unit = 1 px). Defaults are the picture's own step, comparison and layout."""
    return _Writer(
        p,
        p.step if step is None else step,
        p.compare if compare is None else compare,
        layout or p.layout,
        lang,
        frozenset(selected),
    ).text()


class _Writer:
    def __init__(
        self, p: GraphPicture, step: int, compare: int, layout: LayoutName, lang: str, selected: frozenset[str]
    ) -> None:
        self.p, self.step, self.compare, self.lang, self.selected = p, step, compare, lang, selected
        self.lanes = layout == "lanes"
        self.k = 0 if self.lanes else 1
        self.state = p.state(step)
        self.frame: Frame = p.frames[self.state.frame]
        self.xy = self.frame.positions[self.k]
        self.colour = p.palette[step + 1]
        self.left = _GUTTER + _MARGIN if self.lanes else _MARGIN
        here = np.flatnonzero((self.colour != p.absent) & ~np.isnan(self.xy[:, 0]))
        self.total = len(here)
        self.shown = here[np.argsort(self.xy[here, 0], kind="stable")][:MAX_NODES]
        self.drawn = np.zeros(len(p.ids), bool)
        self.drawn[self.shown] = True
        size = self.frame.size[self.k]
        right = size[0] if self.total <= MAX_NODES else float(self.xy[self.shown, 0].max(initial=0)) + NODE_W / 2
        self.width = self.left + max(right, 200.0) + _MARGIN
        self.height = _MARGIN + size[1] + _FOOT

    def text(self) -> str:
        used = {int(c) for c in np.unique(self.colour) if c < self.p.no_stream}
        used |= {x.key for x in self.frame.lanes if x.key >= 0}
        parts = [patterns(used), _markers()]
        if self.lanes:
            parts.append(self._bands())
        parts += [self._edges(), self._folds() if self.lanes else "", *(self._node(int(i)) for i in self.shown)]
        parts.append(self._events())
        if self.total > MAX_NODES:
            note = _LEFT_OUT.get(self.lang).format(shown=MAX_NODES, n=self.total)
            parts.append(words(8, self.height - 6, note, role="ink2"))
        return document(self.width, self.height, "".join(parts), self.p.alt(self.step).get(self.lang), "gx-graph")

    def _at(self, x: float, y: float) -> tuple[float, float]:
        return self.left + x, _MARGIN + y

    # ---------------------------------------------------------------- lanes
    def _bands(self) -> str:
        out = []
        shade = True
        for band in self.frame.lanes:
            top, bottom = _MARGIN + band.top, _MARGIN + band.bottom
            if band.key < 0:
                out.append(words(8, min((top + bottom) / 2, top + 20) + 4, _NO_STREAM.get(self.lang), role="ink2"))
                continue
            if shade:
                out.append(
                    f'<rect class="f-ink" x="0" y="{top:.1f}" width="{self.width:.0f}" height="{bottom - top:.1f}" '
                    f'fill="{LIGHT.ink}" fill-opacity="0.04"/>'
                )
            shade = not shade
            out.append(line(0, top, self.width, top, "line") + line(0, bottom, self.width, bottom, "line"))
            out.append(self._head(band.key, top))
        return "".join(out)

    def _head(self, key: int, top: float) -> str:
        who = self.p.identities[key]
        row = next((r for r in self.state.streams if r[0] == key), None)
        room = _GUTTER - 12
        name = words(34, top + 20, fit(who.role.get(self.lang), room - 26, 12, True), bold=True)
        letter = words(19.5, top + 20, who.letter, bold=True, anchor="middle")
        if row is None:
            box = rect(8.5, top + 6.5, 19, 19, stroke=LIGHT.ink3, stroke_class="s-ink3", dash="2 2")
            return (
                box
                + letter
                + name
                + words(8, top + 41, (_NOT_HERE if self.p.alone else _LATER).get(self.lang), role="ink2")
            )
        first = f"{_GE_ID.get(self.lang)} {row[1]}"
        second = f"{_LABEL.get(self.lang)} {who.label}" if who.label else _NODES.get(self.lang).format(n=row[2])
        lines = words(8, top + 41, first, role="ink2") + words(8, top + 56, fit(second, room), role="ink2")
        return f'<g data-ref="stream:{row[1]}">{stream_box(8, top + 6, 20, 20, key)}{letter}{name}{lines}</g>'

    def _folds(self) -> str:
        out = []
        for f in self.frame.folds:
            x, y = self._at(f.x - f.width / 2, f.y - PILL_H / 2)
            if x > self.width:
                continue
            out.append(
                rect(x, y, f.width, PILL_H, fill=LIGHT.bg, fill_class="f-bg", stroke=LIGHT.ink3, stroke_class="s-ink3",
                     dash="2 2", extra=f' rx="{PILL_H / 2:.0f}"')
                + words(x + f.width / 2, y + 16, f.text.get(self.lang), role="ink2", anchor="middle")
            )  # fmt: skip
        return "".join(out)

    # ---------------------------------------------------------------- nodes
    def _node(self, i: int) -> str:
        c = int(self.colour[i])
        stream = c if c < self.p.no_stream else -1
        pill = self.lanes and int(self.p.kinds[i]) == KIND_DATA
        h = PILL_H if pill else NODE_H
        x, y = self._at(float(self.xy[i, 0]) - NODE_W / 2, float(self.xy[i, 1]) - h / 2)
        ref = f"node:{self.p.ids[i]}"
        name, op = self.p.names[i], self.p.ops[i]
        radius = h / 2 if pill else 3
        faint = ' opacity="0.45"' if self.p.marks and i not in self.p.marks else ""
        out = [f'<g data-ref="{ref}"{faint}><title>{escape(name)} ({escape(op)})</title>']
        if i in self.p.boxes:  # a second outline behind: more than one node
            edge = f"e{stream % 8}" if stream >= 0 else "s-ink3"
            behind = LIGHT.stream(stream) if stream >= 0 else LIGHT.ink3
            out.append(
                rect(
                    x + 3,
                    y - 3,
                    NODE_W,
                    h,
                    fill=LIGHT.bg,
                    fill_class="f-bg",
                    stroke=behind,
                    stroke_class=edge,
                    extra=' rx="3"',
                )
            )
        if stream < 0:
            out.append(rect(x, y, NODE_W, h, fill=LIGHT.bg, fill_class="f-bg", stroke=LIGHT.ink3, stroke_class="s-ink3",
                            extra=f' rx="{radius:.0f}"'))  # fmt: skip
        else:
            k, solid = stream % 8, LIGHT.stream(stream)
            out.append(rect(x, y, NODE_W, h, fill=mix(solid, LIGHT.bg, NODE_TINT[0]), fill_class=f"b{k}", stroke=solid,
                            stroke_class=f"e{k}", extra=' rx="3"'))  # fmt: skip
            if hatch(stream) != "none":
                out.append(rect(x + 3, y + 1, 6, h - 2, fill=f"url(#gxh{stream})"))
            out.append(rect(x, y, 3, h, fill=solid, fill_class=f"k{k}"))
        if ref in self.selected:
            out.append(rect(x, y, NODE_W, h, stroke=LIGHT.ink, stroke_class="s-ink", stroke_width=2,
                            extra=f' rx="{radius:.0f}"'))  # fmt: skip
        at = x + 12
        if pill:
            out.append(words(at, y + 16, fit(name, NODE_W - 24, 11, True), bold=True))
        else:
            own = stream >= 0 and (not self.lanes or not self._in_lane(i, stream))
            out.append(words(at, y + 16, fit(name, NODE_W - 16, 11, True), bold=True))
            out.append(words(at, y + 30, fit(op, NODE_W - (34 if own else 16)), role="ink2"))
            if own:
                out.append(words(x + NODE_W - 6, y + 30, self.p.identities[stream].letter, bold=True, anchor="end"))
        if i in self.p.marks:
            out.append(_sign(x + NODE_W - 2, y + 1, self.p.marks[i]))
        return "".join(out) + "</g>"

    def _in_lane(self, i: int, stream: int) -> bool:
        y = float(self.xy[i, 1])
        return any(b.key == stream and b.top <= y < b.bottom for b in self.frame.lanes)

    # ---------------------------------------------------------------- edges and events
    def _edges(self) -> str:
        ordered = {(self.p.events[e].src, self.p.events[e].dst) for e, _ in self.state.events}
        routes = self.frame.edge_routes[self.k]
        out = []
        for e, (s, d, kind) in enumerate(self.frame.edges.tolist()):
            if self.drawn[s] and self.drawn[d] and (s, d) not in ordered:
                key = "control" if kind & EDGE_CONTROL else "long" if kind & EDGE_LONG and not self.lanes else "data"
                out.append(self._path(routes[e], key))
        return "".join(out)

    def _path(self, points: np.ndarray[tuple[int, ...], np.dtype[np.float32]], key: str) -> str:
        if len(points) < 2:
            return ""
        xy = [self._at(float(a), float(b)) for a, b in points]
        d = _rounded(xy) if self.lanes else _curved(xy)
        role, width, dash, marker = _STYLE[key]
        dashed = f' stroke-dasharray="{dash}"' if dash else ""
        return (
            f'<path class="s-{role}" d="{d}" fill="none" stroke="{getattr(LIGHT, role)}" stroke-width="{width}"{dashed} '
            f'marker-end="url(#{marker})"/>'
        )

    def _events(self) -> str:
        routes = self.frame.event_routes[self.k]
        alive = [
            (e, n)
            for e, n in self.state.events
            if self.drawn[self.p.events[e].src] and self.drawn[self.p.events[e].dst]
        ]
        out = []
        for e in self._gone():
            out.append(self._path(routes[e], "gone"))
        out += [self._path(routes[e], "event") for e, _ in alive]
        for e in self._gone():
            if len(routes[e]) > 1:
                x, y = self._spot(routes[e])
                rule = self.p.rules.get(self.p.events[e].uid)
                said = _REMOVED.get(self.lang) + (
                    f"{'：' if self.lang == 'zh' else ': '}{rule.get(self.lang)}" if rule else ""
                )
                out.append(words(x, y + 4, "×", bold=True, anchor="middle", halo="bg"))
                out.append(words(x + 10, y + 4, fit(said, 190), role="ink2", halo="bg"))
        for e, number in alive:
            if len(routes[e]) < 2:
                continue
            x, y = self._spot(routes[e])
            ev = self.p.events[e]
            half = max(8.0, 3.5 * len(str(number)) + 4)
            title = f"{escape(self.p.names[ev.src])} → {escape(self.p.names[ev.dst])}"
            box = rect(x - half, y - 8, 2 * half, 16, fill=LIGHT.bg, fill_class="f-bg", stroke=LIGHT.ink,
                       stroke_class="s-ink", stroke_width=1.25, extra=' rx="8"')  # fmt: skip
            label = words(x, y + 4, str(number), bold=True, anchor="middle")
            out.append(f'<g data-ref="event:{ev.uid}"><title>{title}</title>{box}{label}</g>')
        return "".join(out)

    def _gone(self) -> list[int]:
        if self.compare == NO_COMPARE or self.compare == self.step:
            return []
        now = {self.p.events[e].uid for e, _ in self.state.events}
        before = [e for e, _ in self.p.state(self.compare).events if self.p.events[e].uid not in now]
        return [e for e in before if self.drawn[self.p.events[e].src] and self.drawn[self.p.events[e].dst]]

    def _spot(self, points: np.ndarray[tuple[int, ...], np.dtype[np.float32]]) -> tuple[float, float]:
        """Where an event's number sits: on the lane border it crosses, else on its longest part."""
        best, long = (float(points[0, 0]), float(points[0, 1])), -1.0
        for (x0, y0), (x1, y1) in zip(points[:-1].tolist(), points[1:].tolist(), strict=True):
            if self.lanes and abs(x0 - x1) < 0.5:
                for band in self.frame.lanes:
                    if min(y0, y1) < band.top < max(y0, y1) and band.top > 0:
                        return self._at(x0, band.top)
            d = abs(x1 - x0) + abs(y1 - y0)
            if d > long:
                best, long = ((x0 + x1) / 2, (y0 + y1) / 2), d
        return self._at(*best)


def _sign(x: float, y: float, sign: str) -> str:
    """What a comparison found about a node: ink disc with the sign, at the corner."""
    disc = f'<circle class="f-ink s-bg" cx="{x:.1f}" cy="{y:.1f}" r="7.5" fill="{LIGHT.ink}" stroke="{LIGHT.bg}"/>'
    return disc + words(x, y + 4, sign, role="bg", bold=True, anchor="middle")


def _rounded(xy: list[tuple[float, float]]) -> str:
    """Polyline with rounded corners."""
    out = [f"M{xy[0][0]:.1f} {xy[0][1]:.1f}"]
    for (ax, ay), (bx, by), (cx, cy) in zip(xy, xy[1:], xy[2:], strict=False):
        first, second = abs(bx - ax) + abs(by - ay), abs(cx - bx) + abs(cy - by)
        r = min(_ROUND, first / 2, second / 2)
        if r <= 0:
            continue
        px, py = bx + (ax - bx) * r / first, by + (ay - by) * r / first
        qx, qy = bx + (cx - bx) * r / second, by + (cy - by) * r / second
        out.append(f"L{px:.1f} {py:.1f}Q{bx:.1f} {by:.1f} {qx:.1f} {qy:.1f}")
    out.append(f"L{xy[-1][0]:.1f} {xy[-1][1]:.1f}")
    return "".join(out)


def _curved(xy: list[tuple[float, float]]) -> str:
    """Smooth line with level tangents at every point."""
    out = [f"M{xy[0][0]:.1f} {xy[0][1]:.1f}"]
    for (ax, ay), (bx, by) in pairwise(xy):
        m = max(6.0, min(60.0, abs(bx - ax) / 2))
        out.append(f"C{ax + m:.1f} {ay:.1f} {bx - m:.1f} {by:.1f} {bx:.1f} {by:.1f}")
    return "".join(out)


def _markers() -> str:
    def marker(name: str, size: int, css: str, fill: str, stroke: str = "") -> str:
        tip = f"M0.5 0.5L{size} {size / 2:g}L0.5 {size - 0.5:g}Z"
        return (
            f'<marker id="{name}" viewBox="0 0 {size + 1} {size}" refX="{size}" refY="{size / 2:g}" markerWidth="{size + 1}" '
            f'markerHeight="{size}" orient="auto" markerUnits="userSpaceOnUse">'
            f'<path class="{css}" d="{tip}" fill="{fill}"{stroke}/></marker>'
        )

    hollow = f' stroke="{LIGHT.ink2}"'
    return (
        f"<defs>{marker('gxm-data', 6, 'f-ink3', LIGHT.ink3)}{marker('gxm-event', 7, 'f-ink', LIGHT.ink)}"
        f"{marker('gxm-control', 7, 'f-bg s-ink2', LIGHT.bg, hollow)}</defs>"
    )

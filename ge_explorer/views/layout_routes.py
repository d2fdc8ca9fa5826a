"""Edge routing for the stream-lane layout: straight where the row is free, otherwise through corridors and channels.

A route is a polyline (drawn with rounded corners). Candidates in order: straight; out of the top or bottom, then along the
consumer's row; along the producer's row, then into the top or bottom; a corridor beside the producer or the consumer; a channel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ge_explorer.views.layout_lanes import COL_PITCH, NODE_H, NODE_W, PILL_H, Grid

Kind = Literal["data", "control", "event"]
PORT = {"data": 0.12, "control": 0.26, "event": 0.0}
"""Where an edge leaves or enters the top or bottom of a node: fraction of the width right of the middle."""
_MARGIN, _BETWEEN, _TRACK, _FIRST, _MAX_TRACKS = 13.0, 16.0, 5.0, 9.0, 12
_HALF = NODE_W / 2


@dataclass(frozen=True, slots=True)
class _Plan:
    """Shape of one route before coordinates are known.

    ``shape``: "straight", "drop" (vertical, same column), "out" (vertical first), "in" (vertical last), "near" / "far"
    (corridor after the producer / before the consumer), "channel" (corridor, channel, then into top or bottom),
    "under" (pill, channel, corridor).
    """

    shape: str
    src: int
    dst: int
    kind: Kind


@dataclass(frozen=True, eq=False)
class Routed:
    """Corner points of all routes (``points[index[i]:index[i+1]]``), row centres and lane borders in world units."""

    points: NDArray[np.float32]
    index: NDArray[np.uint32]
    row_y: NDArray[np.float32]
    borders: tuple[float, ...]
    """Top of every lane, then the bottom of the last."""


class Router:
    """Routes edges over one grid. ``pill`` marks nodes of pill height; ask ``route`` once with all edges of a frame."""

    def __init__(self, grid: Grid, pill: NDArray[np.bool_]) -> None:
        self.grid, self.pill = grid, pill
        self.col: list[int] = grid.col.tolist()
        self.row: list[int] = grid.row.tolist()
        self.row_mask = [0] * (grid.rows + 1)
        self.col_mask = [0] * (grid.columns + 2)
        for c, r in zip(self.col, self.row, strict=True):
            if c >= 0 and r >= 0:
                self.row_mask[r] |= 1 << c
                self.col_mask[c] |= 1 << r
        for c, wide, r in grid.pills:
            for k in range(c, c + wide):
                self.row_mask[r] |= 1 << k
                self.col_mask[k] |= 1 << r
        self.main_rows = next((range(x.first, x.first + x.rows) for x in grid.lanes if x.key >= 0), range(0))

    def route(self, edges: Sequence[tuple[int, int, Kind]]) -> Routed:
        """Corner points of every edge (src, dst, kind); empty where an end is not drawn."""
        plans = [self._plan(s, d, k) for s, d, k in edges]
        tracks, above, below = self._tracks(plans)
        slots = self._slots(plans)
        row_y, borders = self._rows(above, below)
        points: list[tuple[float, float]] = []
        index = [0]
        for e, p in enumerate(plans):
            if p is not None:
                points.extend(self._points(p, row_y, tracks.get(e, 0), slots.get(e, 0)))
            index.append(len(points))
        array = np.asarray(points, np.float32).reshape(-1, 2)
        return Routed(array, np.asarray(index, np.uint32), np.asarray(row_y, np.float32), borders)

    # ------------------------------------------------------------- choosing
    def _row_free(self, r: int, a: int, b: int) -> bool:
        """No node in row r, columns a … b."""
        return b < a or not self.row_mask[r] >> a & ((1 << (b - a + 1)) - 1)

    def _col_free(self, c: int, a: int, b: int) -> bool:
        """No node in column c strictly between rows a and b."""
        lo, hi = (a, b) if a < b else (b, a)
        return hi - lo < 2 or not self.col_mask[c] >> (lo + 1) & ((1 << (hi - lo - 1)) - 1)

    def _plan(self, s: int, d: int, kind: Kind) -> _Plan | None:
        c1, r1, c2, r2 = self.col[s], self.row[s], self.col[d], self.row[d]
        if min(c1, r1, c2, r2) < 0 or s == d:
            return None
        shape = "channel"
        if self.pill[s]:
            if c1 == c2 and self._col_free(c1, r1, r2):
                shape = "drop"
            elif c2 > c1 and self._col_free(c1, r1, r2 + 1) and self._row_free(r2, c1, c2 - 1):
                shape = "out"
            else:
                shape = "under"
        elif c2 == c1 and self._col_free(c1, r1, r2):
            shape = "drop"
        elif c2 > c1:
            if r1 == r2:
                shape = "straight" if self._row_free(r1, c1 + 1, c2 - 1) else "channel"
            else:
                step = 1 if r2 > r1 else -1
                if self._col_free(c1, r1, r2 + step) and self._row_free(r2, c1, c2 - 1):
                    shape = "out"
                elif self._row_free(r1, c1 + 1, c2) and self._col_free(c2, r1, r2):
                    shape = "in"
                elif self._row_free(r2, c1 + 1, c2 - 1):
                    shape = "near"
                elif self._row_free(r1, c1 + 1, c2 - 1):
                    shape = "far"
        return _Plan(shape, s, d, kind)

    def _channel(self, p: _Plan) -> tuple[int, bool]:
        """Row beside which the channel runs, and whether it runs above that row."""
        r1, r2 = self.row[p.src], self.row[p.dst]
        if p.shape == "under":
            return r1, False
        if r1 == r2:
            return r2, r2 in self.main_rows
        return r2, r2 > r1

    def _tracks(self, plans: Sequence[_Plan | None]) -> tuple[dict[int, int], list[int], list[int]]:
        """Colour the intervals of every channel side; edges of one producer share a track."""
        asked: dict[tuple[int, bool], dict[int, list[int]]] = {}
        for e, p in enumerate(plans):
            if p is not None and p.shape in ("channel", "under"):
                asked.setdefault(self._channel(p), {}).setdefault(p.src, []).append(e)
        track: dict[int, int] = {}
        above, below = [0] * self.grid.rows, [0] * self.grid.rows
        for (row, up), sources in asked.items():
            spans = []
            for s, members in sources.items():
                ends = [self.col[s]] + [self.col[p.dst] for e in members if (p := plans[e]) is not None]
                spans.append((max(ends) - min(ends), min(ends), max(ends), members))
            rows: list[list[tuple[int, int]]] = []
            for _, lo, hi, members in sorted(spans, key=lambda x: (x[0], x[1])):  # short arcs nearest to the row
                t = next((t for t, used in enumerate(rows) if all(hi < a or b < lo for a, b in used)), len(rows))
                if t == len(rows):
                    rows.append([])
                rows[t].append((lo, hi))
                for e in members:
                    track[e] = t % _MAX_TRACKS
            (above if up else below)[row] = min(len(rows), _MAX_TRACKS)
        return track, above, below

    def _slots(self, plans: Sequence[_Plan | None]) -> dict[int, int]:
        """Side-by-side places (0, 1, 2) of the vertical parts inside a corridor; edges of one producer share one."""
        seen: dict[int, dict[int, int]] = {}
        out: dict[int, int] = {}
        for e, p in enumerate(plans):
            if p is not None and p.shape in ("near", "far", "channel", "under"):
                corridor = self.col[p.dst] if p.shape in ("far", "under") else self.col[p.src] + 1
                places = seen.setdefault(corridor, {})
                out[e] = places.setdefault(p.src, len(places) % 3)
        return out

    # ------------------------------------------------------------- coordinates
    def _rows(self, above: Sequence[int], below: Sequence[int]) -> tuple[list[float], tuple[float, ...]]:
        def room(count: int) -> float:
            return max(_MARGIN, _FIRST + _TRACK * count) if count else _MARGIN

        y, out, borders = 0.0, [], [0.0]
        for lane in self.grid.lanes:
            slim = lane.rows == 1 and lane.key == -1
            for r in range(lane.first, lane.first + lane.rows):
                if r == lane.first:
                    y += max(room(above[r]), 5.0) if not slim else 5.0
                else:
                    y += max(_BETWEEN, room(below[r - 1]) * bool(below[r - 1]) + room(above[r]) * bool(above[r]))
                height = PILL_H if slim else NODE_H
                out.append(y + height / 2)
                y += height
            y += max(room(below[lane.first + lane.rows - 1]) if not slim else 5.0, 5.0)
            if slim and below[lane.first]:
                y += _TRACK * below[lane.first] + 4
            elif lane.rows == 1 and not slim:
                y = max(y, borders[-1] + 64)  # room for the two lines of the lane head
            borders.append(y)
        return out, tuple(borders)

    def _points(self, p: _Plan, row_y: Sequence[float], track: int, slot: int) -> list[tuple[float, float]]:
        c1, r1, c2, r2 = self.col[p.src], self.row[p.src], self.col[p.dst], self.row[p.dst]
        x1, x2, y1, y2 = c1 * COL_PITCH + _HALF, c2 * COL_PITCH + _HALF, row_y[r1], row_y[r2]
        h1 = (PILL_H if self.pill[p.src] else NODE_H) / 2
        h2 = (PILL_H if self.pill[p.dst] else NODE_H) / 2
        port = PORT[p.kind] * NODE_W
        down = y2 >= y1
        out_y = y1 + (h1 if down else -h1)
        in_y = y2 + (-h2 if down else h2)
        right, left = x1 + _HALF, x2 - _HALF
        side = {"data": 0.0, "control": 6.0, "event": 0.0}[p.kind]
        lean = (slot - 1) * 4.5
        if p.shape == "straight":
            return [(right, y1 + side), (left, y2 + side)]
        if p.shape == "drop":
            return [(x1 + port, out_y), (x2 + port, in_y)]
        if p.shape == "out":
            bend = y2 + side + (6.0 if p.kind == "data" and r1 != r2 else 0.0) * (-1 if down else 1) * 0.0
            start = x1 + (0 if self.pill[p.src] else port)
            return [(start, out_y), (start, bend), (left, bend)]
        if p.shape == "in":
            turn = 8.0 if down else -8.0
            level = y1 + (turn if p.kind != "event" else 0.0)
            return [(right, level), (x2 - port, level), (x2 - port, in_y)]
        if p.shape in ("near", "far"):
            x = (right + 10 if p.shape == "near" else left - 10) + lean
            level = y1 + (6.0 if down else -6.0)
            return [(right, level), (x, level), (x, y2 + side), (left, y2 + side)]
        row, up = self._channel(p)
        if p.shape == "under":
            level = y1 + h1 + 6 + _TRACK * track
            x = left - 10 + lean
            return [(x1, y1 + h1), (x1, level), (x, level), (x, y2), (left, y2)]
        half = NODE_H / 2
        level = row_y[row] + (-half - _FIRST - _TRACK * track if up else half + _FIRST + _TRACK * track)
        x = right + 10 + lean
        leave = y1 + (-9.0 if level < y1 else 9.0)
        port = -0.2 * NODE_W - PORT[p.kind] * 0.5 * NODE_W
        end = y2 + (-h2 if level < y2 else h2)
        return [(right, leave), (x, leave), (x, level), (x2 + port, level), (x2 + port, end)]

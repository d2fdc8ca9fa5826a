"""Stream-lane layout: one lane per stream, x by dependency rank, rows inside a lane so that no chain runs through another.

Nodes sit in cells (column, row) of one grid over all lanes. Between columns run *corridors*, between rows *channels*; edges are
routed through those (``layout_routes.py``), so that no edge passes behind a node.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ge_explorer.views.layout import Ints, Links

NODE_W, NODE_H, PILL_H = 100.0, 38.0, 24.0
"""World size of a node and the height of a Data or fold pill; one world unit is one CSS pixel at zoom 1."""
COL_PITCH = 120.0
"""World distance of two columns; the difference to ``NODE_W`` is the corridor."""


@dataclass(frozen=True, slots=True)
class Lane:
    """Rows ``first … first + rows - 1`` of one stream. ``key`` is the identity index, -1 for "no stream"."""

    key: int
    first: int
    rows: int


@dataclass(frozen=True, eq=False)
class Grid:
    """Cell of every node (-1: not drawn), the lanes from top to bottom, and the cells taken by fold pills.

    ``pills`` are (column, columns wide, row) of pills that stand for folded nodes, in the order they were asked for.
    """

    col: Ints
    row: Ints
    lanes: tuple[Lane, ...]
    pills: tuple[tuple[int, int, int], ...] = ()

    @property
    def rows(self) -> int:
        """Number of rows over all lanes."""
        return sum(lane.rows for lane in self.lanes)

    @property
    def columns(self) -> int:
        """Number of columns."""
        return int(max(self.col.max(initial=-1) + 1, max((c + w for c, w, _ in self.pills), default=0)))


@dataclass
class _Rows:
    """Free-cell book of one lane: a bit mask of taken columns per row, rows numbered outwards from the main row."""

    masks: list[int] = field(default_factory=list)

    def put(self, first: int, last: int) -> int:
        """Lowest row whose columns ``first … last`` are free; takes them."""
        want = ((1 << (last - first + 1)) - 1) << first
        for r, mask in enumerate(self.masks):
            if not mask & want:
                self.masks[r] |= want
                return r
        self.masks.append(want)
        return len(self.masks) - 1


def place(
    links: Links, col: Ints, lane: Ints, lanes: Sequence[int], pill: Sequence[int] = (), folds: Sequence[int] = ()
) -> Grid:
    """Give every node its cell.

    ``col`` rank per node, ``lane`` lane key per node (-2: not drawn), ``lanes`` keys from top to bottom; ``pill`` nodes stand in
    the first row of the no-stream lane (key -1, must then come first) above their first consumer; ``folds`` are the widths, in
    columns, of pills for folded nodes.
    """
    n = links.n
    row = np.full(n, -1, np.int32)
    col = col.astype(np.int32).copy()
    col[lane == -2] = -1
    pills, pill_rows = _pill_row(col, row, pill, folds)
    is_pill = np.zeros(n, bool)
    is_pill[list(pill)] = True
    inside = (lane[links.src] == lane[links.dst]) & ~is_pill[links.src] & (lane[links.src] != -2)
    chains = _chains(n, links.src[inside].tolist(), links.dst[inside].tolist(), col)
    books = {key: _Rows() for key in lanes}
    local = np.full(n, -1, np.int32)
    todo = [c for c in chains if lane[c[0]] != -2 and not is_pill[c[0]]]
    todo.sort(key=lambda c: (-len(c), int(col[c[0]]), c[0]))
    for chain in todo:
        local[chain] = books[int(lane[chain[0]])].put(int(col[chain[0]]), int(col[chain[-1]]))
    out: list[Lane] = []
    first = 0
    for at, key in enumerate(lanes):
        own = len(books[key].masks)
        extra = pill_rows if key == -1 else 0
        members = np.flatnonzero((lane == key) & ~is_pill)
        up = at == next(
            (i for i, k in enumerate(lanes) if k >= 0), -1
        )  # the main lane grows upwards, side lanes downwards
        offset = (own - 1 - local[members]) if up else local[members]
        row[members] = first + extra + offset
        rows = max(own + extra, 1)
        out.append(Lane(key, first, rows))
        first += rows
    return Grid(col, row, tuple(out), tuple(pills))


def _pill_row(
    col: Ints, row: Ints, pill: Sequence[int], folds: Sequence[int]
) -> tuple[list[tuple[int, int, int]], int]:
    """Data pills over their consumers, fold pills in the gaps; all in row 0 (they are few: long lists come folded)."""
    taken = 0
    for i in sorted(pill, key=lambda i: (int(col[i]), i)):
        c = int(col[i])
        while taken >> c & 1:
            c += 1
        taken |= 1 << c
        col[i], row[i] = c, 0
    out: list[tuple[int, int, int]] = []
    last = int(col.max(initial=0))
    for wide in folds:
        middle = max((last - wide) // 2, 0)
        spots = sorted(range(last + 2), key=lambda c: (abs(c - middle), c))
        free = (c for c in spots if not taken >> max(c - 1, 0) & ((1 << (wide + 2)) - 1))
        spot = next(free, taken.bit_length() + 1)
        taken |= ((1 << wide) - 1) << spot
        out.append((spot, wide, 0))
    return out, 1 if pill or folds else 0


def _chains(n: int, src: Sequence[int], dst: Sequence[int], col: Ints) -> list[list[int]]:
    """Split the nodes into paths: every node goes on in the consumer with the longest way left (mutual choice)."""
    down: list[list[int]] = [[] for _ in range(n)]
    up: list[list[int]] = [[] for _ in range(n)]
    for s, d in zip(src, dst, strict=True):
        if col[d] > col[s]:
            down[s].append(d)
            up[d].append(s)
    height = [0] * n
    by_col = np.argsort(col, kind="stable").tolist()
    for u in reversed(by_col):
        for v in down[u]:
            height[u] = max(height[u], height[v] + 1)
    depth = [0] * n
    for u in by_col:
        for v in up[u]:
            depth[u] = max(depth[u], depth[v] + 1)
    heir = [-1] * n
    owned = bytearray(n)
    for u in by_col:
        free = [v for v in down[u] if not owned[v] and depth[v] == depth[u] + 1] or [v for v in down[u] if not owned[v]]
        if free:
            best = max(free, key=lambda v: (height[v], -int(col[v]), -v))
            # a consumer that a longer chain will reach is left to that chain
            if depth[u] + 1 >= depth[best] or len(up[best]) == 1:
                heir[u] = best
                owned[best] = 1
    out: list[list[int]] = []
    for u in by_col:
        if owned[u]:
            continue
        chain = [u]
        while heir[chain[-1]] >= 0:
            chain.append(heir[chain[-1]])
        out.append(chain)
    return out

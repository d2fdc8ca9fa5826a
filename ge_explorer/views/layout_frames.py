"""One frame of the graph picture: positions and routes of one graph structure in both layouts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ge_explorer.graph.model import Graph, IntArray
from ge_explorer.text import Text
from ge_explorer.views.layout import Floats, Layered, Links, layered, rank_nodes
from ge_explorer.views.layout_lanes import COL_PITCH, NODE_H, NODE_W, PILL_H, Grid, place
from ge_explorer.views.layout_routes import Kind, Router
from ge_explorer.views.picture import (
    EDGE_CONTROL,
    EDGE_LONG,
    KIND_CONST,
    KIND_DATA,
    Fold,
    Frame,
    LaneBand,
    Routes,
)

MAX_PILLS = 6
"""More Data nodes than this are folded into one pill."""
_FOLD_COLUMNS = 2


def frame_of(
    graph: Graph,
    index: IntArray,
    kinds: NDArray[np.uint8],
    lane: IntArray,
    events: Sequence[tuple[int, int]],
    before: Frame | None = None,
    columns: IntArray | None = None,
    lane_keys: Sequence[int] = (),
) -> Frame:
    """Lay one graph structure out.

    ``index`` maps node id -> row of the node table, ``kinds`` and ``lane`` are per row, ``events`` are (src, dst) rows of all
    events of the trace. ``before`` is the frame of the step before: nodes whose column and lane allow it keep their place,
    because the same rules with the same ids give the same cells. ``columns`` (per row, -1: none) are the columns of the lane
    layout where another graph shares them; ``lane_keys`` are lanes to show even when they are empty here.
    """
    n = len(kinds)
    present = np.zeros(n, bool)
    present[index[list(graph.node_ids)]] = True
    edges = _edges(graph, index)
    links = Links.of(n, np.concatenate([edges[:, :2].astype(np.int64), _scope_links(graph, index)]))
    flat = _layered_xy(links, present, _fed(links, kinds))
    long = np.zeros(len(edges), bool)
    if len(edges):
        long = flat.long[_find(links, edges[:, 0], edges[:, 1])]
    edges[:, 2] |= np.where(long, EDGE_LONG, 0).astype(np.uint32)
    grid, pill, folds = _grid(links, present, kinds, lane, columns, lane_keys)
    router = Router(grid, pill)
    names: list[tuple[int, int, Kind]] = [
        (s, d, "control" if k & EDGE_CONTROL else "data") for s, d, k in edges.tolist()
    ]
    wanted = names + [(s, d, "event") for s, d in events]
    routed = router.route(wanted)
    m = len(edges)
    cut = int(routed.index[m])
    lane_edges = Routes(routed.points[:cut], routed.index[: m + 1])
    lane_events = Routes(routed.points[cut:], (routed.index[m:] - routed.index[m]).astype(np.uint32))
    positions = np.full((2, n, 2), np.nan, np.float32)
    drawn = np.flatnonzero(grid.row >= 0)
    positions[0, drawn, 0] = grid.col[drawn] * COL_PITCH + NODE_W / 2
    positions[0, drawn, 1] = routed.row_y[grid.row[drawn]]
    positions[1, present, 0] = flat.x[present]
    positions[1, present, 1] = flat.y[present]
    bands = tuple(
        LaneBand(x.key, a, b) for x, a, b in zip(grid.lanes, routed.borders[:-1], routed.borders[1:], strict=True)
    )
    pills = tuple(
        Fold(c * COL_PITCH + (wide * COL_PITCH - 20) / 2, float(routed.row_y[r]), wide * COL_PITCH - 20, text, nodes)
        for (c, wide, r), (text, nodes) in zip(grid.pills, folds, strict=True)
    )
    wide = (grid.columns * COL_PITCH - (COL_PITCH - NODE_W), routed.borders[-1])
    lowest = max(float(np.nanmax(positions[1, :, 1], initial=0)), float(flat.bend_xy[:, 1].max(initial=0)))
    tall = (float(np.nanmax(positions[1, :, 0], initial=0)) + NODE_W / 2, lowest + NODE_H / 2)
    return Frame(
        positions, edges, (lane_edges, _layered_routes(flat, edges[:, :2], positions[1])),
        (lane_events, _layered_routes(flat, np.asarray(events, np.int64).reshape(-1, 2), positions[1])),
        (wide, tall), bands, pills,
    )  # fmt: skip


def _edges(graph: Graph, index: IntArray) -> NDArray[np.uint32]:
    """Distinct (src, dst, kind) rows: one per pair and kind; a control edge beside a data edge is left out."""
    data = dict.fromkeys((int(index[e.src]), int(index[e.dst])) for e in graph.edges)
    control = [p for a, b in graph.control if (p := (int(index[a]), int(index[b]))) not in data]
    rows = [(s, d, 0) for s, d in data] + [(s, d, EDGE_CONTROL) for s, d in dict.fromkeys(control)]
    return np.asarray(rows, np.uint32).reshape(-1, 3)


def _scope_links(graph: Graph, index: IntArray) -> NDArray[np.int64]:
    """Order of bodies for the layout (not drawn): holder before its body, body before the holder's consumers."""
    rows: list[tuple[int, int]] = []
    for holder in graph:
        for s in holder.subgraphs:
            for i in graph.scope(s).nodes:
                if not graph.pred[i]:
                    entries = (
                        (i, *graph.succ[i]) if graph.node(i).is_source else (i,)
                    )  # sources stand in a lane of their own
                    rows.extend((int(index[holder.id]), int(index[j])) for j in dict.fromkeys(entries))
                if not graph.succ[i]:
                    rows.extend((int(index[i]), int(index[j])) for j in dict.fromkeys(graph.succ[holder.id]))
    return np.asarray(rows, np.int64).reshape(-1, 2)


def _find(links: Links, src: NDArray[np.uint32], dst: NDArray[np.uint32]) -> NDArray[np.int64]:
    """Position of (src, dst) pairs in ``links`` (which are sorted); the insertion point where a pair is not there."""
    keys = links.src.astype(np.int64) * links.n + links.dst
    return np.searchsorted(keys, src.astype(np.int64) * links.n + dst)


def _fed(links: Links, kinds: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Nodes that read a Data node directly."""
    out = np.zeros(links.n, bool)
    out[links.dst[kinds[links.src] == KIND_DATA]] = True
    return out


def _layered_xy(links: Links, present: NDArray[np.bool_], fed: NDArray[np.bool_]) -> Layered:
    """Layered layout of the nodes that exist, on full-size arrays (absent rows hold no meaning)."""
    small = np.flatnonzero(present)
    to = np.full(links.n, -1, np.int32)
    to[small] = np.arange(len(small), dtype=np.int32)
    part = layered(Links(len(small), to[links.src], to[links.dst]), fed=fed[small])

    def spread(values: Floats, shift: float) -> Floats:
        out = np.full(links.n, np.nan, np.float32)
        out[small] = values + shift
        return out

    bends = part.bend_xy + np.asarray([NODE_W / 2, NODE_H / 2], np.float32)
    rank = np.full(links.n, -1, np.int32)
    rank[small] = part.rank
    return Layered(links, rank, spread(part.x, NODE_W / 2), spread(part.y, NODE_H / 2), part.bends, bends, part.long,
                   part.crossings)  # fmt: skip


def _layered_routes(flat: Layered, ends: NDArray[np.uint32] | NDArray[np.int64], xy: Floats) -> Routes:
    """Points from right side to left side through the corridor of the edge; two points per helper, so it is level there."""
    m = len(ends)
    if m == 0:
        return Routes(np.zeros((0, 2), np.float32), np.zeros(1, np.uint32))
    src, dst = ends[:, 0].astype(np.int64), ends[:, 1].astype(np.int64)
    seen = ~np.isnan(xy[src, 0]) & ~np.isnan(xy[dst, 0])
    at = np.minimum(_find(flat.links, src.astype(np.uint32), dst.astype(np.uint32)), max(len(flat.links.src) - 1, 0))
    known = (flat.links.src[at] == src) & (flat.links.dst[at] == dst) if len(flat.links.src) else np.zeros(m, bool)
    helpers = np.where(known, flat.bends[at + 1] - flat.bends[at], 0) if len(flat.links.src) else np.zeros(m, int)
    count = np.where(seen, 2 + 2 * helpers, 0)
    index = np.concatenate([[0], np.cumsum(count)])
    points = np.zeros((int(index[-1]), 2), np.float32)
    half = np.asarray([NODE_W / 2, 0.0], np.float32)
    points[index[:-1][seen]] = xy[src[seen]] + half
    points[index[1:][seen] - 1] = xy[dst[seen]] - half
    for e in np.flatnonzero(seen & (helpers > 0)).tolist():
        through = flat.bend_xy[flat.bends[at[e]] : flat.bends[at[e] + 1]]
        points[index[e] + 1 : index[e + 1] - 1] = np.repeat(through, 2, axis=0) + np.tile(
            np.stack([-half, half]), (len(through), 1)
        )
    return Routes(points, index.astype(np.uint32))


def _grid(
    links: Links,
    present: NDArray[np.bool_],
    kinds: NDArray[np.uint8],
    lane: IntArray,
    columns: IntArray | None = None,
    lane_keys: Sequence[int] = (),
) -> tuple[Grid, NDArray[np.bool_], list[tuple[Text, tuple[int, ...]]]]:
    """Cells of the lane layout; constants and long lists of inputs are folded into pills."""
    n = links.n
    data = present & (kinds == KIND_DATA)
    const = present & (kinds == KIND_CONST)
    ops = present & ~data & ~const
    inner = ops[links.src] & ops[links.dst]
    if columns is not None and bool((columns[ops] >= 0).all()):
        col = columns.astype(np.int32).copy()
    else:
        col = rank_nodes(Links(n, links.src[inner], links.dst[inner]), fed=_fed(links, kinds))
        col -= int(col[ops].min()) if ops.any() else 0
    key = np.where(ops, lane, -2).astype(np.int32)
    folds: list[tuple[Text, tuple[int, ...]]] = []
    shown = np.flatnonzero(data)
    if len(shown) > MAX_PILLS:
        folds.append((_count(len(shown), "input", "个输入"), tuple(shown.tolist())))
        shown = shown[:0]
    if const.any():
        members = tuple(np.flatnonzero(const).tolist())
        folds.append((_count(len(members), "constant", "个常量"), members))
    first = np.full(n, np.iinfo(np.int32).max, np.int64)
    to_op = ops[links.dst]
    np.minimum.at(first, links.src[to_op], col[links.dst[to_op]])
    pill = np.zeros(n, bool)
    pill[shown] = True
    key[shown] = -1
    col[shown] = np.where(first[shown] < np.iinfo(np.int32).max, first[shown], 0)
    keys = sorted(({int(k) for k in np.unique(key[ops])} | set(lane_keys)) - {-1})
    if (key == -1).any() or folds:
        keys = [-1, *keys]
    grid = place(links, col, key, keys, shown.tolist(), [_FOLD_COLUMNS] * len(folds))
    return grid, pill, folds


def _count(n: int, en: str, zh: str) -> Text:
    return Text(f"{n:,} {en}{'s' * (n != 1)} folded", f"{n:,} {zh}已折叠")


__all__ = ["MAX_PILLS", "PILL_H", "frame_of"]

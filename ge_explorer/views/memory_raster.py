"""Many bars as one small picture of codes, so that twenty thousand buffers cost what two hundred do.

A code says what a cell shows, not its colour: 0 nothing, ``USE + 2 i`` in use on the stream of palette place i, one more while it
waits to become reusable; ``PLAIN`` stands for "no stream". Colours come from the theme, when the picture is drawn.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ge_explorer.views.memory_life import Ints
from ge_explorer.views.theme import Theme, mix

PLAIN = 1
USE = 3
Codes = NDArray[np.uint16]


def code(index: int, waiting: bool = False) -> int:
    """Code of a palette place (-1: no stream).

    >>> code(-1), code(-1, True), code(0), code(2, True)
    (1, 2, 3, 8)
    """
    return (PLAIN if index < 0 else USE + 2 * index) + int(waiting)


def meaning(value: int) -> tuple[int, bool] | None:
    """(palette place, waiting) of a code; None for an empty cell."""
    if value == 0:
        return None
    if value < USE:
        return -1, value == PLAIN + 1
    return (value - USE) // 2, bool((value - USE) % 2)


def paint(
    shape: tuple[int, int], begin: Ints, end: Ints, low: Ints, high: Ints, codes: Ints, extent: tuple[int, int]
) -> Codes:
    """Cells (rows × columns) covered by bars ``begin``…``end`` × ``low``…``high`` within ``extent`` (x end, y end).

    Every bar covers at least one cell where it has a length; later bars lie on top. Row 0 is the lowest.
    """
    rows, columns = shape
    out = np.zeros(shape, dtype=np.uint16)
    x1, y1 = max(extent[0], 1), max(extent[1], 1)
    left = np.minimum(begin * columns // x1, columns - 1)
    right = np.maximum(left + 1, -(-end * columns // x1))
    bottom = np.minimum(low * rows // y1, rows - 1)
    top = np.maximum(bottom + 1, -(-high * rows // y1))
    shown = (end > begin) & (high > low)
    for a, b, c, d, value in zip(
        left[shown].tolist(), right[shown].tolist(), bottom[shown].tolist(), top[shown].tolist(), codes[shown].tolist(),
        strict=True,
    ):  # fmt: skip
        out[c:d, a:b] = value
    return out


def pixels(codes: Codes, theme: Theme, tall: int = 1) -> NDArray[np.uint32]:
    """Colours of a raster as 0xAABBGGRR, each row ``tall`` pixels high; waiting is striped, so that it differs without colour.

    In use takes the bar's fill darkened towards the stream's colour: lines of one or two pixels have no edge to carry it.
    """
    big = np.repeat(codes, tall, axis=0)
    stripe = (np.arange(big.shape[0])[:, None] + np.arange(big.shape[1])) % 6 < 2
    out = np.zeros(big.shape, dtype=np.uint32)
    for value in np.unique(codes).tolist():
        found = meaning(value)
        if found is None:
            continue
        index, waiting = found
        here = big == value
        if waiting:
            out[here] = _abgr(theme.node(index))
            out[here & stripe] = _abgr(mix(theme.stream(index), theme.bg, 70))
        else:
            out[here] = _abgr(mix(theme.stream(index), theme.bg, 62))
    return out


def _abgr(colour: str) -> int:
    r, g, b = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return 0xFF000000 | b << 16 | g << 8 | r

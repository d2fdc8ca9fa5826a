"""The data movement of TransData, for constants that are folded: plain format to storage format, padding with zeros."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ge_explorer.graph.model import Node
from ge_explorer.passes.optimize.format_shapes import (
    FRACTAL_NZ,
    FRACTAL_Z,
    LETTERS,
    NC1HWC0,
    ROWS,
    UNIT_BYTES,
    blocks,
    filter_groups,
)

Array = NDArray[Any]


def to_storage(a: Array, source: str, target: str, c0: int, groups: int = 1) -> Array | None:
    """Array in its storage format; None for a pair of formats that is not modelled.

    >>> x = np.arange(24).reshape(1, 3, 2, 4)
    >>> y = to_storage(x, "NCHW", "NC1HWC0", 16)
    >>> y.shape, y[0, 0, 1, 2, :4].tolist()
    ((1, 1, 2, 4, 16), [6, 14, 22, 0])
    """
    if target == FRACTAL_NZ:
        return _nz(a, c0) if a.ndim > 1 else None
    letters = LETTERS.get(source if source not in ("", "ND") else "NCHW")
    if letters is None or a.ndim != 4:
        return None
    plain = np.transpose(a, [letters.index(x) for x in "NCHW"])
    if target == NC1HWC0:
        n, c, h, w = plain.shape
        c1 = blocks(c, c0)
        padded = np.pad(plain, [(0, 0), (0, c1 * c0 - c), (0, 0), (0, 0)])
        return padded.reshape(n, c1, c0, h, w).transpose(0, 1, 3, 4, 2)
    return _filter(plain, c0, groups) if target == FRACTAL_Z and plain.shape[0] % groups == 0 else None


def _nz(a: Array, c0: int) -> Array:
    """Tiles of 16 rows and C0 columns, column of tiles by column of tiles."""
    m, n = a.shape[-2:]
    m1, n1 = blocks(m, ROWS), blocks(n, c0)
    lead = a.ndim - 2
    padded = np.pad(a, [(0, 0)] * lead + [(0, m1 * ROWS - m), (0, n1 * c0 - n)])
    tiles = padded.reshape(*a.shape[:-2], m1, ROWS, n1, c0)
    return tiles.transpose(*range(lead), lead + 2, lead, lead + 1, lead + 3)


def _filter(a: Array, c0: int, groups: int) -> Array:
    """``[N,C,H,W]`` to ``[G*C1*H*W, N1, 16, C0]``; several small groups share one block, on its diagonal."""
    n, c, h, w = a.shape
    own = n // groups
    packed, c1, n1 = filter_groups(c, own, groups, c0)
    out = np.zeros((blocks(groups, packed), n1 * ROWS, c1 * c0, h, w), a.dtype)
    for g in range(groups):
        row, column = g % packed * own, g % packed * c
        out[g // packed, row : row + own, column : column + c] = a[g * own : (g + 1) * own]
    cut = out.reshape(out.shape[0], n1, ROWS, c1, c0, h, w)
    return cut.transpose(0, 3, 5, 6, 1, 2, 4).reshape(-1, n1, ROWS, c0)


def trans_data(node: Node, a: list[Array]) -> list[Array] | None:
    """Host kernel of TransData: formats and groups are the node's attributes, C0 follows from the element size."""
    source, target, groups = (node.attrs.get(k) for k in ("src_format", "dst_format", "groups"))
    if len(a) != 1 or not isinstance(source, str) or not isinstance(target, str):
        return None
    made = to_storage(a[0], source, target, UNIT_BYTES // a[0].dtype.itemsize, groups if isinstance(groups, int) else 1)
    return None if made is None else [made]

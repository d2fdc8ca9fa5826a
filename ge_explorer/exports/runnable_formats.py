"""Storage formats of the cube unit as ONNX operators: a stored tensor is unpacked for an operator and packed again behind it.

Written from the meaning of the formats, by index, so that it can judge the host kernels that pack constants.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ge_explorer.errors import InputError
from ge_explorer.exports.runnable_body import Body
from ge_explorer.graph.model import Tensor
from ge_explorer.passes.optimize.format_shapes import (
    FORMAT,
    FRACTAL_NZ,
    FRACTAL_Z,
    HEAVY,
    NC1HWC0,
    ORIGIN_FORMAT,
    ORIGIN_SHAPE,
    ROWS,
    blocks,
    filter_groups,
)


def heavy(t: Tensor | None) -> bool:
    """True for a tensor kept in a format of the cube unit."""
    return t is not None and t.attrs.get(FORMAT) in HEAVY and ORIGIN_SHAPE in t.attrs


def plain(t: Tensor) -> Tensor:
    """The tensor as the user sees it."""
    return replace(t, shape=tuple(t.attrs[ORIGIN_SHAPE])) if heavy(t) else t


def unpack(b: Body, x: str, t: Tensor, groups: int = 1) -> str:
    """Name of the plain form of a stored tensor."""
    dims = _dims(t)
    index = _places(t, dims, groups)
    flat = b.reshape(x, [int(np.prod([d for d in t.shape or () if isinstance(d, int)]))])
    return b.reshape(b.op("Gather", [flat, b.const(index.ravel())]), dims)


def pack(b: Body, x: str, t: Tensor, outs: list[str], groups: int = 1) -> None:
    """Append the operators that store a plain tensor as ``t``; gaps are zero."""
    dims = _dims(t)
    stored = [d for d in t.shape or () if isinstance(d, int)]
    index = np.full(int(np.prod(stored)), int(np.prod(dims)))
    index[_places(t, dims, groups).ravel()] = np.arange(int(np.prod(dims)))
    flat = b.op("Concat", [b.reshape(x, [int(np.prod(dims))]), b.const([0], t.dtype or "float")], axis=0)
    b.reshape(b.op("Gather", [flat, b.const(index)]), stored, outs)


def _dims(t: Tensor) -> list[int]:
    dims = [d for d in t.attrs[ORIGIN_SHAPE] if isinstance(d, int)]
    known = t.shape is not None and all(isinstance(d, int) for d in t.shape) and len(dims) == len(t.attrs[ORIGIN_SHAPE])
    if not known or (t.attrs[FORMAT] != FRACTAL_NZ and t.attrs.get(ORIGIN_FORMAT, "NCHW") not in ("NCHW", "ND", "")):
        raise InputError("a tensor in this storage format cannot be run", where=t.name or str(t.id), got=str(t.attrs[FORMAT]),
                         todo="Give the input shapes, or leave gx.heavyFormat off.")  # fmt: skip
    return dims


def _places(t: Tensor, dims: list[int], groups: int) -> Any:
    """Place in the stored tensor of every element of the plain one, in the plain one's shape."""
    c0 = int((t.shape or (1,))[-1] or 1)
    if t.attrs[FORMAT] == FRACTAL_NZ:
        *lead, i, j = np.indices(dims)
        return _flat(t, (*lead, j // c0, i // ROWS, i % ROWS, j % c0))
    n, c, h, w = np.indices(dims)
    if t.attrs[FORMAT] == NC1HWC0:
        return _flat(t, (n, c // c0, h, w, c % c0))
    if t.attrs[FORMAT] != FRACTAL_Z:
        raise InputError("unknown storage format", where=t.name, got=str(t.attrs[FORMAT]))
    own = dims[0] // groups
    packed, c1, _ = filter_groups(dims[1], own, groups, c0)
    group = n // own
    row, column = group % packed * own + n % own, group % packed * dims[1] + c
    first = ((group // packed * c1 + column // c0) * dims[2] + h) * dims[3] + w
    assert blocks(groups, packed) * c1 * dims[2] * dims[3] == (t.shape or (0,))[0]
    return _flat(t, (first, row // ROWS, row % ROWS, column % c0))


def _flat(t: Tensor, index: tuple[Any, ...]) -> Any:
    return np.ravel_multi_index(index, tuple(d for d in t.shape or () if isinstance(d, int)))

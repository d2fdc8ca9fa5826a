"""Storage formats in the interpreter, element by element from their definition (not by the passes' own code).

Padding is filled with NaN: no result may depend on it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ge_explorer.graph.model import Graph, Node, Tensor

HEAVY = ("NC1HWC0", "FRACTAL_Z", "FRACTAL_NZ")


def touches_storage(g: Graph, n: Node) -> bool:
    """True if the node converts, or reads or makes a storage format."""
    tensors = [g.tensor(t) for t in (*n.inputs, *n.outputs) if t is not None]
    return n.op == "TransData" or any(t.attrs.get("format") in HEAVY for t in tensors)


def stored(g: Graph, n: Node, x: list[Any]) -> list[Any]:
    """Run such a node. Convolutions and matrix products see plain values; elementwise operators see what is stored."""
    from tests.passes.optimize.numpy_graph import run

    outs = [g.tensor(t) for t in n.outputs]
    if n.op == "TransData":
        (y,) = outs
        source = None if n.inputs[0] is None else g.tensor(n.inputs[0])
        assert source is not None
        groups = n.attrs.get("groups", 1)
        result = [encode(y, decode(source, x[0], groups), groups)]
    elif n.op == "Const":
        result = run(n, x, {})
    elif n.op in ("Conv2D", "MatMulV2", "BatchMatMulV2", "MatMul"):
        groups = n.attrs.get("group", 1)
        plain = [v if t is None else decode(g.tensor(t), v, groups) for t, v in zip(n.inputs, x, strict=True)]
        result = [encode(y, v, 1) for y, v in zip(outs, run(n, plain, {}), strict=True)]
    else:
        result = run(n, x, {})
    for y, v in zip(outs, result, strict=True):
        assert y.shape is None or v.shape == y.shape, f"{n.name}: {v.shape} is stored, the graph says {y.shape}"
    return result


def places(format_: str, shape: tuple[int, ...], out: tuple[int, ...], groups: int) -> tuple[Any, ...]:
    """For every element of a plain tensor, the index in storage."""
    at = np.indices(shape)
    c0 = out[-1]
    if format_ == "NC1HWC0":
        n, c, h, w = at
        return n, c // c0, h, w, c % c0
    if format_ == "FRACTAL_NZ":
        *lead, m, k = at
        return (*lead, k // c0, m // 16, m % 16, k % c0)
    n, c, h, w = at
    filters, channels = shape[0] // groups, shape[1]
    block = out[0] // (shape[2] * shape[3])  # blocks of channels of all packed groups
    packed = max(1, min(groups, _packed(channels, filters, c0)))
    per = -(-packed * channels // c0)
    assert block == -(-groups // packed) * per
    g = n // filters
    row, column = g % packed * filters + n % filters, g % packed * channels + c
    first = ((g // packed * per + column // c0) * shape[2] + h) * shape[3] + w
    return first, row // 16, row % 16, column % c0


def _packed(channels: int, filters: int, c0: int) -> int:
    """Smallest number of groups after which channels and filters both end on a border."""
    return next(k for k in range(1, 4096) if k * channels % c0 == 0 and k * filters % 16 == 0)


def encode(t: Tensor, plain: Any, groups: int) -> Any:
    """Plain values as a tensor stores them."""
    kind = t.attrs.get("format")
    if kind not in HEAVY:
        return plain
    assert t.shape is not None and t.attrs["origin_shape"] == plain.shape
    out = np.full(tuple(int(d) for d in t.shape if isinstance(d, int)), np.nan)
    out[places(kind, plain.shape, out.shape, groups)] = plain
    return out


def decode(t: Tensor, values: Any, groups: int) -> Any:
    """Plain values of what a tensor stores."""
    kind = t.attrs.get("format")
    if kind not in HEAVY:
        return values
    return values[places(kind, tuple(t.attrs["origin_shape"]), values.shape, groups)]

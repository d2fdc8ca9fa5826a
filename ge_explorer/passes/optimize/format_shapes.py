"""Storage formats of the cube unit: which shape a tensor takes in NC1HWC0, FRACTAL_Z and FRACTAL_NZ.

The unit is 32 bytes: C0 (and N0) elements of the last storage dimension. Shapes agree with those a profiler recorded on an
Ascend 910B: float ``[32,3,224,224]`` is stored as ``[32,1,224,224,8]``, a filter ``[64,3,11,11]`` as ``[121,4,16,8]``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType

from ge_explorer.graph.model import DTYPE_BITS, Dim, Shape

NC1HWC0, FRACTAL_Z, FRACTAL_NZ = "NC1HWC0", "FRACTAL_Z", "FRACTAL_NZ"
HEAVY = frozenset({NC1HWC0, FRACTAL_Z, FRACTAL_NZ})
"""GE's heavy formats that are modelled (GE knows more: C1HWNCoC0, NDC1HWC0, FRACTAL_Z_3D …)."""
LETTERS: Mapping[str, str] = MappingProxyType({"NCHW": "NCHW", "NHWC": "NHWC", "HWCN": "HWCN"})
"""Plain formats of four dimensions whose letters say which dimension is which (HWCN: filters of channels-last networks)."""
UNIT_BYTES = 32
ROWS = 16
"""Rows of a fractal, and filters of one FRACTAL_Z block."""
ORIGIN_SHAPE, ORIGIN_FORMAT, FORMAT = "origin_shape", "origin_format", "format"
"""GE's attributes of a tensor descriptor: what the user sees, next to what is stored."""


def unit(dtype: str | None) -> int | None:
    """C0: elements in 32 bytes; None for types the cube unit does not take.

    >>> unit("float"), unit("float16"), unit("int8"), unit("double")
    (8, 16, 32, None)
    """
    bits = DTYPE_BITS.get(dtype or "")
    return UNIT_BYTES * 8 // bits if bits in (4, 8, 16, 32) else None


def blocks(size: int, unit_size: int) -> int:
    """Rounded-up division."""
    return -(-size // unit_size)


def by_letter(shape: Shape, source: str) -> dict[str, Dim] | None:
    """Dimension of each letter of a plain format ("" and ND count as NCHW); None unless there are four.

    >>> by_letter((2, 3, 8, 9), "NHWC")
    {'N': 2, 'H': 3, 'W': 8, 'C': 9}
    """
    letters = LETTERS.get(source if source not in ("", "ND") else "NCHW")
    return dict(zip(letters, shape, strict=True)) if letters is not None and len(shape) == 4 else None


def filter_groups(channels: int, filters: int, groups: int, c0: int) -> tuple[int, int, int]:
    """(groups packed into one block, blocks of input channels, blocks of filters) of FRACTAL_Z.

    ``channels`` and ``filters`` are those of one group. Groups are packed until channels or filters fill a fractal.

    >>> filter_groups(3, 64, 1, 16), filter_groups(1, 1, 32, 16)
    ((1, 1, 4), (16, 1, 1))
    """
    packed = math.lcm(math.lcm(channels, c0) // channels, math.lcm(filters, ROWS) // filters)
    packed = min(packed, groups)
    return packed, blocks(packed * channels, c0), blocks(packed * filters, ROWS)


def storage_shape(shape: Shape | None, source: str, target: str, dtype: str | None, groups: int = 1) -> Shape | None:
    """Shape in which a tensor of a plain format is stored; None where the target has none.

    NC1HWC0 keeps unknown N, H and W, but needs C. FRACTAL_Z and FRACTAL_NZ need every dimension they cut.

    >>> storage_shape((1, 3, 224, 224), "NCHW", "NC1HWC0", "float16")
    (1, 1, 224, 224, 16)
    >>> storage_shape((64, 3, 7, 7), "NCHW", "FRACTAL_Z", "float16")
    (49, 4, 16, 16)
    >>> storage_shape((8, 3072, 768), "ND", "FRACTAL_NZ", "float")
    (8, 96, 192, 16, 8)
    """
    c0 = unit(dtype)
    if shape is None or c0 is None:
        return None
    if target == FRACTAL_NZ:
        rows, columns = shape[-2:] if len(shape) > 1 else (None, None)
        if not (isinstance(rows, int) and isinstance(columns, int) and rows > 0 and columns > 0):
            return None
        return (*shape[:-2], blocks(columns, c0), blocks(rows, ROWS), ROWS, c0)
    d = by_letter(shape, source)
    if d is None:
        return None
    n, c, h, w = d["N"], d["C"], d["H"], d["W"]
    if target == NC1HWC0:
        return (n, blocks(c, c0), h, w, c0) if isinstance(c, int) and c > 0 else None
    if target != FRACTAL_Z or not all(isinstance(x, int) and x > 0 for x in (n, c, h, w)):
        return None
    filters, channels, height, width = (int(x) for x in (n, c, h, w) if isinstance(x, int))
    if groups < 1 or filters % groups:
        return None
    packed, c1, n1 = filter_groups(channels, filters // groups, groups, c0)
    return (blocks(groups, packed) * c1 * height * width, n1, ROWS, c0)

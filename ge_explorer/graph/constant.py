"""Value of a small constant, kept beside the node that holds it (attribute ``_gx_value``)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ge_explorer.errors import shorten

VALUE = "_gx_value"
"""Our attribute of a Const node: its ``ConstantValue``; absent when the tensor is large or not in the file."""
VALUE_LIMIT = 64 * 1024
"""Largest tensor, in bytes, whose values are kept."""

NUMPY_DTYPES = {
    "float": "<f4", "float16": "<f2", "double": "<f8", "int8": "i1", "uint8": "u1", "int16": "<i2", "uint16": "<u2",
    "int32": "<i4", "uint32": "<u4", "int64": "<i8", "uint64": "<u8", "bool": "?", "complex64": "<c8", "complex128": "<c16",
}  # fmt: skip
"""GE type name -> numpy type, little endian. Types numpy does not know have no entry."""


@dataclass(frozen=True, slots=True)
class ConstantValue:
    """Raw little-endian bytes of a constant with its type (GE name) and shape. Comparable and hashable."""

    dtype: str
    shape: tuple[int, ...]
    data: bytes

    @staticmethod
    def of(array: NDArray[Any], dtype: str) -> ConstantValue:
        """From a numpy array, stored as ``dtype``."""
        a = np.asarray(array, dtype=NUMPY_DTYPES[dtype])
        return ConstantValue(dtype, tuple(int(d) for d in a.shape), a.tobytes())

    def array(self) -> NDArray[Any] | None:
        """Read-only array; None where numpy has no such type or the bytes do not fit the shape."""
        kind = NUMPY_DTYPES.get(self.dtype)
        if kind is None:
            return None
        a = np.frombuffer(self.data, dtype=kind)
        return a.reshape(self.shape) if a.size == int(np.prod(self.shape, dtype=np.int64)) else None

    def __str__(self) -> str:
        a = self.array()
        shown = f"{len(self.data)} bytes" if a is None else shorten(a.ravel()[:9].tolist())
        return f"{self.dtype}{list(self.shape)} {shown}"

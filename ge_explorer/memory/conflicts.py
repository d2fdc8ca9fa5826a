"""Which buffers exclude each other, as neighbour lists for the planners."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

LIST_LIMIT = 40_000_000
"""Stored neighbour entries (4 bytes each) above which rows are unpacked on demand instead."""
_ONES = np.array([i.bit_count() for i in range(256)], dtype=np.uint8)
_STRIP = 128
"""Bytes per column strip while transposing: 1024 columns at a time keep the temporaries small."""


class Conflicts:
    """Incomparability graph of ``before``: neighbours of b are the buffers that may be alive together with b."""

    def __init__(self, before: Sequence[int]) -> None:
        n = len(before)
        self.count = n
        width = (n + 7) // 8
        packed = np.frombuffer(b"".join(m.to_bytes(width, "little") for m in before), dtype=np.uint8).reshape(n, width)
        free = packed | transposed(packed, n)
        tail = (1 << n) - 1
        full = np.frombuffer(tail.to_bytes(width, "little"), dtype=np.uint8)
        self._rows = ~free & full
        index = np.arange(n)
        self._rows[index, index // 8] &= ~(1 << (index % 8)).astype(np.uint8)
        self.degree: NDArray[np.int64] = _ONES[self._rows].sum(axis=1, dtype=np.int64)
        self._lists: list[NDArray[np.int32]] | None = None
        if int(self.degree.sum()) <= LIST_LIMIT:
            self._lists = [self._unpack(b) for b in range(n)]

    def _unpack(self, b: int) -> NDArray[np.int32]:
        return np.flatnonzero(np.unpackbits(self._rows[b], count=self.count, bitorder="little")).astype(np.int32)

    def of(self, b: int) -> NDArray[np.int32]:
        """Ids of the buffers that must not share a byte with ``b``, ascending."""
        return self._unpack(b) if self._lists is None else self._lists[b]


def transposed(packed: NDArray[np.uint8], n: int) -> NDArray[np.uint8]:
    """Transpose of an n x n bit matrix packed 8 columns to a byte, lowest bit first."""
    out = np.zeros_like(packed)
    for start in range(0, packed.shape[1], _STRIP):
        strip = np.unpackbits(packed[:, start : start + _STRIP], axis=1, bitorder="little")
        columns = np.packbits(np.ascontiguousarray(strip.T), axis=1, bitorder="little")
        rows = columns[: max(n - start * 8, 0)]
        out[start * 8 : start * 8 + len(rows)] = rows
    return out

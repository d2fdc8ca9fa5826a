"""Which buffers exclude each other, as neighbour lists for the planners."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ge_explorer.memory.lifetimes import Spans, before_masks
from ge_explorer.memory.model import MemoryProblem

LIST_LIMIT = 40_000_000
"""Stored neighbour entries (4 bytes each) above which rows are unpacked on demand instead."""
INTERVALS_FROM = 2_000
"""Buffers from which it pays to find out whether lifetimes alone decide."""
_ONES = np.array([i.bit_count() for i in range(256)], dtype=np.uint8)
DENSE = 32
"""One conflict in so many pairs counts as many: the bit matrix is then cheaper than lists."""
_SWAPS = ((7, 0x00AA00AA00AA00AA), (14, 0x0000CCCC0000CCCC), (28, 0x00000000F0F0F0F0))
"""Shifts and masks that transpose an 8 x 8 bit block held in 64 bits (Hacker's Delight, 7-3)."""


class Conflicts:
    """Incomparability graph of ``before``: neighbours of b are the buffers that may be alive together with b.

    Buffer ids usually follow the order of the first writers, so ``before[b]`` only holds smaller ids. The pairs are then read
    from one triangle; otherwise (or when most pairs conflict) the full bit matrix is kept.
    """

    def __init__(self, before: Sequence[int]) -> None:
        n = len(before)
        self.count = n
        self._lists: list[NDArray[np.int32]] | None = None
        self.degree: NDArray[np.int64] = np.zeros(n, dtype=np.int64)
        if all(m >> b == 0 for b, m in enumerate(before)):
            lower = [~m & ((1 << b) - 1) for b, m in enumerate(before)]
            entries = 2 * sum(m.bit_count() for m in lower)
            if entries <= LIST_LIMIT and entries * DENSE <= n * n:
                self._from_triangle(lower)
                return
        packed = _packed(before)
        full = np.frombuffer(((1 << n) - 1).to_bytes(packed.shape[1], "little"), dtype=np.uint8)
        self._rows = ~(packed | transposed(packed, n)) & full
        index = np.arange(n)
        self._rows[index, index // 8] &= ~(1 << (index % 8)).astype(np.uint8)
        self.degree = _ONES[self._rows].sum(axis=1, dtype=np.int64)

    def _from_triangle(self, lower: Sequence[int]) -> None:
        """Neighbour lists from the pairs (larger id, smaller id), reading only the bytes that are not zero."""
        rows = _packed(lower)
        row, byte = np.nonzero(rows)
        cell, bit = np.nonzero(np.unpackbits(rows[row, byte][:, None], axis=1, bitorder="little"))
        high, low = row[cell], byte[cell] * 8 + bit
        keys = np.concatenate([high * self.count + low, low * self.count + high])
        keys.sort()
        start, neighbour = np.divmod(keys, max(self.count, 1))
        self.degree = np.bincount(start, minlength=self.count).astype(np.int64)
        ends = np.cumsum(self.degree)[:-1]
        self._lists = np.split(neighbour.astype(np.int32), ends) if self.count else []

    def of(self, b: int) -> NDArray[np.int32]:
        """Ids of the buffers that must not share a byte with ``b``, ascending."""
        if self._lists is not None:
            return self._lists[b]
        return np.flatnonzero(np.unpackbits(self._rows[b], count=self.count, bitorder="little")).astype(np.int32)

    def row(self, b: int) -> NDArray[np.bool_]:
        """One flag per buffer: True for those of ``of(b)``."""
        if self._lists is None:
            return np.unpackbits(self._rows[b], count=self.count, bitorder="little").view(np.bool_)
        out = np.zeros(self.count, dtype=np.bool_)
        out[self._lists[b]] = True
        return out


class IntervalConflicts:
    """The same for lifetimes on one stream, where two numbers per buffer say it all: nothing is stored per pair."""

    def __init__(self, begin: NDArray[np.int64], end: NDArray[np.int64]) -> None:
        self.count = len(begin)
        self._begin, self._end = begin, end
        starts, ends = np.sort(begin), np.sort(end)
        self.degree: NDArray[np.int64] = (
            np.searchsorted(starts, end, side="right") - np.searchsorted(ends, begin, side="left") - 1
        )

    def of(self, b: int) -> NDArray[np.int32]:
        """Ids of the buffers that must not share a byte with ``b``, ascending."""
        return np.flatnonzero(self.row(b)).astype(np.int32)

    def row(self, b: int) -> NDArray[np.bool_]:
        """One flag per buffer: True for those of ``of(b)``."""
        out: NDArray[np.bool_] = (self._begin <= self._end[b]) & (self._end >= self._begin[b])
        out[b] = False
        return out


AnyConflicts = Conflicts | IntervalConflicts


def conflicts_of(problem: MemoryProblem) -> AnyConflicts:
    """Conflicts of a problem, in the form that is cheap for it."""
    n = len(problem.buffers)
    if n > INTERVALS_FROM:
        begin = np.array([x.begin for x in problem.lifetimes], dtype=np.int64)
        end = np.array([x.end for x in problem.lifetimes], dtype=np.int64)
        # Equal to what one stream gives? Compared in full, since flags and streams may forbid what lifetimes allow.
        rank = {t: k for k, t in enumerate(sorted({*begin.tolist(), *(end + 1).tolist()}))}
        need = np.array([[rank[t]] for t in (end + 1).tolist()], dtype=np.int32)
        start = np.array([[rank[t]] for t in begin.tolist()], dtype=np.int32)
        if before_masks(Spans(need, start)) == problem.before:
            return IntervalConflicts(begin, end)
    return Conflicts(problem.before)


def _packed(masks: Sequence[int]) -> NDArray[np.uint8]:
    width = max((len(masks) + 7) // 8, 1)
    return np.frombuffer(b"".join(m.to_bytes(width, "little") for m in masks), dtype=np.uint8).reshape(
        len(masks), width
    )


def transposed(packed: NDArray[np.uint8], n: int) -> NDArray[np.uint8]:
    """Transpose of an n x n bit matrix packed 8 columns to a byte, lowest bit first."""
    width = packed.shape[1]
    padded = np.zeros((8 * width, width), dtype=np.uint8)
    padded[: len(packed)] = packed
    # Block (i, j) of 8 rows and one byte goes to (j, i); then every block is turned in itself.
    blocks = np.ascontiguousarray(padded.reshape(width, 8, width).transpose(2, 0, 1)).view("<u8")
    for shift, mask in _SWAPS:
        swap = (blocks ^ (blocks >> np.uint64(shift))) & np.uint64(mask)
        blocks = blocks ^ swap ^ (swap << np.uint64(shift))
    rows = blocks.astype("<u8").view(np.uint8).transpose(0, 2, 1)
    return np.ascontiguousarray(rows).reshape(8 * width, width)[:n]

"""Lifetimes and the ``before`` relation of buffers, from happens-before clocks (memory.md C2, C7).

Buffer X is finished for task n when the clock of n covers X's last accessor on every stream. Comparing those numbers stream by
stream, with one prefix mask per stream, builds all ``before`` masks in O(buffers x streams) big-int operations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ge_explorer.graph.happens_before import HappensBefore
from ge_explorer.graph.model import IntArray
from ge_explorer.memory.model import FOREVER, Lifetime

NEVER = np.iinfo(np.int32).max


@dataclass(frozen=True, slots=True, eq=False)
class Spans:
    """Clocks of buffers: ``need[x, c]`` tasks of stream column c must be done before X's bytes are free,
    ``start[x, c]`` of them surely are when X is first written. A buffer no task writes has ``start`` -1 and ``need`` NEVER.
    """

    need: IntArray
    start: IntArray


def spans(hb: HappensBefore, producers: Sequence[Sequence[int]], accessors: Sequence[Sequence[int]]) -> Spans:
    """Clock pairs of buffers given their first writers and all their accessors (node ids; non-tasks are ignored)."""
    width = max(len(hb.streams), 1)
    need = np.zeros((len(producers), width), dtype=np.int32)
    start = np.zeros((len(producers), width), dtype=np.int32)
    row, column, position, clocks = hb.row, hb.column.tolist(), hb.position.tolist(), hb.clocks
    for x, (writers, users) in enumerate(zip(producers, accessors, strict=True)):
        rows = [row[d] for d in writers if d in hb]
        if not rows:
            start[x], need[x] = -1, NEVER
            continue
        start[x] = clocks[rows[0]] if len(rows) == 1 else clocks[rows].min(axis=0)
        mine = need[x]
        for u in users:
            r = row.get(u)
            if r is not None and column[r] >= 0 and mine[column[r]] <= position[r]:
                mine[column[r]] = position[r] + 1
    return Spans(need, start)


def before_masks(s: Spans) -> tuple[int, ...]:
    """Bitmask per buffer of the buffers that are finished before it starts."""
    n, width = s.need.shape
    if n == 0:
        return ()
    everything = (1 << n) - 1
    out = [everything] * n
    for c in range(width):
        need = s.need[:, c]
        order = np.argsort(need, kind="stable")
        # prefix[k]: the k buffers with the smallest need on this stream
        wanted = np.searchsorted(need[order], s.start[:, c], side="right")
        queries = np.argsort(wanted, kind="stable").tolist()
        ranks, counts = order.tolist(), wanted.tolist()
        mask, k = 0, 0
        for y in queries:
            target = counts[y]
            if target - k > 64:  # many at once: one big OR instead of many small ones
                chunk = np.zeros(n, dtype=np.uint8)
                chunk[order[k:target]] = 1
                mask |= int.from_bytes(np.packbits(chunk, bitorder="little").tobytes(), "little")
                k = target
            while k < target:
                mask |= 1 << ranks[k]
                k += 1
            if target < n:
                out[y] &= mask
    return tuple(out)


def lifetimes(
    hb: HappensBefore, s: Spans, accessors: Sequence[Sequence[int]], time: IntArray, keep: Sequence[bool]
) -> tuple[Lifetime, ...]:
    """Lifetime per buffer. ``time``: topological id per node id; ``keep[x]``: the buffer must never be given away."""
    free = free_positions(hb, s)
    tasks = [hb.on_stream(st) for st in hb.streams]
    when, row, column = time.tolist(), hb.row, hb.column.tolist()
    streams = list(zip(hb.streams, tasks, strict=True))
    out = []
    for x, (users, need, places) in enumerate(zip(accessors, s.need.tolist(), free.tolist(), strict=True)):
        last = {st: on[p - 1] for (st, on), p in zip(streams, need, strict=False) if 0 < p < NEVER}
        times = [when[u] for u in users if u in row and column[row[u]] >= 0] or [0]
        end = FOREVER if keep[x] or not last else max(times)
        free_at = {
            st: on[p] if not keep[x] and p < len(on) else -1 for (st, on), p in zip(streams, places, strict=False)
        }
        out.append(Lifetime(min(times), end, last, free_at))
    return tuple(out)


def free_positions(hb: HappensBefore, s: Spans) -> IntArray:
    """Per buffer and stream column: place of the first task there that may take the bytes (stream length: none)."""
    n, width = s.need.shape
    out = np.zeros((n, width), dtype=np.int32)
    for c, st in enumerate(hb.streams):
        rows = [hb.row[v] for v in hb.on_stream(st)]
        clocks = hb.clocks[rows]
        for t in range(width):
            np.maximum(out[:, c], np.searchsorted(clocks[:, t], s.need[:, t], side="left"), out=out[:, c])
    return out

"""Size classes of a candidate (memory.md A5; binary_block_mem_assigner.cc, max_block_mem_assigner.cc)."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from math import ceil, log2

from ge_explorer.memory.ge.view import NO_BLOCK, View
from ge_explorer.memory.sizes import BLOCK_ALIGNMENT

FLOOR = 512
KEEP_SMALL_BUCKET_FROM = 8 << 20
"""A bucket of at least two members whose first has this many bytes stays, however few members it has."""
BATCH_LABEL = "_batch_label"


def planned_sizes(view: View, label: str = "") -> list[int]:
    """Sizes of all outputs and workspaces that ``label`` (and no label) has, ascending, zeros left out."""
    out: list[int] = []
    for op in view.ops:
        if op.attrs.get(BATCH_LABEL, "") not in ("", label):
            continue
        out += [w for w in op.workspaces if w]
        if op.type not in NO_BLOCK:
            out += [x.size for x in op.outputs if x.size]
    return sorted(out)


def has_buffers(view: View) -> bool:
    """True when some operator has an output or a workspace at all."""
    return any(op.workspaces or op.outputs for op in view.ops)


def largest_label(view: View) -> str:
    """Batch label with the greatest sum of sizes, alphabetically first among equals; "" without labels."""
    sums: dict[str, int] = {}
    for op in view.ops:
        label = op.attrs.get(BATCH_LABEL, "")
        if label:
            outputs = 0 if op.type in NO_BLOCK else sum(x.size for x in op.outputs)
            sums[label] = sums.get(label, 0) + sum(op.workspaces) + outputs
    return min(sums, key=lambda k: (-sums[k], k)) if sums else ""


def binary_classes(sizes: Sequence[int]) -> tuple[int, ...]:
    """Classes by repeated halving of the largest size; thin classes are merged into the next one."""
    if not sizes:
        return ()
    top = sizes[-1]
    low = FLOOR if top > FLOOR else sizes[0]
    slack = BLOCK_ALIGNMENT if top > FLOOR else 0
    count = max(1, ceil(log2(top / low)))
    buckets: list[list[int]] = [[] for _ in range(count)]
    rest, limit = list(sizes), top
    for i in range(count - 1, 0, -1):
        limit //= 2
        buckets[i] = [s for s in rest if s > limit + slack]
        rest = [s for s in rest if s <= limit + slack]
    return tuple(sorted(max(b) for b in _merged(buckets, len(sizes) // count)))


def _merged(buckets: list[list[int]], least: int) -> list[list[int]]:
    changed = True
    while changed:
        changed = False
        i = 0
        while i < len(buckets):
            b = buckets[i]
            if not b:
                del buckets[i]
                changed = True
                continue
            last = i + 1 == len(buckets)
            if len(b) < least and not last and not (b[0] >= KEEP_SMALL_BUCKET_FROM and len(b) >= 2):
                buckets[i + 1] = b + buckets[i + 1]
                del buckets[i]
                changed = True
                continue
            i += 1
    return buckets


def class_of(size: int, classes: Sequence[int]) -> int:
    """Smallest class that holds ``size``; the size itself when none does (GE warns)."""
    i = bisect_left(classes, size)
    return classes[i] if i < len(classes) else size

"""Is one kernel faster than two? Roofline comparison of a producer and its only consumer. Ours, GE has no such test.

``gain = t(P) + gap + t(C) - t(P and C)``, where the fused kernel never writes and reads the tensor between them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ge_explorer.device.cost import kernel_ns
from ge_explorer.device.work import Work

GAP_NS = 1250.0
"""Dispatch gap between two kernels of one stream (median of public samples, runtime.md section 10.3)."""
UNIFIED_BUFFER = 192 * 1024
"""Bytes of the unified buffer of a vector core."""
TILE = 16 * 1024
"""Largest part of one tensor a vector core holds at a time; two of each, so that loading overlaps computing."""


@dataclass(frozen=True, slots=True)
class Part:
    """A kernel, fused or not: its work, its own tensors (bytes each) and its members."""

    work: Work
    tensors: tuple[float, ...]
    members: tuple[int, ...]


def joined(p: Part, c: Part, between: float, repeat: float = 1.0) -> Part:
    """One kernel instead of ``p`` then ``c``; ``between`` bytes are neither written nor read any more.

    ``repeat``: how often ``c`` needs each element of the tensor between them (broadcast): ``p`` is computed that often.
    """
    a, b = p.work, c.work
    work = replace(
        b,
        flops=a.flops * repeat + b.flops,
        vops=a.vops * repeat + b.vops,
        hot_bytes=max(0.0, a.hot_bytes + b.hot_bytes - 2 * between),
        cold_bytes=a.cold_bytes + b.cold_bytes,
        vector_blocks=max(a.vector_blocks, b.vector_blocks),
        element_bytes=max(a.element_bytes, b.element_bytes),
        efficiency=min(a.efficiency, b.efficiency),
        assumed=a.assumed or b.assumed,
    )
    shared = list(c.tensors)
    if between in shared:  # one tile serves the write and the read
        shared.remove(between)
    return Part(work, (*p.tensors, *shared), (*p.members, *c.members))


def gain_ns(p: Part, c: Part, both: Part) -> float:
    """Time saved in ns by running ``both``; below the threshold 0 is returned."""
    alone = kernel_ns(p.work, "AIV") + kernel_ns(c.work, "AIV")
    saved = alone + GAP_NS - kernel_ns(both.work, "AIV")
    return saved if saved > max(1000.0, 0.02 * alone) else 0.0


def fits(part: Part) -> bool:
    """True if two tiles of every tensor fit the unified buffer."""
    return 2 * sum(min(b, TILE) for b in part.tensors) <= UNIFIED_BUFFER

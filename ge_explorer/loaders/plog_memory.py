"""GE's memory plan as a log states it: buffers with sizes, lifetimes and offsets, ready for the verifier and the map."""

from __future__ import annotations

from collections.abc import Sequence

from ge_explorer.loaders.ge_recorded import BufferLine
from ge_explorer.memory.model import FOREVER, Buffer, Lifetime, MemoryPlan, MemoryProblem

UNRELEASED = 4294967294
"""GE's end of a buffer that it never releases (also below FOREVER)."""
FEATURE_TYPES = frozenset({2})
"""RT_MEMORY_HBM: the feature map. Other types (P2P, host) live in memories of their own."""


def plan_of_lines(
    lines: Sequence[BufferLine], nodes: dict[tuple[str, str], int] | None = None
) -> tuple[MemoryProblem, MemoryPlan]:
    """Problem and plan of the buffers of one graph and memory type.

    ``nodes``: (graph, name) -> node id, for the producers. Buffers of size 0 (variables, constants) are left out, and
    lines of early 2020, which state no lifetime. One buffer is finished before another starts when the last of its ends lies
    before the other's begin; an end on a foreign stream counts as GE counts it, by topological id. Bytes.
    """
    kept = [b for b in lines if b.size > 0 and b.begin >= 0 and b.memory_type in FEATURE_TYPES]
    buffers: list[Buffer] = []
    spans: list[tuple[int, int]] = []
    for i, b in enumerate(kept):
        producer = (nodes or {}).get((b.graph, b.name))
        who = () if producer is None else (producer,)
        kind = "workspace" if b.kind == "workspace" else "feature"
        name = b.name if b.kind == "output" and b.index == 0 else f"{b.name}.{b.kind}{b.index}"
        buffers.append(Buffer(i, name, b.size, (), who, who, kind, b.stream, b.real_size))
        last = max((e for _, e in b.ends), default=b.end)
        spans.append((b.begin, FOREVER if last >= UNRELEASED else last))
    rank = sorted(range(len(kept)), key=lambda i: spans[i][1])
    before = [0] * len(kept)
    mask, k = 0, 0
    for i in sorted(range(len(kept)), key=lambda i: spans[i][0]):
        while k < len(rank) and spans[rank[k]][1] < spans[i][0]:
            mask |= 1 << rank[k]
            k += 1
        before[i] = mask
    life = tuple(Lifetime(b, e, {}, {}) for b, e in spans)
    problem = MemoryProblem(tuple(buffers), tuple(before), life)
    offsets = tuple(b.offset for b in kept)
    peak = max((b.offset + b.size for b in kept), default=0)
    return problem, MemoryPlan(offsets, peak, "GE", "ge-log")

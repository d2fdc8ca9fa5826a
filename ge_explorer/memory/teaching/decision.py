"""Why two buffers may or may not share bytes: the report on one pair.

Idea (article, memory.md B16: size, lifetime, neighbours, result). The reason names what GE's own check names: a reader without a
path to a producer, a flag, or nothing at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ge_explorer.graph.happens_before import HappensBefore
from ge_explorer.memory.model import FOREVER, MemoryPlan, MemoryProblem
from ge_explorer.memory.teaching.intervals import overlap, requests_of
from ge_explorer.text import Text


@dataclass(frozen=True, slots=True)
class PairDecision:
    """Buffers ``x`` and ``y``: may they share (``allowed``), do they in the plan (``shared`` bytes), ticks alive together, reason.

    ``reader`` and ``producer``: the first pair without a path, -1 where the order is proven.
    """

    x: int
    y: int
    allowed: bool
    shared: int
    overlap: int
    reason: Text
    reader: int = -1
    producer: int = -1


def decide(
    problem: MemoryProblem, plan: MemoryPlan, hb: HappensBefore, names: Mapping[int, str], x: int, y: int
) -> PairDecision:
    """Report on a pair of buffer ids; the earlier one by lifetime is taken as the giver."""
    if (problem.lifetimes[y].begin, y) < (problem.lifetimes[x].begin, x):
        x, y = y, x
    a, b = problem.buffers[x], problem.buffers[y]
    ticks = requests_of(problem)
    common = min(plan.offsets[x] + a.size, plan.offsets[y] + b.size) - max(plan.offsets[x], plan.offsets[y])
    missing = next(((r, d) for r in reversed(a.accessors) for d in b.producers if not hb.ordered(r, d)), None)
    allowed = bool(problem.before[y] >> x & 1 or problem.before[x] >> y & 1)
    if allowed:
        reason = Text(f"every task that touches {a.name} is done before {b.name} is written",
                      f"使用 {a.name} 的所有任务都先于写入 {b.name} 完成")  # fmt: skip
    elif missing is None:
        reason = Text(
            f"a flag forbids {a.name} to give or {b.name} to take bytes",
            f"有标志禁止 {a.name} 让出或 {b.name} 占用字节",
        )
    elif problem.lifetimes[x].end >= FOREVER:
        reason = Text(f"{a.name} is never released", f"{a.name} 永不释放")
    else:
        r, d = (names.get(v, f"#{v}") for v in missing)
        reason = Text(f"no path from {r} (reader of {a.name}) to {d} (producer of {b.name})",
                      f"从 {r}（{a.name} 的读者）到 {d}（{b.name} 的生产者）没有路径")  # fmt: skip
    pair = missing if missing is not None and not allowed else (-1, -1)
    return PairDecision(x, y, allowed, max(common, 0), overlap(ticks[x], ticks[y]), reason, *pair)


def neighbours(problem: MemoryProblem, x: int) -> tuple[tuple[int, int], ...]:
    """(buffer, ticks alive together) of all that conflict with ``x`` and overlap it, most first."""
    ticks = requests_of(problem)
    out = [
        (y, overlap(ticks[x], ticks[y]))
        for y in range(len(ticks))
        if y != x and not (problem.before[x] >> y & 1 or problem.before[y] >> x & 1)
    ]
    return tuple(sorted(out, key=lambda p: (-p[1], p[0])))

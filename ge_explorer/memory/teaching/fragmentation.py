"""Fragmentation: how much of the free memory lies in pieces too small to be one.

Idea (article, memory.md B10): 1 - largest free piece / all free bytes; 0 when nothing is free. GE plans static graphs once and
never moves anything, so for a plan the number says how scattered its holes are at a tick, not that an allocation will fail.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from ge_explorer.errors import OptionError
from ge_explorer.memory.model import MemoryPlan, MemoryProblem
from ge_explorer.memory.teaching.intervals import requests_of

State = Literal["ok", "warn", "defrag"]


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Above ``warn`` say so, above ``defrag`` compact; looked at every ``interval`` steps."""

    warn: float
    defrag: float
    interval: int

    def __post_init__(self) -> None:
        """Values must make sense together."""
        if not 0 <= self.warn <= self.defrag <= 1 or self.interval < 1:
            raise OptionError("thresholds need 0 <= warn <= defrag <= 1 and an interval of at least 1",
                              got=(self.warn, self.defrag, self.interval))  # fmt: skip

    def state(self, fragmentation: float) -> State:
        """What a value means."""
        return "defrag" if fragmentation > self.defrag else "warn" if fragmentation > self.warn else "ok"


PRESETS: Mapping[str, Thresholds] = MappingProxyType(
    {
        "monitor": Thresholds(0.20, 0.30, 50),
        "defragmenter": Thresholds(0.30, 0.30, 100),
        "training": Thresholds(0.25, 0.30, 50),
    }
)
"""The three sets of numbers in the article. Its training sample gives no defrag threshold; 0.30 is that of its class."""


def fragmentation(free: Iterable[int]) -> float:
    """Value of free pieces (sizes in bytes).

    >>> fragmentation([100]), fragmentation([50, 50]), fragmentation([])
    (0.0, 0.5, 0.0)
    """
    sizes = list(free)
    total = sum(sizes)
    return 1 - max(sizes) / total if total else 0.0


def holes(used: Iterable[tuple[int, int]], upto: int) -> list[tuple[int, int]]:
    """Free (offset, size) inside [0, upto) between used (offset, size) ranges; ranges may overlap."""
    out, at = [], 0
    for begin, size in sorted(used):
        if begin > at:
            out.append((at, begin - at))
        at = max(at, begin + size)
    if at < upto:
        out.append((at, upto - at))
    return out


def over_time(problem: MemoryProblem, plan: MemoryPlan) -> Sequence[tuple[int, float, int]]:
    """(tick, fragmentation, free bytes) of a plan inside [0, peak) at every tick where something begins or ends.

    Ticks are topological ids: on several streams this is the serial view.
    """
    live = requests_of(problem)
    out = []
    for t in sorted({r.start for r in live} | {r.end for r in live}):
        used = [(plan.offsets[k], r.size) for k, r in enumerate(live) if r.start <= t < r.end]
        free = [size for _, size in holes(used, plan.peak)]
        out.append((t, fragmentation(free), sum(free)))
    return out

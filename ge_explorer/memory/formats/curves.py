"""Memory over time, as a profiler or an allocator saw it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Curve:
    """``points``: (place, bytes), ascending; each holds until the next. ``axis``: what a place is (event, node index)."""

    name: str
    axis: str
    points: tuple[tuple[int, int], ...]

    @property
    def peak(self) -> int:
        """Most bytes; 0 for an empty curve."""
        return max((b for _, b in self.points), default=0)

    @property
    def peak_at(self) -> int:
        """First place with the most bytes; -1 for an empty curve."""
        return max(self.points, key=lambda p: (p[1], -p[0]), default=(-1, 0))[0]


def running_sum(name: str, axis: str, changes: Iterable[tuple[int, int]]) -> Curve:
    """Curve of (place, change in bytes), starting from zero; changes at one place are taken together."""
    points: list[tuple[int, int]] = []
    now = 0
    for place, change in sorted(changes):
        now += change
        if points and points[-1][0] == place:
            points[-1] = (place, now)
        else:
            points.append((place, now))
    return Curve(name, axis, tuple(points))

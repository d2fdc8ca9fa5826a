"""State of the two mergers that count nodes: which unit is where, and how many nodes each stream has per level."""

from __future__ import annotations

from ge_explorer.passes.streams.dag.merger import Merger
from ge_explorer.passes.streams.dag.units import MergeOptions, Units, window_end


class CountingMerger(Merger):
    """Common part of LoadBalance and MainStream."""

    def __init__(self, units: Units, options: MergeOptions) -> None:
        self.units = units
        self.options = options
        self.assignment = [-1] * len(units.paths)
        self.size: list[int] = []
        """Nodes of each open stream."""
        self.hist: list[list[int]] = []
        """The same by level."""
        self.load: list[int] = []
        """The same inside the window."""
        self.first, self.last = 0, 0

    @property
    def active(self) -> int:
        """Number of open streams; the next new one gets this id."""
        return len(self.size)

    @property
    def may_open(self) -> bool:
        """Whether the limit allows one more stream."""
        return self.active < self.options.physical_stream_limit

    def open_level(self, level: int) -> None:
        """Move the window to ``level`` and take every stream's load there."""
        self.first = level
        self.last = window_end(self.units.levels.count - 1, level, self.options.window_width)
        self.load = [sum(h[self.first : self.last + 1]) for h in self.hist]

    def in_order(self, units: list[int]) -> list[int]:
        """Larger first, then more edges to others, then the higher peak, then the id."""
        p = self.units
        return sorted(units, key=lambda u: (-p.size[u], -p.interaction[u], -p.peak[u], p.earliest[u], u))

    def levels_in_window(self, unit: int) -> list[tuple[int, int]]:
        """(level, nodes) of a unit inside the window."""
        return [(lv, n) for lv, n in self.units.hist[unit].items() if self.first <= lv <= self.last]

    def in_window(self, unit: int) -> int:
        """Nodes of a unit inside the window."""
        return sum(n for _, n in self.levels_in_window(unit))

    def neighbour_weights(self, unit: int) -> dict[int, int]:
        """Stream -> number of edges between the unit and what already lies there."""
        out: dict[int, int] = {}
        for other, w in self.units.neighbours[unit].items():
            s = self.assignment[other]
            if s >= 0:
                out[s] = out.get(s, 0) + w
        return out

    def place(self, unit: int, stream: int) -> None:
        """Put a unit on a stream (the next free id opens one)."""
        while stream >= self.active:
            self.size.append(0)
            self.hist.append([0] * self.units.levels.count)
            self.load.append(0)
        self.assignment[unit] = stream
        self._add(unit, stream, 1)

    def remove(self, unit: int) -> int:
        """Take a unit off its stream."""
        stream = self.assignment[unit]
        if stream >= 0:
            self.assignment[unit] = -1
            self._add(unit, stream, -1)
        return stream

    def _add(self, unit: int, stream: int, sign: int) -> None:
        self.size[stream] += sign * self.units.size[unit]
        row = self.hist[stream]
        for lv, n in self.units.hist[unit].items():
            row[lv] += sign * n
        self.load[stream] += sign * self.in_window(unit)

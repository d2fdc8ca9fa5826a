"""The four numbers GE prints about a candidate (memory.md A20; AddMemoryStat, ReleaseMemory)."""

from __future__ import annotations

from dataclasses import dataclass, field

from ge_explorer.memory.sizes import aligned


@dataclass(frozen=True, slots=True)
class Statistics:
    """Bytes: ``theory_min`` largest live sum along the serial order plus what may never be reused; ``theory`` live at the end;
    ``no_reuse`` buffers that may never be reused; ``total`` all buffers, the memory without any reuse.
    """

    theory_min: int = 0
    theory: int = 0
    no_reuse: int = 0
    total: int = 0


@dataclass(slots=True)
class Counter:
    """Running sums of one memory type."""

    live: int = 0
    highest: int = 0
    no_reuse: int = 0
    total: int = 0

    def add(self, size: int, reusable: bool) -> None:
        """A buffer appears."""
        z = aligned(size)
        self.total += z
        if reusable:
            self.live += z
        else:
            self.no_reuse += z
        self.highest = max(self.highest, self.live)

    def release(self, size: int) -> None:
        """A buffer is free again."""
        z = aligned(size)
        if self.live >= z:
            self.live -= z


@dataclass(slots=True)
class Counters:
    """One counter per memory type."""

    of: dict[int, Counter] = field(default_factory=dict)

    def __getitem__(self, memory_type: int) -> Counter:
        return self.of.setdefault(memory_type, Counter())

    def result(self) -> dict[int, Statistics]:
        """The printed numbers, by memory type."""
        return {t: Statistics(c.highest + c.no_reuse, c.live, c.no_reuse, c.total) for t, c in sorted(self.of.items())}

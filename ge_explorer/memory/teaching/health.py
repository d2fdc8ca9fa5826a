"""Health monitor: look at every pool now and then, warn, and compact the pools that need it.

Idea (article, memory.md B11): a check every so many training steps. Here only the pools above the threshold are compacted, a
compaction counts when it has moved something, and the report is a value instead of printed lines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from ge_explorer.errors import OptionError
from ge_explorer.memory.teaching.arena import Arena
from ge_explorer.memory.teaching.defragmenter import Block, Relocation, slide_down
from ge_explorer.memory.teaching.fragmentation import PRESETS, State, Thresholds, fragmentation


class Pool:
    """A named arena whose allocations have names, so that they can be found again after a compaction."""

    def __init__(self, name: str, capacity: int, alignment: int = 64) -> None:
        self.name, self.arena = name, Arena(capacity, alignment)
        self.offset: dict[str, int] = {}
        self.relocations: list[Relocation] = []

    @property
    def fragmentation(self) -> float:
        """Of all free bytes of the pool."""
        return fragmentation(p.size for p in self.arena.free_pieces)

    def allocate(self, name: str, size: int) -> int:
        """Offset of a new allocation. OptionError if the name is in use."""
        if name in self.offset:
            raise OptionError("this name is allocated already", where=self.name, got=name)
        self.offset[name] = self.arena.allocate(size)
        return self.offset[name]

    def free(self, name: str) -> None:
        """Give an allocation back. OptionError for an unknown name."""
        if name not in self.offset:
            raise OptionError("this name is not allocated", where=self.name, got=name)
        self.arena.free(self.offset.pop(name))

    def compact(self) -> Relocation:
        """Slide everything down; offsets by name are the new ones afterwards."""
        size = self.arena.live
        done = slide_down([Block(n, o, size[o]) for n, o in self.offset.items()], self.arena.capacity)
        sizes = {n: size[o] for n, o in self.offset.items()}
        self.arena.reset()
        for name in sorted(sizes, key=lambda n: done.table[n][1]):
            self.offset[name] = self.arena.allocate(sizes[name])
        self.relocations.append(done)
        return done


@dataclass(frozen=True, slots=True)
class Entry:
    """One look at one pool."""

    step: int
    pool: str
    fragmentation: float
    used: int
    capacity: int
    state: State
    moved: int


@dataclass(slots=True)
class Report:
    """All looks, in order."""

    entries: list[Entry] = field(default_factory=list)

    @property
    def warnings(self) -> int:
        """Looks above the warning threshold only."""
        return sum(e.state == "warn" for e in self.entries)

    @property
    def compactions(self) -> int:
        """Compactions that moved bytes."""
        return sum(e.moved > 0 for e in self.entries)


def monitor(
    pools: Mapping[str, Pool],
    steps: Iterable[Callable[[Mapping[str, Pool]], None]],
    thresholds: Thresholds = PRESETS["monitor"],
) -> Report:
    """Run the steps (each allocates and frees) and look at the pools after every ``interval``-th one, the first excepted."""
    report = Report()
    for k, step in enumerate(steps):
        step(pools)
        if k == 0 or k % thresholds.interval:
            continue
        for name, pool in pools.items():
            value = pool.fragmentation
            state = thresholds.state(value)
            moved = pool.compact().copied if state == "defrag" else 0
            report.entries.append(Entry(k, name, value, pool.arena.used, pool.arena.capacity, state, moved))
    return report

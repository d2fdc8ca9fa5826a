"""Blocks: pieces of the address range, each with the buffers that take turns on it (memory.md A6, A9; memory_block.cc)."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum

from ge_explorer.memory.ge.symbols import HBM, Symbol
from ge_explorer.memory.ge.view import Op
from ge_explorer.memory.sizes import aligned

FOREVER = 4294967295
"""F: no end is known (kMaxLifeTime)."""
UNSET = 4294967294
"""D: never released (kDefaultLifeTime); the start value of every end."""


class Kind(IntEnum):
    """What an entry stands for."""

    OUTPUT = 0
    WORKSPACE = 1


@dataclass(eq=False, slots=True)
class Entry:
    """A buffer on a block. ``begin`` is what was set, ``start`` what counts; ``foreign`` are ends on other streams.

    ``pairs`` collects (last use, return) per releasing stream until the block is free again. ``at`` is ``start``, fixed when level
    2 begins.
    """

    op: Op
    kind: Kind
    index: int
    begin: int
    real: int
    payload: int
    ref: bool = False
    end: int = UNSET
    symbol_end: int = UNSET
    foreign: dict[int, int] = field(default_factory=dict)
    pairs: dict[int, tuple[int, int]] = field(default_factory=dict)
    out_count: int = 1
    differing_merge: bool = False
    at: int = 0

    @property
    def start(self) -> int:
        """GetLifeBegin: the set begin if it is earlier than the operator, else the operator."""
        if self.op.type == "PartitionedCall" and self.kind is Kind.OUTPUT:
            return self.end
        return self.sort_start

    @property
    def sort_start(self) -> int:
        """Begin as the block sort takes it."""
        return self.begin if 0 < self.begin < self.op.id else self.op.id

    def raise_end(self, when: int) -> None:
        """Own end at least ``when``; an unset end takes it."""
        self.end = when if self.end == UNSET else max(self.end, when)

    @property
    def only_foreign(self) -> tuple[int, int] | None:
        """(stream, end) when there is one reader stream and one foreign end."""
        return next(iter(self.foreign.items())) if self.out_count == 1 and len(self.foreign) == 1 else None


@dataclass(eq=False, slots=True)
class Block:
    """A block in the making. ``size`` is its size class; ``uid`` its creation number, the identity over all steps.

    ``children`` are nested by lifetime, side by side from the head; ``layers`` are blocks of other batches, each layer from the
    head again.
    """

    uid: int
    size: int
    stream: int
    memory_type: int = HBM
    batch: str = ""
    reusable: bool = True
    post: bool = True
    prior: bool = False
    same_stream: bool = True
    zero_copy: bool = False
    continuous: bool = False
    first: bool = False
    last: bool = False
    shares_zero_copy: bool = True
    refcount: int = 0
    cross: bool = False
    symbol: Symbol | None = None
    entries: list[Entry] = field(default_factory=list)
    children: list[Block] = field(default_factory=list)
    layers: list[list[Block]] = field(default_factory=list)
    used: int = 0
    nested: bool = False
    parent: Block | None = None
    head: int = 0
    made_by: str = "level 1"
    _aligned: int = -1

    @property
    def tail_entry(self) -> Entry:
        """The last buffer; most properties of a block are read from it."""
        return self.entries[-1]

    @property
    def real(self) -> int:
        """Largest size of its buffers."""
        return max((e.real for e in self.entries), default=0)

    @property
    def payload(self) -> int:
        """Largest size without alignment."""
        return max((e.payload for e in self.entries), default=0)

    @property
    def asize(self) -> int:
        """Aligned largest size. GE computes it once and forgets it only when a buffer is added, so it can be too large after
        a split took the largest buffer away; that is kept.
        """
        if self._aligned < 0:
            self._aligned = aligned(self.real)
        return self._aligned

    def append(self, e: Entry) -> None:
        """Add a buffer."""
        self.entries.append(e)
        self._aligned = -1

    @property
    def start(self) -> int:
        """Begin of its first buffer."""
        return self.entries[0].start

    def end(self, stream: int) -> int:
        """When ``stream`` sees the last buffer end."""
        last = self.tail_entry
        only = last.only_foreign
        return only[1] if only is not None and only[0] == stream else last.end

    def end_with_stream(self, stream: int) -> tuple[int, int]:
        """(end, the stream whose ids it is counted in), as ``stream`` may use it under MemoryPriority."""
        last = self.tail_entry
        only = last.only_foreign
        if only is None:
            return last.end, self.stream
        if stream == self.stream:
            return FOREVER, self.stream
        return only[1], only[0]

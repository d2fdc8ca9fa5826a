"""Defragmenter: move what is alive to one end and keep a table of where everything went.

Idea (article, memory.md B11): repack by falling size and hand out a relocation table. Not something GE does to static graphs. The
moves are real copies, so the old offset belongs in the table, the order matters (a move must not land on bytes that still wait to
move), and no task may touch the pool meanwhile: ``barrier`` names the streams to wait for first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ge_explorer.errors import OptionError


@dataclass(frozen=True, slots=True)
class Block:
    """Something alive: ``name`` at ``offset`` with ``size`` bytes, used by tasks of ``stream``."""

    name: str
    offset: int
    size: int
    stream: int = 0


@dataclass(frozen=True, slots=True)
class Move:
    """Copy ``size`` bytes from ``old`` to ``new``. Source and target of one move may overlap (memmove). ``scratch``: one of the two
    is a spare place behind the pool, because two blocks swap.
    """

    name: str
    old: int
    new: int
    size: int
    scratch: bool = False


@dataclass(frozen=True, slots=True)
class Relocation:
    """``table``: name -> (old offset, new offset) of every block, moved or not; ``moves`` in an order that destroys nothing;
    ``scratch`` spare bytes needed at ``capacity``; ``barrier``: streams that must be idle before the first move.
    """

    table: Mapping[str, tuple[int, int]]
    moves: tuple[Move, ...]
    scratch: int
    barrier: tuple[int, ...]
    top: int

    @property
    def copied(self) -> int:
        """Bytes that are copied."""
        return sum(m.size for m in self.moves)


def slide_down(blocks: Sequence[Block], capacity: int) -> Relocation:
    """Close the gaps from below, in the order of the offsets: every move goes down, none needs spare room (ours)."""
    return _relocate(sorted(blocks, key=lambda b: b.offset), blocks, capacity)


def repack_by_size(blocks: Sequence[Block], capacity: int) -> Relocation:
    """The article's order: largest block first. May move everything and may need spare room for swaps."""
    return _relocate(sorted(blocks, key=lambda b: (-b.size, b.offset)), blocks, capacity)


def _relocate(order: Sequence[Block], blocks: Sequence[Block], capacity: int) -> Relocation:
    if len({b.name for b in blocks}) < len(blocks):
        raise OptionError("block names must be unique", got=[b.name for b in blocks])
    new: dict[str, int] = {}
    top = 0
    for b in order:
        new[b.name] = top
        top += b.size
    if top > capacity:
        raise OptionError("the blocks do not fit into the pool", got=top, todo=f"The pool has {capacity} bytes.")
    table = {b.name: (b.offset, new[b.name]) for b in blocks}
    moves, scratch = _schedule([b for b in blocks if new[b.name] != b.offset and b.size], new, capacity)
    barrier = tuple(sorted({b.stream for b in blocks if b.name in {m.name for m in moves}}))
    return Relocation(table, moves, scratch, barrier, top)


def _schedule(blocks: Sequence[Block], new: Mapping[str, int], capacity: int) -> tuple[tuple[Move, ...], int]:
    """Order the moves: a block goes when no waiting block lies on its target. If all wait for each other, one steps aside."""
    waiting = {b.name: b for b in blocks}
    at = {b.name: b.offset for b in blocks}
    moves: list[Move] = []
    spare = 0
    while waiting:
        ready = [
            b
            for b in waiting.values()
            if not any(
                o.name != b.name and at[o.name] < new[b.name] + b.size and new[b.name] < at[o.name] + o.size
                for o in waiting.values()
            )
        ]
        if ready:
            b = min(ready, key=lambda b: new[b.name])
            moves.append(Move(b.name, at[b.name], new[b.name], b.size, at[b.name] >= capacity))
            del waiting[b.name]
            continue
        b = min((b for b in waiting.values() if at[b.name] < capacity), key=lambda b: (b.size, b.offset))
        moves.append(Move(b.name, at[b.name], capacity + spare, b.size, True))
        at[b.name] = capacity + spare
        spare += b.size
    return tuple(moves), spare


def carry_out(memory: bytearray, moves: Sequence[Move]) -> None:
    """Do the copies. ``memory`` must hold the pool and the spare bytes behind it."""
    for m in moves:
        memory[m.new : m.new + m.size] = bytes(memory[m.old : m.old + m.size])

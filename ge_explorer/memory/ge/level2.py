"""Level 2: blocks are nested into larger ones whose buffers they do not meet (memory.md A9; ReuseBlocksByLifeTime).

Blocks are visited from the largest down. A block that only partly meets its target is split: the buffers that meet go on as a
new block.
"""

from __future__ import annotations

from collections.abc import Callable

from ge_explorer.memory.ge.blocks import Block, Entry
from ge_explorer.memory.ge.context import Context, Strategy
from ge_explorer.memory.ge.level1 import State
from ge_explorer.memory.ge.libstdcxx import introsort
from ge_explorer.memory.sizes import BLOCK_ALIGNMENT

DEPTH = 100


def sort_rule(ascending: bool) -> Callable[[Block, Block], bool]:
    """Larger first; equal: ``ascending`` fewer buffers, then earlier begin; otherwise later begin."""

    def size(b: Block) -> int:
        return b.payload if b.continuous else b.asize

    def less(a: Block, b: Block) -> bool:
        x, y = size(a), size(b)
        if x != y:
            return x > y
        if not ascending:
            return a.entries[0].sort_start > b.entries[0].sort_start
        if len(a.entries) != len(b.entries):
            return len(a.entries) < len(b.entries)
        return a.entries[0].sort_start < b.entries[0].sort_start

    return less


class Nesting:
    """Level 2 of one candidate."""

    def __init__(self, s: State) -> None:
        self.s, self.ctx, self.strategy = s, s.ctx, s.strategy
        self.blocks = list(s.blocks)
        for b in self.blocks:
            for e in b.entries:
                e.at = e.start

    def run(self) -> list[Block]:
        """Nest what can be nested; returns all blocks in their final order."""
        less = sort_rule(self.strategy.ascending)
        blocks = self.blocks
        introsort(blocks, less)
        i = 0
        while i < len(blocks):
            parent = blocks[i]
            j = i + 1
            while j < len(blocks) and not parent.nested:
                child = blocks[j]
                if not (parent.continuous and child.entries[0].op.id < self.ctx.last_clean):
                    clones: list[Block] = []
                    self.nest(parent, child, clones, 0)
                    if clones:
                        self._insert(parent, j, clones, less)
                j += 1
            i += 1
        return blocks

    def _insert(self, parent: Block, j: int, clones: list[Block], less: Callable[[Block, Block], bool]) -> None:
        blocks = self.blocks
        blocks[j + 1 : j + 1] = clones
        after = j + 1 + len(clones)
        smallest = min(parent.asize, *(c.asize for c in clones))
        if self.ctx.options.priority or (after < len(blocks) and smallest < blocks[after].asize):
            rest = blocks[j + 1 :]
            introsort(rest, less)
            blocks[j + 1 :] = rest

    def nest(self, p: Block, c: Block, clones: list[Block], depth: int) -> bool:
        """Try to put ``c`` into ``p``; True ends the search among the siblings of ``p``."""
        if not (p.reusable and c.reusable) or c.nested or c.children or depth > DEPTH:
            return False
        if p.batch != c.batch or p.memory_type != c.memory_type:
            return False
        fits = self.follows(p, c) or self.follows(c, p)
        if (p.zero_copy and (c.continuous or c.first or c.last)) or (
            c.zero_copy and (p.continuous or p.first or p.last)
        ):
            return False
        if p.continuous or c.continuous:
            if fits:
                self._continuous(p, c)
            return True
        if p.zero_copy or c.zero_copy:
            if fits:
                self._zero_copy(p, c)
            return True
        if not fits and not self._split(p, c, clones):
            return False
        for k in p.children:
            if self.nest(k, c, clones, depth + 1):
                return True
        if p.used + c.asize > p.asize + (0 if c.asize == BLOCK_ALIGNMENT else BLOCK_ALIGNMENT):
            return False
        self._put(p, c)
        return True

    def _put(self, p: Block, c: Block) -> None:
        p.children.append(c)
        p.used += c.asize
        c.nested, c.parent = True, p
        p.shares_zero_copy = p.shares_zero_copy and c.shares_zero_copy
        e = c.entries[0]
        why = "after" if self.follows(p, c) else "before" if self.follows(c, p) else "between"
        self.s.record("nest", e.op, e.kind.name.lower(), e.index, c.uid, why, other=p.uid)

    def _continuous(self, p: Block, c: Block) -> None:
        wide_p, wide_c = p.payload, c.payload
        if (p.continuous and c.continuous) or (c.continuous and wide_c < wide_p) or (p.continuous and wide_p < wide_c):
            return
        if p.continuous and p.used + c.asize <= wide_p:
            self._put(p, c)
        elif c.continuous and c.used + p.asize <= wide_c and p.asize == c.asize and not p.children:
            self._put(c, p)

    def _zero_copy(self, p: Block, c: Block) -> None:
        real_p, real_c = p.real, c.real
        if (p.zero_copy and c.zero_copy) or (p.zero_copy and real_p < real_c) or (c.zero_copy and real_c < real_p):
            return
        if p.zero_copy and (p.used + c.asize <= real_p or (not p.used and not c.used and real_p == real_c)):
            if c.shares_zero_copy:
                self._put(p, c)
        elif (
            c.zero_copy
            and (c.used + p.asize <= real_c or (not p.used and not c.used and real_p == real_c))
            and p.asize == c.asize
            and not p.children
            and p.shares_zero_copy
        ):
            self._put(c, p)

    def follows(self, x: Block, y: Block) -> bool:
        """May ``y`` take the bytes of ``x``: is ``x`` surely over when ``y`` starts?"""
        return may_follow(self.ctx, self.strategy, x, y)

    def _split(self, p: Block, c: Block, clones: list[Block]) -> bool:
        """Move the buffers of ``c`` that meet ``p`` to a new block; False when nothing of ``c`` would be left."""
        if p.stream != c.stream or not (p.same_stream and c.same_stream):
            return False
        if p.tail_entry.foreign or c.tail_entry.foreign:
            return False
        moved = False
        stay: list[Entry] = []
        go: list[Entry] = []
        for k, e in enumerate(c.entries):
            moved = moved if e.ref else crosses(p, c, k)
            (go if moved else stay).append(e)
        if not stay:
            return False
        if go:
            clones.append(self._clone(c, go))
            c.entries[:] = stay
        return True

    def _clone(self, c: Block, entries: list[Entry]) -> Block:
        q = Block(
            len(self.s.blocks), c.size, c.stream, c.memory_type, c.batch, c.reusable, c.post, c.prior, c.same_stream,
            c.zero_copy, c.continuous, c.first, c.last, c.shares_zero_copy, symbol=c.symbol, made_by="split",
        )  # fmt: skip
        self.s.blocks.append(q)
        for e in entries:
            q.append(e)
        first = entries[0]
        self.s.record("split", first.op, first.kind.name.lower(), first.index, c.uid, "meets-target", other=q.uid)
        return q


def may_follow(ctx: Context, strategy: Strategy, x: Block, y: Block) -> bool:
    """GE's CanBlockLifeReuse: the last buffer of ``x`` ends before the first of ``y`` begins, as far as streams prove it."""
    first = y.entries[0]
    if first.differing_merge:
        return False
    begin = first.at
    if x.stream == y.stream:
        return begin > x.end(x.stream)
    edges, last = ctx.edges, x.tail_entry.op.id
    done = edges.done_before(y.stream, x.stream, begin)
    if last == 0 or done < last:
        return False
    if not strategy.priority:
        return done > x.end(y.stream)
    end, stream = x.end_with_stream(y.stream)
    if stream == y.stream:
        return begin > end
    if stream == x.stream:
        return done > end
    return stream != -1 and edges.done_before(y.stream, stream, begin) >= end


def crosses(p: Block, c: Block, k: int) -> bool:
    """Does buffer ``k`` of ``c`` (with the references that directly follow it) meet a buffer of ``p``?"""
    e = c.entries[k]
    apart = e.end < p.entries[0].at or e.at > p.tail_entry.end
    if not apart and any(overlaps(y, e) for y in p.entries):
        return True
    for x in c.entries[k + 1 :]:
        if not x.ref:
            break
        if any(overlaps(y, x) for y in p.entries):
            return True
    return False


def overlaps(a: Entry, b: Entry) -> bool:
    """Two buffers of one stream are alive together."""
    if a.at == b.at:
        return True
    return a.end >= b.at if a.at < b.at else b.end >= a.at

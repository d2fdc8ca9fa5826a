"""A reader is done: count down, remember when it was, and pool the block when nobody is left (memory.md A6, A8.3)."""

from __future__ import annotations

from ge_explorer.memory.ge.blocks import FOREVER, UNSET, Block, Kind
from ge_explorer.memory.ge.level1 import State, start_statistics, workspaces
from ge_explorer.memory.ge.libstdcxx import introsort
from ge_explorer.memory.ge.life import collect, life_of, settle
from ge_explorer.memory.ge.outputs import outputs
from ge_explorer.memory.ge.reuse_flags import keeps_output
from ge_explorer.memory.ge.symbols import Symbol
from ge_explorer.memory.ge.view import Anchor, Op, Source

UNRELEASED = frozenset({"Const", "Constant", "ConstantOp", "FasterRCNNPredictions"})


def release(s: State, block: Block, c: int, symbol: Symbol | None, op: Op, keep: bool = False) -> None:
    """One use of ``block`` ends; ``c`` is the stream of the operator that releases it, ``op`` that operator."""
    if block.refcount <= 0 or not block.reusable:
        return
    last = block.tail_entry
    out = back = s.now
    block.cross |= block.stream != c and last.kind is not Kind.WORKSPACE
    if block.cross:
        out, back = _seen_from_home(s, block)
    if last.symbol_end != UNSET:
        back = max(back, last.symbol_end)
    if back < out:
        back = FOREVER
    collect(last, c, out, back)
    block.refcount -= 1
    if block.refcount > 0:
        return
    if s.ctx.in_label(block.batch):
        s.counters[block.memory_type].release(last.real if symbol is None else s.sizes[symbol.key])
    settle(block, c)
    if not block.post or keep:
        last.foreign.clear()
        last.end = FOREVER
    key = (block.memory_type, block.stream)
    s.pool.setdefault(key, []).append(block)
    last.pairs.clear()
    block.cross = False
    s.record("release", op, "block", 0, block.uid, "last-reader" if symbol is not None else "done", key)


def _seen_from_home(s: State, block: Block) -> tuple[int, int]:
    """(last use, return) of the block's last own buffer, over all streams that read it."""
    ctx = s.ctx
    last = block.tail_entry
    made = next(e for e in reversed(block.entries) if not e.ref)
    a = Anchor(made.op.place, made.index, True)
    life = life_of(ctx.view, ctx.symbols, ctx.edges, ctx.ids.of, a, block.stream, s.now)
    out, back, streams = life.out, life.back, life.streams
    if last.ref:
        last.out_count = max(last.out_count, len(streams))
    if block.first and block.last:
        for o in range(len(made.op.outputs)):
            other = Anchor(made.op.place, o, True)
            out = max(out, life_of(ctx.view, ctx.symbols, ctx.edges, ctx.ids.of, other, block.stream, s.now).out)
    return out, back


def unpark(s: State, op: Op) -> None:
    """Blocks that only wait for the next operator (workspaces, dead outputs) are released on their own stream."""
    for waiting in s.parked.values():
        for block in waiting:
            release(s, block, block.stream, block.symbol, op)
    s.parked.clear()


def inputs(s: State, op: Op) -> None:
    """Give back what the operator has read."""
    view, stream = s.ctx.view, s.ctx.ids.of[op.place]
    read = [(i, x) for i, x in enumerate(op.inputs) if x is not None]
    if s.ctx.options.priority:
        introsort(read, lambda a, b: view.ops[a[1].op].id < view.ops[b[1].op].id)
    for i, x in read:
        producer = view.ops[x.op]
        if producer.type in UNRELEASED:
            continue
        symbol = s.ctx.symbols.output(x)
        block = s.block_of.get(symbol.key)
        if block is None:
            continue
        release(s, block, stream, symbol, op, keeps_output(view, producer))
        if block.refcount == 0 and stream == block.stream:
            s.marks.append(Source(op.place, i))


def run_level1(s: State) -> None:
    """All operators in order."""
    start_statistics(s)
    for op in s.ctx.view.ops:
        if s.ctx.options.reuse:
            unpark(s, op)
        s.now = op.id
        outputs(s, op)
        workspaces(s, op)
        inputs(s, op)

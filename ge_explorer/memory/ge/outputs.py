"""Level 1, the outputs of one operator: references, side-by-side groups, and plain buffers (memory.md A6 step 2, A13)."""

from __future__ import annotations

from dataclasses import dataclass

from ge_explorer.memory.ge import continuous as side
from ge_explorer.memory.ge.blocks import FOREVER, UNSET, Block, Entry, Kind
from ge_explorer.memory.ge.cleaned import cleaned_output
from ge_explorer.memory.ge.level1 import NO_REUSE_FLAG, Group, Request, State, take_or_new
from ge_explorer.memory.ge.life import life_of
from ge_explorer.memory.ge.size_classes import BATCH_LABEL
from ge_explorer.memory.ge.symbols import HBM, OWN_AREA, Symbol, requested_type
from ge_explorer.memory.ge.view import NO_BLOCK, Anchor, Op, Source
from ge_explorer.memory.ge.zero_copy import is_zero_copy, may_lie_in_user_memory
from ge_explorer.memory.sizes import aligned


@dataclass(slots=True)
class Membership:
    """What continuous nodes ask of one output."""

    begin: int
    life_end: int = 0
    size: int = 0
    streams: frozenset[int] = frozenset()
    padded: Source | None = None
    first_of: Source | None = None

    @property
    def is_group(self) -> bool:
        """Member of a padded group, one way or the other."""
        return self.padded is not None or self.size > 0


def outputs(s: State, op: Op) -> None:
    """Place all outputs of ``op``."""
    for o in range(len(op.outputs)):
        a = Anchor(op.place, o, True)
        if _elsewhere(op, o):
            s.zero.append(Source(op.place, o))
            continue
        row = s.ctx.chains.get(Source(op.place, o))
        if row is not None:
            if row[0] == Source(op.place, o):
                _whole(s, op, o, list(row), chain=True)
            return
        m = _membership(s, op, o)
        symbol = s.ctx.symbols.of[a]
        if side.has_no_block(s.ctx.view, s.ctx.symbols, op, o) or cleaned_output(op, o, s.ctx.options):
            s.zero.append(Source(op.place, o))
        elif side.padded_output(op) and not m.is_group:
            if not all(x.refers >= 0 for x in op.outputs):
                _whole(s, op, o, [Source(op.place, i) for i in range(len(op.outputs))])
            return
        elif symbol.key in s.block_of:
            _refer(s, op, o, symbol, m)
        elif op.outputs[o].refers >= 0 or _reads_constant(s, op):
            s.zero.append(Source(op.place, o))
            s.record("zero", op, "output", o, -1, "reference-without-block")
        else:
            _own(s, op, o, symbol, m)


def _elsewhere(op: Op, o: int) -> bool:
    """Outputs that no block of this planner holds (A2)."""
    x = op.outputs[o]
    wanted = requested_type(op, o, "_output_memory_type")
    return (
        op.type in NO_BLOCK
        or x.size <= 0
        or (wanted != HBM and wanted not in OWN_AREA)
        or x.attrs.get("_tensor_memory_scope", 0) == 2
        or bool(x.attrs.get("_assign_var_name", ""))
        or "_buffer_pool_id" in op.attrs
    )


def _reads_constant(s: State, op: Op) -> bool:
    if not op.body_input:
        return False
    source = s.ctx.view.feeding(op)
    return source is not None and s.ctx.view.ops[source.op].type in NO_BLOCK


def _membership(s: State, op: Op, o: int) -> Membership:
    ctx, view = s.ctx, s.ctx.view
    m = Membership(op.id)
    fusion = side.fused(op)
    for r in op.outputs[o].readers if view.grouped else ():
        found = side.group_of(view, r, side.close_inputs)
        if found is not None:
            fusion = True
        else:
            found = side.group_of(view, r, side.padded_input)
        if found is None:
            continue
        group = view.ops[found.op]
        separate = side.cleans_separately(group)
        if side.is_const(group) or ((fusion or separate) and found.index != 0):
            m.padded, m.size = None, 0
            break
        if found.op not in s.groups or not s.groups[found.op].members:
            m.first_of = found
            if fusion or separate:
                if ctx.options.reuse:
                    m.begin = min(m.begin, side.group_begin(view, op, group, ctx.ids, ctx.edges))
                    life = side.group_life(view, op, group, ctx.symbols, ctx.ids, ctx.edges)
                    m.life_end, m.streams = max(m.life_end, life.back), m.streams | life.streams
                if separate:
                    m.size = max(m.size, side.group_size(view, group))
                continue
            s.groups[found.op] = Group(group, len(group.inputs))
        m.padded = found
    return m


def _request(s: State, op: Op, o: int, symbol: Symbol, size: int, payload: int, begin: int) -> Request:
    off = bool(op.attrs.get(NO_REUSE_FLAG))
    return Request(op, Kind.OUTPUT, o, size, payload, symbol.memory_type, begin, s.ctx.flags_of(symbol), symbol, off)


def _own(s: State, op: Op, o: int, symbol: Symbol, m: Membership) -> None:
    x = op.outputs[o]
    begin = min(m.begin, s.ctx.cascade.get(Source(op.place, o), m.begin))
    r = _request(s, op, o, symbol, m.size or s.sizes[symbol.key], m.size or x.payload, begin)
    r.group, r.edge, r.life_end = m.padded is not None, m.size > 0, m.life_end
    r.zero_copy = is_zero_copy(s.ctx, op, o, symbol, m.is_group)
    r.not_in_zero_copy = m.first_of is not None or not may_lie_in_user_memory(s.ctx, symbol, op)
    block = take_or_new(s, r)
    block.tail_entry.out_count = max(block.tail_entry.out_count, len(m.streams))
    block.refcount += max(len(x.readers), symbol.connected_inputs)
    _keep(s, op, symbol, block, m)


def _refer(s: State, op: Op, o: int, symbol: Symbol, m: Membership) -> None:
    """The output is part of a block that is there already."""
    ctx, view, x = s.ctx, s.ctx.view, op.outputs[o]
    block = s.block_of[symbol.key]
    last = block.tail_entry
    block.size = max(block.size, s.block_size(x.size))
    begin, until = op.id, op.id
    for r in x.readers if view.grouped else ():
        found = side.group_of(view, r, side.close_inputs)
        if found is None:
            found = side.group_of(view, r, side.cleans_separately)
        if found is not None and found.index == 0:
            group = view.ops[found.op]
            begin = min(begin, side.group_begin(view, op, group, ctx.ids, ctx.edges))
            until = max(until, side.group_life(view, op, group, ctx.symbols, ctx.ids, ctx.edges).back)
    last.symbol_end = until if last.symbol_end == UNSET else max(last.symbol_end, until)
    last.raise_end(op.id)
    flags = ctx.flags_of(symbol)
    block.append(Entry(op, Kind.OUTPUT, o, begin, x.size, x.payload, True, symbol_end=last.symbol_end))
    block.reusable = block.reusable and s.reusable_op(op) and not op.attrs.get(NO_REUSE_FLAG)
    block.shares_zero_copy = block.shares_zero_copy and may_lie_in_user_memory(ctx, symbol, op)
    if not x.readers:
        block.refcount += 1
    label = str(op.attrs.get(BATCH_LABEL, ""))
    after_call = last.op.type == "PartitionedCall" and op.type != "PartitionedCall"
    if after_call and ctx.in_label(label) and (not block.reusable or flags.pre):
        s.counters[block.memory_type].add(last.real, block.reusable)
    s.record("refer", op, "output", o, block.uid, "same-symbol")
    _keep(s, op, symbol, block, m)


def _keep(s: State, op: Op, symbol: Symbol, block: Block, m: Membership) -> None:
    s.block_of[symbol.key] = block
    if m.padded is not None and m.padded.op in s.groups:
        s.groups[m.padded.op].members[m.padded.index] = block
    if block.refcount == 0:
        block.refcount = 1
        s.parked.setdefault((block.memory_type, block.stream), []).append(block)


def _whole(s: State, op: Op, o: int, members: list[Source], chain: bool = False) -> None:
    """One block for outputs that lie side by side; it is counted down by the readers of its first output."""
    ctx, view = s.ctx, s.ctx.view
    size = sum(aligned(view.out(x).size) for x in members)
    first = members[0] if chain else Source(op.place, 0)
    symbol = ctx.symbols.output(first)
    s.sizes[symbol.key] = size
    lives = [
        life_of(view, ctx.symbols, ctx.edges, ctx.ids.of, Anchor(x.op, x.index, True), ctx.ids.of[op.place], s.now)
        for x in members
    ]
    r = _request(s, op, first.index, symbol, size, size, min(view.ops[x.op].id for x in members))
    r.edge, r.not_in_zero_copy = True, True
    r.fresh = chain and not ctx.options.separate_clean
    if not chain:
        r.zero_copy = is_zero_copy(ctx, op, first.index, symbol, False)
    block = take_or_new(s, r)
    last = block.tail_entry
    end = max(x.back for x in lives)
    if end < FOREVER:
        last.end = end
    last.out_count = len(frozenset().union(*(x.streams for x in lives)))
    block.refcount += symbol.connected_inputs
    s.block_of[symbol.key] = block

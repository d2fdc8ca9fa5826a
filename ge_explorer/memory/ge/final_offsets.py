"""From blocks to offsets of outputs and workspaces (memory.md A13 end, A12, A15; graph_mem_assigner.cc)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from ge_explorer.graph.model import DTYPE_BITS
from ge_explorer.memory.ge import continuous as side
from ge_explorer.memory.ge.blocks import Block, Kind
from ge_explorer.memory.ge.layout import parents_first, resize, set_head
from ge_explorer.memory.ge.symbols import HBM
from ge_explorer.memory.ge.view import Op, Output, Source, View, refers_to
from ge_explorer.memory.ge.zero_copy import in_placing_order
from ge_explorer.memory.sizes import aligned

Offsets = dict[Source, int]


def place_user_blocks(view: View, blocks: Sequence[Block], start: int) -> int:
    """Lay the user's buffers behind everything else; returns the new end of ordinary device memory."""
    at = start
    for b in in_placing_order(view, [b for b in blocks if b.zero_copy and not b.nested]):
        b.zero_copy = False
        resize(b)
        b.zero_copy = True
        set_head(b, at)
        at += b.size
    return at


def block_offsets(blocks: Sequence[Block]) -> tuple[Offsets, Offsets]:
    """(outputs, workspaces) as the blocks have them."""
    outputs: Offsets = {}
    work: Offsets = {}
    for b in parents_first(blocks):
        for e in b.entries if not b.layers else ():
            (outputs if e.kind is Kind.OUTPUT else work)[Source(e.op.place, e.index)] = b.head
    return outputs, work


def final_outputs(view: View, chains: Mapping[Source, tuple[Source, ...]], offsets: Offsets) -> Offsets:
    """Offsets of all outputs: those without a block follow a reference or a neighbour, else they stay at 0."""
    out = {Source(op.place, o): offsets.get(Source(op.place, o), 0) for op in view.ops for o in range(len(op.outputs))}
    for row in dict.fromkeys(chains.values()):
        at = out[row[0]]
        for s in row:
            out[s] = at
            at += aligned(view.out(s).size)
    _references(view, out)
    later: list[Op] = []
    for op in view.ops:
        if _cascaded_reference(view, op):
            later.append(op)
        elif side.padded_input(op) or side.close_input(op):
            if _beside_group(view, op):
                later.append(op)
            else:
                _lay_inputs(view, op, out)
        if side.padded_output(op) or side.close_output(op):
            _lay_outputs(op, out)
    for op in reversed(later):
        _copy_back(view, op, out)
        if side.padded_input(op) or side.close_input(op):
            _lay_inputs(view, op, out)
    _references(view, out)
    return out


def _references(view: View, out: Offsets) -> None:
    for op in view.ops:
        close = side.close_input(op) or side.close_output(op)
        at = 0
        for o, x in enumerate(op.outputs):
            if o and close:
                if side.close_output(op):
                    out[Source(op.place, o)] = out[Source(op.place, 0)] + at
                    at += close_size(op, x)
                continue
            source = _referred(view, op, o)
            if source is not None:
                out[Source(op.place, o)] = out[source]
            at += close_size(op, x) if close else 0


def _referred(view: View, op: Op, o: int) -> Source | None:
    i = refers_to(op, o)
    if i < 0:
        return None
    if op.body_input:
        return view.feeding(op)
    return op.inputs[i]


def _cascaded_reference(view: View, op: Op) -> bool:
    """A reference of what is a reference itself."""
    for o in range(len(op.outputs)):
        source = _referred(view, op, o)
        if source is not None and refers_to(view.ops[source.op], source.index) >= 0:
            return True
    return False


def _beside_group(view: View, op: Op) -> bool:
    """A group whose inputs come from, or whose outputs go to, another group."""
    near = [s.op for s in op.inputs if s is not None] + [r.op for x in op.outputs for r in x.readers]
    return any(side.padded_input(view.ops[n]) or side.close_input(view.ops[n]) for n in near)


def _copy_back(view: View, op: Op, out: Offsets) -> None:
    for o in range(len(op.outputs)):
        source = _referred(view, op, o)
        if source is not None:
            out[source] = out[Source(op.place, o)]


def _lay_inputs(view: View, op: Op, out: Offsets) -> None:
    sources = [s for s in op.inputs if s is not None]
    if not sources or any(side.is_const(view.ops[s.op]) for s in sources):
        return
    start = at = out[sources[0]]
    for k, s in enumerate(sources):
        if k:
            out[s] = at
        x, maker = view.out(s), view.ops[s.op]
        fusion = list(maker.attrs.get(side.FUSION_OFFSET, ()))
        if s.index < len(fusion):
            out[s] = start + int(fusion[s.index])
        at += aligned(x.size) if side.padded_input(op) else close_size(op, x)


def _lay_outputs(op: Op, out: Offsets) -> None:
    at = out[Source(op.place, 0)]
    for o, x in enumerate(op.outputs):
        out[Source(op.place, o)] = at
        at += aligned(x.size) if side.padded_output(op) else close_size(op, x)


def close_size(op: Op, x: Output) -> int:
    """Bytes between two neighbours of an unpadded group: dimensions before the concatenated one count as 1."""
    dim = int(op.attrs.get("_reuse_input_on_dim_index", 0))
    bits = DTYPE_BITS.get(x.dtype)
    dims = [d for d in x.shape[dim:] if isinstance(d, int) and d >= 0]
    return x.payload if bits is None else (prod(dims) * bits + 7) // 8


def total(ends: Mapping[int, int]) -> int:
    """End of ordinary device memory."""
    return ends.get(HBM, 0)

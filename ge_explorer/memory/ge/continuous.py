"""Buffers that must lie side by side (memory.md A13; block_mem_assigner.cc, continuous_mem.cc).

Padded: ``continuous_input`` / ``continuous_output``, every tensor on 512 bytes. No-padding: ``_no_padding_continuous_*``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ge_explorer.memory.ge.blocks import FOREVER
from ge_explorer.memory.ge.life import Life, life_of
from ge_explorer.memory.ge.stream_edges import StreamEdges
from ge_explorer.memory.ge.stream_ids import StreamIds
from ge_explorer.memory.ge.symbols import Symbols
from ge_explorer.memory.ge.view import NO_BLOCK, Anchor, Op, Source, View, refers_to
from ge_explorer.memory.sizes import aligned

FUSION_OFFSET = "_output_offset_for_buffer_fusion"


def padded_input(op: Op) -> bool:
    """Its inputs lie side by side on 512 bytes each."""
    return bool(op.attrs.get("continuous_input")) and len(op.inputs) > 1


def padded_output(op: Op) -> bool:
    """Its outputs lie side by side on 512 bytes each."""
    return bool(op.attrs.get("continuous_output")) and len(op.outputs) > 1


def close_input(op: Op) -> bool:
    """Its inputs lie side by side without padding."""
    return bool(op.attrs.get("_no_padding_continuous_input"))


def close_inputs(op: Op) -> bool:
    """The same, with more than one input."""
    return close_input(op) and len(op.inputs) > 1


def close_output(op: Op) -> bool:
    """Its outputs lie side by side without padding."""
    return bool(op.attrs.get("_no_padding_continuous_output"))


def cleans_separately(op: Op) -> bool:
    """A padded group that the operator itself fills with zeros."""
    return padded_input(op) and "atomic_input_index" in op.attrs and bool(op.attrs.get("need_gentask_atomic"))


def fused(op: Op) -> bool:
    """Its outputs have offsets of a buffer fusion."""
    return FUSION_OFFSET in op.attrs


def references_of(op: Op, i: int) -> list[int]:
    """Outputs written over input ``i``."""
    return [o for o in range(len(op.outputs)) if refers_to(op, o) == i]


def group_of(view: View, reader: Source, kind: Callable[[Op], bool]) -> Source | None:
    """The continuous node that input ``reader`` ends in, followed through references: (node, input index).

    Depth first, the last reader pushed is visited first, and the last visited node that qualifies counts.
    """
    found: Source | None = None
    stack = [reader]
    seen = set()
    while stack:
        s = stack.pop()
        if s in seen:
            continue
        seen.add(s)
        op = view.ops[s.op]
        if kind(op):
            found = s
        for o in references_of(op, s.index):
            stack.extend(op.outputs[o].readers)
    return found


def origin(view: View, s: Source) -> Source:
    """The output that first made the bytes of ``s``: references are followed up."""
    seen = set()
    while s not in seen:
        seen.add(s)
        i = refers_to(view.ops[s.op], s.index)
        up = view.ops[s.op].inputs[i] if 0 <= i < len(view.ops[s.op].inputs) else None
        if up is None:
            break
        s = up
    return s


def inputs_of(view: View, group: Op) -> list[Source]:
    """Connected inputs of a group."""
    return [s for s in group.inputs if s is not None]


def has_no_block(view: View, symbols: Symbols, op: Op, o: int) -> bool:
    """True for an output that is placed through its neighbour and gets no block (GetNoNeedAssignMemoryFlag)."""
    if not view.grouped:
        return False
    other = False
    for r in op.outputs[o].readers:
        found = group_of(view, r, close_inputs)
        if found is not None:
            if found.index == 0:
                return False
            other = True
            continue
        found = group_of(view, r, padded_input)
        if found is not None:
            if found.index == 0:
                return False
            other |= fused(op) or cleans_separately(view.ops[found.op])
    return other or _tail_of_close_group(view, symbols, op, o)


def _tail_of_close_group(view: View, symbols: Symbols, op: Op, o: int) -> bool:
    anchors = symbols.of[Anchor(op.place, o, True)].anchors
    inputs = sum(not a.out for a in anchors)
    last = anchors[-1]
    return (
        inputs >= 2
        and 2 * inputs == len(anchors)
        and not last.out
        and last.index != 0
        and close_input(view.ops[last.op])
    )


def group_size(view: View, group: Op) -> int:
    """Bytes of all inputs of a padded group."""
    return sum(aligned(view.out(s).size) for s in inputs_of(view, group))


def group_begin(view: View, op: Op, group: Op, ids: StreamIds, edges: StreamEdges) -> int:
    """From when the group's bytes must be free, on the stream of its first member ``op``."""
    begin = op.id
    own = ids.of[op.place]
    for s in inputs_of(view, group):
        first = view.ops[origin(view, s).op]
        if ids.of[first.place] == own:
            begin = min(begin, first.id)
        else:
            begin = min(begin, _seen_from(edges, ids.of[first.place], own, first.id))
    return begin


def _seen_from(edges: StreamEdges, stream: int, own: int, when: int) -> int:
    steps = edges.into.get(stream, {}).get(own)
    found = steps.at_least(when) if steps is not None else None
    if steps is None or found is None:
        return 1
    if found[0] > when:
        found = steps.at_most(when)
    return 1 if found is None else found[1]


def group_life(view: View, op: Op, group: Op, symbols: Symbols, ids: StreamIds, edges: StreamEdges) -> Life:
    """Life of all inputs of a group together, as the stream of its first member sees it."""
    own = ids.of[op.place]
    lives = [life_of(view, symbols, edges, ids.of, Anchor(s.op, s.index, True), own, 0) for s in inputs_of(view, group)]
    streams: frozenset[int] = frozenset().union(*(x.streams for x in lives))
    return Life(max(x.back for x in lives), max(x.out for x in lives), streams)


def cascade_begins(view: View) -> dict[Source, int]:
    """Earliest begin of every output that leads an unpadded concatenation, over nested concatenations."""
    out: dict[Source, int] = {}
    for op in view.ops:
        if not close_inputs(op):
            continue
        leaves = list(_leaves(view, op, True))
        if not leaves:
            continue
        smallest = min(view.ops[s.op].id for s, _ in leaves)
        for s, leads in leaves:
            if leads:
                out[s] = min(out.get(s, view.ops[s.op].id), smallest)
    return out


def _leaves(view: View, op: Op, leads: bool) -> Iterator[tuple[Source, bool]]:
    """Origins of all inputs, nested concatenations opened; with each, whether it is reached as input 0 all the way."""
    stack = [(s, leads and i == 0) for i, s in enumerate(op.inputs) if s is not None]
    seen = set()
    while stack:
        s, first = stack.pop()
        if (s, first) in seen:
            continue
        seen.add((s, first))
        inner = view.ops[s.op]
        if close_inputs(inner):
            stack += [(x, first and i == 0) for i, x in enumerate(inner.inputs) if x is not None]
        else:
            yield s, first


def chains(view: View) -> dict[Source, tuple[Source, ...]]:
    """Padded inputs fed by padded outputs: one long row. Each member -> the whole row, left to right."""
    out: dict[Source, tuple[Source, ...]] = {}
    for op in view.ops:
        if not padded_input(op):
            continue
        feeding = [origin(view, s) for s in inputs_of(view, op)]
        if not any(padded_output(view.ops[s.op]) for s in feeding) or feeding[0] in out:
            continue
        row = _row(view, _leftmost(view, feeding[0]))
        out.update(dict.fromkeys(row, row))
    return out


def _leftmost(view: View, s: Source) -> Source:
    seen = set()
    while s not in seen:
        seen.add(s)
        if padded_output(view.ops[s.op]) and s.index:
            s = Source(s.op, 0)
        group = next((g for r in view.out(s).readers if (g := group_of(view, r, padded_input))), None)
        before = view.ops[group.op].inputs[0] if group is not None and group.index else None
        if before is not None:
            s = origin(view, before)
    return s


def _row(view: View, s: Source) -> tuple[Source, ...]:
    row: list[Source] = []
    at: Source | None = s
    while at is not None and at not in row:
        row.append(at)
        op = view.ops[at.op]
        if padded_output(op) and at.index + 1 < len(op.outputs):
            at = Source(at.op, at.index + 1)
            continue
        group = next((g for r in view.out(at).readers if (g := group_of(view, r, padded_input))), None)
        inputs = view.ops[group.op].inputs if group is not None else ()
        after = inputs[group.index + 1] if group is not None and group.index + 1 < len(inputs) else None
        at = origin(view, after) if after is not None else None
    return tuple(row)


def is_const(op: Op) -> bool:
    """Lives outside the planned memory."""
    return op.type in NO_BLOCK


def known(end: int) -> bool:
    """True for an end that is a task id."""
    return end < FOREVER - 1

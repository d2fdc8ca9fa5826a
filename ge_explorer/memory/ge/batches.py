"""Dynamic batch: blocks of different batch labels never live together, so they are laid over each other (memory.md A17)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ge_explorer.memory.ge.blocks import Block, Entry, Kind
from ge_explorer.memory.ge.layout import resize
from ge_explorer.memory.ge.level1 import State
from ge_explorer.memory.ge.libstdcxx import introsort
from ge_explorer.memory.ge.size_classes import BATCH_LABEL
from ge_explorer.memory.ge.symbols import SESSION_HBM

PACK_LIMIT = 400 << 20
"""With expandable memory a wrapper holds at most this many bytes."""
SAME_ADDRESS = frozenset(
    {
        "HcomBroadcast", "HcomAllReduce", "HcomAllGather", "HvdCallbackBroadcast", "HvdCallbackAllreduce",
        "HvdCallbackAllgather",
    }
)  # fmt: skip
"""Collectives whose outputs must have the same address in every batch."""


def overlay_batches(s: State, blocks: Sequence[Block]) -> list[Block]:
    """Block list with the wrappers at its end; wrapped blocks are nested. Session memory is never laid over."""
    out = list(blocks)
    fixed = {b.uid for g in s.groups.values() if g.op.type in SAME_ADDRESS for b in g.members.values()}
    for memory_type in sorted({b.memory_type for b in blocks} - {SESSION_HBM}):
        classes: tuple[dict[str, list[Block]], ...] = ({}, {}, {})
        for b in out:
            kind = _class_of(b, memory_type, fixed)
            if kind >= 0:
                classes[kind].setdefault(b.batch, []).append(b)
        for kind, labels in enumerate(classes):
            if labels:
                out += _plain(s, labels) if kind == 0 else _whole(s, labels)
    return out


def _class_of(b: Block, memory_type: int, fixed: set[int]) -> int:
    """0 plain, 1 same address, 2 continuous, -1 not to be laid over others."""
    same = b.uid in fixed or any(e.kind is Kind.OUTPUT and e.op.type in SAME_ADDRESS for e in b.entries)
    if b.memory_type != memory_type or b.nested or b.zero_copy or not b.batch or not (b.reusable or same):
        return -1
    if any(str(e.op.attrs.get(BATCH_LABEL, "")) != b.batch for e in b.entries):
        return -1
    return 1 if same else 2 if b.continuous else 0


def _largest(labels: dict[str, list[Block]]) -> str:
    return min(labels, key=lambda k: (-sum(resize(b) for b in labels[k]), k))


def _plain(s: State, labels: dict[str, list[Block]]) -> list[Block]:
    """The largest label is packed into wrappers, the others are laid over them as far as they fit."""
    largest = _largest(labels)
    packs: list[list[Block]] = [[]]
    for b in labels[largest]:
        full = s.ctx.options.expandable and sum(x.size for x in packs[-1]) + b.size > PACK_LIMIT
        if full and packs[-1]:
            packs.append([])
        packs[-1].append(b)
    made = [_wrapper(s, p) for p in packs]
    for label in sorted(labels):
        if label == largest:
            continue
        rest = list(labels[label])
        sorted_made = list(made)
        introsort(sorted_made, lambda a, b: a.size > b.size)
        introsort(rest, lambda a, b: a.size > b.size)
        for w in sorted_made:
            room, layer = w.size, []
            while rest and rest[0].size <= room:
                room -= rest[0].size
                layer.append(rest.pop(0))
            _lay_over(s, w, layer)
    return made


def _whole(s: State, labels: dict[str, list[Block]]) -> list[Block]:
    """One wrapper per label; the smaller ones are laid over the largest."""
    largest = _largest(labels)
    base = _wrapper(s, labels[largest])
    out = [base]
    for label in sorted(labels):
        if label == largest:
            continue
        w = _wrapper(s, labels[label])
        out.append(w)
        if w.size <= base.size:
            _lay_over(s, base, [w])
    return out


def _wrapper(s: State, members: Iterable[Block]) -> Block:
    inside = list(members)
    first = inside[0]
    w = Block(
        len(s.blocks), sum(b.size for b in inside), first.stream, first.memory_type, first.batch, first.reusable,
        made_by="batch wrapper",
    )  # fmt: skip
    s.blocks.append(w)
    w.append(Entry(first.entries[0].op, Kind.WORKSPACE, 0, 0, w.size, w.size))
    _lay_over(s, w, inside)
    return w


def _lay_over(s: State, w: Block, layer: Sequence[Block]) -> None:
    if not layer:
        return
    w.layers.append(list(layer))
    for b in layer:
        b.nested, b.parent = True, w
        e = b.entries[0]
        s.record("nest", e.op, e.kind.name.lower(), e.index, b.uid, "other-batch", other=w.uid)

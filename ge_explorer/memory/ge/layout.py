"""Sizes and offsets of blocks (memory.md A9; ResizeMemoryBlocks, SetHeadOffset)."""

from __future__ import annotations

from collections.abc import Sequence

from ge_explorer.memory.ge.blocks import Block
from ge_explorer.memory.ge.symbols import HOST, HOST_SVM
from ge_explorer.memory.sizes import aligned

BASE = {HOST: 64 << 30, HOST_SVM: 128 << 30}
"""First logical address of the host areas (graph_var_manager.h)."""


def resize(b: Block) -> int:
    """Final size: the largest buffer or all children side by side, children first. User buffers keep their class until placed."""
    inside = sum(resize(k) for k in b.children)
    layer = max((sum(resize(k) for k in layer) for layer in b.layers), default=0)
    if not b.zero_copy:
        b.size = aligned(max(b.real, inside, layer))
    return b.size


def set_head(b: Block, head: int) -> None:
    """Give a block and its children their offsets; children lie side by side from the head."""
    b.head = head
    for row in (b.children, *b.layers):
        at = head
        for k in row:
            set_head(k, at)
            at += k.size


def place_blocks(blocks: Sequence[Block]) -> dict[int, int]:
    """Offsets of all blocks that are neither nested nor the user's; returns the end of each memory type's range."""
    end: dict[int, int] = {}
    for b in blocks:
        if b.nested:
            continue
        resize(b)
        if b.zero_copy:
            continue
        at = end.get(b.memory_type, BASE.get(b.memory_type, 0))
        set_head(b, at)
        end[b.memory_type] = at + b.size
    return end


def parents_first(blocks: Sequence[Block]) -> list[Block]:
    """Every block, each followed by what is nested in it."""
    out: list[Block] = []
    stack = [b for b in reversed(blocks) if not b.nested]
    while stack:
        b = stack.pop()
        out.append(b)
        stack.extend(reversed([*b.children, *(k for layer in b.layers for k in layer)]))
    return out

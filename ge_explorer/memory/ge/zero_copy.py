"""Blocks that are the user's input and output buffers (memory.md A15; block_mem_zero_copy.cc)."""

from __future__ import annotations

from collections.abc import Sequence

from ge_explorer.memory.ge.blocks import Block, Kind
from ge_explorer.memory.ge.context import Context
from ge_explorer.memory.ge.continuous import padded_output
from ge_explorer.memory.ge.libstdcxx import introsort
from ge_explorer.memory.ge.symbols import Symbol
from ge_explorer.memory.ge.view import Op, View

FIXED_ADDRESS = frozenset({"StreamSwitch", "LabelSwitchByIndex"})
"""Operators whose addresses cannot be changed after loading (MemLayoutConflictUtil::IsAddressRefreshable)."""


def refreshable(op: Op) -> bool:
    """May the addresses of this operator change between runs?"""
    return op.type not in FIXED_ADDRESS


def is_zero_copy(ctx: Context, op: Op, o: int, symbol: Symbol, group: bool) -> bool:
    """Is the block that output ``o`` creates a buffer of the user?"""
    view = ctx.view
    readers = [view.ops[r.op] for r in op.outputs[o].readers]
    if ctx.options.io_by_ge and symbol.size > ctx.options.input_fusion:
        return False
    if not refreshable(op) or not all(refreshable(r) for r in readers):
        return False
    if op.root_input:
        return not group
    results = sum(
        not a.out and view.ops[a.op].root_output and view.ops[a.op].inputs[a.index] is not None for a in symbol.anchors
    )
    return results == 1 and all(refreshable(view.ops[a.op]) for a in symbol.outputs)


def may_lie_in_user_memory(ctx: Context, symbol: Symbol | None, op: Op) -> bool:
    """False when the user's buffer must not hold this one: somebody cannot follow a changed address."""
    if symbol is None:
        return refreshable(op)
    return all(refreshable(ctx.view.ops[a.op]) for a in symbol.anchors) and not padded_output(op)


def in_placing_order(view: View, blocks: Sequence[Block]) -> list[Block]:
    """Blocks without a root input first, in list order; then those with one, by the size of that input without alignment."""
    plain, fed = [], []
    for b in blocks:
        entry = next((e for e in b.entries if e.kind is Kind.OUTPUT and e.op.root_input), None)
        if entry is None:
            plain.append(b)
        else:
            fed.append((entry.payload, b))
    introsort(fed, lambda a, b: a[0] < b[0])
    return plain + [b for _, b in fed]

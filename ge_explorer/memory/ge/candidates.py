"""The planner's candidates; the smallest total wins (memory.md A4; hybrid_mem_assigner.cc)."""

from __future__ import annotations

from dataclasses import dataclass

from ge_explorer.memory.ge.batches import overlay_batches
from ge_explorer.memory.ge.blocks import Block
from ge_explorer.memory.ge.context import Context, Strategy
from ge_explorer.memory.ge.groups import line_up_groups
from ge_explorer.memory.ge.layout import place_blocks
from ge_explorer.memory.ge.level1 import State
from ge_explorer.memory.ge.level2 import Nesting
from ge_explorer.memory.ge.release import run_level1
from ge_explorer.memory.ge.size_classes import FLOOR, binary_classes, has_buffers, planned_sizes


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A finished candidate: ``ends`` is the end of each memory type's range, ``blocks`` are in final list order."""

    strategy: Strategy
    classes: tuple[int, ...]
    state: State
    blocks: list[Block]
    ends: dict[int, int]

    @property
    def size(self) -> int:
        """Sum over memory types; user buffers and centrally cleaned memory are not in it."""
        return sum(self.ends.values())


def strategies(priority: bool) -> tuple[Strategy, ...]:
    """Candidates in GE's order: two, or six under MemoryPriority."""
    basic = (
        Strategy("binary-block", priority=priority),
        Strategy("max-block", use_range=True, level2=False),
    )
    if not priority:
        return basic
    ranged = tuple(
        Strategy(f"range-binary-block-{'ascending' if up else 'descending'}-{'frfr' if first else 'frlr'}", True, up, first, True)
        for first in (True, False)
        for up in (False, True)
    )  # fmt: skip
    return basic + ranged


def run_candidate(ctx: Context, strategy: Strategy) -> Candidate:
    """Size classes, level 1, level 2, offsets."""
    sizes = planned_sizes(ctx.view, ctx.largest_label)
    if not sizes and not has_buffers(ctx.view):
        sizes = [FLOOR]
    classes = tuple(sizes[-1:]) if strategy.name == "max-block" else binary_classes(sizes)
    s = State(ctx, strategy, classes)
    run_level1(s)
    blocks = Nesting(s).run() if ctx.options.reuse and strategy.level2 else list(s.blocks)
    blocks = overlay_batches(s, line_up_groups(s, blocks))
    return Candidate(strategy, classes, s, blocks, place_blocks(blocks))

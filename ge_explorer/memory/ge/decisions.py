"""Recorded decisions of the planner, as plain values one can step through.

Level 1 says for every buffer what the pool offered and why each offer was refused; level 2 says what was nested or split.
The pool itself is not stored with every step: ``pool_before`` rebuilds it from the steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Action = Literal["take", "new", "refer", "zero", "release", "nest", "split"]
SHOWN_REFUSALS = 32
"""Refused offers that one step lists; ``offers`` counts all of them."""


@dataclass(frozen=True, slots=True)
class Decision:
    """One step. ``block`` and the second number of ``refused`` are creation numbers of blocks.

    take: a pooled block is used again; new: a block is created; refer: the buffer is part of ``block`` by its symbol; zero: no
    memory here; release: the block goes into the pool; nest: ``block`` gets bytes inside ``other``; split: part of ``block``
    became ``other``. ``pool`` names the pool (memory type, stream).
    """

    action: Action
    node: int
    kind: str
    index: int
    block: int
    why: str
    pool: tuple[int, int] = (0, 0)
    other: int = -1
    offers: int = 0
    refused: tuple[tuple[str, int], ...] = ()


def pool_before(decisions: Sequence[Decision], step: int) -> dict[tuple[int, int], tuple[int, ...]]:
    """Content of every pool right before decision ``step``: (memory type, stream) -> blocks in the order of their release."""
    pools: dict[tuple[int, int], list[int]] = {}
    for d in decisions[:step]:
        if d.action == "release":
            pools.setdefault(d.pool, []).append(d.block)
        elif d.action == "take":
            pools[d.pool].remove(d.block)
    return {k: tuple(v) for k, v in pools.items() if v}

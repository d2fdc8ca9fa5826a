"""Gradient accumulation: N micro-batches add into one buffer instead of keeping N gradients.

Idea (article, memory.md B18, where it is a flag without code): one accumulator of G bytes saves (N - 1) x G. It is correct only if
the additions run one after the other, so each micro-batch's addition must be ordered before the next one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from ge_explorer.errors import OptionError
from ge_explorer.graph.happens_before import HappensBefore


@dataclass(frozen=True, slots=True)
class Accumulation:
    """Bytes apart and shared, and the orders the sharing rests on. ``edges``: (addition, next addition) node pairs that nothing
    orders yet.
    """

    apart: int
    shared: int
    edges: tuple[tuple[int, int], ...]

    @property
    def saved(self) -> int:
        """(N - 1) x G."""
        return self.apart - self.shared


def share_accumulator(gradient_bytes: int, additions: Sequence[int], hb: HappensBefore | None = None) -> Accumulation:
    """``additions``: node ids that add a micro-batch's gradient, in the wanted order. OptionError without any."""
    if not additions or gradient_bytes < 0 or len(set(additions)) < len(additions):
        raise OptionError(
            "gradient accumulation needs distinct additions and a size", got=(gradient_bytes, tuple(additions))
        )
    pairs = pairwise(additions)
    missing = tuple((a, b) for a, b in pairs if hb is None or not hb.ordered(a, b))
    return Accumulation(gradient_bytes * len(additions), gradient_bytes, missing)

"""How gradients are cut into segments before their collectives are fused.

HCCL's library decides; its manual names two calls (set_split_strategy_by_idx, set_split_strategy_by_size) and the default, two
segments of 96.54 % and 3.46 % of the bytes (in some cases one). Shares win over indices, and an unknown size leaves shares only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ge_explorer.errors import OptionError
from ge_explorer.graph.model import Node

SEGMENTS = "gx.hcclSegments"
"""Our option for set_split_strategy_by_idx: last gradient index of each segment, such as ``20,100,159``."""
SHARES = "gx.hcclShares"
"""Our option for set_split_strategy_by_size: percent of the bytes per segment, such as ``60,20,20``."""
LIMIT = "ge.fusionTensorSize"
"""GE's limit on the bytes of one fused tensor; 500 MiB when unset."""
DEFAULT_LIMIT = 500 * 2**20
DEFAULT_SHARES = (96.54, 3.46)
MOST_SEGMENTS = 8


@dataclass(frozen=True, slots=True)
class Split:
    """The user's wishes, checked. ``cuts`` and ``shares`` are empty when not given."""

    cuts: tuple[int, ...] = ()
    shares: tuple[float, ...] = ()
    limit: int = DEFAULT_LIMIT

    @staticmethod
    def of(option: Callable[[str], str]) -> Split:
        """From the options; OptionError names the one that cannot be read."""
        return Split(_cuts(option(SEGMENTS)), _shares(option(SHARES)), _limit(option(LIMIT)))

    def segments(self, nodes: Sequence[Node], sizes: Mapping[int, int], *, unknown: bool = False) -> list[list[Node]]:
        """Gradients in graph order, cut. A gradient belongs to the segment in whose share it begins.

        ``unknown``: some size is not known, so indices are not used (GE forces the split by size in unknown-shape graphs).
        """
        if self.cuts and not self.shares and not unknown:
            ends = [*(c + 1 for c in self.cuts if c + 1 < len(nodes)), len(nodes)]
            return [list(nodes[a:b]) for a, b in zip([0, *ends[:-1]], ends, strict=True)]
        shares = self.shares or DEFAULT_SHARES
        total, run, k = sum(sizes[n.id] for n in nodes), 0, 0
        parts: list[list[Node]] = [[] for _ in shares]
        for n in nodes:
            while k + 1 < len(shares) and run * 100 >= sum(shares[: k + 1]) * total and total:
                k += 1
            parts[k].append(n)
            run += sizes[n.id]
        return [p for p in parts if p]


def within(nodes: Sequence[Node], sizes: Mapping[int, int], limit: int) -> list[list[Node]]:
    """Cut a segment where it would pass the tensor limit."""
    out: list[list[Node]] = [[]]
    run = 0
    for n in nodes:
        if out[-1] and run + sizes[n.id] > limit:
            out.append([])
            run = 0
        out[-1].append(n)
        run += sizes[n.id]
    return out


def _cuts(text: str) -> tuple[int, ...]:
    if not text:
        return ()
    parts = [p.strip() for p in text.split(",")]
    good = all(p.isascii() and p.isdigit() for p in parts) and len(parts) <= MOST_SEGMENTS
    if not good or sorted({int(p) for p in parts}) != [int(p) for p in parts]:
        raise OptionError(f"segment ends are up to {MOST_SEGMENTS} rising gradient indices", where=SEGMENTS, got=text,
                          todo="Write for example 3,7.")  # fmt: skip
    return tuple(int(p) for p in parts)


def _shares(text: str) -> tuple[float, ...]:
    if not text:
        return ()
    try:
        out = tuple(float(p) for p in text.split(","))
    except ValueError:
        out = ()
    if not 1 <= len(out) <= MOST_SEGMENTS or not all(0 < s <= 100 for s in out) or abs(sum(out) - 100) > 1e-6:
        raise OptionError(f"shares are up to {MOST_SEGMENTS} percentages that add up to 100", where=SHARES, got=text,
                          todo="Write for example 60,20,20.")  # fmt: skip
    return out


def _limit(text: str) -> int:
    if not text:
        return DEFAULT_LIMIT
    if not (text.isascii() and text.isdigit()) or int(text) <= 0:
        raise OptionError("the tensor limit is a positive number of bytes", where=LIMIT, got=text)
    return int(text)

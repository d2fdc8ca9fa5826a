"""Per-stream partitions: every stream owns a range of bytes and takes only from it.

Idea (article, memory.md B13): 40 % inference, 20 % pre-processing, 20 % post-processing, 20 % reserve, all of the device. GE uses
one shared range instead and lets streams share bytes where edges prove an order. A partition is simple but not safe by itself: a
tensor that crosses to another stream is owned by its producer's stream and is free only when its last reader is surely done, and
the next round may overwrite it only after an event back from that reader.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType

from ge_explorer.errors import OptionError
from ge_explorer.memory.model import MemoryPlan, MemoryProblem
from ge_explorer.memory.teaching.groups import stacked

RATIOS: Mapping[str, Fraction] = MappingProxyType(
    {"inference": Fraction(2, 5), "preprocess": Fraction(1, 5), "postprocess": Fraction(1, 5)}
)
RESERVE = "reserve"


def partition_budget(device_bytes: int, ratios: Mapping[str, Fraction] = RATIOS) -> dict[str, int]:
    """Bytes per partition, ratios of the whole device; the reserve is all the rest, so nothing is lost.

    OptionError when the ratios are negative or add up to more than 1.
    """
    if any(r < 0 for r in ratios.values()) or sum(ratios.values()) > 1:
        raise OptionError("the ratios must be at least 0 and add up to at most 1", got=dict(ratios))
    out = {name: int(device_bytes * r) for name, r in ratios.items()}
    out[RESERVE] = device_bytes - sum(out.values())
    return out


def plan_partition(problem: MemoryProblem, bound: object = None) -> MemoryPlan:
    """One range per stream, as small as happens-before allows; nothing is shared between streams."""
    return stacked(problem, [b.stream for b in problem.buffers], "partition")[0]


def partitions(problem: MemoryProblem) -> Mapping[int, tuple[int, int]]:
    """Stream -> (first byte, bytes) of ``plan_partition``."""
    return stacked(problem, [b.stream for b in problem.buffers], "partition")[1]


@dataclass(frozen=True, slots=True)
class Crossing:
    """A buffer of one stream that others read. ``events_back``: (reader, producer) pairs that must be ordered, reader first,
    before the next round writes it again; without them it needs two copies (double buffering).
    """

    buffer: int
    owner: int
    readers: tuple[int, ...]
    events_back: tuple[tuple[int, int], ...]


def crossings(problem: MemoryProblem, stream: Sequence[int]) -> tuple[Crossing, ...]:
    """Buffers that cross streams. ``stream`` per node id. Only the last reader of each foreign stream needs an event back."""
    out = []
    for b, life in zip(problem.buffers, problem.lifetimes, strict=True):
        foreign = tuple(r for r in b.readers if stream[r] >= 0 and stream[r] != b.stream)
        if foreign:
            last = [node for s, node in sorted(life.last_use.items()) if s != b.stream and node in foreign]
            out.append(Crossing(b.id, b.stream, foreign, tuple((r, d) for r in last for d in b.producers)))
    return tuple(out)

"""Memory problem and plan as plain data. Planner, bound and verifier are three different things in three files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class Buffer:
    """An alias class: tensors that share one address. Sizes in bytes, already aligned as GE does.

    ``producers`` first write it, ``readers`` read it (node ids, each list in GE order); ``kind`` is one of
    feature, workspace, input, output, weight; only ``feature`` and ``workspace`` may share bytes.
    ``inside``: bytes from the start of the buffer to a tensor, for tensors that are not at its start (pieces of a concatenation
    without a task, tensors of one collective). ``stream`` is the stream of its first producer. ``raw_size`` is bytes before
    padding; ``assumed`` says an unknown dimension was bound to 1.
    """

    id: int
    name: str
    size: int
    tensors: tuple[int, ...]
    producers: tuple[int, ...]
    readers: tuple[int, ...]
    kind: str = "feature"
    stream: int = -1
    raw_size: int = 0
    assumed: bool = False
    alias_rules: tuple[str, ...] = ()
    inside: Mapping[int, int] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def accessors(self) -> tuple[int, ...]:
        """Producers and readers, distinct."""
        return tuple(dict.fromkeys(self.producers + self.readers))


@dataclass(frozen=True, slots=True, eq=False)
class Lifetime:
    """When a buffer is in use, per buffer id.

    ``begin``/``end`` are GE topological ids (end inclusive; FOREVER = never reusable). ``last_use`` maps stream -> the
    last accessor there; ``free_at`` maps stream -> first node on that stream from which the bytes may be reused
    (-1: never on that stream).
    """

    begin: int
    end: int
    last_use: Mapping[int, int]
    free_at: Mapping[int, int]


FOREVER = 4294967295
"""GE's "not known to end" (memory_block.h), shown as "to the end"."""


@dataclass(frozen=True, slots=True, eq=False)
class MemoryProblem:
    """Buffers to place. ``before[i]`` is a bitmask of the buffers that are finished before buffer i starts.

    ``lifetimes`` and ``before`` come from happens-before over streams and events (memory.md C1, C2).
    ``excluded`` are bytes outside the feature map (weights, inputs, outputs), by kind.
    """

    buffers: tuple[Buffer, ...]
    before: tuple[int, ...]
    lifetimes: tuple[Lifetime, ...]
    alignment: int = 512
    excluded: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class MemoryPlan:
    """Offsets in bytes per buffer id (same order as the problem's buffers). ``origin``: model, ge-log, dump, user."""

    offsets: tuple[int, ...]
    peak: int
    planner: str
    origin: str = "model"
    candidates: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))

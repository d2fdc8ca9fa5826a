"""Result of GE's planner as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ge_explorer.memory.ge.blocks import FOREVER
from ge_explorer.memory.ge.decisions import Decision
from ge_explorer.memory.ge.statistics import Statistics
from ge_explorer.memory.model import Buffer, MemoryPlan


@dataclass(frozen=True, slots=True)
class GeMember:
    """One buffer on a block. ``begin``/``end`` are topological ids (inclusive; blocks.UNSET never released, FOREVER no end
    known on the own stream); ``foreign`` are (stream, end) pairs valid there; ``real`` and ``payload`` are bytes.
    """

    node: int
    name: str
    kind: str
    index: int
    begin: int
    end: int
    real: int
    payload: int
    ref: bool = False
    foreign: tuple[tuple[int, int], ...] = ()
    out_count: int = 1

    def end_on(self, stream: int) -> int:
        """When ``stream`` sees it end."""
        only = self._only
        return only[1] if only is not None and only[0] == stream else self.end

    def end_with_stream(self, stream: int, own: int) -> tuple[int, int]:
        """(end, stream its ids are counted in) as ``stream`` may use it under MemoryPriority; ``own``: the block's stream."""
        only = self._only
        if only is None:
            return self.end, own
        return (FOREVER, own) if stream == own else (only[1], only[0])

    @property
    def _only(self) -> tuple[int, int] | None:
        return self.foreign[0] if self.out_count == 1 and len(self.foreign) == 1 else None


@dataclass(frozen=True, slots=True)
class GeBlock:
    """A piece of the address range. ``uid`` is its creation number, ``parent`` the uid of the enclosing block (-1: none)."""

    uid: int
    size: int
    head: int
    stream: int
    memory_type: int
    batch: str
    parent: int
    members: tuple[GeMember, ...]
    reusable: bool = True
    zero_copy: bool = False
    continuous: bool = False
    made_by: str = "level 1"

    @property
    def tail(self) -> int:
        """Last byte."""
        return self.head + self.size - 1


@dataclass(frozen=True, slots=True, eq=False)
class GeCandidate:
    """One candidate. ``size`` in bytes over all memory types, without user buffers; ``ends`` per memory type; ``blocks`` list a
    block right before what is nested in it, ``steps`` are its decisions in order.
    """

    name: str
    size: int
    classes: tuple[int, ...]
    statistics: Mapping[int, Statistics]
    ends: Mapping[int, int]
    blocks: tuple[GeBlock, ...]
    steps: tuple[Decision, ...]
    last_uses: tuple[tuple[int, int], ...] = ()
    no_block: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class GeMemoryResult:
    """Everything GE's planner decides about a graph; node ids are the graph's.

    ``offsets`` and ``workspaces`` are bytes per output / workspace of a node; ``ends`` the size of each memory type's range,
    user buffers included (``zero_copy`` bytes of ordinary memory); ``streams`` the effective stream per node, ``moved`` those
    the planner changed; ``into`` / ``out_of`` the stream-edge tables. ``blocks`` are the chosen candidate's with user buffers
    placed. ``inplace`` are (node, output, input) written in place; ``symbols`` counts the alias classes; ``plan`` gives the offsets
    of ``buffers`` (those classes and workspaces, ordinary device memory). ``failure`` is empty when GE's checks
    pass, else what they say.
    """

    candidates: tuple[GeCandidate, ...]
    chosen: int
    blocks: tuple[GeBlock, ...]
    offsets: Mapping[int, tuple[int, ...]]
    workspaces: Mapping[int, tuple[int, ...]]
    ends: Mapping[int, int]
    zero_copy: int
    streams: Mapping[int, int]
    moved: Mapping[int, int]
    into: Mapping[int, Mapping[int, tuple[tuple[int, int], ...]]]
    out_of: Mapping[int, Mapping[int, tuple[tuple[int, int], ...]]]
    inplace: tuple[tuple[int, int, int], ...]
    symbols: int
    buffers: tuple[Buffer, ...]
    plan: MemoryPlan
    failure: str = ""

    @property
    def best(self) -> GeCandidate:
        """The chosen candidate."""
        return self.candidates[self.chosen]

    @property
    def statistics(self) -> Statistics:
        """GE's numbers for ordinary device memory of the chosen candidate."""
        return self.best.statistics.get(2, Statistics())

    @property
    def decisions(self) -> tuple[Decision, ...]:
        """Decisions of the chosen candidate."""
        return self.best.steps

    @property
    def nesting(self) -> Mapping[int, tuple[int, ...]]:
        """Block -> the blocks directly inside it, by uid."""
        inside: dict[int, list[int]] = {}
        for b in self.blocks:
            if b.parent >= 0:
                inside.setdefault(b.parent, []).append(b.uid)
        return {k: tuple(v) for k, v in inside.items()}

    @property
    def total(self) -> int:
        """Bytes of ordinary device memory, user buffers included (GE's memoffset)."""
        return self.ends.get(2, 0)

"""What is loaded: a static model (V1) or a dynamic one (V2), as plain numbers. Bad numbers are refused here, once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from ge_explorer.errors import OptionError

AllocatorName = Literal["stream", "event", "notify"]
ALL_ALLOCATORS: tuple[AllocatorName, ...] = ("stream", "event", "notify")


def refuse_negative(where: str, **numbers: int) -> None:
    """OptionError for a number that is not an int of at least 0."""
    for name, n in numbers.items():
        if isinstance(n, bool) or not isinstance(n, int) or n < 0:
            raise OptionError(f"{name} must be a whole number of at least 0", where=where, got=n)


@dataclass(frozen=True, slots=True)
class Activator:
    """A node that activates streams. ``branch``: it carries ``_switch_branch_node_label`` (only then a StreamActive counts)."""

    op: Literal["StreamSwitch", "StreamActive"]
    streams: tuple[int, ...]
    branch: bool = False

    @property
    def makes_ordinary(self) -> bool:
        """True if its streams wait for activation instead of starting with the model."""
        return self.op == "StreamSwitch" or self.branch


@dataclass(frozen=True, slots=True)
class StaticModel:
    """A model of known shape. Stream numbers are physical: 0 .. ``streams`` - 1.

    ``huge`` is GE's ``huge_stream_list``; ``hcom`` the streams of collective operators; ``follow`` main stream -> the
    ``used_stream_num`` of each collective operator on it; ``task_order`` streams in the order of their first task (None: all, by
    number; streams left out have no task); ``tasks`` queue entries per stream; ``logic_of`` physical -> logical stream.
    ``blocking_events`` are the events added for blocking AI CPU operators and ordered collective groups.
    """

    name: str
    streams: int
    events: int = 0
    notifies: int = 0
    notify_types: tuple[int, ...] = ()
    huge: tuple[int, ...] = ()
    hcom: tuple[int, ...] = ()
    follow: Mapping[int, tuple[int, ...]] = field(default_factory=lambda: MappingProxyType({}))
    activators: tuple[Activator, ...] = ()
    task_order: tuple[int, ...] | None = None
    tasks: Mapping[int, int] = field(default_factory=lambda: MappingProxyType({}))
    logic_of: tuple[int, ...] = ()
    priority: int = 0
    overflow: bool = False
    caller_stream: bool = False
    blocking_events: int = 0

    def __post_init__(self) -> None:
        refuse_negative(
            self.name,
            streams=self.streams,
            events=self.events,
            notifies=self.notifies,
            blocking_events=self.blocking_events,
        )
        order = self.task_order or ()
        named = [*self.huge, *self.hcom, *self.follow, *order, *self.tasks]
        named += [i for a in self.activators for i in a.streams]
        wrong = [i for i in named if not 0 <= i < self.streams]
        if wrong:
            raise OptionError(f"the model has {self.streams} streams", where=self.name, got=wrong[0])
        if len(set(order)) != len(order):
            raise OptionError("a stream has one first task only", where=f"{self.name} task_order", got=order)
        for counts in self.follow.values():
            for n in counts:
                refuse_negative(f"{self.name} follow", used_stream_num=n)

    @property
    def follow_streams(self) -> int:
        """Streams collectives add: per main stream the largest number any of its operators uses, summed.

        Source: model_utils.cc CalFollowStreamSum. (The compile summary states the *smallest* instead.)
        """
        return sum(max(counts, default=0) for counts in self.follow.values())

    @property
    def has_hccl(self) -> bool:
        """A model with collective tasks is never unloaded to make room."""
        return bool(self.hcom or self.follow)

    @property
    def waiting(self) -> frozenset[int]:
        """Streams that do not start with the model."""
        return frozenset(i for a in self.activators if a.makes_ordinary for i in a.streams)


@dataclass(frozen=True, slots=True)
class DynamicNode:
    """A node as the V2 loader reads it. ``unknown``: its own graph is of unknown shape; ``direct``: it sits in the root graph."""

    name: str
    stream: int = 0
    inputs: bool = True
    outputs: bool = True
    sends: tuple[int, ...] = ()
    recvs: tuple[int, ...] = ()
    unknown: bool = True
    direct: bool = True


@dataclass(frozen=True, slots=True)
class DynamicModel:
    """A model of unknown shape. ``streams``, ``events`` and ``notifies`` are totals, static sub-models included.

    ``external`` names the allocators the caller hands over (all three or none); ``nodes`` None: event ids are taken as sound and
    no first or last synchronisation is looked for. ``query_fails``: the device does not say how many streams are available.
    """

    name: str
    streams: int
    attached: int = 0
    events: int = 0
    notifies: int = 0
    parts: tuple[StaticModel, ...] = ()
    external: tuple[AllocatorName, ...] = ()
    nodes: tuple[DynamicNode, ...] | None = None
    caller: str = "user stream"
    query_fails: bool = False

    def __post_init__(self) -> None:
        refuse_negative(
            self.name, streams=self.streams, attached=self.attached, events=self.events, notifies=self.notifies
        )
        unknown = [a for a in self.external if a not in ALL_ALLOCATORS]
        if unknown:
            raise OptionError("no such allocator", where=self.name, got=unknown[0], todo="stream, event, notify.")

    @property
    def all_external(self) -> bool:
        """All three allocators come from the caller."""
        return set(self.external) == set(ALL_ALLOCATORS)


def follow_of(counts: Mapping[int, Sequence[int]]) -> Mapping[int, tuple[int, ...]]:
    """Frozen form of ``follow``."""
    return MappingProxyType({int(k): tuple(v) for k, v in counts.items()})

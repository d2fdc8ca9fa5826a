"""The compile state: one immutable snapshot per step, made of facets that passes replace one by one.

Per-node arrays are int32, indexed by node id, read-only, and shared between snapshots while unchanged.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from ge_explorer.errors import OptionError
from ge_explorer.graph.model import Graph, IntArray
from ge_explorer.memory.model import MemoryPlan, MemoryProblem

NO_STREAM = -1
EventKind = Literal["event", "notify"]
EventEnd = Literal["main", "attached", "by-stream"]
SYNC_OPS: Mapping[str, EventKind] = MappingProxyType(
    {"Send": "event", "Recv": "event", "SendNotify": "notify", "RecvNotify": "notify"}
)
"""Types of the nodes that stand for the two ends of an event; the events themselves are in ``SyncPlan``."""


def int_array(values: Any) -> IntArray:
    """Read-only int32 array."""
    a = np.array(values, dtype=np.int32)
    a.setflags(write=False)
    return a


@dataclass(frozen=True, eq=False)
class Options:
    """GE options by literal key (``ge.topoSortingMode``) plus ours (``gx.*``). All values are strings, as in GE."""

    values: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    @staticmethod
    def of(values: Mapping[str, str] | None = None) -> Options:
        """Options from a plain mapping."""
        for k, v in (values or {}).items():
            if not isinstance(v, str):
                raise OptionError("option values are strings", where=k, got=v, todo=f"Write {str(v)!r}.")
        return Options(MappingProxyType(dict(sorted((values or {}).items()))))

    def get(self, key: str, default: str = "") -> str:
        """Value or default."""
        return self.values.get(key, default)


@dataclass(frozen=True, slots=True, eq=False)
class Placement:
    """Engine and core kind of each node id ("" where the id does not exist).

    ``engine`` are GE engine ids (``AIcoreEngine``), ``core`` one of AIC, AIV, MIX, AICPU, HCCL, DSA, NONE;
    ``reason`` is the rule key of the placement pass, or "given" / "user".
    """

    engine: tuple[str, ...]
    core: tuple[str, ...]
    reason: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Cluster:
    """A connected same-engine region of the second partition; GE's unit of stream allocation.

    ``id`` is dense over all scopes. ``pred``/``succ`` are cluster ids. Source: engine_partitioner.cc.
    """

    id: int
    scope: int
    name: str
    engine: str
    nodes: tuple[int, ...]
    stream_label: str = ""
    user_label: str = ""
    pred: tuple[int, ...] = ()
    succ: tuple[int, ...] = ()
    max_parallel: int = 1


@dataclass(frozen=True, slots=True, eq=False)
class Clusters:
    """All clusters; ``by_scope[s]`` lists the cluster ids of scope s in allocator (rank) order; ``of_node`` -1 = none."""

    items: tuple[Cluster, ...]
    by_scope: Mapping[int, tuple[int, ...]]
    of_node: IntArray


@dataclass(frozen=True, slots=True, eq=False)
class StreamAssignment:
    """Logical streams. ``node`` is the stream of each node id (-1 none), ``cluster`` of each cluster id.

    ``next_stream`` is GE's running counter, ``main_count`` the count after the continuity refresh (else -1).
    ``attached`` maps node -> attached stream ids. ``custom`` are ids allocated by a custom stream pass.
    """

    node: IntArray
    cluster: tuple[int, ...] = ()
    next_stream: int = 0
    main_count: int = -1
    attached: Mapping[int, tuple[int, ...]] = field(default_factory=lambda: MappingProxyType({}))
    custom: tuple[int, ...] = ()

    @property
    def count(self) -> int:
        """Number of distinct streams in use (-1 not counted)."""
        used = np.unique(self.node[self.node >= 0])
        extra = {s for ids in self.attached.values() for s in ids if s >= 0} - set(used.tolist())
        return int(used.size) + len(extra)


@dataclass(frozen=True, slots=True)
class Event:
    """``send`` records on its stream after itself, ``recv`` waits on its stream before itself.

    ``uid`` is the identity over all steps (GE renumbers ``id``). ``cause`` is a rule key: data, control, boundary, …
    ``send_on`` / ``recv_on`` name the stream of the node that end sits on: ``main``; ``attached`` (its only attached stream);
    ``by-stream`` (one of several, GE's per-stream maps). An end on an attached stream says nothing about the main stream.
    """

    uid: int
    id: int
    send: int
    recv: int
    send_stream: int
    recv_stream: int
    kind: EventKind = "event"
    cause: str = "data"
    send_on: EventEnd = "main"
    recv_on: EventEnd = "main"

    @property
    def on_main(self) -> bool:
        """True if both ends sit on main streams."""
        return self.send_on == self.recv_on == "main"


@dataclass(frozen=True, slots=True)
class RemovedEvent:
    """An event that GE's optimisation dropped. ``by`` are the uids of events that made it redundant (may be empty)."""

    event: Event
    rule: str
    step: str
    by: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class SyncPlan:
    """Events alive (creation order; per-node lists are sub-sequences of it), removed events, activation lists.

    ``active_streams`` is GE's ``active_stream_list`` per activating node. ``label_streams`` and ``label_activators`` are
    GE's ``labeled_streams_`` and ``specific_activated_labels_``; ``stream_activators`` its stream -> activator nodes map
    (filled by the label mechanism only); ``activated`` the streams that somebody activates. ``switch_labels`` are the labels a
    StreamSwitch was given an active node for. ``sync_nodes`` maps generated Send/Recv nodes to the uid of their event.
    ``owned`` are the events and notifies that operators own (no Send/Recv nodes): node -> (kind, id), one a resource;
    ``notify_types`` has one entry a notify.
    """

    events: tuple[Event, ...] = ()
    removed: tuple[RemovedEvent, ...] = ()
    active_streams: Mapping[int, tuple[int, ...]] = field(default_factory=lambda: MappingProxyType({}))
    label_streams: Mapping[str, tuple[int, ...]] = field(default_factory=lambda: MappingProxyType({}))
    label_activators: Mapping[str, tuple[int, ...]] = field(default_factory=lambda: MappingProxyType({}))
    stream_activators: Mapping[int, tuple[int, ...]] = field(default_factory=lambda: MappingProxyType({}))
    activated: frozenset[int] = frozenset()
    next_uid: int = 0
    event_num: int = 0
    notify_num: int = 0
    switch_labels: Mapping[int, tuple[str, ...]] = field(default_factory=lambda: MappingProxyType({}))
    sync_nodes: Mapping[int, int] = field(default_factory=lambda: MappingProxyType({}))
    owned: Mapping[int, tuple[tuple[EventKind, int], ...]] = field(default_factory=lambda: MappingProxyType({}))
    notify_types: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class MemoryState:
    """Problem (buffers without offsets) and the plan chosen for it; ``lower_bound`` in bytes with its proof name."""

    problem: MemoryProblem
    plan: MemoryPlan
    lower_bound: int
    bound_name: str = "serial live"


@dataclass(frozen=True, slots=True)
class TaskGroup:
    """``count`` equal tasks of one node on one stream; each takes ``sqe`` queue entries, waits one more (wait and reset)."""

    stream: int
    count: int
    sqe: int = 0
    wait: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class TaskTable:
    """Task definitions per node (streams are logical before the split, physical after it).

    ``limit`` tasks fit on a stream and ``huge_limit`` on a huge one (None: the query fails, there are none); ``unlimited``: the
    device takes streams of any length, so GE splits nothing. ``origin`` says where the numbers come from.
    """

    of: Mapping[int, tuple[TaskGroup, ...]]
    limit: int
    huge_limit: int | None = None
    unlimited: bool = False
    origin: str = "assumed"


@dataclass(frozen=True, slots=True, eq=False)
class PhysicalStreams:
    """Physical streams after the split.

    ``node`` per node id, ``attached`` its attached ones; ``logic_of`` physical -> logical (-1: made after the split);
    ``tasks`` queue entries per stream; ``huge`` the huge streams; ``heads`` first node of a part -> the part.
    ``sync`` continues the logical plan: its ``events`` are those of the split only, its counters the final ones, its
    ``active_streams`` the lists over physical streams. ``task_table`` has the streams written back into the tasks.
    """

    node: IntArray
    logic_of: tuple[int, ...]
    tasks: tuple[int, ...]
    huge: tuple[int, ...] = ()
    attached: Mapping[int, tuple[int, ...]] = field(default_factory=lambda: MappingProxyType({}))
    heads: Mapping[int, int] = field(default_factory=lambda: MappingProxyType({}))
    parts: Mapping[int, tuple[int, ...]] = field(default_factory=lambda: MappingProxyType({}))
    sync: SyncPlan = field(default_factory=SyncPlan)
    task_table: TaskTable | None = None

    @property
    def count(self) -> int:
        """Number of physical streams."""
        return len(self.logic_of)


@dataclass(frozen=True, slots=True, eq=False)
class DynamicState:
    """What the allocator of dynamic-shape graphs shares over all graphs of a model. Ids are those before renumbering.

    ``engines`` is GE's engine -> stream map, ``labels`` stream label -> stream, ``follows`` cluster -> cluster whose stream it
    took (GE's ``reused_subgraph``, already the root of the chain).
    """

    engines: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    labels: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    follows: Mapping[int, int] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, eq=False)
class Snapshot:
    """State after a step. A pass returns ``s.evolve(streams=…)``; facets not set yet are None.

    ``order`` is GE's topological id of each node id (-1 none), ``sequence`` the nodes in traversal order,
    ``scope_order`` the subgraphs in GE's ``GetAllSubgraphs`` order (root not included).
    """

    graph: Graph
    options: Options = field(default_factory=Options)
    order: IntArray | None = None
    sequence: tuple[int, ...] | None = None
    scope_order: tuple[int, ...] | None = None
    placement: Placement | None = None
    clusters: Clusters | None = None
    streams: StreamAssignment | None = None
    sync: SyncPlan | None = None
    memory: MemoryState | None = None
    tasks: TaskTable | None = None
    physical: PhysicalStreams | None = None
    dynamic: DynamicState | None = None

    def evolve(self, **facets: Any) -> Snapshot:
        """Copy with some facets replaced."""
        return replace(self, **facets)


FACETS: tuple[str, ...] = tuple(f.name for f in fields(Snapshot))
"""Names a pass may declare in ``reads`` and ``writes``."""

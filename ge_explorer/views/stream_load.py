"""How full every stream is: queue entries per physical part against what one stream of the chip takes."""

from __future__ import annotations

from dataclasses import dataclass

from ge_explorer.passes.physical.accounting import all_entries, assigned
from ge_explorer.passes.physical.limits import RESERVE
from ge_explorer.provenance import Origin
from ge_explorer.trace.state import NO_STREAM, Snapshot, TaskTable


@dataclass(frozen=True, slots=True)
class PartLoad:
    """One physical stream: ``tasks`` queue entries of at most ``limit`` (None: no limit), of which ``RESERVE`` stay free.

    ``logical`` -1: made after the split (a StreamActive behind a switch). ``ordinal`` counts the parts of a logical stream
    from 1. ``nodes`` run on it in traversal order; ``beside`` have it attached. Before the split a logical stream is its only part.
    """

    physical: int
    logical: int
    ordinal: int
    tasks: int
    limit: int | None
    huge: bool
    nodes: tuple[int, ...]
    beside: tuple[int, ...] = ()

    @property
    def over(self) -> bool:
        """True if tasks and reserve do not fit: GE cannot cut every node off (heads of bodies, holders of subgraphs)."""
        return self.limit is not None and self.tasks + RESERVE > self.limit


@dataclass(frozen=True, slots=True)
class StreamLoads:
    """``parts`` by physical id. ``origin``: where the numbers of tasks come from; ``split``: physical streams exist."""

    parts: tuple[PartLoad, ...]
    origin: Origin
    split: bool

    def of(self, logical: int) -> tuple[PartLoad, ...]:
        """Parts of a logical stream in order."""
        return tuple(p for p in self.parts if p.logical == logical)

    @property
    def fullest(self) -> PartLoad | None:
        """The part with the least room left, then the most tasks."""
        return max(
            self.parts, key=lambda p: (p.tasks - p.limit if p.limit is not None else -(1 << 60), p.tasks), default=None
        )


def stream_loads(s: Snapshot) -> StreamLoads | None:
    """Loads of the streams of ``s``; None while no task is counted. Cost: linear in nodes."""
    table = s.physical.task_table if s.physical is not None else s.tasks
    if s.streams is None or table is None:
        return None
    split = s.physical is not None
    main = (s.physical.node if s.physical is not None else s.streams.node).tolist()
    attached = s.physical.attached if s.physical is not None else s.streams.attached
    order = s.sequence or s.graph.walk()
    nodes: dict[int, list[int]] = {}
    beside: dict[int, list[int]] = {}
    for i in order:
        if i < len(main) and main[i] != NO_STREAM:
            nodes.setdefault(main[i], []).append(i)
        for x in attached.get(i, ()):
            if x != NO_STREAM:
                beside.setdefault(x, []).append(i)
    if s.physical is not None:
        logic_of, tasks = s.physical.logic_of, s.physical.tasks
        if not any(tasks):  # nothing was split yet, or the device takes streams of any length
            tasks = _counted(s, table, len(logic_of))
    else:
        count = max([s.streams.next_stream, *(k + 1 for k in nodes), *(k + 1 for k in beside)], default=0)
        logic_of, tasks = tuple(range(count)), _counted(s, table, count)
    huge = frozenset(s.physical.huge if s.physical is not None else ())
    used = [k for k in range(len(logic_of)) if nodes.get(k) or beside.get(k) or (k < len(tasks) and tasks[k])]
    place: dict[int, int] = {}
    parts = []
    for k in used:
        logical = logic_of[k]
        place[logical] = place.get(logical, 0) + 1
        full = table.huge_limit if k in huge and table.huge_limit is not None else table.limit
        parts.append(
            PartLoad(
                k, logical, place[logical] if logical >= 0 else 1, tasks[k] if k < len(tasks) else 0,
                None if table.unlimited else full, k in huge, tuple(nodes.get(k, ())), tuple(beside.get(k, ())),
            )
        )  # fmt: skip
    return StreamLoads(tuple(parts), Origin.ASSUMED if table.origin == "assumed" else Origin.GE_RULE, split)


def task_counts(s: Snapshot, node: int) -> tuple[tuple[int, int], Origin] | None:
    """((tasks, queue entries) of a node, origin); None while tasks are not counted or it makes none.

    A node that declares its number is GE's rule; every other number is assumed.
    """
    table = s.physical.task_table if s.physical is not None else s.tasks
    groups = table.of.get(node, ()) if table is not None else ()
    if table is None or not groups:
        return None
    n = s.graph.node(node)
    own = assigned(n, attached=False)
    entries = sum(g.count * ((g.sqe or 1) + g.wait) for g in groups)
    declared = own > 0 or table.origin != "assumed"
    return (sum(g.count for g in groups), own or entries), Origin.GE_RULE if declared else Origin.ASSUMED


def _counted(s: Snapshot, table: TaskTable, count: int) -> tuple[int, ...]:
    assert s.streams is not None
    physical = s.physical
    main = dict(enumerate((physical.node if physical is not None else s.streams.node).tolist()))
    attached = physical.attached if physical is not None else s.streams.attached
    plan = physical.sync if physical is not None else s.sync
    active = plan.active_streams if plan is not None else {}
    order = [i for i in s.sequence or s.graph.walk() if i in main]
    total = [0] * count
    for per_stream in all_entries(s.graph, order, main, attached, table.of, active, table.limit).values():
        for k, n in per_stream.items():
            if 0 <= k < count:
                total[k] += n
    return tuple(total)

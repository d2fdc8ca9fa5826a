"""Task programs: what each stream runs, in issue order, with event records and waits.

A program is a plain value that ``engine.simulate_program`` runs and ``verify.verify`` checks; neither reads the graph.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from operator import attrgetter

import numpy as np
from numpy.typing import NDArray

from ge_explorer.device.chips import CHIPS, DEFAULT_CHIP, Chip
from ge_explorer.device.cost import CostTable, cost_table
from ge_explorer.errors import OptionError
from ge_explorer.provenance import Origin
from ge_explorer.trace.state import SYNC_OPS, Snapshot

NOT_RECORDED = -1
"""Sender of an event that no task of the program records."""


@dataclass(frozen=True, slots=True)
class LaunchModel:
    """Device times around tasks, in ns. Dispatch figures come from public profiles of 910B1 (2023), event figures are assumed.

    ``dispatch_ns``: gap between two AI Core tasks of a stream, ``dispatch_other_ns`` for other engines; ``record_ns``: an
    event record on its stream; ``signal_ns``: until a parked stream sees it; ``wait_ns``: leaving a wait.
    Source: runtime.md sections 8 and 10.3.
    """

    dispatch_ns: int = 1250
    dispatch_other_ns: int = 700
    record_ns: int = 100
    signal_ns: int = 1000
    wait_ns: int = 500


IDEAL = LaunchModel(0, 0, 0, 0, 0)
"""No dispatch gaps and free events: the shape of the plan alone."""


@dataclass(frozen=True, slots=True)
class Task:
    """One task. ``node`` graph node, ``ns`` duration, ``aic``/``aiv`` cores held while it runs.

    ``waits`` are event keys it waits for (in order), ``records`` the keys it records when done. ``dispatch_ns`` is paid when
    it is not the first on its stream. ``real`` False: a zero-duration marker of a node that runs nothing on the device.
    """

    node: int
    stream: int
    ns: int
    aic: int = 0
    aiv: int = 0
    waits: tuple[int, ...] = ()
    records: tuple[int, ...] = ()
    dispatch_ns: int = 0
    origin: str = Origin.MODEL.value
    real: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """The tasks' fixed fields as columns, as a timeline shows them."""

    node: NDArray[np.int32]
    stream: NDArray[np.int32]
    aic: NDArray[np.int32]
    aiv: NDArray[np.int32]
    origin: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Program:
    """Tasks in issue order (index = task id); streams keep this order. ``event_ids`` names event keys (-1: no event, a plain
    dependency). ``starts`` maps a stream to the task that activates it.
    """

    tasks: tuple[Task, ...]
    event_ids: tuple[int, ...] = ()
    starts: dict[int, int] = field(default_factory=dict)
    launch: LaunchModel = IDEAL
    notes: tuple[str, ...] = ()

    def senders(self) -> list[int]:
        """Task that records each event key; ``NOT_RECORDED`` where nobody does. OptionError when two tasks record one."""
        out = [NOT_RECORDED] * len(self.event_ids)
        for i, t in enumerate(self.tasks):
            for k in t.records:
                if out[k] != NOT_RECORDED:
                    raise OptionError(f"event key {k} is recorded twice", where=f"tasks {out[k]} and {i}")
                out[k] = i
        return out

    @cached_property
    def by_stream(self) -> dict[int, list[int]]:
        """Stream, ascending -> its tasks in issue order."""
        lists: dict[int, list[int]] = {}
        for i, t in enumerate(self.tasks):
            lists.setdefault(t.stream, []).append(i)
        return dict(sorted(lists.items()))

    @cached_property
    def columns(self) -> Columns:
        """Columns of the tasks, built once."""
        n = len(self.tasks)
        names = ("node", "stream", "aic", "aiv")
        node, stream, aic, aiv = (np.fromiter(map(attrgetter(a), self.tasks), np.int32, n) for a in names)
        return Columns(node, stream, aic, aiv, tuple(map(attrgetter("origin"), self.tasks)))

    @cached_property
    def widest(self) -> dict[int, tuple[int, int]]:
        """Stream -> largest numbers of cube and of vector cores one of its tasks takes; streams without any are left out."""
        wide: dict[int, tuple[int, int]] = {}
        for t in self.tasks:
            if t.aic or t.aiv:
                a, v = wide.get(t.stream, (0, 0))
                if t.aic > a or t.aiv > v:
                    wide[t.stream] = (max(a, t.aic), max(v, t.aiv))
        return wide


def program_of(rows: Iterable[Task], *, launch: LaunchModel = IDEAL) -> Program:
    """Program of hand-written tasks; event keys are numbered 0.. and shown as event ids.

    >>> len(program_of([Task(0, 0, 5, records=(0,)), Task(1, 1, 5, waits=(0,))]).event_ids)
    1
    """
    tasks = tuple(rows)
    keys = max((k for t in tasks for k in (*t.waits, *t.records)), default=-1) + 1
    return Program(tasks, tuple(range(keys)), launch=launch)


def build_program(
    s: Snapshot, chip: Chip | None = None, costs: CostTable | None = None, launch: LaunchModel | None = None
) -> Program:
    """Program of a snapshot.

    Every node with a stream becomes one task, in topological order; nodes that run nothing (GE_LOCAL, NetOutput, no-task
    operators) stay as zero-duration markers, so that events on them keep their place. Without streams all nodes go to
    stream 0. Before events are inserted, data and control dependencies across streams stand in for them. All branches of
    If and Case are counted, loop bodies once; the notes say so.
    """
    graph = s.graph
    costs = costs or cost_table(graph, s.placement, chip or CHIPS[DEFAULT_CHIP])
    launch = launch or LaunchModel()
    nodes, stream_of = _issue_order(s)
    task_of = {n: i for i, n in enumerate(nodes)}
    notes: list[str] = []
    links: list[tuple[int, int, int]] = []  # sender node, receiver node, event id
    if s.sync is not None:
        lost = 0
        for e in s.sync.events:
            if e.recv_on != "main":
                continue  # an attached stream waits; those are not simulated
            if e.send in task_of and e.recv in task_of:
                links.append((e.send, e.recv, e.id))
            else:
                lost += 1
        if lost:
            notes.append(f"{lost} events end at nodes without a stream and are left out")
    else:
        links = [
            (a, b, -1) for a, b in graph.dependencies if a in task_of and b in task_of and stream_of[a] != stream_of[b]
        ]
        if links:
            notes.append("events are not inserted yet: dependencies between streams stand in for them")
    waits: dict[int, list[int]] = {}
    records: dict[int, list[int]] = {}
    for key, (a, b, _) in enumerate(links):
        records.setdefault(a, []).append(key)
        waits.setdefault(b, []).append(key)
    tasks: list[Task] = []
    for n in nodes:
        cost = costs.of(n)
        on_core = cost.aic > 0 or cost.aiv > 0
        dispatch = 0 if not cost.task else launch.dispatch_ns if on_core else launch.dispatch_other_ns
        tasks.append(
            Task(n, stream_of[n], cost.ns, cost.aic, cost.aiv, tuple(waits.get(n, ())), tuple(records.get(n, ())),
                 dispatch, cost.origin.value, cost.task)
        )  # fmt: skip
    notes += _notes(s, tasks)
    return Program(tuple(tasks), tuple(e for _, _, e in links), _stream_starts(s, task_of, tasks), launch, tuple(notes))


def _issue_order(s: Snapshot) -> tuple[list[int], dict[int, int]]:
    graph = s.graph
    if s.streams is not None:
        streams = s.streams.node.tolist()
        stream_of = {i: streams[i] for i in graph.node_ids if streams[i] >= 0}
    else:
        stream_of = {n.id: 0 for n in graph if not n.is_source}
    # Send and Recv nodes stand for the events, which are tasks of their own here.
    stream_of = {i: x for i, x in stream_of.items() if graph.node(i).op not in SYNC_OPS}
    walk = list(s.sequence) if s.sequence is not None else []
    seen = set(walk)
    walk += [i for i in graph.walk() if i not in seen]
    place = {n: k for k, n in enumerate(walk)}
    nodes = sorted(stream_of, key=place.__getitem__)
    if s.order is not None:
        order: list[int] = s.order.tolist()
        nodes.sort(key=lambda n: order[n] if order[n] >= 0 else len(order) + place[n])
    return nodes, stream_of


def _stream_starts(s: Snapshot, task_of: dict[int, int], tasks: list[Task]) -> dict[int, int]:
    """Stream -> first task that activates it from another stream."""
    if s.sync is None:
        return {}
    first: dict[int, int] = {}
    for i, t in enumerate(tasks):
        first.setdefault(t.stream, i)
    starts: dict[int, int] = {}
    for node, streams in s.sync.active_streams.items():
        if node not in task_of:
            continue
        i = task_of[node]
        for stream in streams:
            # A loop activates its own body again: only what comes before the stream's first task can start it.
            if stream in first and tasks[i].stream != stream and i < first[stream]:
                starts[stream] = min(i, starts.get(stream, i))
    return starts


def _notes(s: Snapshot, tasks: list[Task]) -> list[str]:
    notes = ["simulated with our device model, not calibrated"]
    markers = sum(not t.real for t in tasks)
    if markers:
        notes.append(f"{markers} operators run no task and are shown as zero-duration markers")
    guessed = Counter(t.origin for t in tasks if t.real).get(Origin.ASSUMED.value, 0)
    if guessed:
        notes.append(f"{guessed} task durations are assumed (unknown size or operator)")
    branches = sum(len(n.subgraphs) > 1 for n in s.graph)
    if branches:
        notes.append("all branches of If and Case are counted, loop bodies once")
    return notes

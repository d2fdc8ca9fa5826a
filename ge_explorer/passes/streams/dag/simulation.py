"""GE's simulation of a partial assignment: nodes run in topological order on their streams, one start per step.

Each step starts at most one ready head of a stream and then lets the earliest running node finish, so two nodes never overlap
and every assignment of the same units takes the sum of their times. It never changes a choice (streams.md 12.5); it is kept
because it is part of the algorithm, and to show just that.
Source: WeightedStreamMergeSolver::RunSimulation and its steps (dag_weighted_stream_merger.cc).
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cmp_to_key

from ge_explorer.passes.streams.dag.units import EPS


def compare(a: float, b: float) -> int:
    """-1, 0 or 1; differences within EPS are 0."""
    return 0 if abs(a - b) <= EPS else (-1 if a < b else 1)


@dataclass(frozen=True, slots=True)
class RunningNode:
    """A started node: when it ends, its topological position, its index."""

    finish: float
    position: int
    node: int

    def after(self, other: RunningNode) -> bool:
        """True when this one leaves the heap later: later end, then later position, then higher index."""
        order = compare(self.finish, other.finish)
        return order > 0 if order else (self.position, self.node) > (other.position, other.node)

    def __lt__(self, other: RunningNode) -> bool:
        return other.after(self)


@dataclass(slots=True, eq=False)
class SimulationNodes:
    """What is simulated. Per node: unit, µs, longest way to the end (``rank``), predecessors; ``order`` is topological."""

    unit: Sequence[int]
    order: Sequence[int] = ()
    time: Sequence[float] = ()
    rank: Sequence[float] = ()
    preds: Sequence[Sequence[int]] = ()
    position: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self.position = [0] * len(self.unit)
        for k, i in enumerate(self.order):
            self.position[i] = k


@dataclass(slots=True, eq=False)
class Simulation:
    """Running state. ``queues`` are the nodes each stream still has to start; ``busy`` the streams with a running node."""

    streams: Sequence[int]
    queues: Mapping[int, deque[int]] = field(default_factory=dict)
    preds: Sequence[Sequence[int]] = ()
    finished: set[int] = field(default_factory=set)
    busy: set[int] = field(default_factory=set)
    running: list[RunningNode] = field(default_factory=list)
    now: float = 0.0
    executed: int = 0


def node_streams(nodes: SimulationNodes, assignment: Sequence[int], *, full: bool) -> list[int] | None:
    """Stream of each node, -1 where its unit has none yet; None when ``full`` asks for all and one is missing."""
    out = [assignment[u] for u in nodes.unit]
    return None if full and any(s < 0 for s in out) else [max(s, -1) for s in out]


def new_simulation(nodes: SimulationNodes, streams: Sequence[int]) -> Simulation:
    """Queues in topological order, and of each node the predecessors that take part."""
    queues: dict[int, deque[int]] = {}
    for i in nodes.order:
        if streams[i] >= 0:
            queues.setdefault(streams[i], deque()).append(i)
    preds = [[p for p in row if streams[p] >= 0] if streams[i] >= 0 else [] for i, row in enumerate(nodes.preds)]
    return Simulation(streams, dict(sorted(queues.items())), preds)


def ready_heads(nodes: SimulationNodes, run: Simulation) -> list[int]:
    """First nodes of idle streams whose predecessors have finished, most urgent first."""
    heads = [q[0] for s, q in run.queues.items() if q and s not in run.busy]
    return sort_ready(nodes, [i for i in heads if run.finished.issuperset(run.preds[i])])


def sort_ready(nodes: SimulationNodes, heads: Iterable[int]) -> list[int]:
    """Longer way to the end first, then longer time, then topological position."""

    def order(a: int, b: int) -> int:
        by_time = compare(nodes.rank[b], nodes.rank[a]) or compare(nodes.time[b], nodes.time[a])
        return by_time or nodes.position[a] - nodes.position[b] or a - b

    return sorted(heads, key=cmp_to_key(order))


def start_head(nodes: SimulationNodes, run: Simulation, heads: Sequence[int]) -> bool:
    """Start the first ready node, only that one; False when it is not at the head of its stream's queue."""
    if not heads:
        return True
    i = heads[0]
    queue = run.queues.get(run.streams[i])
    if not queue or queue[0] != i:
        return False
    queue.popleft()
    run.busy.add(run.streams[i])
    heapq.heappush(run.running, RunningNode(run.now + nodes.time[i], nodes.position[i], i))
    return True


def finish_next(run: Simulation) -> None:
    """Move the clock to the earliest end and finish every node that ends then."""
    run.now = run.running[0].finish
    while run.running and compare(run.running[0].finish, run.now) == 0:
        i = heapq.heappop(run.running).node
        run.finished.add(i)
        run.busy.discard(run.streams[i])
        run.executed += 1


def run_step(nodes: SimulationNodes, run: Simulation) -> bool:
    """Start one node, then finish the next; False when nothing runs."""
    if not start_head(nodes, run, ready_heads(nodes, run)) or not run.running:
        return False
    finish_next(run)
    return True


def makespan(nodes: SimulationNodes, assignment: Sequence[int], *, full: bool = False) -> float | None:
    """Simulated time in µs of the assigned units; None when it cannot run (a unit missing with ``full``, or a deadlock)."""
    streams = node_streams(nodes, assignment, full=full)
    if streams is None:
        return None
    todo = sum(s >= 0 for s in streams)
    if todo == 0:
        return 0.0
    run = new_simulation(nodes, streams)
    while run.executed < todo:
        if not run_step(nodes, run):
            return None
    return run.now

"""Happens-before: which task has surely completed before another may start.

Tasks on one stream run in issue order. Anything else needs a reason: an event, an activation, a dependency that GE will turn
into an event. With S streams the past of a task is a prefix of every stream, so it is kept as a *clock*: S numbers saying how
many tasks of each stream are surely done. That is exact, takes nodes x S integers, and makes every question a comparison.

Rules: memory.md C1 (G1 program order, G2 events, G4 dependencies before events exist) and A18 (GE's own reach relation,
compiler/graph/build/memory/checker/dependency_analyzer.cc).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ge_explorer.errors import GraphError
from ge_explorer.graph.model import Graph, IntArray
from ge_explorer.graph.reach import Reach

ENTER_LIKE = frozenset({"Enter", "RefEnter"})
NEXT_LIKE = frozenset({"NextIteration", "RefNextIteration"})
UNSYNCED_HOLDERS = ("_ffts_sub_graph", "_ffts_plus_sub_graph", "_thread_scope_id")
"""Attributes of holders whose bodies get no border events (FFTS runs them by itself)."""


@dataclass(frozen=True, slots=True)
class Order:
    """One reason why ``first`` is done before ``second`` starts. ``why``: stream, event, data, control, activation, holder.

    ``event`` is the event's uid where it is one. Ids at or above the graph's ``id_bound`` are virtual points (ends of a
    subgraph holder, starts of an activated stream).
    """

    first: int
    second: int
    why: str
    event: int = -1


@dataclass(frozen=True, slots=True)
class Blocked:
    """One link of a deadlock: ``node`` cannot start because it waits for ``by``."""

    node: int
    by: int
    why: str
    event: int = -1


class DeadlockError(GraphError):
    """The reasons form a circle: none of these tasks can ever start. ``chain`` is the circle, each entry waits for the next."""

    def __init__(self, chain: tuple[Blocked, ...]) -> None:
        self.chain = chain
        super().__init__("tasks wait for each other in a circle", got=" <- ".join(str(b.node) for b in chain))


@dataclass(frozen=True, eq=False)
class HappensBefore:
    """Result of ``happens_before``. Rows are tasks, columns are streams.

    ``row`` maps node id -> row; ``column`` and ``position`` say on which stream (as column) and at which place each row is;
    ``streams[c]`` is the stream id of column c; ``clocks[r, c]`` the number of tasks of stream c that are done before row r
    starts. Virtual points have rows too, with column -1.
    """

    nodes: tuple[int, ...]
    streams: tuple[int, ...]
    row: Mapping[int, int]
    column: IntArray
    position: IntArray
    clocks: IntArray
    predecessors: Mapping[int, tuple[Order, ...]]

    def __contains__(self, node: int) -> bool:
        """True if the node is a task (has a stream)."""
        r = self.row.get(node)
        return r is not None and bool(self.column[r] >= 0)

    def ordered(self, u: int, v: int) -> bool:
        """True if task ``u`` has completed before task ``v`` may start. False for anything that is not a task."""
        ru, rv = self.row.get(u), self.row.get(v)
        if ru is None or rv is None or self.column[ru] < 0:
            return False
        return bool(self.clocks[rv, self.column[ru]] > self.position[ru])

    def on_stream(self, stream: int) -> tuple[int, ...]:
        """Tasks of a stream in issue order."""
        return self._by_stream.get(stream, ())

    @cached_property
    def _by_stream(self) -> dict[int, tuple[int, ...]]:
        lists: dict[int, list[int]] = {}
        for v in self.nodes:
            c = int(self.column[self.row[v]])
            if c >= 0:
                lists.setdefault(self.streams[c], []).append(v)
        return {s: tuple(x) for s, x in lists.items()}

    @cached_property
    def anc(self) -> Mapping[int, int]:
        """Ancestor bitmask of each task; bit i is the i-th entry of ``nodes`` (built on first use).

        Where a stream has several possible activators, their common past counts and no single one of them does.
        """
        offset: dict[int, list[int]] = {}
        for s in self.streams:
            row, mask = [0], 0
            for v in self.on_stream(s):
                mask |= 1 << self.row[v]
                row.append(mask)
            offset[s] = row
        out: dict[int, int] = {}
        for v in self.nodes:
            mask = 0
            for c, count in enumerate(self.clocks[self.row[v]].tolist()):
                mask |= offset[self.streams[c]][count]
            out[v] = mask
        return out


def happens_before(
    sequence: Sequence[int],
    stream: Mapping[int, int] | Sequence[int] | IntArray,
    orders: Iterable[Order] = (),
    *,
    any_of: Iterable[int] = (),
    chained: bool = True,
) -> HappensBefore:
    """Build the relation.

    ``sequence``: node ids in issue order; ``stream``: stream of each node id (-1: not a task, left out). ``orders``: further
    reasons besides the streams themselves; nodes mentioned there that are not in ``sequence`` become virtual points.
    ``any_of``: virtual points that start after ONE of their predecessors instead of all (a stream with several activators).
    ``chained`` False: the caller gives the orders inside the streams too (branches of which only one runs).
    Raises DeadlockError with the blocked-by chain when the reasons form a circle.
    """
    lookup = stream.__getitem__
    tasks = [v for v in sequence if lookup(v) >= 0]
    streams = tuple(sorted({int(lookup(v)) for v in tasks}))
    to_column = {s: c for c, s in enumerate(streams)}
    pred: dict[int, list[Order]] = {v: [] for v in tasks}
    succ: dict[int, list[int]] = {v: [] for v in tasks}
    column: dict[int, int] = {}
    position: dict[int, int] = {}
    last: dict[int, int] = {}
    for v in tasks:
        c = to_column[int(lookup(v))]
        column[v] = c
        before = last.get(c)
        position[v] = 0 if before is None else position[before] + 1
        if before is not None and chained:
            pred[v].append(Order(before, v, "stream"))
            succ[before].append(v)
        last[c] = v
    points: dict[int, None] = {}
    known = set(sequence)
    for o in orders:
        for end in (o.first, o.second):
            if end not in pred and end not in known:
                points[end] = None
                pred[end], succ[end] = [], []
        if o.first in pred and o.second in pred:
            pred[o.second].append(o)
            succ[o.first].append(o.second)
    nodes = [*tasks, *points]
    row = {v: r for r, v in enumerate(nodes)}
    clocks = _clocks(nodes, row, column, position, pred, succ, len(streams), frozenset(any_of))
    return HappensBefore(
        tuple(tasks), streams, row,
        np.array([column.get(v, -1) for v in nodes], dtype=np.int32),
        np.array([position.get(v, -1) for v in nodes], dtype=np.int32),
        clocks, {v: tuple(p) for v, p in pred.items()},
    )  # fmt: skip


def _clocks(
    nodes: list[int], row: dict[int, int], column: dict[int, int], position: dict[int, int],
    pred: dict[int, list[Order]], succ: dict[int, list[int]], width: int, any_of: frozenset[int],
) -> IntArray:  # fmt: skip
    """Clock of every row in topological order; ``done`` counts a task itself, the result does not.

    An any-of point waits for all its predecessors as long as that works, so that their common past is known. Where one of them
    comes after the point itself (a body whose head starts the same stream again), the rest is stuck until the points start by
    what is done: whichever starts first does so after one of those, so the common past of them all holds for each.
    """
    done = np.zeros((len(nodes), max(width, 1)), dtype=np.int32)
    missing = {v: len(pred[v]) for v in nodes}
    ready = [v for v in nodes if missing[v] == 0]
    finished = 0
    common: dict[int, IntArray] = {}
    while finished < len(ready):
        for v in itertools.islice(ready, finished, None):  # grows while it is walked
            finished += 1
            mine = done[row[v]]
            reasons = pred[v]
            if v in common:
                mine[:] = common[v]
            elif v in any_of and reasons:
                mine[:] = done[[row[o.first] for o in reasons]].min(axis=0)
            else:
                for o in reasons:
                    np.maximum(mine, done[row[o.first]], out=mine)
            if v in column:
                mine[column[v]] = position[v] + 1
            for w in succ[v]:
                missing[w] -= 1
                if missing[w] == 0:
                    ready.append(w)
        if finished < len(nodes) and any_of:
            settled = set(ready)
            waiting = [v for v in sorted(any_of) if v in row and v not in settled]
            stuck = {v: [row[o.first] for o in pred[v] if o.first in settled] for v in waiting}
            stuck = {v: rows for v, rows in stuck.items() if rows}
            if stuck:
                past = done[[r for rows in stuck.values() for r in rows]].min(axis=0)
                for v in stuck:
                    common[v], missing[v] = past, -1
                ready += stuck
    if finished < len(nodes):
        raise DeadlockError(_circle([v for v in nodes if missing[v] > 0], pred, missing))
    clocks = done
    for v, c in column.items():
        clocks[row[v], c] -= 1
    return clocks[:, :width]


def _circle(stuck: list[int], pred: dict[int, list[Order]], missing: dict[int, int]) -> tuple[Blocked, ...]:
    """A circle among stuck nodes: walk from one to something it waits for until a node comes back."""
    waits: dict[int, Order] = {}
    v = stuck[0]
    while v not in waits:
        waiting = [o for o in pred[v] if missing[o.first] > 0]
        # Prefer a reason other than the stream: the chain then shows the events that close the circle.
        waits[v] = next((o for o in waiting if o.why != "stream" and o.first in waits), waiting[-1])
        v = waits[v].first
    chain, start = [], v
    while True:
        o = waits[v]
        chain.append(Blocked(v, o.first, o.why, o.event))
        v = o.first
        if v == start:
            return tuple(chain)


def dependency_orders(graph: Graph, stream: Mapping[int, int] | Sequence[int] | IntArray) -> list[Order]:
    """Orders that GE's event insertion will establish, for the time before any event exists (GE plans memory then).

    Data and control edges between tasks of different streams, and the subgraph border pairs of sync.md 5.2. Edges out of Enter
    get no event (5.3 rule 3). Nothing is taken for granted about subgraph bodies: see ``holder_orders``.
    """
    out: list[Order] = []
    for pairs, why in (([(e.src, e.dst) for e in graph.edges], "data"), (list(graph.control), "control")):
        for u, v in dict.fromkeys(pairs):
            if stream[u] < 0 or stream[v] < 0 or stream[u] == stream[v]:
                continue
            if graph.node(u).op in ENTER_LIKE and graph.node(v).op != "StreamActive":
                continue
            out.append(Order(u, v, why))
    for u, v in border_pairs(graph, stream):
        if stream[u] >= 0 and stream[v] >= 0 and stream[u] != stream[v]:
            out.append(Order(u, v, "border"))
    return out


def border_pairs(graph: Graph, stream: Mapping[int, int] | Sequence[int] | IntArray) -> list[tuple[int, int]]:
    """(producer of the holder, entry task of its body) and (end node of the body, consumer of the holder): the pairs that GE
    examines at subgraph borders (stream_allocator.cc InsertEventsForSubgraph).
    """
    out: list[tuple[int, int]] = []
    for scope in graph.scopes:
        if scope is None or scope.parent < 0 or any(k in graph.node(scope.parent).attrs for k in UNSYNCED_HOLDERS):
            continue
        for i in scope.nodes:
            if stream[i] >= 0 and not graph.pred[i]:
                out.extend((p, i) for p in dict.fromkeys(graph.pred[scope.parent]))
            if graph.node(i).attrs.get("_subgraph_end_node"):
                out.extend((i, x) for x in dict.fromkeys(graph.succ[scope.parent]))
                break
    return out


def holder_orders(graph: Graph, stream: Mapping[int, int] | Sequence[int] | IntArray) -> list[Order]:
    """Orders of a node that owns subgraphs (If, While, PartitionedCall): its inside starts after everything the holder waits
    for, and whoever waits for the holder waits for its inside (A18, dependency_analyzer.cc).

    GE's own memory check takes this for granted; streams and events alone do not prove it for a body on another stream.

    The end of holder h is the virtual point ``graph.id_bound + h``.
    """
    out: list[Order] = []
    for n in graph:
        if not n.subgraphs or stream[n.id] < 0:
            continue
        end = graph.id_bound + n.id
        inside = [i for s in n.subgraphs for i in graph.scope(s).nodes]
        for i in inside:
            if stream[i] < 0:
                continue
            if stream[i] != stream[n.id]:
                out.append(Order(n.id, i, "holder"))
            out.append(Order(i, end, "holder"))
            if graph.node(i).subgraphs:
                out.append(Order(graph.id_bound + i, end, "holder"))
        out.append(Order(n.id, end, "holder"))
        out.extend(Order(end, v, "holder") for v in dict.fromkeys(graph.succ[n.id]) if stream[v] >= 0)
    return out


def closure(graph: Graph, order: Sequence[int]) -> Reach:
    """Reachability over the data and control edges of a graph (no streams), on a topological order of its node ids."""
    return Reach.of(order, graph.pred)

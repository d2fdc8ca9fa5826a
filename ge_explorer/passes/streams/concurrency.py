"""What keeping all parallelism costs at least: the fewest streams, and the fewest waits. Two figures, two plans.

"All parallelism" means that a stream orders two tasks only where the graph orders them anyway. Under it

* streams ≥ width of the graph, the size of its largest antichain (its members need a stream each), and width is enough;
* waits ≥ arcs of the minimum equivalent graph − largest matching of them (an arc needs a wait unless its ends are neighbours on
  a stream, and a node has one neighbour after it), and that many are enough.

The first plan may need more waits and the second more streams; nobody promises both at once.
"""

from __future__ import annotations

from dataclasses import dataclass

from ge_explorer.graph.chains import FREE, ArcCover, PathCover, chains, cover_by_arcs, cover_by_paths
from ge_explorer.graph.happens_before import border_pairs
from ge_explorer.graph.reach import Reach
from ge_explorer.graph.reduction import reduced_predecessors
from ge_explorer.trace.state import NO_STREAM, SYNC_OPS, Snapshot
from ge_explorer.trace.trace import Trace


@dataclass(frozen=True, slots=True)
class ConcurrencyProof:
    """Node ids. ``antichain``: as many tasks as the width, none of which needs another. ``matching``: arcs of the minimum
    equivalent graph that need no wait, no two with the same first or the same second task. ``before`` and ``after``: every arc
    starts in the one or ends in the other; they are as many as the matching, so it is the largest.
    """

    antichain: tuple[int, ...]
    matching: tuple[tuple[int, int], ...]
    before: tuple[int, ...]
    after: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ConcurrencyBounds:
    """Streams and waits in use beside what keeping all parallelism needs.

    ``width``: fewest streams, which then take ``waits_at_width`` waits. ``minimum_waits``: fewest waits, which take
    ``streams_at_minimum_waits`` streams. ``streams_used`` and ``waits`` are those of the snapshot (``waits`` None before there
    are events). ``serialised`` neighbours on its streams do not need each other: where it is not 0, parallelism was given up, and
    fewer streams and waits than the bounds are no surprise. ``tasks`` and ``arcs``: size of the minimum equivalent graph.
    """

    width: int
    streams_used: int
    waits: int | None
    minimum_waits: int
    waits_at_width: int
    streams_at_minimum_waits: int
    serialised: int
    tasks: int
    arcs: int
    proof: ConcurrencyProof

    @property
    def keeps_parallelism(self) -> bool:
        """True if the streams order nothing that the graph does not."""
        return self.serialised == 0


@dataclass(frozen=True, slots=True, eq=False)
class TaskGraph:
    """Tasks in traversal order and their dependencies, reduced; rows hold positions in ``nodes``."""

    nodes: tuple[int, ...]
    pred: tuple[tuple[int, ...], ...]
    succ: tuple[tuple[int, ...], ...]

    @property
    def arcs(self) -> int:
        """Arcs of the minimum equivalent graph."""
        return sum(map(len, self.pred))


def task_graph(s: Snapshot, only: frozenset[int] | None = None) -> TaskGraph:
    """Minimum equivalent graph of the nodes of ``s`` with a stream (of those in ``only``).

    Dependencies are data and control edges and GE's pairs at subgraph borders; they lead through nodes that are no tasks. Edges
    against the traversal (the back edges of loops) are left out, Send and Recv nodes are no tasks, and the branches of a
    condition count as if all of them ran. Needs streams and sequence.
    """
    assert s.streams is not None
    graph, stream = s.graph, s.streams.node.tolist()
    borders: dict[int, list[int]] = {}
    for u, v in border_pairs(graph, stream):
        borders.setdefault(v, []).append(u)
    tasks: list[int] = []
    through: dict[int, tuple[int, ...]] = {}
    pred: dict[int, list[int]] = {}
    for v in s.sequence or ():
        n = graph.node(v)
        given = [*graph.pred[v], *borders.get(v, ())]
        if not graph.pred[v] and n.scope and stream[v] == NO_STREAM:
            given += graph.pred[graph.scope(n.scope).parent]  # an input of a body stands for what feeds the holder
        row = [p for u in given for p in ((u,) if u in pred else through.get(u, ()))]
        if stream[v] == NO_STREAM or n.op in SYNC_OPS or (only is not None and v not in only):
            through[v] = tuple(dict.fromkeys(row))
        else:
            pred[v] = row
            tasks.append(v)
    place = {v: k for k, v in enumerate(tasks)}
    reduced = reduced_predecessors(tasks, pred)
    rows = [[place[u] for u in reduced[v]] for v in tasks]
    succ: list[list[int]] = [[] for _ in rows]
    for k, row in enumerate(rows):
        for u in row:
            succ[u].append(k)
    return TaskGraph(tuple(tasks), tuple(map(tuple, rows)), tuple(map(tuple, succ)))


def stream_bounds(state: Trace | Snapshot) -> ConcurrencyBounds | None:
    """Bounds beside what a snapshot (the last one of a trace) uses; None while it has no streams."""
    s = state.final if isinstance(state, Trace) else state
    if s.streams is None or s.sequence is None:
        return None
    g = task_graph(s)
    by_arcs = cover_by_arcs(g.succ)
    by_paths = cover_by_paths(g.succ, by_arcs.after)
    name = g.nodes.__getitem__
    proof = ConcurrencyProof(
        tuple(map(name, by_paths.antichain)),
        tuple((name(u), name(v)) for u, v in enumerate(by_arcs.after) if v != FREE),
        tuple(map(name, by_arcs.left)),
        tuple(map(name, by_arcs.right)),
    )
    stream = s.streams.node.tolist()
    return ConcurrencyBounds(
        width=by_paths.width,
        streams_used=len({stream[v] for v in g.nodes}),
        waits=None if s.sync is None else sum(e.on_main for e in s.sync.events),
        minimum_waits=g.arcs - by_arcs.matched,
        waits_at_width=g.arcs - _neighbours(g, by_paths),
        streams_at_minimum_waits=len(chains(by_arcs.after)),
        serialised=_serialised(g, [stream[v] for v in g.nodes]),
        tasks=len(g.nodes),
        arcs=g.arcs,
        proof=proof,
    )


def _neighbours(g: TaskGraph, cover: PathCover | ArcCover) -> int:
    """Arcs whose ends are neighbours on a chain: those need no wait."""
    return sum(v != FREE and v in g.succ[u] for u, v in enumerate(cover.after))


def _serialised(g: TaskGraph, stream: list[int]) -> int:
    """Neighbours on a stream of which the second does not need the first."""
    last: dict[int, int] = {}
    pairs = []
    for v, t in enumerate(stream):
        if t in last:
            pairs.append((last[t], v))
        last[t] = v
    far = [(u, v) for u, v in pairs if u not in g.pred[v]]
    if not far:
        return 0
    reach = Reach.of(range(len(g.nodes)), g.pred)
    return sum(not reach.reaches(u, v) for u, v in far)

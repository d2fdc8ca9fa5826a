"""The fewest events that give the same order: what is left when everything implied by the rest is taken away.

GE's clean-up is local (one sender, one receiver) and keeps events that follow from others through a third stream or by crossing.
This is the transitive reduction of program order, stream starts and events, without the arcs that are no events. It is unique
for a graph without circles, and no smaller set of events gives the same order. A set that also forbids overlap which the program
allows could be smaller; that is another program.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ge_explorer.graph.happens_before import NEXT_LIKE
from ge_explorer.graph.reduction import reduced_predecessors
from ge_explorer.trace.state import NO_STREAM, Event, Snapshot


@dataclass(frozen=True, slots=True)
class Necessity:
    """``needed`` and ``redundant`` events in creation order; together all events of the snapshot."""

    needed: tuple[Event, ...]
    redundant: tuple[Event, ...]


def minimum_events(s: Snapshot) -> int | None:
    """Number of events nobody can do without on the streams of ``s``; None before there are streams or events."""
    return None if s.sync is None or s.streams is None or s.sequence is None else len(necessity(s).needed)


def needed_pairs(s: Snapshot) -> list[tuple[int, int]]:
    """(sender, receiver) of the events that are not implied by the others, in creation order."""
    return [(e.send, e.recv) for e in necessity(s).needed]


def necessity(s: Snapshot) -> Necessity:
    """Which events of ``s`` the others imply.

    Program order is each stream's nodes in traversal order. A stream that others start begins after its starter, after what its
    starters have in common where there are several; starters of a loop's next round prove nothing. Events with an end on an
    attached stream say nothing about main streams: they are needed and imply nothing. So is an event that closes a circle.
    Of several events between the same two nodes the first is needed. Needs the streams, sync and sequence facets.
    """
    assert s.sync is not None
    arcs = SyncArcs.of(s)
    reduced = reduced_predecessors(arcs.order, arcs.pred, arcs.points)
    left = {(u, v) for v, row in reduced.items() for u in row}
    needed: list[Event] = []
    redundant: list[Event] = []
    for e in s.sync.events:
        pair = (e.send, e.recv)
        if e.uid in arcs.outside:
            needed.append(e)
        elif pair in left:
            left.discard(pair)  # a second one between the same two says nothing new
            needed.append(e)
        else:
            redundant.append(e)
    return Necessity(tuple(needed), tuple(redundant))


@dataclass(frozen=True, slots=True)
class SyncArcs:
    """Everything that orders tasks of main streams. ``order``: tasks and points, topological for ``pred``.

    ``points`` are starts of streams with several starters, numbered from the graph's ``id_bound`` on; they follow ONE of their
    predecessors. ``outside`` are uids of events that do not take part.
    """

    order: Sequence[int]
    pred: Mapping[int, list[int]]
    points: frozenset[int]
    outside: frozenset[int]

    @staticmethod
    def of(s: Snapshot) -> SyncArcs:
        """Arcs of a snapshot with streams, events and a sequence."""
        assert s.sync is not None
        assert s.streams is not None
        stream: list[int] = s.streams.node.tolist()
        order = [i for i in s.sequence or () if stream[i] != NO_STREAM]
        pred: dict[int, list[int]] = {}
        heads: dict[int, int] = {}
        last: dict[int, int] = {}
        for v in order:
            t = stream[v]
            pred[v] = [last[t]] if t in last else []
            heads.setdefault(t, v)
            last[t] = v
        points: set[int] = set()
        for t, starters in _starters(s, stream).items():
            starters = [a for a in starters if a in pred]
            if t not in heads or not starters:
                continue
            if len(starters) == 1:
                pred[heads[t]].append(starters[0])
            else:
                point = s.graph.id_bound + t
                points.add(point)
                pred[point] = starters
                pred[heads[t]].append(point)
        outside = {e.uid for e in s.sync.events if not e.on_main or e.send not in pred or e.recv not in pred}
        inside = [e for e in s.sync.events if e.uid not in outside]
        for e in inside:
            pred[e.recv].append(e.send)
        found = _forward(order, pred, points)
        if found is None:  # a deadlock: keep to the traversal, and leave out what goes against it
            rank = {v: k for k, v in enumerate(order)}
            outside |= {e.uid for e in inside if rank[e.send] >= rank[e.recv]}
            points = set()
            pred = {v: [u for u in row if rank.get(u, len(rank)) < rank[v]] for v, row in pred.items() if v in rank}
            found = order
        return SyncArcs(found, pred, frozenset(points), frozenset(outside))


def _starters(s: Snapshot, stream: Sequence[int]) -> dict[int, list[int]]:
    """Stream -> the tasks on other streams that start it in this round."""
    assert s.sync is not None
    found: dict[int, dict[int, None]] = {}
    for a, streams in s.sync.active_streams.items():
        n = s.graph.node(a)
        back = bool(n.control_in) and all(s.graph.node(c).op in NEXT_LIKE for c in n.control_in)
        if stream[a] == NO_STREAM or n.attrs.get("is_loop_active") or back:
            continue
        for t in streams:
            if t != stream[a]:
                found.setdefault(t, {})[a] = None
    return {t: list(nodes) for t, nodes in found.items()}


def _forward(order: Sequence[int], pred: Mapping[int, list[int]], points: Iterable[int]) -> Sequence[int] | None:
    """``order`` with the points in it if it is topological, else another topological order, else None."""
    done: set[int] = set()
    extra = set(points)
    if not extra:
        for v in order:
            if not done.issuperset(pred[v]):
                break
            done.add(v)
        else:
            return order
    succ: dict[int, list[int]] = {}
    missing: dict[int, int] = {}
    for v in (*order, *extra):
        missing[v] = len(pred[v])
        for u in pred[v]:
            succ.setdefault(u, []).append(v)
    ready = [v for v in (*order, *extra) if not missing[v]]
    for v in ready:  # grows while it is walked
        for w in succ.get(v, ()):
            missing[w] -= 1
            if not missing[w]:
                ready.append(w)
    return ready if len(ready) == len(missing) else None

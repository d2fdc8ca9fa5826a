"""The fewest events that give the same order: what is left when everything implied by the rest is taken away.

GE's clean-up is local (one sender, one receiver) and keeps events that follow from others through a third stream or by crossing.
This is the transitive reduction of program order plus events. It is unique for a graph without cycles, and no smaller set of
events gives the same order. A set that also forbids overlap which the program allows could be smaller; that is another program.
"""

from __future__ import annotations

from ge_explorer.trace.state import NO_STREAM, Event, Snapshot

COVERED_BY_EVENTS = frozenset({"optimize-by-send", "optimize-by-recv"})
"""Steps whose removed events are still demanded: other events carry them. Those covered by an activation are not."""


def minimum_events(s: Snapshot) -> int | None:
    """Number of events nobody can do without on the streams of ``s``; None before there are streams or events.

    Program order is each stream's nodes in traversal order. A stream that exactly one node starts (not a loop) begins after
    that node, at no cost. Exact where traversal order is topological; an event against it is counted as needed.
    Cost: one clock per node that waits (entries = streams), so linear in nodes plus events times streams.
    """
    if s.sync is None or s.streams is None or s.sequence is None:
        return None
    return len(needed_pairs(s))


def needed_pairs(s: Snapshot) -> list[tuple[int, int]]:
    """(sender, receiver) of the events that are not implied by the others, by receiver in traversal order."""
    assert s.sync is not None
    assert s.streams is not None
    demanded = [*s.sync.events, *(r.event for r in s.sync.removed if _base(r.step) in COVERED_BY_EVENTS)]
    waits: dict[int, dict[int, None]] = {}
    for e in demanded:
        waits.setdefault(e.recv, {})[e.send] = None
    return _Clocks(s, waits, demanded).needed()


def _base(step: str) -> str:
    return step.partition("@")[0].partition("#")[0]


class _Clocks:
    """For each node, per stream, the last position there that is certain to be done when the node starts or itself ends."""

    def __init__(self, s: Snapshot, waits: dict[int, dict[int, None]], demanded: list[Event]) -> None:
        assert s.streams is not None
        self.stream: list[int] = s.streams.node.tolist()
        self.sequence = [i for i in s.sequence or () if self.stream[i] != NO_STREAM]
        self.waits = waits
        self.count = max(self.stream, default=-1) + 1
        self.position: dict[int, int] = {}
        heads: dict[int, int] = {}
        length = [0] * self.count
        for i in self.sequence:
            t = self.stream[i]
            heads.setdefault(t, i)
            self.position[i] = length[t]
            length[t] += 1
        self.rank = {i: k for k, i in enumerate(self.sequence)}
        self.started_by = self._starters(s, heads)

    def _starters(self, s: Snapshot, heads: dict[int, int]) -> dict[int, int]:
        """First node of a stream -> the only node that starts the stream, where that comes before it."""
        assert s.sync is not None
        found: dict[int, list[int]] = {}
        for a, streams in s.sync.active_streams.items():
            for t in dict.fromkeys(streams):
                found.setdefault(t, []).append(a)
        out = {}
        for t, nodes in found.items():
            head, a = heads.get(t), nodes[0]
            loops = s.graph.node(a).attrs.get("is_loop_active")
            if (
                len(nodes) == 1
                and not loops
                and head is not None
                and self.rank.get(a, len(self.rank)) < self.rank[head]
            ):
                out[head] = a
        return out

    def needed(self) -> list[tuple[int, int]]:
        """Walk the nodes once; keep the waits that neither the stream so far nor another wait of the node implies."""
        clock: dict[int, list[int]] = {}
        last: dict[int, list[int]] = {}
        kept: list[tuple[int, int]] = []
        nothing = [-1] * self.count
        for v in self.sequence:
            known = last.get(self.stream[v], nothing)
            starter = self.started_by.get(v)
            if starter is not None:
                known = self._joined(known, starter, clock)
            kept.extend((u, v) for u in self.waits.get(v, ()) if u not in clock)
            # Of several senders on one stream the latest speaks for all.
            latest: dict[int, int] = {}
            for u in self.waits.get(v, ()):
                t = self.stream[u]
                if u in clock and (t not in latest or self.position[latest[t]] < self.position[u]):
                    latest[t] = u
            senders = list(latest.values())
            for u in senders:
                t, p = self.stream[u], self.position[u]
                if known[t] >= p or any(w != u and self._reaches(w, t, p, clock) for w in senders):
                    continue
                kept.append((u, v))
            for u in senders:
                known = self._joined(known, u, clock)
            clock[v] = last[self.stream[v]] = known
        return kept

    def _reaches(self, w: int, stream: int, position: int, clock: dict[int, list[int]]) -> bool:
        """The node at ``position`` of ``stream`` is done when ``w`` is."""
        return clock[w][stream] >= position

    def _joined(self, known: list[int], u: int, clock: dict[int, list[int]]) -> list[int]:
        """``known`` plus everything done when ``u`` is."""
        both = list(map(max, known, clock[u]))
        both[self.stream[u]] = max(both[self.stream[u]], self.position[u])
        return both

"""Reuse decisions: when a buffer's bytes are free on every stream, who had them before and after, and why two buffers may or may
not share. The proof of an order is shown as the path through streams and dependencies, with the event that carries it.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Literal

from ge_explorer.graph.happens_before import HappensBefore, Order
from ge_explorer.memory.model import Buffer, MemoryPlan, MemoryProblem
from ge_explorer.memory.reuse import handovers
from ge_explorer.trace.state import Event, Snapshot

Verdict = Literal["first-then-second", "second-then-first", "unordered", "excluded", "same"]


@dataclass(frozen=True, slots=True)
class Hop:
    """One stretch of a path: along a stream from ``first`` to ``last`` (``why`` "stream"), or across to another one.

    ``event``: the event of the final state that carries a crossing; None where none is known (yet).
    """

    first: int
    last: int
    why: str
    event: Event | None = None


@dataclass(frozen=True, slots=True)
class Witness:
    """Why ``user`` (last use of the earlier buffer on its stream) is done before ``writer`` (first write of the later one)."""

    user: int
    writer: int
    hops: tuple[Hop, ...]


@dataclass(frozen=True, slots=True)
class PairReport:
    """May ``x`` and ``y`` share bytes? ``witnesses`` prove the order, one a stream that uses the earlier buffer.

    ``missing``: (user, writer) without a path, whose order an event would give (unordered). ``shared``: bytes they share in
    the plan, so ``unsafe`` is a race. ``curable``: an event from the user to the writer is possible; otherwise the writer runs
    before the user anyway, so both are needed at the same time.
    """

    x: int
    y: int
    verdict: Verdict
    witnesses: tuple[Witness, ...]
    missing: tuple[int, int] | None
    shared: int
    sizes: tuple[int, int]
    curable: bool = False

    @property
    def unsafe(self) -> bool:
        """They share bytes although nothing orders them."""
        return self.shared > 0 and self.verdict in ("unordered", "excluded")


@dataclass(frozen=True, slots=True)
class StreamUse:
    """One stream's view of a buffer: last use there, first node that may take the bytes (-1: never on this stream)."""

    stream: int
    last: int
    free: int


@dataclass(frozen=True, slots=True)
class BufferReport:
    """A buffer's story. ``took``/``gave``: (other buffer, bytes) directly before and after it on its bytes.

    ``may_follow`` / ``may_precede``: how many buffers could take its bytes, or leave theirs to it; ``conflicts`` the rest.
    """

    buffer: int
    writers: tuple[int, ...]
    uses: tuple[StreamUse, ...]
    took: tuple[tuple[int, int], ...]
    gave: tuple[tuple[int, int], ...]
    may_follow: int
    may_precede: int
    conflicts: int


def report(problem: MemoryProblem, plan: MemoryPlan, i: int) -> BufferReport:
    """Story of buffer ``i``."""
    b, life = problem.buffers[i], problem.lifetimes[i]
    passed = handovers(problem, plan)
    took = [(x, n) for x, y, n in passed if y == i]
    gave = [(y, n) for x, y, n in passed if x == i]
    after = sum(m >> i & 1 for m in problem.before)
    mine = problem.before[i].bit_count()
    streams = sorted({*life.last_use, *life.free_at})
    uses = tuple(StreamUse(s, life.last_use.get(s, -1), life.free_at.get(s, -1)) for s in streams)
    rest = len(problem.buffers) - 1 - after - mine
    return BufferReport(i, b.producers, uses, _merged(took), _merged(gave), after, mine, rest)


def _merged(parts: list[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    total: dict[int, int] = {}
    for other, n in parts:
        total[other] = total.get(other, 0) + n
    return tuple(sorted(total.items(), key=lambda x: (-x[1], x[0])))


def pair(
    problem: MemoryProblem, plan: MemoryPlan, hb: HappensBefore, x: int, y: int, final: Snapshot | None = None
) -> PairReport:
    """May buffers ``x`` and ``y`` share, and why. ``final``: a later state whose events are named on the way."""
    a, b = problem.buffers[x], problem.buffers[y]
    shared = max(0, min(plan.offsets[x] + a.size, plan.offsets[y] + b.size) - max(plan.offsets[x], plan.offsets[y]))
    sizes = (a.size, b.size)
    if x == y:
        return PairReport(x, y, "same", (), None, shared, sizes)
    events = final.sync.events if final is not None and final.sync is not None else ()
    for first, second, verdict in ((x, y, "first-then-second"), (y, x, "second-then-first")):
        early, late = problem.buffers[first], problem.buffers[second]
        if missing(early, late, hb) is None:
            allowed = problem.before[second] >> first & 1
            kind: Verdict = verdict if allowed else "excluded"  # type: ignore[assignment]  # one of the two literals above
            return PairReport(x, y, kind, _proofs(early, late, hb, events), None, shared, sizes)
    first, second = (x, y) if not hb.ordered(b.producers[0], a.producers[0]) else (y, x)
    gap = missing(problem.buffers[first], problem.buffers[second], hb)
    curable = gap is not None and gap[0] != gap[1] and gap[0] in hb and gap[1] in hb and not hb.ordered(gap[1], gap[0])
    return PairReport(x, y, "unordered", (), gap, shared, sizes, curable)


def missing(early: Buffer, late: Buffer, hb: HappensBefore) -> tuple[int, int] | None:
    """(user of ``early``, writer of ``late``) that nothing orders, the latest user first; None when all are ordered."""
    for user in reversed(early.accessors):
        for writer in late.producers:
            if user in hb and not hb.ordered(user, writer):
                return user, writer
    return None if any(w in hb for w in late.producers) else (early.accessors[-1], late.producers[0])


def _proofs(early: Buffer, late: Buffer, hb: HappensBefore, events: tuple[Event, ...]) -> tuple[Witness, ...]:
    """One path a stream from its last use of the earlier buffer to the first write of the later one."""
    last: dict[int, int] = {}
    for user in early.accessors:
        if user in hb:
            r = hb.row[user]
            c = int(hb.column[r])
            if c not in last or hb.position[hb.row[last[c]]] < hb.position[r]:
                last[c] = user
    writer = next(w for w in late.producers if w in hb)
    return tuple(Witness(u, writer, path(hb, u, writer, events)) for _, u in sorted(last.items()))


def path(hb: HappensBefore, user: int, writer: int, events: tuple[Event, ...] = ()) -> tuple[Hop, ...]:
    """Shortest chain of reasons from ``user`` to ``writer``, with stretches on one stream joined; empty when there is none.

    Staying on a stream costs nothing, so the fewest crossings win.
    """
    steps = _walk(hb, user, writer)
    hops: list[Hop] = []
    for o in steps:
        if o.why == "stream" and hops and hops[-1].why == "stream":
            hops[-1] = Hop(hops[-1].first, o.second, "stream")
        else:
            hops.append(Hop(o.first, o.second, o.why, _carrier(hb, o, events) if o.why != "stream" else None))
    return tuple(hops)


def _walk(hb: HappensBefore, user: int, writer: int) -> list[Order]:
    """Orders from ``user`` to ``writer`` with the fewest crossings (0-1 breadth first, backwards)."""
    came: dict[int, Order] = {}
    cost = {writer: 0}
    todo = deque([writer])
    done: set[int] = set()
    while todo:
        v = todo.popleft()
        if v == user:
            break
        if v in done:
            continue
        done.add(v)
        for o in hb.predecessors.get(v, ()):
            p = o.first
            if p != user and (p in hb and not hb.ordered(user, p)):
                continue
            weight = cost[v] + (o.why != "stream")
            if p not in cost or weight < cost[p]:
                cost[p], came[p] = weight, o
                todo.append(p) if o.why != "stream" else todo.appendleft(p)
    out, v = [], user
    while v != writer and v in came:
        out.append(came[v])
        v = came[v].second
    return out if v == writer else []


def _carrier(hb: HappensBefore, o: Order, events: tuple[Event, ...]) -> Event | None:
    """Event that gives a crossing: sent at or after its first end, received at or before its second one, on the same streams."""
    if o.first not in hb or o.second not in hb:
        return None
    a, b = hb.row[o.first], hb.row[o.second]
    for e in events:
        if e.send not in hb or e.recv not in hb:
            continue
        s, r = hb.row[e.send], hb.row[e.recv]
        if (
            hb.column[s] == hb.column[a]
            and hb.column[r] == hb.column[b]
            and hb.position[s] >= hb.position[a]
            and hb.position[r] <= hb.position[b]
        ):
            return e
    return None

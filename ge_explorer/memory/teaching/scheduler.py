"""Memory-aware list scheduling: among the ready operators run the one that frees most bytes; repeat until nothing changes.

Idea (article, memory.md B12): order first, lifetimes next, then feed what was learnt back into the order. GE has no such loop; its
only coupling is that the memory policy changes the topological sort. Readiness here is about operators, the limit is in bytes and
counts the candidate itself, and a circle is an error. Only the root graph is ordered; bodies belong to their holders.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ge_explorer.errors import GraphError, OptionError
from ge_explorer.graph.model import Graph
from ge_explorer.memory.sizes import aligned, padded_size, payload_bytes
from ge_explorer.memory.teaching.intervals import most_bytes, tensor_requests


@dataclass(frozen=True, slots=True)
class Schedule:
    """``order``: node ids; ``peak``: most bytes alive at one tick; ``over``: nodes that had to run above the limit."""

    order: tuple[int, ...]
    peak: int
    over: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Rounds:
    """The loop: ``best`` schedule, peak of every round (the given order first), and why it ended (stable, repeated, rounds)."""

    best: Schedule
    peaks: tuple[int, ...]
    ended: str


class _Live:
    """Bytes alive while a schedule grows."""

    def __init__(self, graph: Graph, nodes: Sequence[int]) -> None:
        self.graph = graph
        self.size = {
            t: aligned(padded_size(payload_bytes(graph.tensor(t))[0]))
            for v in nodes
            if not graph.node(v).is_source
            for t in graph.node(v).outputs
        }
        self.waiting: dict[int, set[int]] = {t: set() for t in self.size}
        for v in nodes:
            for t in graph.node(v).inputs:
                if t in self.waiting:
                    self.waiting[t].add(v)
        self.bytes = 0

    def freed(self, v: int) -> list[int]:
        """Inputs whose last reader is ``v`` (each once, however often it is read)."""
        return [t for t in dict.fromkeys(self.graph.node(v).inputs) if t in self.waiting and self.waiting[t] == {v}]

    def needed(self, v: int) -> int:
        """Bytes alive while ``v`` runs."""
        return self.bytes + sum(self.size.get(t, 0) for t in self.graph.node(v).outputs)

    def run(self, v: int) -> None:
        """Account for ``v``: its outputs are alive, what it read last is not."""
        freed = self.freed(v)
        self.bytes = self.needed(v) - sum(self.size[t] for t in freed)
        for t in self.graph.node(v).inputs:
            if t in self.waiting:
                self.waiting[t].discard(v)
        self.bytes -= sum(self.size[t] for t in self.graph.node(v).outputs if t in self.size and not self.waiting[t])


def schedule(graph: Graph, limit: int | None = None, weight: Mapping[int, int] | None = None) -> Schedule:
    """Order the root graph. ``limit``: bytes not to exceed if it can be helped; ``weight``: tensor id -> extra urgency to free it.

    Ties: fewer outputs, then list order. GraphError for a circle.
    """
    if limit is not None and limit < 0:
        raise OptionError("the limit is a number of bytes", got=limit)
    nodes = list(graph.root.nodes)
    place = {v: k for k, v in enumerate(nodes)}
    missing = {v: sum(p in place for p in dict.fromkeys(graph.pred[v])) for v in nodes}
    live = _Live(graph, nodes)
    ready = [v for v in nodes if missing[v] == 0]
    order: list[int] = []
    over: list[int] = []

    def rank(v: int) -> tuple[int, int, int]:
        gain = sum(live.size[t] * (1 + (weight or {}).get(t, 0)) for t in live.freed(v))
        return -gain, len(graph.node(v).outputs), place[v]

    while ready:
        sources = [v for v in ready if graph.node(v).is_source]
        fitting = [v for v in ready if limit is None or live.needed(v) <= limit]
        if sources:
            chosen = sources[0]
        elif fitting:
            chosen = min(fitting, key=rank)
        else:
            chosen = min(ready, key=lambda v: (live.needed(v), *rank(v)))
            over.append(chosen)
        ready.remove(chosen)
        order.append(chosen)
        live.run(chosen)
        for w in dict.fromkeys(graph.succ[chosen]):
            if w in missing:
                missing[w] -= 1
                if missing[w] == 0:
                    ready.append(w)
    if len(order) < len(nodes):
        stuck = [graph.node(v).name for v in nodes if missing[v] > 0]
        raise GraphError("these nodes wait for each other in a circle", got=stuck[:5])
    return Schedule(tuple(order), most_bytes(tensor_requests(graph, order)), tuple(over))


def schedule_until_stable(graph: Graph, limit: int | None = None, rounds: int = 8) -> Rounds:
    """Schedule, look which tensors are alive at the peak, make freeing them more urgent, and schedule again.

    Ends when the peak no longer falls, an order comes back, or the rounds are used up. The given order counts as round 0, so the
    result is never worse than it.
    """
    given = tuple(v for v in graph.walk() if graph.node(v).scope == 0)
    best = Schedule(given, most_bytes(tensor_requests(graph, given)), ())
    peaks = [best.peak]
    weight: dict[int, int] = {}
    seen = {given}
    for _ in range(rounds):
        found = schedule(graph, limit, weight)
        peaks.append(found.peak)
        better = found.peak < best.peak
        best = found if better else best
        if found.order in seen:
            return Rounds(best, tuple(peaks), "repeated")
        if not better and len(peaks) > 2:
            return Rounds(best, tuple(peaks), "stable")
        seen.add(found.order)
        for t in _at_peak(graph, found.order):
            weight[t] = weight.get(t, 0) + 1
    return Rounds(best, tuple(peaks), "rounds")


def _at_peak(graph: Graph, order: Sequence[int]) -> list[int]:
    """Tensors alive at the first tick with the most bytes."""
    tensors = [t for v in order if not graph.node(v).is_source for t in graph.node(v).outputs]
    requests = tensor_requests(graph, order)
    alive = {k: sum(r.size for r in requests if r.start <= k < r.end) for k in sorted({r.start for r in requests})}
    at = max(alive, key=lambda k: (alive[k], -k), default=0)
    return [t for t, r in zip(tensors, requests, strict=True) if r.start <= at < r.end]

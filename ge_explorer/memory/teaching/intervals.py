"""Half-open lifetimes [start, end), and the interval-greedy planner that knows nothing else.

Idea (article, memory.md B1, B2): a tensor lives from the tick of its producer to the tick after its last reader; two tensors may
share bytes when their intervals are disjoint. On one stream that is exact. On several streams a tick says nothing about the order
of tasks, so plans made this way race; the verifier shows where.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ge_explorer.errors import GraphError
from ge_explorer.graph.model import Graph
from ge_explorer.memory.conflicts import conflicts_of
from ge_explorer.memory.lifetimes import Spans, before_masks
from ge_explorer.memory.model import FOREVER, MemoryPlan, MemoryProblem
from ge_explorer.memory.planner import place
from ge_explorer.memory.sizes import aligned, padded_size, payload_bytes


@dataclass(frozen=True, slots=True)
class Request:
    """``size`` bytes needed at the ticks ``start`` <= t < ``end``; ``pool`` and ``stream`` for planners that split by them."""

    name: str
    size: int
    start: int
    end: int
    pool: str = "temporary"
    stream: int = 0

    def __post_init__(self) -> None:
        """An unscheduled producer (tick -1) or an empty interval is an error, not a lifetime."""
        if self.size < 0 or self.start < 0 or self.end <= self.start:
            raise GraphError("a lifetime needs 0 <= start < end and a size of at least 0", where=self.name,
                             got=(self.size, self.start, self.end), todo="Schedule the producer first.")  # fmt: skip


def lifetime(start: int, readers: Iterable[int]) -> tuple[int, int]:
    """[start, end): the end is the tick after the last reader, or after the producer when nobody reads.

    >>> lifetime(0, [1]), lifetime(3, [])
    ((0, 2), (3, 4))
    """
    return start, max([start, *readers]) + 1


def overlap(a: Request, b: Request) -> int:
    """Ticks during which both are alive."""
    return max(0, min(a.end, b.end) - max(a.start, b.start))


def may_take_over(a: Request, b: Request) -> bool:
    """True if the later one of the two fits into the bytes of the earlier one. The order of the arguments plays no role."""
    earlier, later = (a, b) if a.end <= b.start else (b, a)
    return earlier.end <= later.start and later.size <= earlier.size


def most_alive(requests: Sequence[Request]) -> int:
    """Largest number of requests alive at one tick: slots, whatever their sizes."""
    return _sweep([(r.start, 1) for r in requests] + [(r.end, -1) for r in requests])


def most_bytes(requests: Sequence[Request]) -> int:
    """Largest number of bytes alive at one tick: what no stream-blind plan can go below."""
    return _sweep([(r.start, r.size) for r in requests] + [(r.end, -r.size) for r in requests])


def _sweep(changes: list[tuple[int, int]]) -> int:
    best = now = 0
    for _, change in sorted(changes):  # at equal ticks ends (negative) come first: intervals are half-open
        now += change
        best = max(best, now)
    return best


def tensor_requests(graph: Graph, sequence: Sequence[int]) -> tuple[Request, ...]:
    """One request per tensor that a task of ``sequence`` makes: readers are counted per tensor, not per node.

    What NetOutput reads lives to the last tick; weights and inputs are not part of the feature map. GraphError when a reader's
    producer is missing from the sequence.
    """
    tick = {v: k for k, v in enumerate(sequence)}
    readers: dict[int, list[int]] = {}
    last = len(sequence) - 1
    for v in sequence:
        n = graph.node(v)
        for t in n.inputs:
            if t is None:
                continue
            producer = graph.node(graph.tensor(t).producer)
            if producer.id not in tick and not producer.is_source:
                raise GraphError("the producer of a tensor is not scheduled", where=producer.name, got=n.name)
            readers.setdefault(t, []).append(last if n.op == "NetOutput" else tick[v])
    out = []
    for v in sequence:
        n = graph.node(v)
        for k, t in enumerate(n.outputs):
            if not n.is_source:
                start, end = lifetime(tick[v], readers.get(t, ()))
                out.append(
                    Request(f"{n.name}:{k}", aligned(padded_size(payload_bytes(graph.tensor(t))[0])), start, end)
                )
    return tuple(out)


def requests_of(problem: MemoryProblem) -> tuple[Request, ...]:
    """Buffers of a problem as requests; GE's closed [begin, end] becomes [begin, end + 1), "never" the tick after everything."""
    over = max([0, *(x.end for x in problem.lifetimes if x.end < FOREVER), *(x.begin for x in problem.lifetimes)]) + 1
    return tuple(
        Request(b.name, b.size, x.begin, over if x.end >= FOREVER else x.end + 1, stream=max(b.stream, 0))
        for b, x in zip(problem.buffers, problem.lifetimes, strict=True)
    )


def stream_blind(problem: MemoryProblem) -> MemoryProblem:
    """The same buffers with ``before`` from lifetimes alone, as if everything ran on one stream."""
    ticks = requests_of(problem)
    rank = {t: k for k, t in enumerate(sorted({t for r in ticks for t in (r.start, r.end)}))}
    need = np.array([[rank[r.end]] for r in ticks], dtype=np.int32).reshape(-1, 1)
    start = np.array([[rank[r.start]] for r in ticks], dtype=np.int32).reshape(-1, 1)
    return replace(problem, before=before_masks(Spans(need, start)))


def plan_interval(problem: MemoryProblem, bound: object = None) -> MemoryPlan:
    """Interval greedy: buffers by start, each at the lowest hole that disjoint intervals leave. Blind to streams."""
    blind = stream_blind(problem)
    order = sorted(range(len(blind.buffers)), key=lambda b: (blind.lifetimes[b].begin, b))
    offsets, peak = place(blind, conflicts_of(blind), order, "first")
    return MemoryPlan(tuple(offsets), peak, "interval")

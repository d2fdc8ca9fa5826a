"""Lifetimes of all buffers on one axis, as arrays: what every memory picture is drawn from.

The axis is the timeline's time (ns) where there is a timeline, else GE's topological id. A buffer is *in use* from its first
write to its last read on any stream, and *taken* until its own stream may give the bytes to somebody else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ge_explorer.memory.model import FOREVER, Buffer, MemoryPlan, MemoryProblem
from ge_explorer.memory.reuse import handovers
from ge_explorer.simulator.timeline import Timeline
from ge_explorer.text import Text
from ge_explorer.trace.state import MemoryState, Snapshot
from ge_explorer.views.marks import NO_MARK, Mark, node_name, plain, stream_marks, us
from ge_explorer.views.palette import StreamIdentity

Axis = Literal["time", "order"]
Ints = NDArray[np.int64]
SHARING = ("feature", "workspace")


class Place:
    """Where a node sits on the axis: (begin, end) of its task, or its GE order."""

    def __init__(self, s: Snapshot, t: Timeline | None) -> None:
        self.axis: Axis = "time" if t is not None and len(t.node) else "order"
        self.span: dict[int, tuple[int, int]] = {}
        if t is not None and self.axis == "time":
            for n, a, b in zip(t.node.tolist(), t.start_ns.tolist(), t.end_ns.tolist(), strict=True):
                old = self.span.get(n)
                self.span[n] = (min(a, old[0]), max(b, old[1])) if old else (a, b)
            self.end = max(1, t.makespan_ns)
        else:
            order = s.order
            for n in s.graph.node_ids:
                k = int(order[n]) if order is not None and n < order.size else n
                if k >= 0:
                    self.span[n] = (k, k + 1)
            self.end = max((b for _, b in self.span.values()), default=1)

    def begin(self, nodes: tuple[int, ...]) -> int | None:
        """First start of any of the nodes; None when none of them runs."""
        return min((self.span[n][0] for n in nodes if n in self.span), default=None)

    def finish(self, nodes: tuple[int, ...]) -> int | None:
        """Last end of any of the nodes; None when none of them runs."""
        return max((self.span[n][1] for n in nodes if n in self.span), default=None)


@dataclass(frozen=True, eq=False)
class Lives:
    """Arrays over buffer ids. Positions are on ``axis`` (0 … ``end``), sizes and offsets in bytes.

    ``begin`` … ``last``: in use; ``last`` … ``ready``: waits until its own stream may reuse the bytes (``end`` with ``never``:
    it never may; a buffer that only its own stream touches never waits); ``free``: the same, cut where another buffer took the
    bytes earlier. ``uses[s]`` is the end of the last use on stream s (-1: none), ``frees[s]`` the position from which s may take
    the bytes (-1: never).
    """

    snapshot: Snapshot
    problem: MemoryProblem
    plan: MemoryPlan
    place: Place
    marks: Mapping[int, Mark]
    begin: Ints
    last: Ints
    ready: Ints
    free: Ints
    never: NDArray[np.bool_]
    stream: Ints
    size: Ints
    offset: Ints
    uses: Mapping[int, Ints]
    frees: Mapping[int, Ints]

    @property
    def axis(self) -> Axis:
        """What positions count."""
        return self.place.axis

    @property
    def end(self) -> int:
        """Last position."""
        return self.place.end

    @property
    def count(self) -> int:
        """Number of buffers."""
        return len(self.problem.buffers)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Printable name per buffer."""
        return tuple(plain(b.name) for b in self.problem.buffers)

    @cached_property
    def mark_index(self) -> Ints:
        """Palette place per buffer (-1: no stream)."""
        table = {s: m.index for s, m in self.marks.items()}
        return np.array([table.get(s, -1) for s in self.stream.tolist()], dtype=np.int64)

    def mark(self, i: int) -> Mark:
        """Stream mark of a buffer."""
        return self.marks.get(int(self.stream[i]), NO_MARK)

    def buffer(self, i: int) -> Buffer:
        """The buffer itself."""
        return self.problem.buffers[i]

    def span_text(self, a: int, b: int) -> str:
        """Two positions in the axis' unit."""
        return f"{us(a)} – {us(b)}" if self.axis == "time" else f"{a} – {b}"

    def at_text(self, a: int) -> str:
        """One position in the axis' unit."""
        return us(a) if self.axis == "time" else f"#{a}"

    def held(self, i: int) -> Text | None:
        """Why the bytes stay taken after the last read; None when they do not."""
        b = self.problem.buffers[i]
        if b.kind not in SHARING:
            return Text("never reused: " + b.kind, f"不复用：{b.kind}")
        if self.never[i]:
            return Text(
                "held to the end: no later point is ordered after its last read",
                "占用到结束：没有任何点必在最后一次读取之后",
            )
        life = self.problem.lifetimes[i] if i < len(self.problem.lifetimes) else None
        if life is None or self.ready[i] <= self.last[i]:
            return None
        node = life.free_at.get(b.stream)
        if not any(x != b.stream for x in life.last_use) or node is None:
            return None
        away = int(self.ready[i] - self.last[i])
        name = node_name(self.snapshot, node, 40)
        if self.axis == "time":
            return Text(f"held until {name} joins, {us(away)}", f"占用到 {name} 汇合，{us(away)}")
        return Text(f"held until {name} joins, {away} nodes", f"占用到 {name} 汇合，{away} 个节点")


def lives(
    s: Snapshot,
    identities: Mapping[int, StreamIdentity],
    timeline: Timeline | None = None,
    memory: MemoryState | None = None,
) -> Lives | None:
    """Lifetimes of the buffers of ``s`` (or of another plan ``memory`` for the same graph); None before memory is planned."""
    m = memory or s.memory
    if m is None:
        return None
    place = Place(s, timeline)
    problem, n = m.problem, len(m.problem.buffers)
    begin, last, ready = (np.zeros(n, dtype=np.int64) for _ in range(3))
    never = np.zeros(n, dtype=np.bool_)
    streams = sorted({x for life in problem.lifetimes for x in (*life.last_use, *life.free_at)})
    uses = {x: np.full(n, -1, dtype=np.int64) for x in streams}
    frees = {x: np.full(n, -1, dtype=np.int64) for x in streams}
    span = place.span
    for i, b in enumerate(problem.buffers):
        first = place.begin(
            b.producers
        )  # None: written by something that runs nothing (Data, Const), there from the start
        begin[i] = 0 if first is None else first
        final = place.finish(b.accessors)
        last[i] = max(int(begin[i]), place.end if final is None else final)
        ready[i] = last[i]
        life = problem.lifetimes[i] if i < len(problem.lifetimes) else None
        if b.kind not in SHARING:
            ready[i] = place.end
        elif life is not None:
            for x, node in life.last_use.items():
                if node in span:
                    uses[x][i] = span[node][1]
            for x, node in life.free_at.items():
                if node in span:
                    frees[x][i] = span[node][0]
            own = life.free_at.get(b.stream)
            if life.end >= FOREVER or (own is not None and own < 0 and b.stream >= 0):
                never[i], ready[i] = True, place.end
            elif own is not None and own in span and any(x != b.stream for x in life.last_use):
                ready[i] = max(last[i], span[own][0])
    return Lives(
        s, problem, m.plan, place, stream_marks(s, identities, (b.stream for b in problem.buffers)),
        begin, last, ready, _until_taken(problem, m.plan, begin, last, ready), never,
        np.array([b.stream for b in problem.buffers], dtype=np.int64),
        np.array([b.size for b in problem.buffers], dtype=np.int64), np.array(m.plan.offsets, dtype=np.int64), uses, frees,
    )  # fmt: skip


def _until_taken(problem: MemoryProblem, plan: MemoryPlan, begin: Ints, last: Ints, ready: Ints) -> Ints:
    """Bytes that somebody else took earlier (proven safe for that stream) are not held any longer than that."""
    free = ready.copy()
    for x, y, _ in handovers(problem, plan):
        if problem.buffers[x].kind in SHARING and last[x] <= begin[y] < free[x]:
            free[x] = begin[y]
    return free

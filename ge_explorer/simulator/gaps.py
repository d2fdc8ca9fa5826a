"""Why each stream was idle, and the critical path: read off the start and end times of a run, when somebody asks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property

from ge_explorer.simulator.program import Program
from ge_explorer.simulator.segments import Ints
from ge_explorer.simulator.timeline import Gap, GapReason

Piece = tuple[int, int, GapReason, int, int]
"""Start, end, reason, node waited for, event id."""


class Gaps:
    """Explanations of one run of a program. ``freed``: for tasks that waited for cores, the task that gave them back."""

    def __init__(self, program: Program, start: Ints, end: Ints, freed: Mapping[int, int]) -> None:
        self.p, self.freed = program, freed
        self._start, self._end = start, end

    @cached_property
    def start(self) -> list[int]:
        """Start of every task."""
        found: list[int] = self._start.tolist()
        return found

    @cached_property
    def end(self) -> list[int]:
        """End of every task."""
        found: list[int] = self._end.tolist()
        return found

    @cached_property
    def gaps(self) -> tuple[Gap, ...]:
        """Streams ascending, each in time order; with the tasks they cover every stream from 0 to the makespan."""
        return self._explained[0]

    @cached_property
    def critical(self) -> tuple[int, ...]:
        """Task ids of the critical path, in time order."""
        cause, end = self._explained[1], self.end
        path: list[int] = []
        at = max(range(len(end)), key=lambda i: (end[i], -i), default=-1)
        while at >= 0:
            path.append(at)
            at = cause[at]
        return tuple(reversed(path))

    @cached_property
    def _explained(self) -> tuple[tuple[Gap, ...], list[int]]:
        """All gaps, and for each task the one that decided when it starts (-1: none)."""
        p, end = self.p, self.end
        sender, fired, clock = p.senders(), self._fired(), self._over()
        makespan = max(end, default=0)
        gaps: list[Gap] = []
        cause = [-1] * len(end)
        for stream, queue in p.by_stream.items():
            before = -1
            for i in queue:
                for a, b, reason, waits_for, event in self._pieces(i, before, sender, fired, clock, cause):
                    if b > a:
                        gaps.append(Gap(stream, a, b, reason, i, waits_for, event))
                before = i
            if makespan > end[before]:
                gaps.append(Gap(stream, end[before], makespan, "no_work"))
        return tuple(gaps), cause

    def _fired(self) -> list[int]:
        """Time of each event."""
        p, fired = self.p, [0] * len(self.p.event_ids)
        for i, t in enumerate(p.tasks):
            now = self.end[i]
            for k in t.records:
                now += p.launch.record_ns if p.event_ids[k] >= 0 else 0
                fired[k] = now
        return fired

    def _over(self) -> list[int]:
        """When each task and its records are over."""
        ids, record = self.p.event_ids, self.p.launch.record_ns
        return [
            e + record * sum(ids[k] >= 0 for k in t.records) if t.records else e
            for t, e in zip(self.p.tasks, self.end, strict=True)
        ]

    def _pieces(
        self, i: int, before: int, sender: list[int], fired: list[int], clock: list[int], cause: list[int]
    ) -> Iterator[Piece]:
        """Parts of the gap before task ``i``, in time order; notes its cause."""
        p = self.p
        t, launch, tasks, ids = p.tasks[i], p.launch, p.tasks, p.event_ids
        now = clock[before] if before >= 0 else 0
        cause[i] = before
        if before >= 0 and now > self.end[before]:
            yield self.end[before], now, "issue", -1, -1
        starter = p.starts.get(t.stream) if before < 0 else None
        if starter is not None and self.end[starter] > now:
            yield now, self.end[starter], "start", tasks[starter].node, -1
            now, cause[i] = self.end[starter], starter
        for k in t.waits:
            seen = fired[k] + launch.signal_ns if ids[k] >= 0 else fired[k]
            if seen > now:
                yield now, seen, "event", tasks[sender[k]].node, ids[k]
                now, cause[i] = seen, sender[k]
            if launch.wait_ns and ids[k] >= 0:
                yield now, now + launch.wait_ns, "issue", -1, ids[k]
                now += launch.wait_ns
        if t.dispatch_ns and (before >= 0 or t.waits):
            yield now, now + t.dispatch_ns, "issue", -1, -1
            now += t.dispatch_ns
        if self.start[i] > now:
            by = self.freed.get(i, -1)
            yield now, self.start[i], "cores", tasks[by].node if by >= 0 else -1, -1
            cause[i] = by

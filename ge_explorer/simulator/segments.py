"""Segments: runs of tasks on a stream that nothing can hold up once the first of them has started.

A segment begins where a stream begins, where a task waits for an event, and (with core pools) where a task needs cores. All its tasks
and records lie at fixed distances from its start, so a run has to find one time a segment; the rest is arithmetic on columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from ge_explorer.simulator.program import NOT_RECORDED, Program

Ints = NDArray[np.int64]
Link = tuple[int, int, int]
"""Segment (-1: none ever), distance from its start, time to add after waiting."""


@dataclass(frozen=True, eq=False)
class Segments:
    """Segments by (stream, issue index).

    ``links``: what a segment waits for, in order; it starts ``lead`` after all of them. ``head``: its first task, ``aic`` and
    ``aiv`` its cores, ``ns`` its time. ``last``: no segment of the stream comes after it. ``of`` and ``offset``: segment of each
    task, and distance of the task's start. ``issue``: segments by the issue index of their first task; ``ordered``: every
    link points to an earlier one there.
    """

    links: list[list[Link]]
    lead: list[int]
    head: list[int]
    aic: list[int]
    aiv: list[int]
    ns: list[int]
    last: list[bool]
    of: Ints
    offset: Ints
    task_ns: Ints
    issue: list[int]
    ordered: bool

    def times(self, start: list[int]) -> tuple[Ints, Ints]:
        """Start and end of every task from those of the segments (-1 for both where a segment never starts)."""
        at = np.array(start, np.int64)[self.of]
        begin = at + self.offset
        end = begin + self.task_ns
        if start and min(start) < 0:
            begin[at < 0] = -1
            end[at < 0] = -1
        return begin, end


_MADE: WeakKeyDictionary[Program, dict[bool, Segments]] = WeakKeyDictionary()


def segments(p: Program, *, cores: bool) -> Segments:
    """Segments of a program, made once; ``cores``: a task that needs any begins one. OptionError when two tasks record one event."""
    made = _MADE.setdefault(p, {})
    if cores not in made:
        made[cores] = _made(p, cores)
    return made[cores]


def _made(p: Program, cores: bool) -> Segments:
    n = len(p.tasks)
    tasks, columns = p.tasks, p.columns
    p.senders()  # says so when two tasks record one event
    ns, lead, waits, records = (list(map(attrgetter(a), tasks)) for a in ("ns", "dispatch_ns", "waits", "records"))
    stream = columns.stream
    order = np.argsort(stream, kind="stable")
    ids, launch = p.event_ids, p.launch
    task_ns = np.array(ns, np.int64)
    lead_ns = np.array(lead, np.int64)
    waiting = np.fromiter(map(bool, waits), bool, n)
    first = np.ones(n, bool)
    by_stream = stream[order]
    first[1:] = by_stream[1:] != by_stream[:-1]
    begins = first | waiting[order]
    if cores:
        begins |= ((columns.aic > 0) | (columns.aiv > 0))[order]
    recording = [i for i, r in enumerate(records) if r]
    tail = np.zeros(n, np.int64)  # what the records of a task take of its stream
    if launch.record_ns:
        for i in recording:
            tail[i] = launch.record_ns * sum(ids[k] >= 0 for k in records[i])
    # Distances along each stream: from a task to the next one its own time, its records, the next one's lead.
    step = (task_ns + tail)[order]
    before = np.cumsum(step + lead_ns[order]) - step  # start of each task, if streams followed each other without gaps
    rank = np.cumsum(begins) - 1
    heads = np.flatnonzero(begins)
    of, offset = np.empty(n, np.int64), np.empty(n, np.int64)
    of[order] = rank
    offset[order] = before - before[heads][rank] if n else 0
    head = order[heads].tolist()
    ends = np.append(heads[1:], n)[: len(heads)] - 1
    length = (before[ends] + step[ends] - before[heads]).tolist() if n else []
    first_of = first[heads].tolist()
    m = len(head)
    links: list[list[Link]] = [[] if f else [(s - 1, length[s - 1], 0)] for s, f in enumerate(first_of)]
    of_task, distance = of.tolist(), offset.tolist()
    fired: list[Link] = [(NOT_RECORDED, 0, 0)] * len(ids)
    for i in recording:
        at = distance[i] + ns[i]
        for k in records[i]:
            if ids[k] >= 0:
                at += launch.record_ns
                fired[k] = (of_task[i], at + launch.signal_ns, launch.wait_ns)
            else:
                fired[k] = (of_task[i], at, 0)
    for i in np.flatnonzero(waiting).tolist():
        links[of_task[i]] += [fired[k] for k in waits[i]]
    leads = [0 if f and not waits[h] else lead[h] for h, f in zip(head, first_of, strict=True)]
    for s, h in enumerate(head):
        if first_of[s] and (i := p.starts.get(int(stream[h]), NOT_RECORDED)) != NOT_RECORDED:
            links[s].insert(0, (of_task[i], distance[i] + ns[i], 0))
    issue = np.argsort(np.array(head, np.int64), kind="stable")
    place = np.empty(m, np.int64)
    place[issue] = np.arange(m)
    at_place = place.tolist()
    ordered = all(a >= 0 and at_place[a] < at_place[s] for s, row in enumerate(links) for a, _, _ in row)
    return Segments(
        links, leads, head, columns.aic[head].tolist(), columns.aiv[head].tolist(), [ns[h] for h in head], [*first_of[1:], True][:m],
        of, offset, task_ns, issue.tolist(), ordered,
    )  # fmt: skip

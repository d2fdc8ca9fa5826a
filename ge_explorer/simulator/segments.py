"""Segments: runs of tasks on a stream that nothing can hold up once the first of them has started.

A segment begins where a stream begins, where a task waits for an event, and (with core pools) where a task needs cores. All its
tasks and records lie at fixed distances from its start, so a run has to find one time a segment; the rest is arithmetic on columns.
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

    ``links``: what a segment waits for besides the segment before it on its stream, in order; ``first``: there is none before it.
    ``step``: from the start of a segment until its stream is free again; ``lead``: then, or after the last link, until it starts.
    ``head``: its first task, ``aic`` and ``aiv`` its cores (0 where cores are not asked for), ``ns`` its time. ``follows``: what
    holds up the next segment of the stream: 0 there is none, 1 this one and cores alone, 2 others too; ``gap``: from the end of the
    head until the next segment is ready, if nothing else holds it up. ``of`` and ``offset``: segment of each task, and
    distance of the task's start. ``issue``: segments by the issue index of their first task; ``ordered``: every link points to an
    earlier one there.
    """

    links: list[tuple[Link, ...]]
    first: list[bool]
    step: list[int]
    lead: list[int]
    head: list[int]
    aic: list[int]
    aiv: list[int]
    ns: list[int]
    follows: list[int]
    gap: list[int]
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
    """Segments of a program, made once; ``cores``: a task that needs any begins one. OptionError for an event recorded twice."""
    made = _MADE.setdefault(p, {})
    if cores not in made:
        made[cores] = _made(p, cores)
    return made[cores]


def _made(p: Program, cores: bool) -> Segments:
    n, columns, ids, launch = len(p.tasks), p.columns, p.event_ids, p.launch
    p.senders()  # says so when two tasks record one event
    task_ns, lead_ns = (np.fromiter(map(attrgetter(a), p.tasks), np.int64, n) for a in ("ns", "dispatch_ns"))
    waiting, recording = (
        [(i, row) for i, row in enumerate(map(attrgetter(a), p.tasks)) if row] for a in ("waits", "records")
    )
    order = np.argsort(columns.stream, kind="stable")
    by_stream = columns.stream[order]
    starts = np.ones(n, bool)  # in the order of the streams: the task begins its stream, then: its segment
    starts[1:] = by_stream[1:] != by_stream[:-1]
    waits = np.zeros(n, bool)
    waits[[i for i, _ in waiting]] = True
    begins = starts | waits[order]
    if cores:
        begins |= ((columns.aic > 0) | (columns.aiv > 0))[order]
    tail = np.zeros(n, np.int64)  # what the records of a task take of its stream
    if launch.record_ns:
        for i, row in recording:
            tail[i] = launch.record_ns * len([k for k in row if ids[k] >= 0])
    # Start of each task if everything ran one after the other; only differences inside a segment count.
    took = (task_ns + tail)[order]
    begin = np.cumsum(took + lead_ns[order]) - took
    heads = np.flatnonzero(begins)
    rank = np.cumsum(begins) - 1
    of, offset = np.empty(n, np.int64), np.empty(n, np.int64)
    of[order] = rank
    offset[order] = begin - begin[heads][rank]
    ends = np.append(heads[1:], n)[: len(heads)] - 1
    head = order[heads]
    first = starts[heads]
    links: list[tuple[Link, ...]] = [()] * len(head)
    fired: list[Link] = [(NOT_RECORDED, 0, 0)] * len(ids)
    signal_ns, wait_ns, record_ns = launch.signal_ns, launch.wait_ns, launch.record_ns
    senders = [i for i, _ in recording]
    for (_, row), s, at in zip(recording, of[senders].tolist(), (offset + task_ns)[senders].tolist(), strict=True):
        for k in row:
            if ids[k] >= 0:
                at += record_ns
                fired[k] = (s, at + signal_ns, wait_ns)
            else:
                fired[k] = (s, at, 0)
    waiters = [i for i, _ in waiting]
    for (_, row), s in zip(waiting, of[waiters].tolist(), strict=True):
        links[s] = tuple([fired[k] for k in row])
    for s in np.flatnonzero(first).tolist():
        i = p.starts.get(int(columns.stream[head[s]]), NOT_RECORDED)
        if i >= 0:
            links[s] = ((int(of[i]), int(offset[i] + task_ns[i]), 0), *links[s])
    issue = np.argsort(head, kind="stable")
    place = np.empty(len(head), np.int64)
    place[issue] = np.arange(len(head))
    at_place = place.tolist()
    step = begin[ends] + took[ends] - begin[heads]
    lead = np.where(first & ~waits[head], 0, lead_ns[head])
    aic, aiv = columns.aic[head] * cores, columns.aiv[head] * cores
    follows = np.zeros(len(head), np.int64)
    follows[:-1] = np.where(first[1:], 0, np.where(((aic > 0) | (aiv > 0))[1:] & ~waits[head][1:], 1, 2))
    gap = step - task_ns[head]
    gap[:-1] += lead[1:]
    return Segments(
        links, first.tolist(), step.tolist(), lead.tolist(), head.tolist(), aic.tolist(), aiv.tolist(), task_ns[head].tolist(),
        follows.tolist(), gap.tolist(), of, offset, task_ns, issue.tolist(),
        all(a >= 0 and at_place[a] < at_place[s] for s, row in enumerate(links) for a, _, _ in row),
    )  # fmt: skip

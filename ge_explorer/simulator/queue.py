"""The event queue: segments that need cores wait for them, everything else starts when it is ready.

Segments are numbered by (stream, issue index), so that one integer is a whole queue entry and sorts as the rule for ties asks:
time, cores coming back before segments becoming ready, stream, issue index.
"""

from __future__ import annotations

from bisect import insort
from heapq import heappop, heappush

from ge_explorer.simulator.segments import Segments

PENDING = -1
"""Start of a segment that is not known yet."""


def run_recurrence(g: Segments) -> list[int]:
    """Start of every segment where nobody waits for cores and every link leads to an earlier segment (``ordered``)."""
    links, lead = g.links, g.lead
    start = [0] * len(links)
    for s in g.issue:
        now = 0
        for a, distance, after in links[s]:
            seen = start[a] + distance
            if seen > now:
                now = seen
            if after:
                now += after
        start[s] = now + lead[s]
    return start


def run_queue(g: Segments, pools: tuple[int, int] | None) -> tuple[list[int], dict[int, int]]:
    """(start of every segment, freed); ``pools``: cube and vector cores, None: as many as anybody asks for.

    ``freed``: for a task that had to wait for cores, the task that gave them back last. Segments that can never start keep PENDING.
    """
    links, lead, head, last, length = g.links, g.lead, g.head, g.last, g.ns
    n = len(links)
    half = max(1, n.bit_length())  # an entry: time, one bit for ready, segment
    mask, ready, shift = (1 << half) - 1, 1 << half, half + 1
    need_aic, need_aiv = g.aic, g.aiv
    on_cores = [a > 0 or v > 0 for a, v in zip(need_aic, need_aiv, strict=True)] if pools else [False] * n
    aic, aiv = pools or (0, 0)
    start = [PENDING] * n
    parked: dict[int, list[int]] = {}  # segment somebody waits for -> waiting segments
    heap: list[int] = []
    waiting: list[int] = []  # entries of segments that are ready and have no cores yet, in order
    freed: dict[int, int] = {}
    last_aic = last_aiv = -1
    # Segments to look at: the next one of each stream.
    todo = [s for s in range(n - 1, -1, -1) if s == 0 or last[s - 1]]
    while True:
        while todo:
            s = todo.pop()
            now = 0
            for a, distance, after in links[s]:
                if a < 0:
                    break
                seen = start[a]
                if seen < 0:
                    if a in parked:
                        parked[a].append(s)
                    else:
                        parked[a] = [s]
                    break
                seen += distance
                if seen > now:
                    now = seen
                if after:
                    now += after
            else:
                now += lead[s]
                if on_cores[s]:
                    heappush(heap, now << shift | ready | s)
                    continue
                start[s] = now
                if s in parked:
                    todo += parked.pop(s)
                if not last[s]:
                    todo.append(s + 1)
        if not heap:
            break
        time = heap[0] >> shift
        bound = time + 1 << shift
        look = len(waiting)  # those before it did not fit, and will not before cores come back
        while heap and heap[0] < bound:
            entry = heappop(heap)
            s = entry & mask
            if entry & ready:
                if waiting and entry < waiting[-1]:
                    insort(waiting, entry)
                    look = 0
                else:
                    waiting.append(entry)
                continue
            look = 0
            if need_aic[s]:
                aic += need_aic[s]
                last_aic = s
            if need_aiv[s]:
                aiv += need_aiv[s]
                last_aiv = s
        at = look
        while at < len(waiting):
            entry = waiting[at]
            s = entry & mask
            a, v = need_aic[s], need_aiv[s]
            if a > aic or v > aiv:
                at += 1
                continue
            del waiting[at]
            aic -= a
            aiv -= v
            if entry >> shift < time:
                by = last_aic if a else last_aiv
                if a and v and last_aiv >= 0:
                    other = last_aiv
                    if by < 0 or _later(g, start, other, by):
                        by = other
                if by >= 0:
                    freed[head[s]] = head[by]
            start[s] = time
            heappush(heap, time + length[s] << shift | s)
            if s in parked:
                todo += parked.pop(s)
            if not last[s]:
                todo.append(s + 1)
    return start, freed


def _later(g: Segments, start: list[int], other: int, by: int) -> bool:
    """True if the head of ``other`` ended after that of ``by``; at one time the one issued first counts."""
    return (start[other] + g.ns[other], -g.head[other]) > (start[by] + g.ns[by], -g.head[by])

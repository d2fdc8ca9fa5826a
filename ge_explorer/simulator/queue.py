"""The event queue: segments that need cores wait for them, everything else starts when it is ready.

Segments are numbered by (stream, issue index), so that one integer is a whole queue entry and sorts as the rule for ties asks:
time, cores coming back before segments becoming ready, stream, issue index.
"""

from __future__ import annotations

from bisect import insort
from heapq import heappop, heappush, heapreplace

from ge_explorer.simulator.segments import Segments

PENDING = -1
"""Start of a segment that is not known yet."""


def run_recurrence(g: Segments) -> list[int]:
    """Start of every segment where nobody waits for cores and every link leads to an earlier segment (``ordered``)."""
    links, lead, first, step = g.links, g.lead, g.first, g.step
    start = [0] * len(links)
    for s in g.issue:
        now = 0 if first[s] else start[s - 1] + step[s - 1]
        for a, distance, after in links[s]:
            seen = start[a] + distance
            now = (seen if seen > now else now) + after
        start[s] = now + lead[s]
    return start


def run_queue(g: Segments, pools: tuple[int, int] | None) -> tuple[list[int], dict[int, int]]:
    """(start of every segment, freed); ``pools``: cube and vector cores, None: as many as anybody asks for.

    ``freed``: for a task that had to wait for cores, the task that gave them back last. Segments that can never start keep PENDING.
    """
    links, lead, first, step, length = g.links, g.lead, g.first, g.step, g.ns
    n = len(links)
    half = max(1, n.bit_length())  # an entry: time, one bit for ready, segment
    mask, ready, shift = (1 << half) - 1, 1 << half, half + 1
    need_aic, need_aiv = g.aic, g.aiv
    follows, gap = g.follows, g.gap
    aic, aiv = pools or (0, 0)
    least_aic = min((a for a in need_aic if a), default=aic + 1)
    least_aiv = min((v for v in need_aiv if v), default=aiv + 1)
    start = [PENDING] * n
    parked: dict[int, list[int]] = {}  # segment somebody waits for -> waiting segments
    heap: list[int] = []
    held: list[
        int
    ] = []  # entries of this instant made in this instant (tasks of no length): their turn is after all others
    waiting: list[int] = []  # entries of segments that are ready and have no cores yet, in order; none of them fits
    freed: dict[int, int] = {}
    last_aic = last_aiv = time = -1
    todo = [s for s in range(n - 1, -1, -1) if first[s]]  # segments to look at: the next one of each stream
    while True:
        while todo:
            s = todo.pop()
            now = 0 if first[s] else start[s - 1] + step[s - 1]
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
                now = (seen if seen > now else now) + after
            else:
                now += lead[s]
                if need_aic[s] or need_aiv[s]:
                    if now > time:
                        heappush(heap, now << shift | ready | s)
                    else:
                        held.append(now << shift | ready | s)
                    continue
                start[s] = now
                if s in parked:
                    todo += parked.pop(s)
                if follows[s]:
                    todo.append(s + 1)
        if held and (not heap or heap[0] >> shift > time):
            for entry in held:
                heappush(heap, entry)
            held.clear()
        if not heap:
            break
        entry = heap[0]
        time = entry >> shift
        s = entry & mask
        if entry & ready:
            a, v = need_aic[s], need_aiv[s]
            if a > aic or v > aiv:
                heappop(heap)
                insort(waiting, entry)
                continue
            aic -= a
            aiv -= v
            start[s] = time
            if length[s]:
                heapreplace(heap, time + length[s] << shift | s)
            else:
                held.append(heappop(heap) ^ ready)
            if s in parked:
                todo += parked.pop(s)
            if follows[s] == 2:
                todo.append(s + 1)
            continue
        if need_aic[s]:
            aic += need_aic[s]
            last_aic = s
        if need_aiv[s]:
            aiv += need_aiv[s]
            last_aiv = s
        if follows[s] == 1:
            heapreplace(heap, time + gap[s] << shift | ready | s + 1)
        else:
            heappop(heap)
        if not waiting or (aic < least_aic and aiv < least_aiv) or (heap and heap[0] < time << shift | ready):
            continue  # nothing fits, or more cores come back in this instant
        if waiting[-1] >> shift == time:
            while heap and heap[0] >> shift == time:
                insort(waiting, heappop(heap))
        at = 0
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
                if a and v and last_aiv >= 0 and (by < 0 or _later(g, start, last_aiv, by)):
                    by = last_aiv
                if by >= 0:
                    freed[g.head[s]] = g.head[by]
            start[s] = time
            if length[s]:
                heappush(heap, time + length[s] << shift | s)
            else:
                held.append(time << shift | s)
            if s in parked:
                todo += parked.pop(s)
            if follows[s] == 2:
                todo.append(s + 1)
            if aic < least_aic and aiv < least_aiv:
                break
    return start, freed


def _later(g: Segments, start: list[int], other: int, by: int) -> bool:
    """True if the head of ``other`` ended after that of ``by``; at one time the one issued first counts."""
    return (start[other] + g.ns[other], -g.head[other]) > (start[by] + g.ns[by], -g.head[by])

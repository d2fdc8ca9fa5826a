"""The event queue: tasks that need cores wait for them, everything else starts when it is ready.

Tasks are numbered by (stream, issue index) here, so that one integer is a whole queue entry and sorts as the rule for ties asks:
time, cores coming back before tasks becoming ready, stream, issue index.
"""

from __future__ import annotations

from heapq import heappop, heappush

from ge_explorer.simulator.program import Program

PENDING = -1
"""Start or end of a task, or time of an event, that is not known yet."""


def run_queue(p: Program, pools: tuple[int, int] | None) -> tuple[list[int], list[int], dict[int, int]]:
    """(start, end, freed) of all tasks; ``pools``: cube and vector cores, None: as many as anybody asks for.

    ``freed``: for a task that had to wait for cores, the task that gave them back last. Tasks that can never start keep PENDING.
    """
    rows, ids, launch = p.rows, p.event_ids, p.launch
    record_ns, signal_ns, wait_ns = launch.record_ns, launch.signal_ns, launch.wait_ns
    sender = p.senders()
    order = [i for queue in p.by_stream.values() for i in queue]
    n = len(order)
    rank = [0] * n
    for r, i in enumerate(order):
        rank[i] = r
    half = max(1, n.bit_length())  # an entry: time, one bit for ready, task
    mask, ready = (1 << half) - 1, 1 << half
    work = [rows[i] for i in order]
    aic, aiv = pools or (0, 0)
    starter = [
        -2
    ] * n  # of the first task of a stream: the task that starts the stream, -1 none; -2 for all other tasks
    last = [False] * n
    at = 0
    todo: list[int] = []  # tasks to look at, the next one of their streams
    for stream, queue in p.by_stream.items():
        starter[at] = rank[p.starts[stream]] if stream in p.starts else -1
        todo.append(at)
        at += len(queue)
        last[at - 1] = True
    todo.reverse()
    start, end, over = [PENDING] * n, [PENDING] * n, [0] * n  # over: end plus the time its records take
    fired = [PENDING] * len(ids)
    parked: dict[int, list[int]] = {}  # task somebody waits for -> waiting tasks
    heap: list[int] = []
    waiting: dict[tuple[int, int], list[int]] = {}  # cores asked for -> entries, first one first (heap)
    needs = [row[5:] for row in work]
    never = 1 << 200
    freed: dict[int, int] = {}
    last_aic = last_aiv = -1
    while True:
        while todo:
            r = todo.pop()
            while True:
                _, ns, dispatch_ns, waits, records, a, v = work[r]
                first = starter[r]
                if first == -2:
                    now = over[r - 1]
                else:
                    now = 0
                    if first >= 0:
                        now = end[first]
                        if now < 0:
                            parked.setdefault(first, []).append(r)
                            break
                    if not waits:
                        dispatch_ns = 0
                if waits:
                    missing = -1
                    for k in waits:
                        seen = fired[k]
                        if seen < 0:
                            missing = k
                            break
                        if ids[k] >= 0:
                            seen += signal_ns
                            now = (seen if seen > now else now) + wait_ns
                        elif seen > now:
                            now = seen
                    if missing >= 0:
                        if sender[missing] >= 0:
                            parked.setdefault(rank[sender[missing]], []).append(r)
                        break
                now += dispatch_ns
                if pools and (a or v):
                    heappush(heap, now << half + 1 | ready | r)
                    break
                start[r] = now
                now += ns
                end[r] = now
                for k in records:
                    if ids[k] >= 0:
                        now += record_ns
                    fired[k] = now
                over[r] = now
                if parked and r in parked:
                    todo += parked.pop(r)
                if last[r]:
                    break
                r += 1
        if not heap:
            break
        time = heap[0] >> half + 1
        bound = time + 1 << half + 1
        while heap and heap[0] < bound:
            entry = heappop(heap)
            r = entry & mask
            need = needs[r]
            if entry & ready:
                if need in waiting:
                    heappush(waiting[need], entry)
                else:
                    waiting[need] = [entry]
                continue
            if need[0]:
                aic += need[0]
                last_aic = r
            if need[1]:
                aiv += need[1]
                last_aiv = r
        while waiting:
            # The first in line that fits. One that did not fit does not fit later: cores only get fewer here.
            entry = never
            for wish, line in waiting.items():
                if line[0] < entry and wish[0] <= aic and wish[1] <= aiv:
                    entry, need = line[0], wish
            if entry == never:
                break
            line = waiting[need]
            if len(line) == 1:
                del waiting[need]
            else:
                heappop(line)
            r = entry & mask
            a, v = need
            aic -= a
            aiv -= v
            if entry < time << half + 1:
                by = last_aic if a else last_aiv
                if a and v and last_aiv >= 0:
                    other = last_aiv
                    if by < 0 or (end[other], -order[other]) > (end[by], -order[by]):
                        by = other
                if by >= 0:
                    freed[order[r]] = order[by]
            _, ns, _, _, records, _, _ = work[r]
            start[r] = time
            now = time + ns
            end[r] = now
            heappush(heap, now << half + 1 | r)
            for k in records:
                if ids[k] >= 0:
                    now += record_ns
                fired[k] = now
            over[r] = now
            if parked and r in parked:
                todo += parked.pop(r)
            if not last[r]:
                todo.append(r + 1)
    back = [0] * n
    ends = [0] * n
    for r, i in enumerate(order):
        back[i], ends[i] = start[r], end[r]
    return back, ends, freed

"""Better lists: backwards and forwards again, then moves of tasks on the path that decides. Deterministic, fixed budget.

Backwards and forwards (Li and Willis 1992): the schedule is packed against its end, then against its start, tasks in the order the
other direction left them in. A move puts a task of the deciding path before the task that held it up, or a block of the list
elsewhere; a list that gives a shorter schedule stays.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from ge_explorer.passes.streams.schedule.build import Schedule, build, list_order
from ge_explorer.passes.streams.schedule.problem import Problem

ROUNDS = 12
"""Most times backwards and forwards."""
WORK = 30_000
"""Tasks placed in all the moves, a measure that no clock can change."""
FEWEST_MOVES, MOST_MOVES = 6, 200
PATIENCE = 24
"""Moves in a row without a shorter schedule before the search gives up."""


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """Best schedule, the list it was built from, that of plain ranks, and how many schedules were built."""

    best: Schedule
    order: list[int]
    first: Schedule
    built: int


def search(p: Problem, bound: int = 0, *, seed: int = 0, work: int = WORK) -> Found:
    """Best schedule found; never longer than that of upward ranks. Stops at ``bound``, where nothing is left to gain."""
    order = sorted(range(len(p.ns)), key=lambda v: (-p.rank[v], v))
    first = best = build(p, order)
    built = 1
    best, order, n = _to_and_fro(p, best, order, bound)
    built += n
    rng = random.Random(seed)
    moves = max(FEWEST_MOVES, min(MOST_MOVES, work // max(1, len(p.ns))))
    # Equally long schedules are taken as well: they lead off plateaus.
    now, at, idle = best, order, 0
    for _ in range(moves):
        if best.length <= bound or idle >= PATIENCE:
            break
        idle += 1
        tried = _moved(p, now, at, rng)
        if tried is None:
            break
        made = build(p, tried)
        built += 1
        if made.length < best.length:
            made, tried, n = _to_and_fro(p, made, tried, bound, rounds=2)
            built += n
        if made.length <= now.length:
            now, at = made, tried
        if made.length < best.length:
            best, order, idle = made, tried, 0
    return Found(best, order, first, built)


def _to_and_fro(
    p: Problem, s: Schedule, order: list[int], bound: int, rounds: int = ROUNDS
) -> tuple[Schedule, list[int], int]:
    """(best schedule, its list, schedules built) of packing backwards and forwards while that helps."""
    best, built = s, 0
    for _ in range(rounds):
        if best.length <= bound:
            break
        back = build(p.reverse, list_order(p.reverse, [-e for e in s.end]))
        listed = list_order(p, [-e for e in back.end])
        s = build(p, listed)
        built += 2
        if s.length >= best.length:
            break
        best, order = s, listed
    return best, order, built


def deciding_path(p: Problem, s: Schedule) -> list[tuple[int, int]]:
    """(task, what it followed without needing it, -1: nothing) from the end backwards, along whatever decided each start."""
    before: dict[tuple[int, int], int] = {}
    for v in sorted(range(len(s.start)), key=lambda v: (s.start[v], s.end[v])):
        before[s.stream[v], s.end[v]] = v
    v = max(range(len(s.end)), key=lambda v: (s.end[v], -v), default=-1)
    out: list[tuple[int, int]] = []
    while v >= 0 and len(out) <= len(s.end):
        needed = max(
            p.pred[v], key=lambda u: (s.end[u] + (p.event if s.stream[u] != s.stream[v] else 0), -u), default=-1
        )
        ready = -1 if needed < 0 else s.end[needed] + (p.event if s.stream[needed] != s.stream[v] else 0)
        held = before.get((s.stream[v], s.start[v] - p.lead[v]), -1)
        if ready == s.start[v] - p.lead[v] or held == v or held < 0:
            out.append((v, -1))
            v = needed
        else:
            out.append((v, held))
            v = held
    return out


def _moved(p: Problem, s: Schedule, order: Sequence[int], rng: random.Random) -> list[int] | None:
    """The list with a task of the deciding path put before what held it up, or a few of its tasks put earlier."""
    path = deciding_path(p, s)
    if not path:
        return None
    key = {v: 2 * k for k, v in enumerate(order)}
    swaps = [(v, w) for v, w in path if w >= 0 and key[w] < key[v]]
    if swaps and rng.random() < 0.8:
        for v, w in rng.sample(swaps, min(len(swaps), rng.choice((1, 1, 2, 3)))):
            key[v] = key[w] - 1
    else:
        for v in rng.sample([v for v, _ in path], min(len(path), 4)):
            key[v] = max(0, key[v] - rng.randint(2, max(2, len(order) // 4)))
    return list_order(p, [key[v] for v in range(len(order))])

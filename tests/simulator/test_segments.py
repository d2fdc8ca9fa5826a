"""The queue and the recurrence against a slow simulator that knows neither segments nor heaps."""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from ge_explorer.device.chips import CHIPS
from ge_explorer.simulator import LaunchModel, Program, SimulationDeadlock, Task, program_of, simulate_program
from ge_explorer.simulator.verify import verify

CHIP = CHIPS["Ascend910B1"]
NEEDS = ((0, 0), (0, 0), (8, 0), (24, 0), (0, 16), (0, 48), (12, 24), (20, 8))


def program(seed: int, *, cores: bool) -> Program:
    """Random tasks with ties, tasks of no length, plain dependencies, activations, and now and then a deadlock."""
    r = random.Random(seed)
    streams, made = r.randint(1, 7), 0
    rows, known = [], list[int]()
    for i in range(r.randint(1, 40)):
        waits = tuple(r.sample(known, min(len(known), r.choice((0, 0, 1, 2)))))
        records = tuple(range(made, made + r.choice((0, 0, 1, 2))))
        made += len(records)
        known += records
        aic, aiv = r.choice(NEEDS) if cores else (0, 0)
        rows.append(
            Task(i, r.randrange(streams), r.choice((0, 0, 1, 2, 3, 5)), aic, aiv, waits, records, r.choice((0, 1, 2)))
        )
    p = program_of(rows, launch=r.choice((LaunchModel(0, 0, 0, 0, 0), LaunchModel(1, 1, 1, 1, 1), LaunchModel())))
    starts = {s: r.randrange(len(rows)) for s in range(streams) if r.random() < 0.15}
    return Program(p.tasks, tuple(-1 if r.random() < 0.2 else k for k in p.event_ids), starts, p.launch)


def slow(p: Program) -> tuple[list[int], list[int]]:
    """Start and end of every task by looking at all streams again and again; -1 where a task never runs."""
    queues: dict[int, list[int]] = {}
    for i, t in enumerate(p.tasks):
        queues.setdefault(t.stream, []).append(i)
    at = dict.fromkeys(queues, 0)
    start, end, over = ([-1] * len(p.tasks) for _ in range(3))
    fired: dict[int, int] = {}
    ready: dict[int, int] = {}  # task at the head of its stream -> when it may start
    running: list[tuple[int, int]] = []
    refused: set[int] = set()
    free = [CHIP.aic, CHIP.aiv]

    def run(i: int, now: int) -> None:
        t = p.tasks[i]
        start[i], end[i] = now, now + t.ns
        now += t.ns
        for k in t.records:
            now += p.launch.record_ns if p.event_ids[k] >= 0 else 0
            fired[k] = now
        over[i] = now
        at[t.stream] += 1

    def look() -> None:
        """Everything that needs no cores runs; the rest is noted as ready."""
        changed = True
        while changed:
            changed = False
            for s, queue in queues.items():
                if at[s] == len(queue) or queue[at[s]] in ready:
                    continue
                i = queue[at[s]]
                t = p.tasks[i]
                first = at[s] == 0
                now = 0 if first else over[queue[at[s] - 1]]
                if first and s in p.starts:
                    if end[p.starts[s]] < 0:
                        continue
                    now = end[p.starts[s]]
                if any(k not in fired for k in t.waits):
                    continue
                for k in t.waits:
                    real = p.event_ids[k] >= 0
                    now = max(now, fired[k] + p.launch.signal_ns * real) + p.launch.wait_ns * real
                now += t.dispatch_ns if not first or t.waits else 0
                changed = True
                if t.aic or t.aiv:
                    ready[i] = now
                else:
                    run(i, now)

    look()
    now = -1
    while ready or running:
        # The next instant: something is over, or becomes ready. What was ready before and did not fit has to wait for cores.
        now = min([*(e for e, _ in running), *(r for i, r in ready.items() if i not in refused)])
        for e, i in [x for x in running if x[0] <= now]:
            running.remove((e, i))
            free[0] += p.tasks[i].aic
            free[1] += p.tasks[i].aiv
        for i in sorted((i for i, r in ready.items() if r <= now), key=lambda i: (ready[i], p.tasks[i].stream, i)):
            t = p.tasks[i]
            if t.aic <= free[0] and t.aiv <= free[1]:
                free[0] -= t.aic
                free[1] -= t.aiv
                del ready[i]
                refused.discard(i)
                run(i, now)
                running.append((end[i], i))
            else:
                refused.add(i)
        look()
    return start, end


@given(st.integers(0, 10**6), st.booleans(), st.sampled_from(["auto", "queue"]))
@settings(max_examples=400, deadline=None, derandomize=True)
def test_same_times_as_the_slow_one(seed: int, cores: bool, method: str) -> None:
    p = program(seed, cores=cores)
    start, end = slow(p)
    try:
        t = simulate_program(p, CHIP, method=method)
    except SimulationDeadlock:
        assert -1 in end
        return
    assert (t.start_ns.tolist(), t.end_ns.tolist()) == (start, end)
    assert verify(p, t) == []


def test_a_thousand_streams_that_all_want_the_cores() -> None:
    rows = [Task(i, i % 1000, 1000 + i * 7919 % 900, aic=1 + i % 24) for i in range(10_000)]
    p = program_of(rows)
    t = simulate_program(p, CHIP)
    assert t.makespan_ns >= sum(r.ns * r.aic for r in rows) / CHIP.aic

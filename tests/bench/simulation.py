"""Row 8: our simulator against SimPy on the same program, end times equal task by task.

The SimPy model is the plain one: one process a stream that waits for events, pays the delays in one timeout, takes its cores and
runs for the task's time. With core limits one dispatcher runs after everything else of an instant (our rule for ties); SimPy's own
resources serve requests in order and would give other times.
"""

from __future__ import annotations

import sys
from bisect import insort
from collections.abc import Generator
from dataclasses import replace
from typing import Any

import ge_explorer as gx
from ge_explorer.device.chips import CHIPS, Chip
from ge_explorer.loaders.generated import generated_graph
from ge_explorer.simulator import LaunchModel, Program, build_program, simulate_program
from tests.bench.memory import Figure
from tests.bench.orders import NO_MEMORY, best

CHIP = CHIPS["Ascend910B1"]
LATE = 2
"""SimPy priority of the dispatcher: after the normal events of the same time."""


def program(nodes: int = 10_000, *, cores: bool, launch: LaunchModel | None = None) -> Program:
    """Program of a generated graph on up to eight streams; with core demands or none. Default times of dispatch and events."""
    options = {"ge.autoMultistreamParallelMode": "LoadBalance:8"}
    trace = gx.compile(generated_graph(nodes, seed=1), pipeline=NO_MEMORY, options=options)
    made = build_program(trace.final, CHIP, launch=launch)
    return made if cores else replace(made, tasks=tuple(replace(t, aic=0, aiv=0) for t in made.tasks))


def simpy_ends(p: Program, chip: Chip) -> list[int]:
    """End time of every task by SimPy."""
    import simpy

    env = simpy.Environment()
    n, launch = len(p.tasks), p.launch
    ends = [0] * n
    done = {i: env.event() for i in set(p.starts.values())}
    fired = [env.event() for _ in p.event_ids]
    fired_at = [0] * len(p.event_ids)
    pool = _Pool(env, chip)
    queues: dict[int, list[int]] = {}
    for i, t in enumerate(p.tasks):
        queues.setdefault(t.stream, []).append(i)

    def run(stream: int, queue: list[int]) -> Generator[Any, Any, None]:
        if stream in p.starts:
            yield done[p.starts[stream]]
        for place, i in enumerate(queue):
            t = p.tasks[i]
            delay = 0
            for k in t.waits:
                if delay:
                    yield env.timeout(delay)
                yield fired[k]
                delay = 0
                if p.event_ids[k] >= 0:
                    delay = max(0, fired_at[k] + launch.signal_ns - env.now) + launch.wait_ns
            if place or t.waits:
                delay += t.dispatch_ns
            if delay:
                yield env.timeout(delay)
            if t.aic or t.aiv:
                yield pool.request(stream, i, t.aic, t.aiv)
            yield env.timeout(t.ns)
            ends[i] = env.now
            if t.aic or t.aiv:
                pool.release(t.aic, t.aiv)
            if i in done:
                done[i].succeed()
            for k in t.records:
                if p.event_ids[k] >= 0 and launch.record_ns:
                    yield env.timeout(launch.record_ns)
                fired_at[k] = env.now
                fired[k].succeed()

    for stream in sorted(queues):
        env.process(run(stream, queues[stream]))
    env.run()
    return ends


class _Pool:
    """Cube and vector cores, taken together; waiting tasks in the order (ready time, stream, issue index)."""

    def __init__(self, env: Any, chip: Chip) -> None:
        self.env, self.aic, self.aiv = env, chip.aic, chip.aiv if chip.split else 0
        self.waiting: list[tuple[int, int, int, int, int, Any]] = []
        self.due = False

    def request(self, stream: int, i: int, aic: int, aiv: int) -> Any:
        """SimPy event that fires when the cores are taken."""
        ready = self.env.event()
        insort(self.waiting, (int(self.env.now), stream, i, aic, aiv, ready), key=lambda w: w[:3])
        self.later()
        return ready

    def release(self, aic: int, aiv: int) -> None:
        """Give cores back."""
        self.aic, self.aiv = self.aic + aic, self.aiv + aiv
        self.later()

    def later(self) -> None:
        """Dispatch once, when all else of this instant has happened."""
        if not self.due:
            self.due = True
            event = self.env.event()
            event._ok, event._value = True, None
            event.callbacks.append(self.dispatch)
            self.env.schedule(event, priority=LATE)

    def dispatch(self, _: Any) -> None:
        """Start what fits, in order."""
        self.due = False
        left = []
        for entry in self.waiting:
            _, _, _, aic, aiv, ready = entry
            if aic <= self.aic and aiv <= self.aiv:
                self.aic, self.aiv = self.aic - aic, self.aiv - aiv
                ready.succeed()
            else:
                left.append(entry)
        self.waiting = left


def figures() -> list[Figure]:
    """Microseconds a task, ours and SimPy's, without and with core limits; without and with times of dispatch and events.

    ``first run``: with the columns and segments of the program, which later runs of the same program find ready.
    """
    rows: list[Figure] = []
    none = LaunchModel(0, 0, 0, 0, 0)
    for cores, reach in ((False, "<= 1/10"), (True, "<= 1/5")):
        for launch, what in ((None, "device times"), (none, "plain")):
            p = program(cores=cores, launch=launch)
            ours = 1e6 * best(lambda p=p: simulate_program(p, CHIP)) / len(p.tasks)
            first = 1e6 * best(lambda p=p: simulate_program(replace(p), CHIP)) / len(p.tasks)
            theirs = None
            try:
                assert simpy_ends(p, CHIP) == simulate_program(p, CHIP).end_ns.tolist()
                theirs = 1e6 * best(lambda p=p: simpy_ends(p, CHIP), 3) / len(p.tasks)
            except ImportError:
                print("simpy is not installed: no ratio", file=sys.stderr)
            name = f"simulation, {'core limits' if cores else 'no limits'}, {what}"
            rows.append((name, ours, theirs, "us", reach))
            rows.append((f"{name}, first run", first, theirs, "us", ""))
    return rows

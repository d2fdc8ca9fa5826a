"""Run a task program: in-order streams, events, two core pools. Deterministic.

Two methods with the same result. Where the widest tasks of all streams fit into the pools together, no task ever waits for
cores and a plain recurrence over the streams is exact. Otherwise an event queue runs; at equal times finishes come before
starts, and waiting tasks start by (ready time, stream id, issue index). A task takes all its cores at once or waits; a later
one that fits may start before it.
"""

from __future__ import annotations

import heapq
from bisect import insort
from collections.abc import Sequence

import numpy as np

from ge_explorer.device.chips import Chip, chip_named
from ge_explorer.errors import GxError, OptionError
from ge_explorer.ids import Ref
from ge_explorer.issue import Issue
from ge_explorer.simulator.program import NOT_RECORDED, Program
from ge_explorer.simulator.timeline import Gap, Timeline
from ge_explorer.text import Text

FREE, BY_STREAM, BY_EVENT, BY_START, BY_CORES = range(5)


class SimulationDeadlock(GxError):
    """No task can start any more. ``issue`` is the coded finding, ``chain`` the blocked tasks, each waiting for the next.

    ``cycle`` True: the last task of the chain waits for the first; False: it waits for an event that nobody records.
    """

    exit_code = 1

    def __init__(self, issue: Issue, chain: tuple[int, ...], cycle: bool) -> None:
        super().__init__(issue.message.en, todo=issue.fix.en if issue.fix else "")
        self.issue, self.chain, self.cycle = issue, chain, cycle


class _Run:
    """State of one run: when each task may start, why, and what stands behind each gap."""

    def __init__(self, program: Program) -> None:
        self.p = program
        self.tasks = program.tasks
        n = len(self.tasks)
        self.sender = program.senders()
        self.fired = [-1] * len(program.event_ids)
        self.start, self.end, self.done = [0] * n, [0] * n, [False] * n
        self.ready = [0] * n
        self.cause: list[tuple[int, int]] = [(FREE, -1)] * n  # kind, task that decided the start
        self.pieces: list[list[tuple[int, int, str, int, int]]] = [[] for _ in range(n)]
        self.queue: dict[int, list[int]] = {}
        for i, t in enumerate(self.tasks):
            self.queue.setdefault(t.stream, []).append(i)
        self.head = dict.fromkeys(self.queue, 0)
        self.clock = dict.fromkeys(self.queue, 0)  # when the stream's last task and its records were over
        self.last = dict.fromkeys(self.queue, -1)
        self.parked: dict[int, list[int]] = {}  # task somebody waits for -> streams

    def blocked_on(self, i: int) -> int | None:
        """Task (or NOT_RECORDED) that task ``i``, first of its stream, still waits for; None when it can be readied."""
        t = self.tasks[i]
        if self.last[t.stream] < 0:
            starter = self.p.starts.get(t.stream)
            if starter is not None and not self.done[starter]:
                return starter
        for k in t.waits:
            if self.fired[k] < 0:
                return self.sender[k]
        return None

    def make_ready(self, i: int) -> int:
        """Time task ``i`` may start as far as stream and events go; keeps the reason and the parts of the gap."""
        t, launch = self.tasks[i], self.p.launch
        before = self.last[t.stream]
        now = self.clock[t.stream]
        idle_from = self.end[before] if before >= 0 else 0
        cause = (BY_STREAM, before) if before >= 0 else (FREE, -1)
        pieces = self.pieces[i]
        if now > idle_from:
            pieces.append((idle_from, now, "issue", -1, -1))
        starter = self.p.starts.get(t.stream) if before < 0 else None
        if starter is not None and self.end[starter] > now:
            pieces.append((now, self.end[starter], "start", self.tasks[starter].node, -1))
            now, cause = self.end[starter], (BY_START, starter)
        for k in t.waits:
            seen = self.fired[k] + launch.signal_ns if self.p.event_ids[k] >= 0 else self.fired[k]
            if seen > now:
                pieces.append((now, seen, "event", self.tasks[self.sender[k]].node, self.p.event_ids[k]))
                now, cause = seen, (BY_EVENT, self.sender[k])
            if launch.wait_ns and self.p.event_ids[k] >= 0:
                pieces.append((now, now + launch.wait_ns, "issue", -1, self.p.event_ids[k]))
                now += launch.wait_ns
        if t.dispatch_ns and (before >= 0 or t.waits):
            pieces.append((now, now + t.dispatch_ns, "issue", -1, -1))
            now += t.dispatch_ns
        self.ready[i], self.cause[i] = now, cause
        return now

    def begin(self, i: int, now: int, freed_by: int = -1) -> None:
        """Start task ``i``; ``freed_by`` is the task whose cores it had to wait for."""
        if now > self.ready[i]:
            node = self.tasks[freed_by].node if freed_by >= 0 else -1
            self.pieces[i].append((self.ready[i], now, "cores", node, -1))
            self.cause[i] = (BY_CORES, freed_by)
        self.start[i], self.end[i] = now, now + self.tasks[i].ns

    def finish(self, i: int) -> list[int]:
        """Task ``i`` is over: its events fire. Returns the streams to look at again."""
        t = self.tasks[i]
        self.done[i] = True
        now = self.end[i]
        for k in t.records:
            if self.p.event_ids[k] >= 0:
                now += self.p.launch.record_ns
            self.fired[k] = now
        self.clock[t.stream], self.last[t.stream] = now, i
        self.head[t.stream] += 1
        return [t.stream, *self.parked.pop(i, ())]

    def next_task(self, stream: int) -> int | None:
        """Task at the head of a stream if it can be readied; parks the stream otherwise."""
        at, queue = self.head[stream], self.queue[stream]
        if at >= len(queue):
            return None
        i = queue[at]
        on = self.blocked_on(i)
        if on is None:
            return i
        self.parked.setdefault(on, []).append(stream)
        return None


def simulate_program(program: Program, chip: str | Chip = "", *, method: str = "auto") -> Timeline:
    """Timeline of a program on a chip.

    ``method``: auto, recurrence (only valid without core contention) or queue. Errors: SimulationDeadlock with the chain of
    blocked tasks; OptionError when a task needs more cores than the chip has.
    """
    chip = chip_named(chip) if isinstance(chip, str) else chip
    total_aiv = chip.aiv if chip.split else 0
    wide: dict[int, tuple[int, int]] = {}
    for i, t in enumerate(program.tasks):
        if t.aic > chip.aic or t.aiv > total_aiv:
            raise OptionError(
                f"task {i} needs {t.aic} AIC and {t.aiv} AIV cores",
                where=f"chip {chip.name}",
                got=(chip.aic, total_aiv),
            )
        a, v = wide.get(t.stream, (0, 0))
        wide[t.stream] = (max(a, t.aic), max(v, t.aiv))
    fits = sum(a for a, _ in wide.values()) <= chip.aic and sum(v for _, v in wide.values()) <= total_aiv
    if method not in ("auto", "recurrence", "queue"):
        raise OptionError("unknown simulation method", got=method, todo="Use auto, recurrence or queue.")
    run = _Run(program)
    if method == "recurrence" and not fits:
        raise OptionError(
            "the recurrence needs room for the widest tasks of all streams at once", where=f"chip {chip.name}"
        )
    if fits and method != "queue":
        _recurrence(run)
    else:
        _event_queue(run, chip.aic, total_aiv)
    if not all(run.done):
        raise _deadlock(run)
    return _timeline(run, chip, total_aiv)


def _recurrence(run: _Run) -> None:
    todo = sorted(run.queue, reverse=True)
    while todo:
        stream = todo.pop()
        i = run.next_task(stream)
        if i is not None:
            run.begin(i, run.make_ready(i))
            todo += run.finish(i)


def _event_queue(run: _Run, aic: int, aiv: int) -> None:
    finishing: list[tuple[int, int, int]] = []  # end, stream, task
    becoming: list[tuple[int, int, int]] = []  # ready, stream, task
    waiting: list[tuple[int, int, int]] = []  # ready, stream, task; sorted
    tasks, last_aic, last_aiv = run.tasks, -1, -1

    def look(streams: Sequence[int]) -> None:
        for stream in streams:
            i = run.next_task(stream)
            if i is not None:
                heapq.heappush(becoming, (run.make_ready(i), stream, i))

    look(sorted(run.queue))
    while finishing or becoming:
        now = min(q[0][0] for q in (finishing, becoming) if q)
        while finishing and finishing[0][0] == now:
            i = heapq.heappop(finishing)[2]
            t = tasks[i]
            if t.aic:
                aic, last_aic = aic + t.aic, i
            if t.aiv:
                aiv, last_aiv = aiv + t.aiv, i
            look(run.finish(i))
        while becoming and becoming[0][0] == now:
            insort(waiting, heapq.heappop(becoming))
        kept = []
        for entry in waiting:
            i = entry[2]
            t = tasks[i]
            if t.aic <= aic and t.aiv <= aiv:
                aic, aiv = aic - t.aic, aiv - t.aiv
                freed = max((k for k, need in ((last_aic, t.aic), (last_aiv, t.aiv)) if need), default=-1,
                            key=lambda k: (run.end[k] if k >= 0 else -1, -k))  # fmt: skip
                run.begin(i, now, freed)
                heapq.heappush(finishing, (run.end[i], t.stream, i))
            else:
                kept.append(entry)
        waiting = kept


def _deadlock(run: _Run) -> SimulationDeadlock:
    stuck = [q[run.head[s]] for s, q in sorted(run.queue.items()) if run.head[s] < len(q)]
    chain: list[int] = []
    at = stuck[0]
    cycle = True
    while at not in chain:
        chain.append(at)
        on = run.blocked_on(at)
        if on is None or on == NOT_RECORDED:
            cycle = False
            break
        stream = run.tasks[on].stream
        at = run.queue[stream][run.head[stream]]
    if cycle:
        chain = chain[chain.index(at) :]
    parts_en, parts_zh, refs = [], [], []
    for i in chain:
        t = run.tasks[i]
        key = next((k for k in t.waits if run.fired[k] < 0), None)
        name = f"event {run.p.event_ids[key]}" if key is not None and run.p.event_ids[key] >= 0 else "a dependency"
        name_zh = f"事件 {run.p.event_ids[key]}" if key is not None and run.p.event_ids[key] >= 0 else "依赖"
        parts_en.append(f"stream {t.stream} stands at node {t.node} waiting for {name}")
        parts_zh.append(f"流 {t.stream} 停在节点 {t.node}，等待{name_zh}")
        refs += [Ref("node", t.node), Ref("stream", t.stream)]
        if key is not None and run.p.event_ids[key] >= 0:
            refs.append(Ref("event", run.p.event_ids[key]))
    tail = ("which leads back to the first", "又回到第一个") if cycle else ("which nobody records", "但没有任务记录它")
    issue = Issue(
        "GX151",
        "error",
        Text(f"deadlock: {'; '.join(parts_en)}, {tail[0]}", f"死锁：{'；'.join(parts_zh)}，{tail[1]}"),
        tuple(dict.fromkeys(refs)),
        Text("Swap the waits or remove one of the events of the chain.", "交换等待的次序，或去掉链上的一个事件。")
        if cycle
        else Text(
            "Record the event before it is waited for, or drop the wait.", "在等待之前记录该事件，或去掉该等待。"
        ),
        source="runtime: in-order streams",
    )
    return SimulationDeadlock(issue, tuple(chain), cycle)


def _timeline(run: _Run, chip: Chip, total_aiv: int) -> Timeline:
    tasks = run.tasks
    makespan = max(run.end, default=0)
    gaps: list[Gap] = []
    for stream, queue in sorted(run.queue.items()):
        for i in queue:
            for a, b, reason, waits_for, event in run.pieces[i]:
                if b > a:
                    gaps.append(Gap(stream, a, b, reason, i, waits_for, event))  # type: ignore[arg-type]
        if makespan > run.end[queue[-1]]:
            gaps.append(Gap(stream, run.end[queue[-1]], makespan, "no_work"))
    critical: list[int] = []
    at = max(range(len(tasks)), key=lambda i: (run.end[i], -i), default=-1)
    while at >= 0:
        critical.append(at)
        at = run.cause[at][1]
    return Timeline(
        np.array([t.node for t in tasks], np.int32),
        np.array([t.stream for t in tasks], np.int32),
        np.array(run.start, np.int64),
        np.array(run.end, np.int64),
        np.array([t.aic for t in tasks], np.int32),
        np.array([t.aiv for t in tasks], np.int32),
        tuple(t.origin for t in tasks),
        tuple(gaps),
        tuple(reversed(critical)),
        chip.name,
        chip.aic,
        total_aiv,
        "simulated",
        run.p.notes,
    )

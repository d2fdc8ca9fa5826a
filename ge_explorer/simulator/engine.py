"""Run a task program: in-order streams, events, two core pools. Deterministic.

Two methods with the same result. Where the widest tasks of all streams fit into the pools together, no task ever waits for
cores and a plain recurrence over the tasks is exact. Otherwise an event queue runs, with entries for tasks that need cores only:
all others start when they are ready, and nothing can change that. At equal times finishes come before starts, and waiting tasks
start by (ready time, stream id, issue index). A task takes all its cores at once or waits; a later one that fits may start
before it.
"""

from __future__ import annotations

import numpy as np

from ge_explorer.device.chips import Chip, chip_named
from ge_explorer.errors import OptionError
from ge_explorer.simulator.deadlock import SimulationDeadlock, deadlock
from ge_explorer.simulator.gaps import Gaps
from ge_explorer.simulator.program import Program
from ge_explorer.simulator.queue import PENDING, run_queue
from ge_explorer.simulator.timeline import Late, Timeline

__all__ = ["SimulationDeadlock", "simulate_program"]


def simulate_program(program: Program, chip: str | Chip = "", *, method: str = "auto") -> Timeline:
    """Timeline of a program on a chip.

    ``method``: auto, recurrence (only valid without core contention) or queue. Errors: SimulationDeadlock with the chain of
    blocked tasks; OptionError when a task needs more cores than the chip has, or two tasks record one event.
    """
    chip = chip_named(chip) if isinstance(chip, str) else chip
    total_aiv = chip.aiv if chip.split else 0
    fits = _fits(program, chip, total_aiv)
    if method not in ("auto", "recurrence", "queue"):
        raise OptionError("unknown simulation method", got=method, todo="Use auto, recurrence or queue.")
    if method == "recurrence" and not fits:
        raise OptionError(
            "the recurrence needs room for the widest tasks of all streams at once", where=f"chip {chip.name}"
        )
    plain = fits and method != "queue"
    times = _recurrence(program) if plain else None
    freed: dict[int, int] = {}
    if times is None:
        start, end, freed = run_queue(program, None if plain else (chip.aic, total_aiv))
        if PENDING in end:
            raise deadlock(program, end)
        times = start, end
    start, end = times
    gaps = Gaps(program, start, end, freed)
    columns = program.columns
    return Timeline(
        columns.node, columns.stream, np.array(start, np.int64), np.array(end, np.int64), columns.aic, columns.aiv,
        columns.origin, Late(lambda: gaps.gaps), Late(lambda: gaps.critical), chip.name, chip.aic, total_aiv, "simulated",
        program.notes,
    )  # fmt: skip


def _fits(program: Program, chip: Chip, total_aiv: int) -> bool:
    """True if the widest tasks of all streams run side by side. OptionError for a task wider than the chip."""
    wide = program.widest
    for a, v in wide.values():
        if a > chip.aic or v > total_aiv:
            i = next(k for k, t in enumerate(program.tasks) if t.aic > chip.aic or t.aiv > total_aiv)
            t = program.tasks[i]
            raise OptionError(
                f"task {i} needs {t.aic} AIC and {t.aiv} AIV cores",
                where=f"chip {chip.name}",
                got=(chip.aic, total_aiv),
            )
    return sum(a for a, _ in wide.values()) <= chip.aic and sum(v for _, v in wide.values()) <= total_aiv


def _recurrence(p: Program) -> tuple[list[int], list[int]] | None:
    """Start and end of every task in issue order; None where an event or a stream start comes from a later task."""
    ids, launch, starts = p.event_ids, p.launch, p.starts
    record_ns, signal_ns, wait_ns = launch.record_ns, launch.signal_ns, launch.wait_ns
    fired = [PENDING] * len(ids)
    clock = dict.fromkeys(p.by_stream, PENDING)
    start: list[int] = []
    end: list[int] = []
    for stream, ns, dispatch_ns, waits, records, _, _ in p.rows:
        now = clock[stream]
        if now < 0:
            now = 0
            if stream in starts:
                if starts[stream] >= len(end):
                    return None
                now = end[starts[stream]]
            if not waits:
                dispatch_ns = 0
        for k in waits:
            seen = fired[k]
            if seen < 0:
                return None
            if ids[k] >= 0:
                seen += signal_ns
                now = (seen if seen > now else now) + wait_ns
            elif seen > now:
                now = seen
        now += dispatch_ns
        start.append(now)
        now += ns
        end.append(now)
        for k in records:
            if fired[k] >= 0:
                p.senders()  # says which two tasks record it
            if ids[k] >= 0:
                now += record_ns
            fired[k] = now
        clock[stream] = now
    return start, end

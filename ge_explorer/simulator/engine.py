"""Run a task program: in-order streams, events, two core pools. Deterministic.

Two methods with the same result. Where the widest tasks of all streams fit into the pools together, no task ever waits for
cores and a plain recurrence over the segments of the streams is exact. Otherwise an event queue runs, with entries for tasks that
need cores only: all others start when they are ready, and nothing can change that. At equal times finishes come before starts, and
waiting tasks start by (ready time, stream id, issue index). A task takes all its cores at once or waits; a later one that fits may
start before it.
"""

from __future__ import annotations

from ge_explorer.device.chips import Chip, chip_named
from ge_explorer.errors import OptionError
from ge_explorer.simulator.deadlock import SimulationDeadlock, deadlock
from ge_explorer.simulator.gaps import Gaps
from ge_explorer.simulator.program import Program
from ge_explorer.simulator.queue import PENDING, run_queue, run_recurrence
from ge_explorer.simulator.segments import segments
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
    parts = segments(program, cores=not plain)
    freed: dict[int, int] = {}
    if plain and parts.ordered:
        at = run_recurrence(parts)
    else:
        at, freed = run_queue(parts, None if plain else (chip.aic, total_aiv))
    start, end = parts.times(at)
    if PENDING in at:
        raise deadlock(program, end.tolist())
    gaps = Gaps(program, start, end, freed)
    columns = program.columns
    return Timeline(
        columns.node, columns.stream, start, end, columns.aic, columns.aiv,
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

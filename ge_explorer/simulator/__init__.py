"""Simulated timelines: task programs, the engine that runs them, an independent check, overlap figures."""

from __future__ import annotations

from collections.abc import Mapping

from ge_explorer.device.chips import Chip, resolve_chip
from ge_explorer.device.cost import CostModel, cost_table
from ge_explorer.graph.collector import collector_paused
from ge_explorer.simulator.engine import SimulationDeadlock, simulate_program
from ge_explorer.simulator.program import IDEAL, LaunchModel, Program, Task, build_program, program_of
from ge_explorer.simulator.timeline import Gap, Timeline
from ge_explorer.trace.state import Snapshot

__all__ = [
    "IDEAL", "Gap", "LaunchModel", "Program", "SimulationDeadlock", "Task", "Timeline", "build_program", "program_of", "simulate",
    "simulate_program",
]  # fmt: skip


@collector_paused()
def simulate(
    snapshot: Snapshot,
    chip: str | Chip = "Ascend910B1",
    *,
    model: CostModel | None = None,
    launch: LaunchModel | None = None,
    measured: Mapping[int, int] | None = None,
) -> Timeline:
    """Timeline of a snapshot on a chip, in integer nanoseconds: our device model, exact for the model, not calibrated.

    ``model`` and ``launch`` replace the parameters of the cost model and of dispatch and events; ``measured`` are
    durations in ns of node ids from a profile. Errors: OptionError for an
    unknown chip or a bad core limit, SimulationDeadlock when the streams block each other.
    """
    found = resolve_chip(chip).chip if isinstance(chip, str) else chip
    costs = cost_table(snapshot.graph, snapshot.placement, found, model, measured=measured)
    return simulate_program(build_program(snapshot, found, costs, launch), found)

"""What a stream assignment is worth: run it through the rest of the compile path and simulate what comes out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from ge_explorer.device.chips import Chip
from ge_explorer.device.cost import cost_table
from ge_explorer.passes.streams.attach_streams import AttachStreams
from ge_explorer.passes.streams.refresh_streams import RefreshStreams
from ge_explorer.passes.sync.activate_by_label import ActivateByLabel
from ge_explorer.passes.sync.activate_by_subgraph import ActivateBySubgraph
from ge_explorer.passes.sync.activate_by_switch import ActivateBySwitch
from ge_explorer.passes.sync.activate_loop import ActivateLoop
from ge_explorer.passes.sync.attached_events import AttachedEvents
from ge_explorer.passes.sync.insert_events import InsertEvents
from ge_explorer.passes.sync.minimal_events import MinimalEvents
from ge_explorer.passes.sync.optimize_by_activation import OptimizeByActivation
from ge_explorer.passes.sync.optimize_by_recv import OptimizeByRecv
from ge_explorer.passes.sync.optimize_by_send import OptimizeBySend
from ge_explorer.passes.sync.renumber_events import RenumberEvents
from ge_explorer.passes.sync.reuse_events import ReuseEvents
from ge_explorer.passes.sync.switch_clean_up import SwitchCleanUp
from ge_explorer.simulator import IDEAL, LaunchModel, build_program, simulate_program
from ge_explorer.trace.passes import Pass, PassContext
from ge_explorer.trace.state import Snapshot

REST: tuple[Pass, ...] = (
    RefreshStreams(), AttachStreams(), ActivateByLabel(), ActivateBySubgraph(), InsertEvents(), OptimizeBySend(), OptimizeByRecv(),
    OptimizeByActivation(), SwitchCleanUp(), MinimalEvents(), RenumberEvents(), ReuseEvents(), AttachedEvents(), ActivateBySwitch(),
    ActivateLoop(),
)  # fmt: skip
"""The steps between streams and a timeline, in GE's order."""

OPTION_KEYS = frozenset(k for p in REST for k in p.option_keys)


@dataclass(frozen=True, eq=False)
class Judge:
    """Chip, times of dispatch and events, and the options the rest of the path is run with."""

    chip: Chip
    options: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    launch: LaunchModel = LaunchModel()
    cores: bool = True

    @staticmethod
    def of(chip: Chip, options: Mapping[str, str], *, free: bool) -> Judge:
        """Judge of the device's times, or (``free``) of the plan's shape alone: no event or dispatch times, no core limits."""
        return Judge(chip, options, IDEAL if free else LaunchModel(), not free)

    def makespan(self, s: Snapshot) -> int:
        """Simulated length in ns of a snapshot that has streams and no events yet. A run that stands still raises
        SimulationDeadlock; a task wider than the chip OptionError.
        """
        for p in REST:
            ctx = PassContext(p.rules, self.options, p.option_keys)
            if p.skip_reason(s, ctx) is None:
                s = p.run(s, ctx)
        made = build_program(s, self.chip, cost_table(s.graph, s.placement, self.chip), self.launch)
        if not self.cores:
            made = replace(made, tasks=tuple(replace(t, aic=0, aiv=0) for t in made.tasks))
        return simulate_program(made, self.chip).makespan_ns

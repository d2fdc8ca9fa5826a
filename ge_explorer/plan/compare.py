"""Figures of one strength, for the comparison of single stream, C1, C2 and C3."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from ge_explorer.plan.model import Plan
from ge_explorer.simulator.metrics import Overlap, busy_per_stream, overlap
from ge_explorer.simulator.timeline import Timeline
from ge_explorer.text import Text
from ge_explorer.trace.state import Snapshot


@dataclass(frozen=True, slots=True)
class StrengthResult:
    """One column of the comparison. Times in ns and ``overlap_pct`` (0..1, None: not applicable) are simulated; ``streams``
    and ``events`` follow GE's rules; ``peak`` in bytes is our planner's (None: not planned). Windows are ns pairs.
    """

    strength: str
    makespan_ns: int
    streams: int
    events: int
    peak: int | None
    busy: Mapping[int, int] = field(default_factory=lambda: MappingProxyType({}))
    overlap_pct: float | None = None
    busy_overlap: float | None = None
    verdict: str = ""
    side_window: tuple[int, int] | None = None
    main_window: tuple[int, int] | None = None
    dominator: int = -1
    barrier: int = -1
    notes: tuple[Text, ...] = ()


def strength_result(strength: str, s: Snapshot, timeline: Timeline, plan: Plan | None = None) -> StrengthResult:
    """Figures of a finished trace. The side is what the plan labels; without a plan, all but the busiest stream."""
    busy = busy_per_stream(timeline)
    found = _overlap(s, timeline, plan, busy)
    return StrengthResult(
        strength,
        timeline.makespan_ns,
        s.streams.count if s.streams else 0,
        len(s.sync.events) if s.sync else 0,
        s.memory.plan.peak if s.memory else None,
        MappingProxyType(dict(busy)),
        *(
            (
                found.pct,
                found.busy_pct,
                found.verdict,
                found.side_window,
                found.main_window,
                found.dominator,
                found.barrier,
                found.notes,
            )
            if found is not None
            else ()
        ),
    )


def _overlap(s: Snapshot, timeline: Timeline, plan: Plan | None, busy: Mapping[int, int]) -> Overlap | None:
    if s.streams is None or s.streams.count < 2 or not busy:
        return None
    main = max(busy, key=lambda k: (busy[k], -k))
    if plan is not None:
        names = set(plan.side_ops)
        side = [i for i, n in s.graph.unique_names.items() if n in names]
        streams = {int(s.streams.node[i]) for i in side}
        others = [b for b in busy if b not in streams]
        if others:
            main = max(others, key=lambda k: (busy[k], -k))
    else:
        side = [i for i in s.graph.node_ids if s.streams.node[i] not in (-1, main)]
    mains = [i for i in s.graph.node_ids if s.streams.node[i] == main]
    by_name = {name: i for i, name in s.graph.unique_names.items()}
    dominator = [by_name[n] for n in plan.dominator if n in by_name] if plan is not None else []
    return overlap(timeline, side, mains, s.graph, dominator)

"""Other plans for the state that was planned, worked out when somebody asks and kept.

A plan can be GE's own, one of ours, or one of the same graph in a single queue: what running in parallel costs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np

from ge_explorer.errors import GxError
from ge_explorer.graph.happens_before import HappensBefore
from ge_explorer.graph.model import IntArray
from ge_explorer.memory.bounds import Bound, best_bound, serial_live
from ge_explorer.memory.ge.bridge import plan_problem
from ge_explorer.memory.ge.options import OPTION_KEYS
from ge_explorer.memory.ge.result import GeMemoryResult
from ge_explorer.memory.model import MemoryProblem
from ge_explorer.memory.planner import PLANNERS
from ge_explorer.memory.problem import build_problem, order_before_events
from ge_explorer.passes.memory.plan_memory import GE, ge_local_nodes
from ge_explorer.provenance import Origin
from ge_explorer.text import Text
from ge_explorer.trace.state import MemoryState, Snapshot
from ge_explorer.trace.trace import Trace
from ge_explorer.views.marks import plain

POLICY = "ge.exec.memoryOptimizationPolicy"
SHOWN_KEYS = ("current", "ge", "ge-priority", "hb", "search", "none", "one-ge", "one-hb")
"""Plans that the A/B view offers."""
SEARCH_UPTO = 2_000
"""Buffers up to which the slow planners run unasked."""
TITLES: Mapping[str, Text] = MappingProxyType(
    {
        "current": Text("this plan", "当前规划"),
        "ge": Text("GE, default policy", "GE，默认策略"),
        "ge-priority": Text("GE, MemoryPriority", "GE，MemoryPriority"),
        "hb": Text("ours, greedy (hb)", "本工具，贪心（hb）"),
        "search": Text("ours, with search", "本工具，带搜索"),
        "none": Text("no reuse", "不复用"),
        "one-ge": Text("GE on one stream", "GE，单流"),
        "one-hb": Text("ours on one stream", "本工具，单流"),
    }
)


@dataclass(frozen=True, slots=True, eq=False)
class PlanCase:
    """One plan. ``memory`` is None with ``failure`` saying why; ``ge`` holds GE's decisions where GE planned."""

    key: str
    title: Text
    memory: MemoryState | None
    origin: Origin
    ge: GeMemoryResult | None = None
    failure: str = ""

    @property
    def peak(self) -> int | None:
        """Bytes of the planned range; None when there is no plan."""
        return self.memory.plan.peak if self.memory is not None else None


def planned_state(trace: Trace, upto: int | None = None) -> Snapshot | None:
    """The state right after memory was planned: later steps add nodes and events, on which the plan does not rest.

    ``upto``: index of the step shown; None (no plan yet) when the plan comes after it.
    """
    last = len(trace) - 1 if upto is None else upto
    return next((s.after for s in trace if s.after.memory is not None and s.index <= last), None)


@dataclass(eq=False)
class PlanBook:
    """Plans for one planned state; every result is computed once. ``planned`` needs streams, order, sequence and memory."""

    planned: Snapshot
    _cases: dict[str, PlanCase] = field(default_factory=dict)
    _hb: HappensBefore | None = None
    _one: MemoryProblem | None = None

    @property
    def memory(self) -> MemoryState:
        """The plan of the state itself."""
        assert self.planned.memory is not None
        return self.planned.memory

    @property
    def stream(self) -> IntArray:
        """Stream per node id."""
        assert self.planned.streams is not None
        return self.planned.streams.node

    @property
    def sequence(self) -> tuple[int, ...]:
        """Issue order."""
        assert self.planned.sequence is not None
        return self.planned.sequence

    @property
    def order(self) -> IntArray:
        """Topological id per node id."""
        assert self.planned.order is not None
        return self.planned.order

    @property
    def hb(self) -> HappensBefore:
        """The order that the plan rests on."""
        if self._hb is None:
            self._hb = order_before_events(self.planned.graph, self.sequence, self.stream)
        return self._hb

    @property
    def large(self) -> bool:
        """True when slow planners should wait to be asked."""
        return len(self.memory.problem.buffers) > SEARCH_UPTO

    @property
    def streams(self) -> int:
        """Streams in use."""
        return len(self.hb.streams)

    def has(self, key: str) -> bool:
        """Is this plan known already?"""
        return key in self._cases

    def get(self, key: str) -> PlanCase:
        """Plan by key of ``TITLES``. Planner errors become a case with ``failure``."""
        if key not in self._cases:
            try:
                self._cases[key] = self._make(key)
            except GxError as e:
                self._cases[key] = PlanCase(key, TITLES[key], None, Origin.MODEL, None, plain(str(e), 200))
        return self._cases[key]

    def one_stream(self) -> MemoryProblem:
        """Problem of the same graph with all tasks in one queue, in the same issue order."""
        if self._one is None:
            self._one = build_problem(self.planned.graph, self.sequence, self._single, self.order)
        return self._one

    @property
    def _single(self) -> IntArray:
        return np.where(self.stream >= 0, 0, self.stream).astype(np.int32)

    def _make(self, key: str) -> PlanCase:
        m, title = self.memory, TITLES[key]
        if key == "current":
            origin = Origin.GE_RULE if m.plan.planner == GE else Origin.MODEL
            return PlanCase(key, title, m, origin)
        one = key.startswith("one-")
        problem = self.one_stream() if one else m.problem
        serial = serial_live(problem)
        bound = serial if one else Bound(m.lower_bound, m.bound_name, ())
        name = key.removeprefix("one-")
        if name.startswith("ge"):
            options = {k: v for k in OPTION_KEYS if (v := self.planned.options.get(k))}
            options[POLICY] = "MemoryPriority" if name == "ge-priority" else options.get(POLICY, "")
            stream = self._single if one else self.stream
            plan, result = plan_problem(
                problem, self.planned.graph, self.sequence, stream, self.order, options, ge_local_nodes(self.planned.graph)
            )  # fmt: skip
            return PlanCase(key, title, MemoryState(problem, plan, bound.bytes, bound.name), Origin.GE_RULE, result)
        plan = PLANNERS.get(name)(problem, lambda _: bound.bytes)
        return PlanCase(key, title, MemoryState(problem, plan, bound.bytes, bound.name), Origin.MODEL)

    def bound(self) -> Bound:
        """Best proven bound of the planned state."""
        m = self.memory
        if m.bound_name != "largest buffer":
            return Bound(m.lower_bound, m.bound_name, ())
        return best_bound(m.problem, self.hb, m.plan)

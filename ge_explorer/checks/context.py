"""What all checks of one snapshot share, each made once: the schedule, the order, the deadlock that stands in its way."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from ge_explorer.checks.ordering import activators, deadlock_issue, real_order
from ge_explorer.checks.schedule import Schedule, name_of
from ge_explorer.graph.happens_before import DeadlockError, HappensBefore, Order
from ge_explorer.ids import Ref
from ge_explorer.issue import Issue
from ge_explorer.text import Text
from ge_explorer.trace.state import Snapshot, SyncPlan

OPEN_CUT = Text("the cut of a split stream is open, see GX144", "切分处没有闭合，见 GX144")
SWITCH_SILENT = Text(
    "GE takes every event off a StreamSwitch and relies on activation", "GE 会去掉 StreamSwitch 的全部事件，只依赖激活"
)


class Context:
    """A snapshot under check. It must have streams."""

    def __init__(self, s: Snapshot) -> None:
        self.s = s
        self.plan = Schedule.of(s)
        self.sync = s.sync or SyncPlan()

    @property
    def final_sync(self) -> SyncPlan:
        """The plan with the last counters: that of the split where there was one."""
        return self.s.physical.sync if self.s.physical is not None else self.sync

    @cached_property
    def _real(self) -> HappensBefore | Issue:
        return self._order(holders=False)

    @cached_property
    def _full(self) -> HappensBefore | Issue:
        return self._order(holders=True) if any(n.subgraphs for n in self.s.graph) else self._real

    def _order(self, *, holders: bool) -> HappensBefore | Issue:
        try:
            return real_order(self.plan, holders=holders)
        except DeadlockError as e:
            return deadlock_issue(self.plan, e)

    @property
    def hb(self) -> HappensBefore | None:
        """The order that streams, events and activations give; None in a deadlock."""
        return None if isinstance(self._real, Issue) else self._real

    @property
    def full(self) -> HappensBefore | None:
        """The same with GE's rule for subgraph bodies; None in a deadlock."""
        return None if isinstance(self._full, Issue) else self._full

    @property
    def deadlock(self) -> Issue | None:
        """GX111, where the order is a circle."""
        for found in (self._real, self._full):
            if isinstance(found, Issue):
                return found
        return None

    @cached_property
    def unsplit(self) -> Context | None:
        """The same snapshot before its streams were split; None where nothing was."""
        physical = self.s.physical
        return Context(self.s.evolve(physical=None)) if physical is not None and physical.parts else None

    @cached_property
    def _with_switches(self) -> HappensBefore | None:
        """The order before the split, with the events that GE took off StreamSwitch nodes put back."""
        base = self.unsplit or self
        lost = [
            Order(x.event.send, x.event.recv, "event")
            for x in self.sync.removed
            if self.node_ref(x.event.send) and self.s.graph.node(x.event.send).op == "StreamSwitch"
        ]
        if not lost:
            return None
        try:
            return real_order(base.plan, extra=lost)
        except DeadlockError:
            return None

    def excuse(self, u: int, v: int) -> Text | None:
        """Why GE leaves node ``v`` without an order after node ``u``: a habit of GE that spec sync.md 22 or 6.4 documents."""
        if self.unsplit is not None and self.unsplit.hb is not None and self.unsplit.hb.ordered(u, v):
            return OPEN_CUT
        if self.s.graph.node(u).op == "StreamSwitch" or (
            self._with_switches is not None and self._with_switches.ordered(u, v)
        ):
            return SWITCH_SILENT
        return None

    @cached_property
    def started_by(self) -> Mapping[int, tuple[int, ...]]:
        """Final stream -> nodes that activate it in this round."""
        return activators(self.plan)

    def inside_static(self, node: int) -> bool:
        """True for a known-shape part of a dynamic graph: it is compiled as a model of its own."""
        g = self.s.graph
        return g.root.dynamic and not g.scope(g.node(node).scope).dynamic

    def name(self, node: int) -> str:
        """Unique name, ``#id`` for a node that is gone."""
        return name_of(self.s, node)

    def node_ref(self, node: int) -> tuple[Ref, ...]:
        """Reference to a node, none to one that is gone."""
        there = 0 <= node < self.s.graph.id_bound and self.s.graph.nodes[node] is not None
        return (Ref("node", node),) if there else ()


def rest(code: str, more: int, what: Text, source: str) -> Issue:
    """One issue for all that were not listed."""
    return Issue(code, "error", Text(f"{more} more: {what.en}", f"另有 {more} 处：{what.zh}"), source=source)

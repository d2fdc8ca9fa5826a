"""Is the memory plan still safe once the real events exist? (memory.md C6: check again after every change of events.)"""

from __future__ import annotations

from ge_explorer.checks.ordering import deadlock_issue, real_order
from ge_explorer.checks.schedule import Schedule, streams_of
from ge_explorer.graph.happens_before import DeadlockError, HappensBefore
from ge_explorer.issue import Issue
from ge_explorer.memory.verify import verify
from ge_explorer.trace.state import Snapshot


def verify_plan(s: Snapshot, hb: HappensBefore | None = None) -> tuple[Issue, ...]:
    """Issues of the plan of ``s`` under the order its streams, events and activations really give; empty without a plan.

    The plan was made before events existed, so it must hold without anything that only GE takes for granted. ``hb``: the real
    order if it is at hand already.
    """
    if s.memory is None or s.streams is None:
        return ()
    if hb is None:
        plan = Schedule.of(s)
        try:
            hb = real_order(plan)
        except DeadlockError as e:
            return (deadlock_issue(plan, e),)
    return verify(s.memory.problem, s.memory.plan, hb, s.graph.unique_names, streams_of(s).node.tolist())

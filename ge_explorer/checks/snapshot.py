"""All checks on one snapshot, and on the result of a trace."""

from __future__ import annotations

from ge_explorer.checks import split
from ge_explorer.checks.context import Context
from ge_explorer.checks.invariants import results
from ge_explorer.checks.memory import verify_plan
from ge_explorer.checks.memory_layout import verify_pieces
from ge_explorer.checks.topology import INCOMPLETE, topological_order
from ge_explorer.ids import Ref
from ge_explorer.issue import Issue
from ge_explorer.text import Text
from ge_explorer.trace.state import Snapshot
from ge_explorer.trace.trace import Trace

FAILED_STEP, OPEN = "GX190", split.CHAIN


def check_snapshot(s: Snapshot) -> tuple[Issue, ...]:
    """Issues of a snapshot, errors, warnings and notes: those of the invariants in their order, then those of the memory plan.

    Checks whose facet does not exist yet are left out: no streams, no synchronisation checks. A snapshot with streams but
    without a sync facet counts as having no events, so on several streams its dependencies are reported. Never raises on a
    strange snapshot of a pass: a circle becomes GX111.
    """
    c = Context(s) if s.streams is not None else None
    issues = [i for r in results(s, c) for i in r.issues]
    if c is not None and not any(i.code == INCOMPLETE for i in issues):
        before = c.unsplit if any(i.code == OPEN for i in issues) else None  # an open cut has its own warning
        hb = (before or c).hb
        issues.extend((*verify_plan(s, hb), *verify_pieces(s)) if hb is not None else ())
    return tuple(issues)


def check_trace(trace: Trace) -> tuple[Issue, ...]:
    """Findings of the passes, the failed step if any (GX190), and all checks on the last good snapshot.

    After a failure before event insertion only the order is checked: the events were never due.
    """
    issues = list(trace.issues)
    failed = trace.failed
    if failed is not None:
        what = str(failed.error)
        issues.append(
            Issue(
                FAILED_STEP,
                "error",
                Text(f"step {failed.name} failed: {what}", f"步骤 {failed.name} 失败：{what}"),
                (Ref("step", failed.index),),
                source=failed.pass_.source,
            )
        )
        if trace.final.sync is None:
            return (*issues, *topological_order(trace.final))
    known = {(i.code, i.refs) for i in issues}
    return (*issues, *(i for i in check_snapshot(trace.final) if (i.code, i.refs) not in known))

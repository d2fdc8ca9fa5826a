"""All checks on one snapshot, and on the result of a trace."""

from __future__ import annotations

from ge_explorer.checks.dependencies import joined_streams, ordered_dependencies, subgraph_bodies
from ge_explorer.checks.identity import (
    activation_lists,
    dense_event_ids,
    dense_stream_ids,
    event_ends,
    own_stream_events,
    streamless_nodes,
    surplus_events,
    switch_senders,
)  # fmt: skip
from ge_explorer.checks.memory import verify_plan
from ge_explorer.checks.ordering import deadlock_issue, real_order
from ge_explorer.checks.topology import topological_order
from ge_explorer.graph.happens_before import DeadlockError
from ge_explorer.ids import Ref
from ge_explorer.issue import Issue
from ge_explorer.text import Text
from ge_explorer.trace.state import Snapshot
from ge_explorer.trace.trace import Trace

FAILED_STEP = "GX190"


def check_snapshot(s: Snapshot) -> tuple[Issue, ...]:
    """Issues of a snapshot, errors and notes, in a fixed order of checks.

    Checks whose facet does not exist yet are left out: no streams, no synchronisation checks. A snapshot with streams but
    without a sync facet counts as having no events, so on several streams its dependencies are reported. Never raises on a
    strange snapshot of a pass: a circle becomes GX111.
    """
    issues = list(topological_order(s))
    if s.streams is None or any(i.code == "GX123" for i in issues):
        return tuple(issues)
    for check in (streamless_nodes, dense_stream_ids, event_ends, own_stream_events, dense_event_ids, surplus_events,
                  switch_senders, activation_lists):  # fmt: skip
        issues.extend(check(s))
    try:
        strict = real_order(s)
    except DeadlockError as e:
        return (*issues, deadlock_issue(s, e))
    issues.extend(ordered_dependencies(s, strict))
    issues.extend(subgraph_bodies(s, strict))
    has_bodies = any(n.subgraphs for n in s.graph)
    try:
        full = real_order(s, holders=True) if has_bodies else strict
    except DeadlockError as e:
        return (*issues, deadlock_issue(s, e))
    issues.extend(joined_streams(s, full))
    issues.extend(verify_plan(s, strict))
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

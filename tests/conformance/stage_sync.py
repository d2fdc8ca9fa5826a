"""Activation and events on logical streams: insertion, the four optimisations, renumbering.

Compared are the steps up to ``RefreshContinuousEvents``; what GE does after them (reuse in multi-batch cases, attached streams,
switch and loop activation, generated Send and Recv nodes) is not modelled yet, so final counts are compared only where no
later step adds an event.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from conformance.build import build_snapshot, run_case
from conformance.registry import Case, Report, Unsupported, handles
from ge_explorer.errors import PassFailed
from ge_explorer.passes.sync.activate_by_label import ActivateByLabel
from ge_explorer.passes.sync.activate_by_subgraph import ActivateBySubgraph
from ge_explorer.passes.sync.insert_events import InsertEvents
from ge_explorer.passes.sync.optimize_by_activation import OptimizeByActivation
from ge_explorer.passes.sync.optimize_by_recv import OptimizeByRecv
from ge_explorer.passes.sync.optimize_by_send import OptimizeBySend
from ge_explorer.passes.sync.renumber_events import RenumberEvents
from ge_explorer.passes.sync.switch_clean_up import SwitchCleanUp
from ge_explorer.trace import Trace
from ge_explorer.trace.passes import Pass
from ge_explorer.trace.state import Event, Snapshot, SyncPlan

STATED = ("order", "sequence", "scope_order", "placement", "streams", "sync")
OPTIMISE: tuple[type[Pass], ...] = (OptimizeBySend, OptimizeByRecv, OptimizeByActivation, SwitchCleanUp)
CHAIN: tuple[type[Pass], ...] = (ActivateByLabel, ActivateBySubgraph, InsertEvents, *OPTIMISE, RenumberEvents)
GE_STEPS: Mapping[str, tuple[type[Pass], ...]] = {
    "SetActiveStreamsByLabel": (ActivateByLabel,),
    "SetActiveStreamsForSubgraphs": (ActivateBySubgraph,),
    "InsertSyncEvents": (InsertEvents,),
    "OptimizeByRecvEvents": (OptimizeByRecv,),
    "OptimizeByStreamActivate": (OptimizeByActivation,),
    "OptimizeSyncEvents": OPTIMISE,
}
WHOLE = "InsertSyncNodesByLogicStream"
STATUS = {"FAILED": "failed", "PARAM_INVALID": "PARAM_INVALID"}


def state_of(case: Case) -> Snapshot:
    """The stated graph and streams, and sync ids or activation maps the case sets by hand. -2 stands for a missing end."""
    state = build_snapshot(case)
    by_name = state.graph.by_name
    context = case.context
    streams = state.streams
    assert streams is not None
    node = streams.node.tolist()
    ends: dict[int, list[int]] = {}
    for place, key in enumerate(("send_ids", "recv_ids")):
        for name, ids in context.get(key, {}).items():
            for i in ids:
                ends.setdefault(i, [-2, -2])[place] = by_name[name]
    events = tuple(
        Event(i, i, a, b, node[a] if a >= 0 else -1, node[b] if b >= 0 else -1) for i, (a, b) in sorted(ends.items())
    )
    activated = {k: tuple(by_name[n] for n in v) for k, v in context.get("activated_labels", {}).items()}
    owned = {k: tuple(v) for k, v in context.get("labeled_streams", {}).items()}
    count = max(ends, default=-1) + 1
    plan = SyncPlan(events, label_activators=activated, label_streams=owned, next_uid=count, event_num=count)
    return state.evolve(sync=plan, streams=replace(streams, attached=streams.attached))


def need_events(case: Case) -> None:
    """Notifies are not modelled."""
    if case.options.get("ge.event") == "notify" or "notify" in (
        case.context.get("sync_kind"), case.call.get("sync_kind"),
    ):  # fmt: skip
        raise Unsupported("notifies")


def names_of(s: Snapshot) -> Callable[[int], str]:
    return lambda i: s.graph.node(i).name


def event_list(s: Snapshot) -> list[list[Any]]:
    """[id, sender, receiver] by id."""
    name = names_of(s)
    plan = s.sync
    assert plan is not None
    return [[e.id, name(e.send), name(e.recv)] for e in sorted(plan.events, key=lambda e: (e.id, e.uid))]


def kept(s: Snapshot) -> list[int]:
    """Surviving ids of the insertion."""
    assert s.sync is not None
    return sorted(e.id for e in s.sync.events)


def failure(trace: Trace) -> PassFailed | None:
    """GE's failure, if the trace ended in one."""
    step = trace.failed
    if step is None:
        return None
    assert isinstance(step.error, PassFailed), step.error
    return step.error


@handles(WHOLE)
def insert_sync_nodes(case: Case, report: Report) -> None:
    """Recorded steps up to renumbering."""
    need_events(case)
    trace = run_case(state_of(case), STATED, [p() for p in CHAIN])
    error = failure(trace)
    expect = case.expect
    failed_in = expect.get("failed_step", "")
    if failed_in == "InsertSyncEvents":
        report.equal("failed step", trace.failed and trace.failed.pass_.ge_name, failed_in)
        report.equal("status", error and error.ge_status, expect["status"])
        report.equal("report codes", error and [error.code], expect["report_codes"])
    else:
        report.equal("failed step", error and str(error), None)
    if error is not None:
        return
    compare_steps(trace, expect.get("steps", {}), report)


def compare_steps(trace: Trace, steps: Mapping[str, Mapping[str, Any]], report: Report) -> None:
    """Recorded steps against ours of the same GE name; steps after renumbering are not looked at."""

    def after(name: str) -> Snapshot:
        return trace.step(name).after

    if "PreProcessOfInsertSyncNodes" in steps:
        s = after("activate-by-subgraph")
        assert s.sync is not None
        name = names_of(s)
        got = {name(i): list(v) for i, v in s.sync.active_streams.items() if v}
        want = {k: v for k, v in steps["PreProcessOfInsertSyncNodes"]["active_streams"].items() if v}
        report.equal("active_streams", got, want)
    if "InsertSyncEvents" in steps:
        want_list = steps["InsertSyncEvents"]["event_list"]
        report.equal("InsertSyncEvents", event_list(after("insert-events")), want_list)
    for ge_name, ours in (
        ("OptimizeBySendEvents", "optimize-by-send"),
        ("OptimizeByRecvEvents", "optimize-by-recv"),
        ("OptimizeByStreamActivate", "optimize-by-activation"),
        ("OptimizeSyncEvents", "switch-clean-up"),
    ):
        if ge_name in steps:
            report.equal(ge_name, kept(after(ours)), sorted(steps[ge_name]["kept"]))
    if "RefreshContinuousEvents" in steps:
        final = after("renumber-events")
        assert final.sync is not None
        report.equal("RefreshContinuousEvents", event_list(final), steps["RefreshContinuousEvents"]["event_list"])
        report.equal("event count", final.sync.event_num, steps["RefreshContinuousEvents"]["count"])


@handles(
    "OptimizeByRecvEvents",
    "InsertSyncEvents",
    "SetActiveStreamsForSubgraphs",
    "InsertSyncEvents + OptimizeByStreamActivate",
    "SetActiveStreamsByLabel + OptimizeSyncEvents",
)
def single_steps(case: Case, report: Report) -> None:
    """A step or a few, from a state set by hand."""
    need_events(case)
    order = case.run.split(" + ")
    passes = [p() for name in order for p in GE_STEPS[name]]
    trace = run_case(state_of(case), STATED, passes)
    error = failure(trace)
    got = "success" if error is None else STATUS.get(error.ge_status, error.ge_status)
    report.equal("status", got, case.expect.get("status", "success"))
    for name, want in case.expect.get("steps", {}).items():
        ours = [s for s in trace.steps if s.pass_.name in {p.name for p in GE_STEPS[name]}]
        if "status" in want:
            report.equal(f"{name} status", all(s.status != "failed" for s in ours), want["status"] == "success")
    inserted = trace.step("insert-events").after if "InsertSyncEvents" in order else None
    if inserted is not None:
        pairs = [[a, b] for _, a, b in event_list(inserted)]
        if "event_count" in case.expect:
            report.equal("event_count", len(pairs), case.expect["event_count"])
        if "events" in case.derived:
            report.hint("events", pairs, case.derived["events"])
    if "active_streams" in case.derived:
        s = trace.steps[-1].after
        assert s.sync is not None
        name = names_of(s)
        report.hint(
            "active", {name(i): list(v) for i, v in s.sync.active_streams.items()}, case.derived["active_streams"]
        )

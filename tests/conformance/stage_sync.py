"""Activation and events on logical streams: insertion, the four optimisations, renumbering.

Every recorded step is compared, then the graph with its generated nodes. ``stage_split.py`` goes on from here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from conformance.build import build_snapshot, run_case
from conformance.registry import Case, Report, handles
from ge_explorer.errors import PassFailed
from ge_explorer.passes.sync.activate_by_label import ActivateByLabel
from ge_explorer.passes.sync.activate_by_subgraph import ActivateBySubgraph
from ge_explorer.passes.sync.activate_by_switch import ActivateBySwitch
from ge_explorer.passes.sync.activate_loop import ActivateLoop
from ge_explorer.passes.sync.attached_events import AttachedEvents, attached_event
from ge_explorer.passes.sync.attached_resources import AttachedResources
from ge_explorer.passes.sync.cover_netoutput import CoverNetOutput
from ge_explorer.passes.sync.generate_sync_nodes import GenerateSyncNodes
from ge_explorer.passes.sync.insert_events import InsertEvents
from ge_explorer.passes.sync.optimize_by_activation import OptimizeByActivation
from ge_explorer.passes.sync.optimize_by_recv import OptimizeByRecv
from ge_explorer.passes.sync.optimize_by_send import OptimizeBySend
from ge_explorer.passes.sync.renumber_events import RenumberEvents
from ge_explorer.passes.sync.reuse_events import ReuseEvents
from ge_explorer.passes.sync.switch_activation import check_labels
from ge_explorer.passes.sync.switch_clean_up import SwitchCleanUp
from ge_explorer.trace import Trace
from ge_explorer.trace.passes import Pass
from ge_explorer.trace.state import Event, Snapshot, SyncPlan

STATED = ("order", "sequence", "scope_order", "placement", "streams", "sync")
OPTIMISE: tuple[type[Pass], ...] = (OptimizeBySend, OptimizeByRecv, OptimizeByActivation, SwitchCleanUp)
CHAIN: tuple[type[Pass], ...] = (ActivateByLabel, ActivateBySubgraph, InsertEvents, *OPTIMISE, RenumberEvents)
REST: tuple[type[Pass], ...] = (
    ReuseEvents, AttachedEvents, ActivateBySwitch, ActivateLoop, CoverNetOutput, GenerateSyncNodes, AttachedResources,
)  # fmt: skip
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
    notify = case.options.get("ge.event") == "notify" or context.get("sync_kind") == "notify"
    ends: dict[int, list[int]] = {}
    for place, key in enumerate(("send_ids", "recv_ids")):
        for name, ids in context.get(key, {}).items():
            for i in ids:
                ends.setdefault(i, [-2, -2])[place] = by_name[name]
    events = tuple(
        Event(i, i, a, b, node[a] if a >= 0 else -1, node[b] if b >= 0 else -1,
              "notify" if notify else "event")
        for i, (a, b) in sorted(ends.items())
    )  # fmt: skip
    activated = {k: tuple(by_name[n] for n in v) for k, v in context.get("activated_labels", {}).items()}
    owned = {k: tuple(v) for k, v in context.get("labeled_streams", {}).items()}
    following = max(ends, default=-1) + 1
    plan = SyncPlan(events, label_activators=activated, label_streams=owned, next_uid=following,
                    event_num=0 if notify else following, notify_num=following if notify else 0)  # fmt: skip
    attached = {**streams.attached, **{by_name[k]: tuple(v) for k, v in context.get("attached_streams", {}).items()}}
    given = {i: ids for i, ids in attached.items() if any(x >= 0 for x in ids)}
    count = int(context.get("stream_num", max([-1, *node, *(x for ids in given.values() for x in ids)]) + 1))
    return state.evolve(sync=plan, streams=replace(streams, attached=given, next_stream=count))


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
    """Every step, the failing one included, and the final node lists."""
    trace = run_case(state_of(case), STATED, [p() for p in (*CHAIN, *REST)])
    if compare_failure(case, trace, report):
        return
    compare_steps(trace, case.expect.get("steps", {}), report)
    compare_final(trace.final, case.expect, report)


FAILS_IN = {
    "UpdateStreamSwitchByLogicStream": "activate-by-switch",
    "InsertSyncEvents": "insert-events",
    "AttachedNotify": "attached-resources",
}


def compare_failure(case: Case, trace: Trace, report: Report) -> bool:
    """Compare how the run ended; True when it failed on either side."""
    error, expect = failure(trace), case.expect
    want = expect.get("status", "success")
    if want == "success":
        report.equal("status", "success" if error is None else str(error), want)
    elif want == "failed":
        report.true("status failed", error is not None)
    else:
        report.equal("status", error and error.ge_status, want)
        if "failed_step" in expect:
            step = trace.failed
            report.equal("failed step", step and step.pass_.name, FAILS_IN[expect["failed_step"]])
        if "report_codes" in expect:
            report.equal("report codes", error and [error.code], expect["report_codes"])
    return error is not None or want != "success"


def compare_steps(trace: Trace, steps: Mapping[str, Mapping[str, Any]], report: Report) -> None:
    """Recorded steps against ours of the same GE name."""

    def after(name: str) -> Snapshot:
        return trace.step(name).after

    if "PreProcessOfInsertSyncNodes" in steps:
        want = given_lists(steps["PreProcessOfInsertSyncNodes"]["active_streams"])
        report.equal("active_streams", active_lists(after("activate-by-subgraph")), want)
    for ge_name, ours in (
        ("OptimizeBySendEvents", "optimize-by-send"),
        ("OptimizeByRecvEvents", "optimize-by-recv"),
        ("OptimizeByStreamActivate", "optimize-by-activation"),
        ("OptimizeSyncEvents", "switch-clean-up"),
    ):
        if ge_name in steps:
            report.equal(ge_name, kept(after(ours)), sorted(steps[ge_name]["kept"]))
    for ge_name, ours in (
        ("InsertSyncEvents", "insert-events"),
        ("RefreshContinuousEvents", "renumber-events"),
        ("RefreshContinuousNotifies", "renumber-events"),
        ("RefreshEventsAndNotifiesWithReuse", "reuse-events"),
    ):
        row = steps.get(ge_name, {})
        s = after(ours)
        assert s.sync is not None
        if "event_list" in row:
            report.equal(ge_name, event_list(s), row["event_list"])
        if "count" in row:
            report.equal(f"{ge_name} count", max(s.sync.event_num, s.sync.notify_num), row["count"])


def active_lists(s: Snapshot) -> dict[str, list[int]]:
    """Non-empty active stream lists by name."""
    name = names_of(s)
    assert s.sync is not None
    plan = s.physical.sync if s.physical is not None else s.sync
    return {name(i): list(v) for i, v in plan.active_streams.items() if v}


def given_lists(recorded: Mapping[str, Any]) -> dict[str, list[int]]:
    """Non-empty lists of a recording."""
    return {k: v for k, v in recorded.items() if v}


def compare_final(s: Snapshot, expect: Mapping[str, Any], report: Report) -> None:
    """Counts, node lists with streams, active lists, attached streams, resource ids."""
    assert s.sync is not None
    assert s.streams is not None
    physical = s.physical
    plan = physical.sync if physical is not None else s.sync
    count = physical.count if physical is not None else s.streams.next_stream
    node = physical.node if physical is not None else s.streams.node
    attached = physical.attached if physical is not None else s.streams.attached
    for key, got in (("stream_count", count), ("event_count", plan.event_num), ("notify_count", plan.notify_num)):
        if key in expect:
            report.equal(key, got, expect[key])
    graph = s.graph
    if "node_order" in expect:
        for scope in (x for x in graph.scopes if x is not None and x.name in expect["node_order"]):
            got_list = [[graph.node(i).name, int(node[i])] for i in scope.nodes]
            report.equal(f"node order of {scope.name}", got_list, expect["node_order"][scope.name])
    if "active_streams" in expect:
        report.equal("active_streams", active_lists(s), given_lists(expect["active_streams"]))
    if "active_label_lists" in expect:
        got_labels = {n.name: list(n.attrs["_active_label_list"]) for n in graph if n.attrs.get("_active_label_list")}
        report.equal("active_label_lists", got_labels, {k: v for k, v in expect["active_label_lists"].items() if v})
    if "attached_streams" in expect:
        report.equal("attached", {graph.node(i).name: list(v) for i, v in attached.items()}, expect["attached_streams"])
    if "attached_resource_ids" in expect:
        ids = {k: resource_ids(s, k) for k in expect["attached_resource_ids"]}
        report.equal("resources", ids, expect["attached_resource_ids"])


def resource_ids(s: Snapshot, name: str) -> list[int]:
    """Resource id of every newer entry of a node, -1 where none was given."""
    rows = s.graph.node(name).attrs.get("_attached_sync_res_info_list", ())
    return [int(r.get("_attached_resource_id", -1)) for r in rows]


@handles(
    "OptimizeByRecvEvents",
    "InsertSyncEvents",
    "SetActiveStreamsForSubgraphs",
    "InsertSyncEvents + OptimizeByStreamActivate",
    "SetActiveStreamsByLabel + OptimizeSyncEvents",
)
def single_steps(case: Case, report: Report) -> None:
    """A step or a few, from a state set by hand."""
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


@handles("InsertOneEventInTwoNodesWithAttachedStream")
def one_attached_event(case: Case, report: Report) -> None:
    """One pair of nodes."""
    s, call = state_of(case), case.call
    ends = [s.graph.by_name[call[k]] for k in ("from", "to")]
    e = None if call["sync_kind"] == "notify" else attached_event(s, 0, 0, *ends)
    attached_counts(case, s, [e] if e is not None else [], report)


@handles("InsertSyncEventsWithAttachedStream")
def attached_waits(case: Case, report: Report) -> None:
    """Value dependencies of attached streams."""
    trace = run_case(state_of(case), STATED, [AttachedEvents()])
    if not compare_failure(case, trace, report):
        assert trace.final.sync is not None
        attached_counts(case, trace.final, trace.final.sync.events, report)


def attached_counts(case: Case, s: Snapshot, events: Sequence[Event], report: Report) -> None:
    """Events per node on its main and attached stream."""
    report.equal("status", "success", case.expect["status"])
    for end in ("send", "recv"):
        for place in ("main", "attached"):
            want = case.expect.get(f"{place}_{end}", {})
            got = {
                k: sum(getattr(e, end) == s.graph.by_name[k] and getattr(e, f"{end}_on") == place for e in events)
                for k in want
            }
            report.equal(f"{place}_{end}", got, want)


@handles("AddActiveNodes")
def active_nodes(case: Case, report: Report) -> None:
    """A label nobody has is an error."""
    s = state_of(case)
    assert s.sync is not None
    try:
        check_labels(s, s.graph.by_name[case.call["node"]], case.call["labels"], s.sync.label_streams)
    except PassFailed:
        report.equal("status", "failed", case.expect["status"])
    else:
        report.equal("status", "success", case.expect["status"])

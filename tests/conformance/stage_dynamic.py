"""Dynamic-shape graphs: engine streams, automatic modes, events as id lists on nodes, attached resources."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from conformance.build import build_snapshot, run_case
from conformance.registry import Case, Report, Unsupported, handles
from conformance.stage_logical import PARTITION, clusters, is_dynamic
from ge_explorer.errors import PassFailed
from ge_explorer.passes.dynamic import DYNAMIC_STEPS
from ge_explorer.passes.dynamic.enable import AC_PARALLEL, ENABLE, ac_parallel, multi_stream_enabled
from ge_explorer.passes.dynamic.refresh_by_engine_priority import UNSTABLE_SORT
from ge_explorer.passes.dynamic.refresh_by_node import RefreshByNode
from ge_explorer.registry import Registry
from ge_explorer.trace import Trace
from ge_explorer.trace.passes import Pass, PassContext, Rule
from ge_explorer.trace.state import Clusters, Snapshot, SyncPlan, int_array

STEPS: Registry[type[Pass]] = Registry("pass", dict(DYNAMIC_STEPS))
ATTACHED = ("dynamic-attached-streams", "dynamic-attached-notifies")
ALLOCATOR = tuple(name for name, _ in DYNAMIC_STEPS if name not in ATTACHED)
STATED = ("placement", "streams", "order", "sequence", "scope_order")
COMPARED = {
    "status", "stream_count", "event_count", "notify_count", "node_streams", "send_counts", "recv_counts", "send_event_ids",
    "recv_event_ids", "clusters", "stream_nodes",
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class UserStreamPass(Pass):
    """The user's stream pass of a case: moves nodes to given streams, or to the next free one."""

    name: ClassVar[str] = "user-stream-pass"
    reads: ClassVar[frozenset[str]] = frozenset({"graph", "streams"})
    writes: ClassVar[frozenset[str]] = frozenset({"streams"})
    rules: ClassVar[Mapping[str, Rule]] = {}
    assign: tuple[tuple[str, int | str], ...] = ()

    def run(self, s: Snapshot, ctx: PassContext) -> Snapshot:
        """Snapshot with the nodes moved and the new ids counted."""
        assert s.streams is not None
        node, following = s.streams.node.copy(), s.streams.next_stream
        for name, target in self.assign:
            node[s.graph.by_name[name]] = following if target == "next" else target
            following += target == "next"
        return s.evolve(streams=replace(s.streams, node=int_array(node), next_stream=following, main_count=following))


# -------------------------------------------------------------------- cases
@handles("whole", when=is_dynamic)
def whole(case: Case, report: Report) -> None:
    """Partition, allocation, events. The recordings ran the allocator, so it counts as switched on."""
    state = switched_on(build_snapshot(case))
    trace = run_case(state, ("placement", "streams"), PARTITION)
    assert trace.failed is None, trace.failed.error
    start = replace(trace.final, streams=state.streams)
    compare(case, run_case(start, (*STATED, "clusters"), passes(ALLOCATOR)), report)


@handles("AssignStreamsForDynamicShapeGraph")
def allocate(case: Case, report: Report) -> None:
    """The allocator on clusters given by hand."""
    state = switched_on(build_snapshot(case))
    run = passes(ALLOCATOR)
    if case.raw.get("custom_pass"):
        moved = UserStreamPass(assign=tuple(case.raw["custom_pass"]["assign"].items()))
        run.insert([p.name for p in run].index("dynamic-refresh-by-node"), moved)
    compare(case, run_case(state, (*STATED, "clusters"), run), report)


@handles("RefreshContinuousStreamsByNodeIds")
def refresh(case: Case, report: Report) -> None:
    """One step of an automatic mode, on streams set by hand."""
    state = switched_on(build_snapshot(case), {"ge.autoMultistreamParallelMode": "LoadBalance:8"})
    empty = {s.id: () for s in state.graph.scopes if s is not None}
    state = replace(state, clusters=Clusters((), empty, int_array([-1] * state.graph.id_bound)))
    compare(case, run_case(state, (*STATED, "clusters"), [RefreshByNode()]), report)


@handles("AssignAttachedResource")
def attached(case: Case, report: Report) -> None:
    """Attached streams and notifies, counted on from the stated numbers."""
    state = build_snapshot(case)
    assert state.streams is not None
    context = case.context
    state = replace(
        state,
        streams=replace(state.streams, next_stream=int(context["stream_num"])),
        sync=SyncPlan(event_num=int(context["event_num"]), notify_num=int(context["notify_num"])),
    )
    trace = run_case(state, (*STATED, "sync"), passes(ATTACHED))
    report.equal("status", "success" if trace.failed is None else str(trace.failed.error), case.expect["status"])
    final = trace.final
    assert final.streams is not None and final.sync is not None
    report.equal("stream_count", final.streams.next_stream, case.expect["stream_count"])
    report.equal("notify_count", final.sync.notify_num, case.expect["notify_count"])
    report.equal("event_count", final.sync.event_num, case.expect["event_count"])


@handles("GetAcParallelEnableConfig")
def read_ac_parallel(case: Case, report: Report) -> None:
    try:
        ac_parallel(case.options.get(AC_PARALLEL, ""))
    except PassFailed as e:
        report.equal("status", "failed", case.expect["status"])
        report.hint("status", e.ge_status, case.derived.get("status"))
        report.hint("report_code", e.code, case.derived.get("report_code"))
        return
    report.equal("status", "success", case.expect["status"])


@handles("EnableDynamicShapeMultiStream")
def enabled(case: Case, report: Report) -> None:
    """Only the environment variable counts, whatever the options say."""
    value = {**case.options, **{k: v or "" for k, v in case.call["env"].items()}}.get(ENABLE, "")
    report.equal("return", multi_stream_enabled(value), case.expect["return"])


# -------------------------------------------------------------------- running
def passes(names: tuple[str, ...]) -> list[Pass]:
    return [STEPS.get(name)() for name in names]


def switched_on(state: Snapshot, more: Mapping[str, str] | None = None) -> Snapshot:
    return replace(state, options=replace(state.options, values={**state.options.values, ENABLE: "1", **(more or {})}))


# -------------------------------------------------------------------- comparing
def compare(case: Case, trace: Trace, report: Report) -> None:
    """Every stated value against the trace."""
    unknown = sorted(case.expect.keys() - COMPARED)
    if unknown:
        raise Unsupported(f"expects {unknown[0]}")
    expect, s = case.expect, trace.final
    failed = trace.failed
    want = expect["status"]
    if want != "success":
        report.true("status failed", failed is not None and isinstance(failed.error, PassFailed))
        return
    report.equal("status", "success" if failed is None else str(failed.error), want)
    if failed is not None:
        return
    if "clusters" in expect:
        clusters(s, expect["clusters"], report)
    assert s.streams is not None
    streams = {n.name: int(s.streams.node[n.id]) for n in s.graph}
    if "stream_count" in expect:
        report.equal("stream_count", s.streams.main_count, expect["stream_count"])
    if "node_streams" in expect:
        report.equal("node_streams", {k: streams[k] for k in expect["node_streams"]}, dict(expect["node_streams"]))
    for stream, names in expect.get("stream_nodes", {}).items():
        report.equal(f"nodes of stream {stream}", dynamic_nodes_on(s, int(stream)), list(names))
    events(s, expect, report)
    if case.level == "oracle":
        unstable(case, trace, report)
    if "events" in case.derived:
        assert s.sync is not None
        name = s.graph.unique_names
        pairs = sorted([name[e.send], name[e.recv]] for e in s.sync.events)
        report.hint("events", pairs, sorted(map(list, case.derived["events"])))
    if case.order_dependent:
        report.relaxed(
            "stream sizes", sizes(streams[k] for k in expect["node_streams"]), sizes(expect["node_streams"].values())
        )
        report.relaxed("event count", len(s.sync.events) if s.sync is not None else 0, expect["event_count"])


def events(s: Snapshot, expect: Mapping[str, Any], report: Report) -> None:
    """Counts and id lists per node."""
    plan = s.sync or SyncPlan()
    send: dict[str, list[int]] = {}
    recv: dict[str, list[int]] = {}
    for e in plan.events:
        send.setdefault(s.graph.node(e.send).name, []).append(e.id)
        recv.setdefault(s.graph.node(e.recv).name, []).append(e.id)
    if "event_count" in expect:
        report.equal("event_count", plan.event_num, expect["event_count"])
        report.equal("events alive", len(plan.events), expect["event_count"])
    whole_list = "clusters" in expect
    for key, got in (("send_event_ids", send), ("recv_event_ids", recv)):
        if key in expect:
            shown = got if whole_list else {k: got.get(k, []) for k in expect[key]}
            report.equal(key, shown, {k: list(v) for k, v in expect[key].items()})
    for key, got in (("send_counts", send), ("recv_counts", recv)):
        if key in expect:
            report.equal(key, {k: len(got.get(k, ())) for k in expect[key]}, dict(expect[key]))


def unstable(case: Case, trace: Trace, report: Report) -> None:
    """GX330 stands exactly where the unpatched code came out differently; an automatic mode renumbers and may hide it."""
    warned = any(i.code == UNSTABLE_SORT for i in trace.issues)
    tagged = "comparator_ub" in case.raw.get("tags", ())
    if tagged or "ge.autoMultistreamParallelMode" not in case.options:
        report.equal("warning about the engine sort", warned, tagged)


def dynamic_nodes_on(s: Snapshot, stream: int) -> list[str]:
    assert s.streams is not None
    scopes = [0, *(i for i in s.scope_order or () if s.graph.scope(i).dynamic)]
    nodes = [i for k in scopes for i in s.graph.scope(k).nodes]
    return [s.graph.node(i).name for i in nodes if int(s.streams.node[i]) == stream]


def sizes(values: Any) -> list[int]:
    count: dict[int, int] = {}
    for v in values:
        count[v] = count.get(v, 0) + 1
    return sorted(count.values(), reverse=True)

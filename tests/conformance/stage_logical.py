"""Logical streams: user labels, partition, every pass of the chain, automatic modes, renumbering."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from conformance.build import build_snapshot, node_entries, run_case
from conformance.registry import Case, Report, Unsupported, handles
from conformance.stage_attached import compare_attached_streams
from ge_explorer.errors import PassFailed
from ge_explorer.graph.model import Graph
from ge_explorer.passes.partition.mark_cv_parallel import MarkCvParallel
from ge_explorer.passes.partition.second_partition import SecondPartition
from ge_explorer.passes.partition.topological_sort import TopologicalSort
from ge_explorer.passes.partition.user_stream_labels import UserStreamLabels
from ge_explorer.passes.streams.all_reduce_parallel import AllReduceParallel
from ge_explorer.passes.streams.assign_by_dependency import AssignByDependency
from ge_explorer.passes.streams.assign_by_label import AssignByLabel
from ge_explorer.passes.streams.attach_streams import AttachStreams
from ge_explorer.passes.streams.custom_stream import StreamFunction, StreamPassContext, custom_stream
from ge_explorer.passes.streams.dag.mode import KEY, mode_text, parse_mode
from ge_explorer.passes.streams.independent_stream import IndependentStream
from ge_explorer.passes.streams.mde_group import MdeGroup
from ge_explorer.passes.streams.mini_dag import MiniDag
from ge_explorer.passes.streams.node_stream_update import NodeStreamUpdate
from ge_explorer.passes.streams.optimize_ineffective import OptimizeIneffective
from ge_explorer.passes.streams.parallel_group import ParallelGroup
from ge_explorer.passes.streams.refresh_streams import RefreshStreams
from ge_explorer.passes.streams.single_stream import SingleStream
from ge_explorer.passes.streams.skipped_engine import SkippedEngine
from ge_explorer.trace import Step, Trace
from ge_explorer.trace.passes import Pass
from ge_explorer.trace.state import Clusters, Snapshot, int_array

PARTITION: tuple[Pass, ...] = (
    UserStreamLabels(), TopologicalSort(), MarkCvParallel(), SecondPartition(), TopologicalSort(),
)  # fmt: skip
CHAIN: tuple[Pass, ...] = (
    SingleStream(), MdeGroup(), AssignByLabel(), IndependentStream(), AssignByDependency(), NodeStreamUpdate(),
    ParallelGroup(), AllReduceParallel(), SkippedEngine(),
)  # fmt: skip
SINGLE_CHAIN = {"SingleStreamPass", "NodeStreamUpdatePass", "UpdateForSkippedEnginePass"}
ORDER = ("order", "sequence", "scope_order")

COMPARED = {
    "status", "node_streams", "cluster_streams", "same_stream", "different_stream", "stream_count", "main_stream_count",
    "clusters", "passes", "after_custom_pass", "report_code", "report_codes", "max_stream", "node_attrs", "stream_labels",
    "all_nodes_on_stream", "assigned", "message_order", "attached_streams", "attached_stream_number",
    "same_attached_streams", "different_attached_streams",
}  # fmt: skip
EVENTS = {"send_count", "recv_count"}


def is_dynamic(case: Case) -> bool:
    return bool(case.graph.get("dynamic"))


LATE_FACTS = {"attached_valid", "control_out", "inserted", "different_attached_streams", "logical_streams"}


def beyond_streams(case: Case) -> bool:
    """A compile whose facts lie behind the logical streams (stage_compile.py)."""
    late = bool(LATE_FACTS & case.expect.keys()) or "tasks" in case.raw or "max_tasks_per_stream" in case.context
    return case.level == "system" and late and not is_dynamic(case)


@handles("whole", when=lambda case: not is_dynamic(case) and not beyond_streams(case))
def whole(case: Case, report: Report) -> None:
    """LogicalStreamAllocator::Assign with the partition before it (none when clusters are given by hand)."""
    refuse(case)
    own = case.raw.get("custom_pass")
    stages: tuple[Pass, ...] = (custom_stream(assigning(own["assign"])),) if own else ()
    trace = run_case(
        *prepare(case), (*CHAIN, OptimizeIneffective(), MiniDag(), *stages, RefreshStreams(), AttachStreams())
    )
    compare(case, trace, report)


def assigning(wanted: Mapping[str, int | str]) -> StreamFunction:
    """The user pass of a case."""

    def user_pass(ctx: StreamPassContext) -> None:
        for name, stream in wanted.items():
            ctx.set_stream(name, ctx.allocate_next_stream() if stream == "next" else int(stream))

    return user_pass


@handles("RunPasses")
def run_passes(case: Case, report: Report) -> None:
    """The pass chain alone, without topology clean-up and renumbering."""
    refuse(case)
    compare(case, run_case(*prepare(case), CHAIN), report)


@handles("OptimizeIneffectiveMultiStreamPass")
def topology_clean_up(case: Case, report: Report) -> None:
    """One pass on given streams."""
    state = build_snapshot(case)
    if state.clusters is None:
        empty = {s.id: () for s in state.graph.scopes if s is not None}
        state = replace(state, clusters=Clusters((), empty, int_array([-1] * state.graph.id_bound)))
    facets = ("placement", "clusters", "streams", *ORDER)
    compare(case, run_case(state, facets, [OptimizeIneffective()]), report)


@handles("TransUserStreamLabel")
def user_labels(case: Case, report: Report) -> None:
    compare(case, run_case(build_snapshot(case), ("streams",), [UserStreamLabels()]), report)


@handles("ParseAutoMultistreamParallelMode")
def parse(case: Case, report: Report) -> None:
    try:
        mode = parse_mode(case.call["mode"], from_graph=bool(case.call.get("from_graph")))
    except PassFailed:
        report.equal("status", "failed", case.expect["status"])
        return
    report.equal("status", "success", case.expect["status"])
    text = mode.strategy if mode.kind == "dag" else {"unset": ""}.get(mode.kind, mode.kind)
    for key, got in (("mode", text), ("max_stream_num", mode.limit)):
        if key in case.expect:
            report.equal(key, got, case.expect[key])


@handles("GetAutoMultistreamParallelMode")
def look_up(case: Case, report: Report) -> None:
    graph = Graph("g", (), (), (), (), (), dict(case.call.get("graph_attrs", {})))
    text, from_graph = mode_text(graph, case.options.get(KEY, ""))
    report.equal("mode", text, case.expect["mode"])
    if "from_graph" in case.expect:
        report.equal("from_graph", from_graph, case.expect["from_graph"])


# -------------------------------------------------------------------- running
def refuse(case: Case) -> None:
    """Unsupported features, found before anything runs."""
    if "tasks" in case.raw or "max_tasks_per_huge_stream" in case.context:
        raise Unsupported("physical split")
    unknown = sorted(case.expect.keys() - COMPARED - EVENTS)
    if unknown:
        raise Unsupported(f"expects {unknown[0]}")
    if EVENTS & case.expect.keys() and event_passes() is None:
        raise Unsupported("events")


def event_passes() -> tuple[Pass, ...] | None:
    """Event steps, once they exist."""
    from ge_explorer.errors import OptionError
    from ge_explorer.pipelines import PASSES

    names = ("activate-by-label", "activate-by-subgraph", "insert-events", "optimize-by-send", "optimize-by-recv",
             "optimize-by-activation", "switch-clean-up", "renumber-events")  # fmt: skip
    try:
        return tuple(PASSES.get(n)() for n in names)
    except (ImportError, AttributeError, OptionError):
        return None


def prepare(case: Case) -> tuple[Snapshot, tuple[str, ...]]:
    """Start state: after the partition, or with the clusters of the case."""
    state = build_snapshot(case)
    if case.context.get("option_name_map"):
        names = json.dumps(case.context["option_name_map"])
        options = replace(state.options, values={**state.options.values, "ge.optionNameMap": names})
        state = replace(state, options=options)
    facets: tuple[str, ...] = ("placement", "streams")
    if case.context.get("clusters") == "none":
        nothing = {x.id: () for x in state.graph.scopes if x is not None}
        state = replace(state, clusters=Clusters((), nothing, int_array([-1] * state.graph.id_bound)))
    if state.clusters is not None:
        return state, (*facets, "clusters", *ORDER)
    trace = run_case(state, facets, PARTITION)
    if trace.failed is not None:
        raise AssertionError(f"partition failed: {trace.failed.error}")
    return replace(trace.final, streams=state.streams), (*facets, "clusters", *ORDER)


# -------------------------------------------------------------------- comparing
def compare(case: Case, trace: Trace, report: Report) -> None:
    """Every stated value against the trace."""
    expect, s = case.expect, trace.final
    failed = trace.failed
    error = failed.error if failed is not None else None
    want = expect.get("status", "success")
    if want == "success":
        report.equal("status", "success" if error is None else str(error), want)
    elif want == "failed":
        report.true("status failed", error is not None)
    elif want == "not_changed":
        report.equal("status", status_of(trace.steps[-1]), want)
    else:
        report.equal("status", getattr(error, "ge_status", "success"), want)
    code = getattr(error, "code", "")
    if "report_code" in expect:
        report.equal("report_code", code, expect["report_code"])
    if "report_codes" in expect:
        report.equal("report_codes", [code], expect["report_codes"])
    if "message_order" in expect:
        text = str(error)
        places = [text.find(word) for word in expect["message_order"]]
        report.true("message names both options in order", -1 not in places and places == sorted(places), text)
    if "clusters" in expect:
        clusters(s, expect["clusters"], report)
    if "passes" in expect:
        steps(case, trace, report)
    if failed is None:
        state(case, trace, expect, report.equal, report)
        state(case, trace, case.derived, report.hint, report)
        if case.order_dependent and "node_streams" in expect:
            names = list(expect["node_streams"])
            streams = node_streams(s)
            report.relaxed("count", len({streams[n] for n in names}), len(set(expect["node_streams"].values())))
            report.relaxed("stream sizes", sizes(streams[n] for n in names), sizes(expect["node_streams"].values()))
    elif "report_code" in case.derived:
        report.hint("report_code", code, case.derived["report_code"])


def sizes(values: Iterable[int]) -> list[int]:
    """How many nodes each stream has, largest first."""
    count: dict[int, int] = {}
    for v in values:
        count[v] = count.get(v, 0) + 1
    return sorted(count.values(), reverse=True)


def status_of(step: Step) -> str:
    """GE's status of a step in the words of the case files; a skipped step changed nothing."""
    if step.status == "skipped":
        return "not_changed"
    return {"SUCCESS": "success", "NOT_CHANGED": "not_changed"}.get(step.ge_status, step.ge_status)


def node_streams(s: Snapshot) -> dict[str, int]:
    assert s.streams is not None
    return {n.name: int(s.streams.node[n.id]) for n in s.graph}


def cluster_stream(s: Snapshot, name: str) -> Any:
    """Common stream of the nodes of a cluster of the case; a list when they differ."""
    assert s.clusters is not None
    assert s.streams is not None
    for c in s.clusters.items:
        if c.name == name:
            found = sorted({int(s.streams.node[i]) for i in c.nodes})
            return found[0] if len(found) == 1 else found
    raise KeyError(name)


def state(case: Case, trace: Trace, expect: Mapping[str, Any], equal: Any, report: Report) -> None:
    """Final streams, counts, labels, attributes."""
    s = trace.final
    entries = node_entries(case)
    if s.streams is None:
        return
    streams = node_streams(s)

    def of(name: str) -> Any:
        return streams[name] if name in entries else cluster_stream(s, name)

    if "node_streams" in expect:
        equal("node_streams", {k: streams[k] for k in expect["node_streams"]}, expect["node_streams"])
    if "cluster_streams" in expect:
        equal("cluster_streams", {k: of(k) for k in expect["cluster_streams"]}, expect["cluster_streams"])
    for group in expect.get("same_stream", ()):
        equal(f"same_stream {group}", len({str(of(n)) for n in group}), 1)
    for group in expect.get("different_stream", ()):
        equal(f"different_stream {group}", len({str(of(n)) for n in group}), len(group))
    if "stream_count" in expect:
        equal("stream_count", s.streams.next_stream, expect["stream_count"])
    if case.level == "oracle" and "attached_streams" in expect:
        got = {s.graph.node(i).name: list(v) for i, v in s.streams.attached.items()}
        equal("attached_streams", got, expect["attached_streams"])
    elif expect.keys() & {"attached_streams", "attached_stream_number", "same_attached_streams"}:
        compare_attached_streams(s, expect, report, case)
    if "main_stream_count" in expect:
        equal("main_stream_count", s.streams.main_count, expect["main_stream_count"])
    if "max_stream" in expect:
        equal("max_stream", max(streams.values()), expect["max_stream"])
    if "all_nodes_on_stream" in expect:
        equal("all_nodes_on_stream", sorted(set(streams.values()) - {-1}), [expect["all_nodes_on_stream"]])
    for name in expect.get("assigned", ()):
        equal(f"assigned {name}", streams[name] >= 0, True)
    for name, attrs in expect.get("node_attrs", {}).items():
        have = s.graph.node(name).attrs
        equal(f"attributes of {name}", {k: have.get(k) for k in attrs}, dict(attrs))
    if "stream_labels" in expect:
        labels: dict[str, str] = {}
        for n in s.graph:
            if streams[n.name] >= 0:
                labels[str(streams[n.name])] = str(n.attrs.get("_user_stream_label", ""))
        equal("stream_labels", labels, dict(expect["stream_labels"]))
    if "after_custom_pass" in expect:
        custom(case, trace, expect["after_custom_pass"], report)
    if EVENTS & expect.keys():
        passes = event_passes()
        assert passes is not None
        facets = ("placement", "clusters", "streams", *ORDER)
        after = run_case(s, facets, passes)
        count = (
            len(after.final.sync.events) if after.final.sync is not None else str(after.failed and after.failed.error)
        )
        for key in sorted(EVENTS & expect.keys()):
            equal(key, count, expect[key])


def custom(case: Case, trace: Trace, expect: Any, report: Report) -> None:
    """State between the automatic-mode pass and the renumbering."""
    step = next(x for x in trace if x.pass_.name == "mini-dag")
    assert step.after.streams is not None
    after = step.after.streams
    report.equal("after_custom_pass next_stream", after.next_stream, expect["next_stream"])
    if "custom_logical_stream_ids" in expect:
        ids = ",".join(map(str, after.custom))
        report.equal("after_custom_pass ids of the pass", ids, expect["custom_logical_stream_ids"])
    by_graph = {scope.name: scope for scope in step.after.graph.scopes if scope is not None}
    for name, streams in expect.get("streams", {}).items():
        got = [int(after.node[i]) for i in by_graph[name].nodes]
        report.equal(f"after_custom_pass streams of {name}", got, streams)


def clusters(s: Snapshot, expect: Mapping[str, Any], report: Report) -> None:
    """Second partition per graph, in allocator order; names of the recording stand for list positions."""
    assert s.clusters is not None
    by_graph = {scope.name: scope for scope in s.graph.scopes if scope is not None}
    for name, rows in expect.items():
        scope = by_graph[name]
        ids = s.clusters.by_scope.get(scope.id, ())
        position = {i: rows[k]["name"] if k < len(rows) else f"#{k}" for k, i in enumerate(ids)}
        got = []
        for i in ids:
            c = s.clusters.items[i]
            got.append(
                {
                    "engine": c.engine, "stream_label": c.stream_label, "user_stream_label": c.user_label,
                    "nodes": [s.graph.node(n).name for n in c.nodes], "inputs_from": [position[p] for p in c.pred],
                }
            )  # fmt: skip
        want = [
            {
                "engine": r["engine"], "stream_label": r.get("stream_label", ""),
                "user_stream_label": r.get("user_stream_label", ""), "nodes": list(r["nodes"]),
                "inputs_from": list(r["inputs_from"]),
            }
            for r in rows
        ]  # fmt: skip
        report.equal(f"clusters of {name}", got, want)


def steps(case: Case, trace: Trace, report: Report) -> None:
    """Every recorded step of every graph, in processing order."""
    by_graph = {scope.name: scope for scope in trace.final.graph.scopes if scope is not None}
    single = case.options.get("ge.enableSingleStream") == "true"
    ran: list[str] = []
    for step in trace:
        if step.pass_.per_scope and step.scope not in ran:
            ran.append(step.scope)  # type: ignore[arg-type]
    recorded = [by_graph[e["graph"]].id for e in case.expect["passes"]]
    report.equal("processing order of graphs", ran[: len(recorded)], recorded)
    for entry in case.expect["passes"]:
        scope = by_graph[entry["graph"]]
        mine = {x.pass_.ge_name: x for x in trace if x.pass_.per_scope and x.scope == scope.id}
        names = [x["pass"] for x in entry["steps"]]
        expected = [n for n in mine if (n in SINGLE_CHAIN) or not single]
        if not single:
            expected = [n for n in expected if n != "SingleStreamPass"]
        report.equal(f"passes of {scope.name}", names, expected[: len(names)])
        parent = scope.parent
        for row in entry["steps"]:
            step = mine[row["pass"]]
            where = f"{scope.name}: {row['pass']}"
            if step.status == "failed":
                report.equal(f"{where} status", getattr(step.error, "inner_status", ""), row["status"])
                continue
            report.equal(f"{where} status", status_of(step), row["status"])
            if row["pass"] == names[0] and step.before.streams is not None:
                got = int(step.before.streams.node[parent]) if parent >= 0 else -1
                report.equal(f"{scope.name}: default_stream", got, entry["default_stream"])
            after = step.after
            assert after.streams is not None
            assert after.clusters is not None
            report.equal(f"{where} next_stream", after.streams.next_stream, row["next_stream"])
            if "cluster_streams" in row:
                ids = after.clusters.by_scope.get(scope.id, ())
                have = after.streams.cluster or (-1,) * len(after.clusters.items)
                report.equal(f"{where} cluster_streams", [have[i] for i in ids], row["cluster_streams"])
            if "node_streams" in row:
                nodes = after.graph.scope(scope.id).nodes
                report.equal(f"{where} node_streams", [int(after.streams.node[i]) for i in nodes], row["node_streams"])

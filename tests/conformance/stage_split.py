"""Physical streams: huge streams, the split, activation after it, generated nodes; from a state set by hand or after the events."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, ClassVar

from conformance.build import run_case
from conformance.registry import Case, Report, handles
from conformance.stage_sync import (
    CHAIN,
    GE_STEPS,
    REST,
    STATED,
    WHOLE,
    compare_failure,
    compare_final,
    state_of,
)  # fmt: skip
from ge_explorer.passes.physical.accounting import node_entries
from ge_explorer.passes.physical.assign_single_stream import AssignSingleStream
from ge_explorer.passes.physical.generate_split_nodes import GenerateSplitNodes
from ge_explorer.passes.physical.post_process import PostProcessStreams
from ge_explorer.passes.physical.split_streams import SplitStreams, moved_groups
from ge_explorer.passes.physical.update_activation import ActivationUpdate, UpdateActivation
from ge_explorer.passes.sync.activate_loop import ActivateLoop
from ge_explorer.passes.sync.cover_netoutput import CoverNetOutput
from ge_explorer.trace import Trace
from ge_explorer.trace.passes import Pass, PassContext
from ge_explorer.trace.state import PhysicalStreams, Snapshot, SyncPlan, TaskGroup, TaskTable, int_array

SPLIT = "SplitStreamAndRefreshTaskDef"
PHYSICAL: tuple[type[Pass], ...] = (
    AssignSingleStream, SplitStreams, UpdateActivation, GenerateSplitNodes, PostProcessStreams,
)  # fmt: skip
BY_NAME: Mapping[str, tuple[type[Pass], ...]] = {
    **GE_STEPS,
    "CoverAllStreamByNetoutput": (CoverNetOutput,),
    "AssignSingleStream": (AssignSingleStream,),
    "SplitStreams": (SplitStreams,),
    "UpdateActiveStreams": (UpdateActivation,),
    "SetActiveStreamsForLoop": (ActivateLoop,),
}


@dataclass(frozen=True, eq=False)
class GivenTasks(Pass):
    """The synthetic tasks of a case, for the nodes that exist by then."""

    name: ClassVar[str] = "given-tasks"
    reads: ClassVar[frozenset[str]] = frozenset({"graph", "streams"})
    writes: ClassVar[frozenset[str]] = frozenset({"tasks"})
    given: Mapping[str, Any] = field(default_factory=dict)
    context: Mapping[str, Any] = field(default_factory=dict)

    def run(self, s: Snapshot, ctx: PassContext) -> Snapshot:
        """Task table as the README of the cases states it."""
        assert s.streams is not None
        of: dict[int, tuple[TaskGroup, ...]] = {}
        for n in s.graph:
            main = int(s.streams.node[n.id])
            if main < 0 or n.op in self.given.get("not_for_types", ()):
                continue
            groups = [self._main(n.name, n.op, main)]
            beside = int(self.given.get("per_attached_stream", 0))
            groups += [TaskGroup(x, beside) for x in s.streams.attached.get(n.id, ()) if x >= 0 and beside]
            of[n.id] = tuple(g for g in groups if g.count)
        c = self.context
        limit = int(c.get("max_tasks_per_stream", 1024))
        huge = c.get("max_tasks_per_huge_stream", 8192)
        table = TaskTable(MappingProxyType(of), limit, huge, bool(c.get("unlimited_stream_depth")), "given")
        return s.evolve(tasks=table)

    def _main(self, name: str, op: str, main: int) -> TaskGroup:
        g = self.given
        value = g.get("by_node", {}).get(name)
        if value is None:
            value = g.get("by_type", {}).get(op, g.get("per_type", {}).get(op, g.get("per_node", 0)))
        count, sqe = value if isinstance(value, list) else (value, int(g.get("sqe_per_task", 0)))
        return TaskGroup(main, count, sqe, op in g.get("wait_types", ()))


@handles(f"{WHOLE} + {SPLIT}")
def insert_and_split(case: Case, report: Report) -> None:
    """Events, then the split; the state between them is compared as well."""
    passes = [p() for p in (*CHAIN, *REST)]
    tasks = GivenTasks(case.raw.get("tasks", {}), case.context)
    trace = run_case(main_streams(state_of(case)), STATED, [*passes, tasks, *(p() for p in PHYSICAL)])
    middle = case.expect.get("steps", {}).get(WHOLE)
    if middle is not None and not failed_before_split(trace):
        compare_final(trace.step("attached-resources").after, middle, report)
    if compare_failure(case, trace, report):
        return
    compare_final(trace.final, case.expect, report)
    compare_split(case, trace.final, report)


def main_streams(state: Snapshot) -> Snapshot:
    """The case gives the number of all streams; those that are only attached are not main streams."""
    streams = state.streams
    assert streams is not None
    beside = {x for ids in streams.attached.values() for x in ids if x >= 0} - set(streams.node.tolist())
    return state.evolve(streams=replace(streams, main_count=streams.next_stream - len(beside)))


def failed_before_split(trace: Trace) -> bool:
    step = trace.failed
    return step is not None and step.index <= trace.step("attached-resources").index


def compare_split(case: Case, s: Snapshot, report: Report) -> None:
    """What only the split decides."""
    expect, physical, graph = case.expect, s.physical, s.graph
    assert physical is not None
    names = {n.name: n.id for n in graph}
    checks: dict[str, Callable[[], Any]] = {
        "huge_streams": lambda: list(physical.huge),
        "huge_stream_count": lambda: len(physical.huge),
        "logic_of_stream": lambda: {str(i): x for i, x in enumerate(physical.logic_of) if x >= 0 and known(str(i))},
        "new_node_ids": lambda: {graph.node(i).name: int(s.order[i]) for i in new_nodes(case, s)},  # type: ignore[index]
        "task_streams": lambda: task_streams(case, s),
        "node_streams": lambda: {k: int(physical.node[names[k]]) for k in expect["node_streams"]},
        "node_task_num": lambda: {k: main_entries(s, names[k]) for k in expect["node_task_num"]},
    }

    def known(key: str) -> bool:
        return key in expect["logic_of_stream"]

    for key, got in checks.items():
        if key in expect and expect[key] != "as_node":
            report.equal(key, got(), expect[key])
    for key in ("control_out", "control_in"):
        for name, want in expect.get(key, {}).items():
            near = graph.control_out[names[name]] if key == "control_out" else graph.node(name).control_in
            report.equal(f"{key} of {name}", [graph.node(i).op for i in near], [w["type"] for w in want])
    for a, b in expect.get("same_event_id", ()):
        sent = {graph.node(i).attrs.get("event_id") for i in graph.control_out[names[a]] if graph.node(i).op == "Send"}
        got_ids = {graph.node(i).attrs.get("event_id") for i in graph.node(b).control_in if graph.node(i).op == "Recv"}
        report.true(f"same event id {a} {b}", bool(sent & got_ids), (sent, got_ids))
    for name, want_attrs in expect.get("node_attrs", {}).items():
        assert s.streams is not None
        report.equal(f"attrs of {name}", {"_logic_stream_id": int(s.streams.node[names[name]])}, want_attrs)
    if "specific_activated_contains" in expect:
        report.true("activated", set(expect["specific_activated_contains"]) <= physical.sync.activated)
    if "specific_activated_count" in expect:
        report.equal("activated count", len(physical.sync.activated), expect["specific_activated_count"])
    if "active_streams" in expect and case.level != "oracle":
        lists = {k: list(physical.sync.active_streams.get(names[k], ())) or None for k in expect["active_streams"]}
        report.equal("active_streams", lists, expect["active_streams"])


def main_entries(s: Snapshot, i: int) -> int:
    assert s.tasks is not None
    assert s.streams is not None
    main = int(s.streams.node[i])
    return node_entries(s.graph.node(i), main, s.streams.attached.get(i, ()), s.tasks.of.get(i, ()))[main]


def new_nodes(case: Case, s: Snapshot) -> list[int]:
    """Nodes that the split created, by their place in the id space."""
    assert s.physical is not None
    assert s.tasks is not None
    before = {i for i in s.sync.sync_nodes} if s.sync is not None else set()  # noqa: C416
    old = {n["name"] for g in (case.graph, *case.graph.get("subgraphs", {}).values()) for n in g["nodes"]}
    middle = set(case.expect["steps"][WHOLE].get("node_order", {}) and
                 [n for rows in case.expect["steps"][WHOLE]["node_order"].values() for n, _ in rows])  # fmt: skip
    return [n.id for n in s.graph if n.id not in before and n.name not in old and n.name not in middle]


def task_streams(case: Case, s: Snapshot) -> dict[str, list[list[int]]]:
    """Nodes with task definitions on another stream than their final main one."""
    assert s.physical is not None
    table = s.physical.task_table
    assert table is not None
    out: dict[str, list[list[int]]] = {}
    for i, groups in table.of.items():
        counted: dict[int, int] = {}
        for g in groups:
            counted[g.stream] = counted.get(g.stream, 0) + g.count
        if set(counted) - {int(s.physical.node[i])}:
            out[s.graph.node(i).name] = [[k, v] for k, v in sorted(counted.items())]
    return out


def parts_given(case: Case, state: Snapshot) -> Snapshot:
    """State after a split that the case sets by hand."""
    context, by_name = case.context, state.graph.by_name
    streams = state.streams
    assert streams is not None
    count = streams.next_stream
    heads = {by_name[k]: int(v) for k, v in context.get("split_stream_of_node", {}).items()}
    count = max([count - 1, *heads.values(), *streams.node.tolist()]) + 1
    logic = [int(context.get("logic_of_stream", {}).get(str(i), i)) for i in range(count)]
    active = {n.id: tuple(n.attrs["active_stream_list"]) for n in state.graph if "active_stream_list" in n.attrs}
    plan = replace(state.sync or SyncPlan(), active_streams=MappingProxyType(active))
    physical = PhysicalStreams(
        int_array(streams.node.tolist()), tuple(logic), (0,) * count, heads=MappingProxyType(heads), sync=plan
    )  # fmt: skip
    return state.evolve(physical=physical)


@handles(
    "CoverAllStreamByNetoutput + SplitStreams",
    "AssignSingleStream + SplitStreams",
    "AssignSingleStream",
    "SplitStreams",
    "SetActiveStreamsByLabel + SplitStreams + UpdateActiveStreams + SetActiveStreamsForLoop",
    "SetActiveStreamsForLoop",
)
def steps_by_hand(case: Case, report: Report) -> None:
    """A few steps from a stated graph."""
    names = case.run.split(" + ")
    if names[-2:] == ["UpdateActiveStreams", "SetActiveStreamsForLoop"]:
        names.pop()  # our update-activation ends with the loop
    state = state_of(case)
    assert state.streams is not None
    if "main_stream_num" in case.context:
        state = state.evolve(streams=replace(state.streams, main_count=int(case.context["main_stream_num"])))
    facets = (*STATED, "tasks")
    tasks = GivenTasks(case.raw.get("tasks", {}), case.context).run(state, PassContext({}, {}, frozenset()))
    passes = [p() for n in names for p in BY_NAME[n]]
    trace = run_case(tasks, facets, passes)
    if compare_failure(case, trace, report):
        return
    s = trace.final
    for name, want in case.expect.get("steps", {}).items():
        step = trace.step(BY_NAME[name][-1].name)
        assert step.after.sync is not None
        if "event_count" in want:
            report.equal(f"{name} event_count", step.after.sync.event_num, want["event_count"])
    if s.physical is None:
        assert s.sync is not None
        if "active_streams" in case.derived:
            got = {s.graph.node(i).name: list(v) for i, v in s.sync.active_streams.items()}
            report.hint("active_streams", got, case.derived["active_streams"])
        return
    if "stream_count" in case.expect:
        report.equal("stream_count", s.physical.count, case.expect["stream_count"])
    compare_split(case, s, report)
    if "main_split_events" in case.expect:
        report.equal("events", len(s.physical.sync.events), case.expect["main_split_events"])
    if "events" in case.derived:
        name_of = s.graph.unique_names
        report.hint(
            "events", [[name_of[e.send], name_of[e.recv]] for e in s.physical.sync.events], case.derived["events"]
        )
    if "stream_count" in case.derived:
        report.hint("stream_count", s.physical.count, case.derived["stream_count"])


@handles("UpdateActiveStreamsForSubgraphs")
def heads_after_split(case: Case, report: Report) -> None:
    """One function of the step; the case marks the heads by name."""
    state = state_of(case)
    heads = {
        state.graph.by_name[n]: {"subgraph_first_active": True} for n in case.context["first_active_node"].values()
    }
    state = parts_given(case, state.evolve(graph=state.graph.with_attrs(heads)))
    assert state.physical is not None
    update = ActivationUpdate(state, PassContext(UpdateActivation.rules, {}, frozenset()), state.physical)
    update.subgraph_heads()
    expect = case.expect
    lists = {k: list(update.active.get(state.graph.by_name[k], ())) or None for k in expect["active_streams"]}
    report.equal("active_streams", lists, expect["active_streams"])
    report.true("activated", set(expect["specific_activated_contains"]) <= update.activated, update.activated)
    report.equal("activated count", len(update.activated), expect["specific_activated_count"])


@handles("RefreshTaskDefStreamId")
def task_streams_move(case: Case, report: Report) -> None:
    call = case.call
    groups = tuple(TaskGroup(x, 1) for x in call["task_streams"])
    for old, new in call["moves"]:
        groups = moved_groups(groups, old, new, several=bool(call["has_attached"]))
    report.equal("task_streams", [g.stream for g in groups], case.expect["task_streams"])


@handles("AddTaskNum")
def task_number(case: Case, report: Report) -> None:
    node = state_of(case).graph.node(case.call["node"])
    groups = [TaskGroup(0, int(case.call["generated_tasks"]))]
    report.equal("main_tasks", node_entries(node, 0, (), groups)[0], case.expect["main_tasks"])

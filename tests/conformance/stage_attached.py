"""Attached streams, events and notifies: one pass on a stated graph, and whole compiles that are compared by their facts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from conformance.build import run_case
from conformance.registry import Case, Report, handles
from conformance.stage_sync import STATED, compare_failure, state_of
from ge_explorer.passes.streams.attach_streams import AttachStreams
from ge_explorer.passes.sync.attached_resources import AttachedResources
from ge_explorer.trace.state import Snapshot

OLD, NEW = "event_id", "_attached_sync_res_info_list"


@handles("AssignAttachedStreamPass")
def attached_streams(case: Case, report: Report) -> None:
    """Streams by key."""
    state = state_of(case)
    assert state.streams is not None
    state = state.evolve(streams=replace(state.streams, next_stream=int(case.context["next_stream"])))
    trace = run_case(state, STATED, [AttachStreams()])
    if not compare_failure(case, trace, report):
        compare_attached_streams(trace.final, case.expect, report, case)


def compare_attached_streams(s: Snapshot, expect: Mapping[str, Any], report: Report, case: Case) -> None:
    """Ids, equality, counts. Groups stand in a hash map in GE: an order-dependent case is compared by equality."""
    assert s.streams is not None
    attached, ids = s.streams.attached, s.graph.by_name

    def of(name: str) -> list[int]:
        return list(attached.get(ids[name], ()))

    if "next_stream" in expect:
        report.equal("next_stream", s.streams.next_stream, expect["next_stream"])
    if "attached_streams" in expect:
        got = {k: [x for x in of(k) if x >= 0] for k in expect["attached_streams"]}
        want = {k: [x for x in v if x >= 0] for k, v in expect["attached_streams"].items()}
        if case.order_dependent:
            report.relaxed("attached_streams", got, want)
            report.equal("attached_streams up to names", classes(got), classes(want))
        else:
            report.equal("attached_streams", got, want)
    for group in expect.get("same_attached_streams", ()):
        report.equal(f"same {group}", len({tuple(of(n)) for n in group}), 1)
    for group in expect.get("different_attached_streams", ()):
        report.equal(f"different {group}", len({tuple(of(n)) for n in group}), len(group))
    for name in expect.get("attached_valid", ()):
        report.true(f"{name} has an attached stream", any(x >= 0 for x in of(name)), of(name))
    for name, count in expect.get("attached_stream_number", {}).items():
        report.equal(f"number of {name}", len(of(name)), count)


def classes(values: Mapping[str, list[int]]) -> dict[str, list[str]]:
    """Name -> the names with the same ids: what stays when ids are renamed."""
    return {k: sorted(n for n, v in values.items() if v == mine) for k, mine in values.items()}


@handles("AssignAttachedEventPass", "AssignAttachedEventResource")
def attached_events(case: Case, report: Report) -> None:
    """Events that operators own."""
    state = state_of(case)
    assert state.sync is not None
    state = state.evolve(sync=replace(state.sync, event_num=int(case.context["event_num"])))
    trace = run_case(state, STATED, [AttachedResources(kinds=("event",))])
    if compare_failure(case, trace, report):
        return
    s, expect = trace.final, case.expect
    assert s.sync is not None
    got = {n.name: events_of(s, n.name) for n in s.graph}
    if "event_count" in expect:
        report.equal("event_count", s.sync.event_num, expect["event_count"])
    if "attached_events" in expect:
        mine = {k: got[k] or [] for k in expect["attached_events"]}
        stated = {k: v or [] for k, v in expect["attached_events"].items()}
        if case.order_dependent:
            report.relaxed("attached_events", mine, stated)
            report.equal("up to names", classes(mine), classes(stated))
        else:
            report.equal("attached_events", mine, stated)
    for name, count in expect.get("attached_event_number", {}).items():
        report.equal(f"number of {name}", len(got[name] or ()), count)
    for name in expect.get("attached_event_valid", ()):
        rows = s.graph.node(name).attrs[NEW]
        report.true(f"{name} is valid", all(r.get("_attached_resource_is_valid") is True for r in rows), rows)
    for key, same in (("same_attached_events", True), ("different_attached_events", False)):
        for a, i, b, j in expect.get(key, ()):
            report.equal(f"{key} {a} {b}", (got[a] or ())[i] == (got[b] or ())[j], same)


def events_of(s: Snapshot, name: str) -> list[int] | None:
    """Ids of every entry (newer form), or of the attribute (older form; None without it)."""
    attrs = s.graph.node(name).attrs
    if NEW in attrs:
        return [int(r.get("_attached_resource_id", -1)) for r in attrs[NEW]]
    if OLD in attrs:
        return list(attrs[OLD])
    return None if "_attached_sync_res_info" in attrs else []

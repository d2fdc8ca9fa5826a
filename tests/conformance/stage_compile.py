"""Whole compiles of GE's system tests about attached streams, splitting and activation: only the named facts are compared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conformance.build import build_snapshot, run_case
from conformance.registry import Case, Report, handles
from conformance.stage_logical import CHAIN as STREAMS
from conformance.stage_logical import ORDER, PARTITION, beyond_streams
from conformance.stage_split import PHYSICAL, GivenTasks
from conformance.stage_sync import CHAIN, REST, compare_failure
from ge_explorer.passes.partition.label_bodies import LabelBodies
from ge_explorer.passes.streams.attach_streams import AttachStreams
from ge_explorer.passes.streams.mini_dag import MiniDag
from ge_explorer.passes.streams.optimize_ineffective import OptimizeIneffective
from ge_explorer.passes.streams.refresh_streams import RefreshStreams
from ge_explorer.trace.state import NO_STREAM, SYNC_OPS, PhysicalStreams, Snapshot
from ge_explorer.views.stream_summary import build_summary


@handles("whole", when=beyond_streams)
def whole(case: Case, report: Report) -> None:
    """Every step from the partition to the last physical one."""
    tasks = GivenTasks(case.raw.get("tasks", {}), case.context)
    events = [p() for p in (*CHAIN, *REST)]
    physical = [p() for p in PHYSICAL]
    streams = (*STREAMS, OptimizeIneffective(), MiniDag(), RefreshStreams(), AttachStreams())
    passes = [LabelBodies(), *PARTITION, *streams, *events, tasks, *physical]
    trace = run_case(build_snapshot(case), ("placement", *ORDER), passes)
    if not compare_failure(case, trace, report):
        compare_facts(case, trace.final, report)


def compare_facts(case: Case, s: Snapshot, report: Report) -> None:
    """The facts GE's tests name."""
    expect, p, graph = case.expect, s.physical, s.graph
    assert p is not None
    ids = graph.by_name

    def attached(name: str) -> list[int]:
        return list(p.attached.get(ids[name], ()))

    if "stream_count" in expect:
        report.equal("stream_count", p.count, expect["stream_count"])
    if "node_streams" in expect:
        report.equal("node_streams", {k: int(p.node[ids[k]]) for k in expect["node_streams"]}, expect["node_streams"])
    if "assigned_any" in expect:
        assert s.streams is not None
        report.true("assigned_any", any(s.streams.node[ids[n]] >= 0 for n in expect["assigned_any"]))
    for group in expect.get("different_stream", ()):
        report.equal(f"different {group}", len({int(p.node[ids[n]]) for n in group}), len(group))
    for key, count in (("same_attached_streams", False), ("different_attached_streams", True)):
        for group in expect.get(key, ()):
            report.equal(f"{key} {group}", len({tuple(attached(n)) for n in group}), len(group) if count else 1)
    for name in expect.get("attached_valid", ()):
        report.true(f"{name} has an attached stream", any(x >= 0 for x in attached(name)), attached(name))
    for name, number in expect.get("attached_stream_number", {}).items():
        report.equal(f"attached streams of {name}", len(attached(name)), number)
    for name, keys in expect.get("attrs_removed", {}).items():
        have = graph.node(name).attrs
        for key in keys:
            old = [k for k, v in have.items() if isinstance(v, Mapping) and key in v]
            report.equal(f"{key} of {name}", old, [])
    for key in ("control_out", "control_in"):
        for name, rows in expect.get(key, {}).items():
            # GE's tests look at neighbours in the order of the node list, which a split turns around.
            place = {i: k for k, i in enumerate(graph.scope(graph.node(name).scope).nodes)}
            near = graph.control_out[ids[name]] if key == "control_out" else graph.node(name).control_in
            near = sorted(near, key=place.__getitem__)
            got = [(graph.node(i).op, int(p.node[i])) for i in near if graph.node(i).op in SYNC_OPS]
            want = [(r["type"], stream_of(r["stream"], p, ids) if "stream" in r else None) for r in rows]
            bare = [(op, None) for op, _ in got] if any(x is None for _, x in want) else got
            if expect.get("control_match") == "contains":
                report.true(f"{key} of {name}", all(w in bare for w in want), got)
            else:
                report.equal(f"{key} of {name}", bare, want)
    for row in expect.get("inserted", ()):
        inserted(row, s, p, report)
    if "logical_streams" in expect:
        logical(s, expect["logical_streams"], report)
    if "attached_stream_count" in case.derived:
        report.hint(
            "attached",
            len({x for v in p.attached.values() for x in v} - {NO_STREAM}),
            case.derived["attached_stream_count"],
        )


def stream_of(text: str, p: PhysicalStreams, ids: Mapping[str, int]) -> int:
    """``as X`` or ``attached[k] of X``."""
    if text.startswith("as "):
        return int(p.node[ids[text[3:]]])
    place, _, name = text.partition(" of ")
    return p.attached[ids[name]][int(place[len("attached[") : -1])]


def inserted(row: Mapping[str, Any], s: Snapshot, p: PhysicalStreams, report: Report) -> None:
    """A node GE adds."""
    graph = s.graph
    found = [n for n in graph if n.op == row["type"] and graph.scope(n.scope).name == row["graph"]]
    report.equal(f"{row['type']} in {row['graph']}", len(found), 1)
    for n in found[:1]:
        if "stream" in row:
            report.equal("its stream", int(p.node[n.id]), row["stream"])
        if "active_stream_list" in row:
            # GE's test does not say whether it reads the list before or after the split, and the recordings fix both.
            assert s.sync is not None
            lists = [list(x.active_streams.get(n.id, ())) for x in (p.sync, s.sync)]
            report.true("its active list", row["active_stream_list"] in lists, lists)
        if "attached_stream" in row:
            report.equal("its attached stream", p.attached.get(n.id, (-1,))[0], row["attached_stream"])
        for key, near in (("control_out", graph.control_out[n.id]), ("control_in", n.control_in)):
            if key in row:
                report.equal(
                    f"sync nodes, {key}", [op for op in (graph.node(i).op for i in near) if op in SYNC_OPS], row[key]
                )


def logical(s: Snapshot, expect: Mapping[str, Mapping[str, Any]], report: Report) -> None:
    """GE's summary of every logical stream."""
    rows = {str(r.logic_stream_id): r for g in build_summary(s).graphs for r in g.rows}
    report.equal("logical streams", sorted(rows), sorted(expect))
    for key, want in expect.items():
        r = rows[key]
        got = {
            "attached": list(r.attached_stream_ids), "physical_count": r.physical_model_stream_num,
            "user_stream_label": r.user_stream_label, "by_user_pass": r.is_assigned_by_user_stream_pass,
        }  # fmt: skip
        report.equal(f"logical stream {key}", {k: got[k] for k in want}, want)

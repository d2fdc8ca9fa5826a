"""The profiling file and the adapter between graph and DAG."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from conformance.build import build_snapshot
from conformance.registry import Case, Report, handles
from ge_explorer.errors import InputError, PassFailed
from ge_explorer.passes.streams.dag.adapter import device_cores, from_scope, write_back
from ge_explorer.passes.streams.dag.allocator import NO_STREAM
from ge_explorer.passes.streams.dag.model import Dag, DagNode
from ge_explorer.passes.streams.dag.profiling import (
    KEY,
    Profile,
    ProfileRow,
    core_counts,
    find_column,
    float32,
    parse_row,
    parse_text,
    read_profile,
)
from ge_explorer.trace.state import Snapshot

FILE = "<file>"


@contextmanager
def profiling_options(case: Case) -> Iterator[dict[str, str]]:
    """The case's profiling path as an option: a file with its content where it gives one."""
    path = case.call.get("env", {}).get(KEY)
    with TemporaryDirectory() as folder:
        if path == FILE:
            path = str(Path(folder, "op_summary.csv"))
            if case.call.get("csv") is not None:
                Path(path).write_bytes(case.call["csv"].encode())
        yield {} if path is None else {KEY: path}


def row_values(row: ProfileRow) -> dict[str, Any]:
    return {
        "op_name": row.name, "execution_time": row.time, "cube_block_num": row.cube, "vec_block_num": row.vec,
    }  # fmt: skip


def compare(report: Report, where: str, got: dict[str, Any], want: dict[str, Any]) -> None:
    """Times compare as C++ floats, as GE's tests do."""
    for key, value in want.items():
        report.equal(f"{where}{key}", got[key], float32(value) if key == "execution_time" else value)


@handles("ProfilingParser::FindColumnIndex")
def columns(case: Case, report: Report) -> None:
    report.equal("return", [find_column(case.call["headers"], n) for n in case.call["names"]], case.expect["return"])


@handles("ProfilingParser::CalculateCoreCounts")
def cores(case: Case, report: Report) -> None:
    cube, vec = core_counts(case.call["task_type"], case.call["block_num"], case.call["mix_block_num"])
    compare(report, "", {"cube_block_num": cube, "vec_block_num": vec}, dict(case.expect))


@handles("ProfilingParser::ParseRow")
def row(case: Case, report: Report) -> None:
    found = parse_row(case.call["fields"], case.call["columns"])
    want = dict(case.expect)
    report.equal("status", "failed" if found is None else "success", want.pop("status"))
    if found is not None:
        compare(report, "", row_values(found), want)


@handles("ProfilingParser::Parse")
def whole_file(case: Case, report: Report) -> None:
    """A null content stands for a file that does not exist."""
    text, expect = case.call["csv"], case.expect
    try:
        profile, status = (
            (read_profile("no-such-folder/op_summary.csv") if text is None else parse_text(text)),
            "success",
        )
    except InputError:
        profile, status = Profile(), "failed"
    report.equal("status", status, expect["status"])
    if "profile_count" in expect:
        report.equal("profile_count", len(profile.rows), expect["profile_count"])
    for name, want in expect.get("profiles", {}).items():
        report.true(f"record of {name}", name in profile.rows)
        if name in profile.rows:
            compare(report, f"{name} ", row_values(profile.rows[name]), want)


def profile_of(options: dict[str, str]) -> Profile:
    """As the pass does: a file GE cannot read gives no times."""
    try:
        return read_profile(options[KEY]) if options.get(KEY) else Profile()
    except InputError:
        return Profile()


@handles("DAGAdapter::FromGEGraph")
def from_graph(case: Case, report: Report) -> None:
    """Node and edge counts, labels and costs of the converted graph. No node has a stream before the cover runs."""
    s = build_snapshot(case)
    assert s.streams is not None
    graph = s.graph
    with profiling_options(case) as options:
        dag = from_scope(graph, 0, s.streams.node, profile_of(options))
    names = [n.name for n in dag.nodes]
    into: dict[str, list[str]] = {n: [] for n in names}
    out: dict[str, list[str]] = {n: [] for n in names}
    for a, b in dag.edges:
        into[names[b]].append(names[a])
        out[names[a]].append(names[b])
    found: dict[str, Any] = {
        "status": "success",
        "node_count": len(dag.nodes),
        "edge_count": len(dag.edges),
        "edges": [[names[a], names[b]] for a, b in dag.edges],
        "topo_ids": {n: i for i, n in enumerate(names)},
        "input_count": {n: len(v) for n, v in into.items()},
        "output_count": {n: len(v) for n, v in out.items()},
        "input_nodes": into,
        "serial_flags": {n.name: n.serial for n in dag.nodes},
        "node_types": {n.name: graph.node(n.node_id).op for n in dag.nodes},
        "node_streams": dict.fromkeys(names, NO_STREAM),
        "cube_core_num": dag.cores[0],
        "vector_core_num": dag.cores[1],
    }
    for key, got in found.items():
        want = case.expect.get(key)
        if isinstance(want, dict):
            report.equal(key, {k: got[k] for k in want}, want)
        elif want is not None:
            report.equal(key, sorted(got) if key == "edges" else got, sorted(want) if key == "edges" else want)
    costs = {n.name: ProfileRow(n.name, n.time, n.cube, n.vec) for n in dag.nodes}
    for name, want in case.expect.get("costs", {}).items():
        compare(report, f"{name} ", row_values(costs[name]), want)


@handles("DAGAdapter::FillDeviceResource")
def device_resource(case: Case, report: Report) -> None:
    cube, vec = device_cores(case.options.get("ge.socVersion", ""))
    got = {"status": "success", "cube_core_num": cube, "vector_core_num": vec}
    compare(report, "", got, dict(case.expect))


@handles("DAGAdapter::RefreshStreamIdsToGE")
def refresh(case: Case, report: Report) -> None:
    """Streams given by hand, written back into the graph."""
    s: Snapshot = build_snapshot(case)
    assert s.streams is not None
    s = replace(s, streams=replace(s.streams, next_stream=case.context.get("current_max_stream_id", 0) + 1))
    assert s.streams is not None
    given: dict[str, int] = case.call["dag_streams"]
    dag = Dag(tuple(DagNode(n, node_id=s.graph.by_name.get(n, -1)) for n in given), ())
    streams = s.streams.node.tolist()
    status = "success"
    try:
        for i, stream, verdict in write_back(s.graph, dag, list(given.values()), s.streams.node, s.streams.next_stream):
            if verdict == "moved":
                streams[i] = stream
    except PassFailed:
        status = "failed"
    report.equal("status", status, case.expect["status"])
    for name, want in case.expect.get("node_streams", {}).items():
        report.equal(name, streams[s.graph.by_name[name]], want)

"""Automatic multi-stream: path cover, mergers, the pass, and a whole compile. See also stage_dag_solver and stage_dag_profile."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

from conformance.build import build_snapshot, run_case
from conformance.registry import Case, Report, Unsupported, handles
from conformance.stage_dag_profile import profiling_options
from ge_explorer.errors import PassFailed
from ge_explorer.passes.streams.dag.allocator import by_path_cover, default_options, merge_paths
from ge_explorer.passes.streams.dag.mode import KEY, mode_text, parse_mode
from ge_explorer.passes.streams.dag.model import UNKNOWN_TIME, Dag, DagNode
from ge_explorer.passes.streams.dag.path_cover import match_successors, routes
from ge_explorer.passes.streams.dag.profiling import float32
from ge_explorer.passes.streams.dag.residual import Residual
from ge_explorer.passes.streams.dag.units import MergeError, MergeOptions
from ge_explorer.passes.streams.mini_dag import MiniDag
from ge_explorer.trace.state import Options


def dag_of(case: Case) -> Dag:
    """The DAG of a case: nodes in list order, data then control edges in the order listed."""
    costs: dict[str, dict[str, Any]] = case.raw.get("call", {}).get("costs", {})
    nodes = []
    for i, n in enumerate(case.graph["nodes"]):
        cost = costs.get(n["name"], {})
        nodes.append(
            DagNode(
                n["name"],
                n.get("attrs", {}).get("serial_flag", ""),
                float32(cost.get("execution_time", UNKNOWN_TIME)),
                int(cost.get("cube_block_num", 0)),
                int(cost.get("vec_block_num", 0)),
                i,
            )
        )
    place = {n.name: i for i, n in enumerate(nodes)}
    edges = [(place[a], place[b]) for a, _, b, _ in case.graph.get("edges", [])]
    edges += [(place[a], place[b]) for a, b in case.graph.get("control", [])]
    for a, _, b, _ in case.raw.get("call", {}).get("external_edges", []):
        edges.append((place.get(a, len(nodes)), place.get(b, len(nodes))))
    return Dag(tuple(nodes), tuple(edges))


@handles("DagStreamAllocator::ByPathCover")
def by_cover(case: Case, report: Report) -> None:
    """Residual edges, routes, route -> stream, node streams, count."""
    dag = dag_of(case)
    config = case.raw["context"]["config"]
    most = config.get("max_stream_id", -1)
    cover = by_path_cover(
        dag, config["strategy"], limit=None if most < 0 else most + 1, base=config.get("base_stream_id", 0)
    )
    names = [n.name for n in dag.nodes]
    found: dict[str, Any] = {
        "required_streams": cover.required,
        "node_streams": dict(zip(names, cover.node_streams, strict=True)),
        "routes": [[names[i] for i in route] for route in cover.routes],
        "mapping": list(cover.merged.mapping),
        "residual_edges": [
            [names[cover.residual.nodes[a]], names[cover.residual.nodes[b]]]
            for a, row in enumerate(cover.residual.succ)
            for b in row
        ],
    }
    expect = case.expect
    if "required_streams_range" in expect:
        low, high = expect["required_streams_range"]
        report.equal("in range", (low or 0) <= cover.required <= (high or cover.required), True)
    for key, value in found.items():
        if key in expect:
            want = expect[key]
            if key == "residual_edges":
                value, want = sorted(value), sorted(want)
            if key == "node_streams":
                value = {n: value[n] for n in want}
            report.equal(key, value, want)


@handles("StreamMerger::Merge", "WeightedStreamMerger::Merge")
def merge(case: Case, report: Report) -> None:
    """Routes given by hand onto streams: status, size and range of the mapping."""
    given = dict(case.call["merge_options"])
    strategy = given.pop("strategy")
    expect = case.expect
    unknown = given.keys() - {f.name for f in fields(MergeOptions)}
    if unknown:
        raise Unsupported(f"merge option {sorted(unknown)[0]}")
    dag = dag_of(case)
    succ: list[list[int]] = [[] for _ in dag.nodes]
    for a, b in dag.edges:
        succ[a].append(b)
    rest = Residual(tuple(range(len(dag.nodes))), tuple(map(tuple, succ)), {}, ())
    paths = [tuple(r) for r in case.call["routes"]]
    try:
        options = replace(default_options(strategy), **given)
        mapping = merge_paths(dag, rest, paths, strategy, options).mapping
        simulated = merge_paths(dag, rest, paths, strategy, options, simulate=True).mapping
    except MergeError:
        report.equal("status", "failed", expect["status"])
        return
    report.equal("status", "success", expect["status"])
    report.equal("mapping with GE's simulation", simulated, mapping)
    if "mapping_size" in expect:
        report.equal("mapping_size", len(mapping), expect["mapping_size"])
    if "mapping" in expect:
        report.equal("mapping", list(mapping), expect["mapping"])
    if "mapping_range" in expect:
        low, high = expect["mapping_range"]
        report.true("mapping_range", all(low <= s <= high for s in mapping), mapping)


@handles("HopcroftKarp")
def hopcroft_karp(case: Case, report: Report) -> None:
    """Every node lies on exactly one path; nodes of the case are numbered from 1."""
    succ: list[list[int]] = [[] for _ in range(case.call["node_count"])]
    for a, b in case.call["edges"]:
        succ[a - 1].append(b - 1)
    paths = routes(match_successors(succ))
    report.equal("covered_count", len({i for p in paths for i in p}), case.expect["covered_count"])
    report.equal("on one path", sum(map(len, paths)), case.call["node_count"])
    if "cover" in case.derived:
        report.hint("cover", len(paths), case.derived["cover"])


@handles("RunMiniDAGStreamPass")
def mini_dag(case: Case, report: Report) -> None:
    """The pass through the real runner: status, highest stream id, cv switch."""
    state = build_snapshot(case)
    assert state.streams is not None
    streams = replace(state.streams, next_stream=case.context.get("current_max_stream_id", 0) + 1)
    with profiling_options(case) as extra:
        state = state.evolve(streams=streams, options=Options.of({**state.options.values, **extra}))
        trace = run_case(state, ("scope_order", "streams"), [MiniDag()])
    step = trace.steps[-1]
    failed = step.status == "failed"
    assert not failed or isinstance(step.error, PassFailed), step.error
    report.equal("status", "failed" if failed else "success", case.expect["status"])
    if failed:
        assert isinstance(step.error, PassFailed)
        report.equal("code", step.error.code, "E10001")
    after = step.after.streams
    assert after is not None
    if "max_stream_id_after" in case.expect:
        report.equal("max_stream_id_after", after.next_stream - 1, case.expect["max_stream_id_after"])
    if "cv_parallel_enabled" in case.expect:
        text, from_graph = mode_text(state.graph, case.options.get(KEY, ""))
        kind = parse_mode(text, from_graph=from_graph).kind
        report.equal("cv_parallel_enabled", kind == "cv", case.expect["cv_parallel_enabled"])

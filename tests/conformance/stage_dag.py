"""Automatic multi-stream: path cover and mergers."""

from __future__ import annotations

from typing import Any

from conformance.registry import Case, Report, handles
from ge_explorer.passes.streams.dag.allocator import by_path_cover
from ge_explorer.passes.streams.dag.model import UNKNOWN_TIME, Dag, DagNode


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
                float(cost.get("execution_time", UNKNOWN_TIME)),
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
        "node_streams": {n: s for n, s in zip(names, cover.node_streams, strict=True)},
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

"""Topological sorting."""

from __future__ import annotations

from conformance.build import build_graph
from conformance.registry import Case, Report, handles
from ge_explorer.errors import PassFailed
from ge_explorer.graph.order import sort_mode, topological_sort


@handles("TopologicalSorting")
def topological_sorting(case: Case, report: Report) -> None:
    """Order over all graphs in traversal order."""
    graph = build_graph(case)
    options = case.options
    mode = sort_mode(options.get("ge.topoSortingMode", ""), run_mode=options.get("ge.graphRunMode", ""))
    priority = options.get("ge.exec.memoryOptimizationPolicy", "") == "MemoryPriority"
    try:
        graph, order, sequence, _ = topological_sort(graph, mode=mode, memory_priority=priority)
    except PassFailed:
        report.equal("status", "failed", case.expect.get("status", "success"))
        return
    report.equal("status", "success", case.expect.get("status", "success"))
    if "order" in case.expect:
        report.equal("order", [graph.node(i).name for i in sequence], case.expect["order"])
        report.equal("numbering", [int(order[i]) for i in sequence], list(range(len(sequence))))

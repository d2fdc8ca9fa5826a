"""Where a split puts tasks: the compact order of the checker against every node and every event written down one by one."""

from __future__ import annotations

from itertools import pairwise

import networkx as nx
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from ge_explorer import pipelines
from ge_explorer.checks.ordering import activators, is_loop_activator, real_order
from ge_explorer.checks.schedule import Schedule
from ge_explorer.graph.edit import GraphEditor
from ge_explorer.graph.model import Graph
from ge_explorer.session import Session
from ge_explorer.trace.state import SYNC_OPS, Snapshot
from tests.property.graphs import graphs, synced_graphs

OPTIONS = ({}, {"gx.maxTasksPerStream": "40"}, {"gx.maxTasksPerStream": "34", "ge.event": "notify"})


def every_node(s: Snapshot) -> nx.DiGraph:
    """(node, stream) tasks in list order on the physical streams, Send before Recv, activator before the first task."""
    assert s.physical is not None
    assert s.sync is not None
    assert s.streams is not None
    g, plan = nx.DiGraph(), Schedule.of(s)
    rows: dict[int, list[tuple[int, int]]] = {}
    for i in s.sequence or ():
        main = int(s.physical.node[i])
        n = s.graph.node(i)
        runs = s.streams.node[i] >= 0 or n.op in (*SYNC_OPS, "StreamActive") or s.physical.task_table.of.get(i)  # type: ignore[union-attr]
        for x in (*([main] if runs and main >= 0 else []), *s.physical.attached.get(i, ())):
            rows.setdefault(x, []).append((i, x))
    for row in rows.values():
        g.add_nodes_from(row)
        g.add_edges_from(pairwise(row))
    ends: dict[int, dict[str, int]] = {}
    for i, uid in {**s.sync.sync_nodes, **s.physical.sync.sync_nodes}.items():
        ends.setdefault(uid, {})["send" if s.graph.node(i).op.startswith("Send") else "recv"] = i
    for both in ends.values():
        a, b = both["send"], both["recv"]
        g.add_edge((a, int(s.physical.node[a])), (b, int(s.physical.node[b])))
    for x, nodes in activators(plan).items():
        if len(nodes) == 1 and not is_loop_activator(s, nodes[0]) and x in rows:
            g.add_edge((nodes[0], int(s.physical.node[nodes[0]])), rows[x][0])
    return g


@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(
    st.one_of(graphs(max_nodes=22), synced_graphs(max_nodes=22)),
    st.sampled_from(["default", "cv", "LoadBalance:4"]), st.sampled_from(OPTIONS),
)  # fmt: skip
def test_the_compact_order_is_the_order_of_all_nodes(graph: Graph, mode: str, extra: dict[str, str]) -> None:
    trace = Session(graph, options={**pipelines.mode_options(mode), **extra}).trace
    assume(trace.failed is None)
    s = trace.final
    hb, full = real_order(s), every_node(s)
    plan = Schedule.of(s)
    for u in s.graph.node_ids:
        if s.graph.node(u).op in SYNC_OPS or u not in hb:
            continue
        after = nx.descendants(full, (u, plan.of_node[u]))
        for v in s.graph.node_ids:
            if v != u and v in hb and s.graph.node(v).op not in SYNC_OPS:
                # ordered by main tasks: an attached task of v that is reached says nothing about its main one
                reached = (v, plan.of_node[v]) in after
                assert hb.ordered(u, v) == reached, (s.graph.node(u).name, s.graph.node(v).name)


def test_a_stream_cut_between_operators_counts_as_one() -> None:
    e = GraphEditor.empty("g")
    last = e.output(e.add_node("data", "Data", outputs=[((8,), "float")]))
    for k in range(12):
        attrs = {"_gx_engine": "AIcoreEngine", "_gx_core": "AIV"}
        last = e.output(e.add_node(f"n{k:02}", "Relu", inputs=[last], outputs=[((8,), "float")], attrs=attrs))
    e.add_node("NetOutput", "NetOutput", inputs=[last])
    s = Session(e.freeze(), options={"gx.maxTasksPerStream": "40"}).trace.final
    assert s.physical is not None
    plan = Schedule.of(s)
    assert len(s.physical.parts[0]) > 1
    assert plan.merged == dict.fromkeys(s.physical.parts[0], 0)
    # Sends and receives of the cuts are one with the operators beside them: one row an operator, NetOutput included.
    assert len(plan.tasks.sequence) == 13

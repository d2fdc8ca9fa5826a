"""Random dynamic-shape graphs: whatever streams come out, every edge between two of them is ordered and ids are loadable."""

from __future__ import annotations

from collections import Counter

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ge_explorer.graph.happens_before import Order, happens_before
from ge_explorer.graph.model import Graph
from ge_explorer.passes.dynamic.enable import AC_PARALLEL
from ge_explorer.passes.dynamic.scopes import dynamic_nodes, forced_main
from tests.passes.dynamic.dynamic_cases import MODE, dynamic_graphs, run

MODES = ["", "cv", "LoadBalance:3", "MainStream:2", "WeightedLoadBalance:4"]
QUICK = settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))


@QUICK
@given(graph=dynamic_graphs(), mode=st.sampled_from(MODES), parallel=st.sampled_from(["", "0", "1"]))
def test_every_edge_between_streams_is_ordered_by_the_event_plan(graph: Graph, mode: str, parallel: str) -> None:
    t = run(graph, {MODE: mode, AC_PARALLEL: parallel})
    assert t.failed is None, t.failed.error
    s = t.final
    assert s.streams is not None and s.sync is not None and s.sequence is not None
    mine = set(dynamic_nodes(s.graph, s.scope_order))
    sequence = [i for i in s.sequence if i in mine]
    stream = s.streams.node
    plan = s.sync.events
    order = happens_before(sequence, stream, [Order(e.send, e.recv, "event", e.uid) for e in plan])
    for u, v in s.graph.dependencies:
        if u in mine and stream[u] != stream[v]:
            assert order.ordered(u, v), (s.graph.node(u).name, s.graph.node(v).name)
    assert {e.send for e in plan} | {e.recv for e in plan} <= mine
    assert all(stream[e.send] == e.send_stream != e.recv_stream == stream[e.recv] for e in plan)


@QUICK
@given(graph=dynamic_graphs(), mode=st.sampled_from(MODES), parallel=st.sampled_from(["", "1"]))
def test_the_runtime_can_load_ids_and_streams(graph: Graph, mode: str, parallel: str) -> None:
    t = run(graph, {MODE: mode, AC_PARALLEL: parallel})
    s = t.final
    assert s.streams is not None and s.sync is not None
    assert Counter(e.id for e in s.sync.events) == Counter(range(s.sync.event_num))
    for i in dynamic_nodes(s.graph, s.scope_order):
        n = s.graph.node(i)
        assert 0 <= s.streams.node[i] < s.streams.main_count
        if forced_main(n) or n.subgraphs:
            assert s.streams.node[i] == 0, n.name
    if not mode.partition(":")[1]:
        outside = [n.id for n in s.graph if n.id not in set(dynamic_nodes(s.graph, s.scope_order))]
        assert all(s.streams.node[i] == 0 for i in outside), "subgraphs of known shapes keep GE's default"


@QUICK
@given(graph=dynamic_graphs(max_nodes=15))
def test_an_engine_has_one_stream_and_a_label_has_one(graph: Graph) -> None:
    t = run(graph)
    s = t.step("dynamic-refresh-by-engine-priority").after
    assert s.streams is not None and s.clusters is not None and s.dynamic is not None
    labels: dict[str, set[int]] = {}
    owners: dict[str, set[int]] = {}
    for i in dynamic_nodes(s.graph, s.scope_order):
        n, stream = s.graph.node(i), int(s.streams.node[i])
        if forced_main(n) or n.subgraphs:
            continue
        label = str(n.attrs.get("_stream_label", ""))
        if label:
            labels.setdefault(label, set()).add(stream)
        elif s.clusters.items[s.clusters.of_node[i]].engine in ("AIcoreEngine", "DNN_HCCL", "DSAEngine"):
            owners.setdefault(s.clusters.items[s.clusters.of_node[i]].engine, set()).add(stream)
    assert all(len(x) == 1 for x in (*labels.values(), *owners.values()))
    assert len(set.union(set(), *labels.values(), *owners.values())) == len(labels) + len(owners)


@QUICK
@given(graph=dynamic_graphs(max_nodes=15), mode=st.sampled_from(MODES))
def test_off_means_one_stream_and_no_event(graph: Graph, mode: str) -> None:
    t = run(graph, {MODE: mode}, on=False)
    s = t.final
    assert s.streams is not None
    assert set(s.streams.node.tolist()) == {0}
    assert s.sync is None

"""Random graphs through every step in every mode: invariants hold, the independent checkers and an outside re-check agree."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ge_explorer import pipelines
from ge_explorer.checks import check_invariants
from ge_explorer.graph.model import Graph
from ge_explorer.issue import has_errors
from ge_explorer.report import trace_report
from ge_explorer.session import Session
from tests.property.graphs import graphs, synced_graphs
from tests.recheck import recheck

MODES = ["default", "cv", "LoadBalance:4", "MainStream:3", "list-schedule:3"]
SORTS = ["", "0", "1", "2", "3"]
WAYS: tuple[dict[str, str], ...] = (
    {}, {"ge.event": "notify"}, {"gx.maxTasksPerStream": "40"}, {"gx.maxTasksPerStream": "60", "ge.event": "notify"},
    {"gx.maxTasksPerStream": "34", "gx.tasksPerNode": "2"},
)  # fmt: skip
"""Events, notifies, and streams so short that every step of the split has work."""


def holds(graph: Graph, mode: str, sort: str) -> None:
    """Everything that must be true of a trace of ``graph``."""
    options = {**pipelines.mode_options(mode), **({"ge.topoSortingMode": sort} if sort else {})}
    session = Session(graph, options=options)
    trace = session.trace
    assert trace.failed is None, str(trace.failed.error)
    for step in trace:
        s = step.after
        if s.sequence is not None and s.order is not None:
            assert sorted(s.sequence) == list(s.graph.node_ids), step.name
            for a, b in s.graph.dependencies:
                assert s.order[a] < s.order[b], step.name
        if s.streams is not None:
            assert s.streams.node.shape == (s.graph.id_bound,), step.name
            assert int(s.streams.node.max(initial=-1)) < max(s.streams.next_stream, 1), step.name
        if s.clusters is not None:
            members = [n for c in s.clusters.items for n in c.nodes]
            assert len(members) == len(set(members)), step.name
    final = trace.final
    assert final.streams is not None
    for n in final.graph:
        # A constant with a control input is no input-less source: the second partition clusters it like any operator.
        assert int(final.streams.node[n.id]) == -1 or not n.is_source or n.control_in or n.inputs, n.name
    used = np.unique(final.streams.node[final.streams.node >= 0])
    assert used.tolist() == list(range(used.size))
    assert not has_errors(session.issues), [i.message.en for i in session.issues if i.severity == "error"]
    assert all(r.status != "fail" for r in check_invariants(final))
    recheck(json.loads(json.dumps(trace_report(session))))


def judged(graph: Graph, mode: str, sort: str, way: dict[str, str]) -> None:
    """The 14 invariants at the end of a trace: no pass and no habit of GE makes an error."""
    if mode == "single":  # GE refuses stream labels there
        graph = graph.with_attrs({n.id: dict.fromkeys(LABELS) for n in graph if any(k in n.attrs for k in LABELS)})
    options = {**pipelines.mode_options(mode), **({"ge.topoSortingMode": sort} if sort else {}), **way}
    trace = Session(graph, options=options).trace
    if trace.failed is not None:
        # What GE refuses is refused by name.
        assert any(why in str(trace.failed.error) for why in REFUSED), str(trace.failed.error)
        return
    results = check_invariants(trace.final)
    errors = [(r.number, i.code, i.message.en) for r in results for i in r.issues if i.severity == "error"]
    assert not errors, errors
    assert [r.number for r in results if r.status != "not applicable"][-2:] == [13, 14]


LABELS = ("_stream_label", "_user_stream_label", "_continuous_stream_label", "_active_label_list")
REFUSED = ("a group that must stay together starts its stream", "has no active label list")


@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(
    graph=st.one_of(graphs(max_nodes=30), synced_graphs(max_nodes=30)), mode=st.sampled_from([*MODES, "single"]),
    sort=st.sampled_from(SORTS), way=st.sampled_from(WAYS),
)  # fmt: skip
def test_the_end_of_every_trace_keeps_all_fourteen(graph: Graph, mode: str, sort: str, way: dict[str, str]) -> None:
    judged(graph, mode, sort, way)


@pytest.mark.slow
@pytest.mark.timeout(6000)
@pytest.mark.parametrize("mode", [*MODES, "single"])
@settings(max_examples=2000, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    graph=st.one_of(graphs(max_nodes=45), synced_graphs(max_nodes=45)),
    sort=st.sampled_from(SORTS),
    way=st.sampled_from(WAYS),
)
def test_the_end_of_thousands_of_traces_keeps_all_fourteen(
    mode: str, graph: Graph, sort: str, way: dict[str, str]
) -> None:
    judged(graph, mode, sort, way)


@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(graph=graphs(max_nodes=25), mode=st.sampled_from(MODES), sort=st.sampled_from(SORTS))
def test_every_step_keeps_the_invariants(graph: Graph, mode: str, sort: str) -> None:
    holds(graph, mode, sort)


@pytest.mark.slow
@pytest.mark.timeout(3000)
@settings(max_examples=2000, deadline=None, suppress_health_check=list(HealthCheck))
@given(graph=graphs(max_nodes=60), mode=st.sampled_from(MODES), sort=st.sampled_from(SORTS))
def test_every_step_keeps_the_invariants_on_thousands(graph: Graph, mode: str, sort: str) -> None:
    holds(graph, mode, sort)

"""Random graphs through every step in every mode: invariants hold, the independent checkers and an outside re-check agree."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ge_explorer import pipelines
from ge_explorer.graph.model import Graph
from ge_explorer.issue import has_errors
from ge_explorer.report import trace_report
from ge_explorer.session import Session
from tests.property.graphs import graphs
from tests.recheck import recheck

MODES = ["default", "cv", "LoadBalance:4", "MainStream:3"]
SORTS = ["", "0", "1", "2", "3"]


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
    recheck(json.loads(json.dumps(trace_report(session))))


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

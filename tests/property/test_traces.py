"""Cache, undo and diff on random graphs: what is cached equals what is computed anew."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ge_explorer import pipelines
from ge_explorer.graph.model import Graph
from ge_explorer.report import trace_report
from ge_explorer.session import Session
from tests.property.graphs import graphs

KEYS = [i.key for i in pipelines.static()]


def stable(session: Session) -> object:
    report = trace_report(session)
    for step in report["steps"]:
        del step["seconds"]
    return report


@settings(max_examples=15, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(graph=graphs(max_nodes=20), off=st.lists(st.sampled_from(KEYS), max_size=3, unique=True))
def test_toggling_there_and_back_gives_the_same_report(graph: Graph, off: list[str]) -> None:
    session = Session(graph)
    first = stable(session)
    for key in off:
        session.toggle(key, False)
        _ = session.trace
    toggled = stable(session) if off else first
    fresh = Session(graph, pipeline=session.base_pipeline.with_disabled(off))
    assert {**stable(fresh), "pipeline": ""} == {**toggled, "pipeline": ""}
    while session.undo():
        pass
    assert stable(session) == first


@settings(max_examples=15, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(graph=graphs(max_nodes=20), i=st.integers(-1, 24), j=st.integers(-1, 24))
def test_diff_is_empty_exactly_when_the_compared_facts_agree(graph: Graph, i: int, j: int) -> None:
    trace = Session(graph).trace
    d, back = trace.diff(i, j), trace.diff(j, i)
    assert len(d.moved) == len(back.moved)
    assert {e.uid for e in d.events_added} == {r.event.uid for r in back.events_removed}
    assert trace.diff(i, i).empty
    a, b = trace.snapshot(i), trace.snapshot(j)
    if a.streams is not None and b.streams is not None:
        differ = {n for n in a.graph.node_ids if a.streams.node[n] != b.streams.node[n]}
        assert {m.id for m in d.moved} == differ

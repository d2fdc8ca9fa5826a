"""Body heads, operators' own events, declared multiplexing, and the node list with Send and Recv."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from sync_cases import GivenStreams, alive, events_of, graph

import ge_explorer as gx
from ge_explorer.passes.sync import reuse_events
from ge_explorer.passes.sync.attached_resources import AttachedResources
from ge_explorer.passes.sync.generate_sync_nodes import GenerateSyncNodes
from ge_explorer.passes.sync.reuse_events import ReuseEvents
from ge_explorer.trace import Pipeline, run_trace

SYNC = "_attached_sync_res_info_list"


def own(name: str, key: str | None, kind: int = 0) -> dict[str, Any]:
    row = {"_attached_resource_name": name, "_attached_resource_type": kind, "_attached_resource_required_flag": True}
    return row if key is None else {**row, "_attached_resource_reuse_key": key}


def test_operators_events_come_after_all_others_and_share_by_key() -> None:
    attrs = {"A": {SYNC: [own("r", "k")]}, "C": {SYNC: [own("r", "k"), own("q", "")]}}
    g = graph("A:0 B:1 C:0", "A>B B>C", attrs=attrs)
    base = events_of(g)
    t = run_trace(g, Pipeline.of([GivenStreams(), *(i.pass_ for i in list(base.pipeline)[1:]), AttachedResources()]))
    s = t.final
    assert s.sync is not None
    ids = {n: [r["_attached_resource_id"] for r in s.graph.node(n).attrs[SYNC]] for n in "AC"}
    assert ids == {"A": [3], "C": [3, 2]}
    assert s.sync.event_num == 4
    assert s.sync.owned == {s.graph.node("A").id: (("event", 3),), s.graph.node("C").id: (("event", 2), ("event", 3))}


def test_a_notify_beside_an_entry_without_a_key_fails_as_recorded() -> None:
    g = graph("A:0", attrs={"A": {SYNC: [own("r", "k", 1), own("q", None)]}})
    t = run_trace(g, Pipeline.of([GivenStreams(), AttachedResources()]))
    assert t.failed is not None
    assert t.failed.ge_status == "PARAM_INVALID"


def sync_order(*, again: bool = False) -> list[str]:
    g = graph("n:0 a:1 b:2 c:3", "n>a n>b n>c")
    base = events_of(g)
    steps = [*(i.pass_ for i in list(base.pipeline)[1:]), GenerateSyncNodes()]
    t = run_trace(g, Pipeline.of([GivenStreams(), *steps]), strict=True)
    if again:
        from ge_explorer.passes.sync.generated_nodes import arrange

        graph_ = t.final.graph
        return [graph_.node(i).name for i in arrange(graph_, list(graph_.root.nodes))]
    return [t.final.graph.node(i).name for i in t.final.graph.root.nodes]


def test_sends_stand_in_order_of_their_ids_and_a_second_ordering_turns_them_around() -> None:
    assert sync_order() == ["n", "g_Send_0", "g_Send_1", "g_Send_2", "g_Recv_0", "a", "g_Recv_1", "b", "g_Recv_2", "c"]
    assert sync_order(again=True)[:4] == ["n", "g_Send_2", "g_Send_1", "g_Send_0"]


def test_multiplexing_makes_named_pairs_share_an_id_above_the_threshold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reuse_events, "THRESHOLD", 1)
    attrs = {"A": {"_event_multiplexing": ["SendTo;B;0"]}, "C": {"_event_multiplexing": ["SendTo;D;0"]}}
    g = graph("A:0 B:1 C:0 D:1", "A>B C>D", attrs=attrs)
    t = run_trace(g, Pipeline.of([*(i.pass_ for i in events_of(g).pipeline), ReuseEvents()]), strict=True)
    assert alive(t, "reuse-events") == [(0, "A", "B"), (0, "C", "D")]


@pytest.mark.parametrize("item", ["SendTo;B", "SendTo;B;-1", "Give;B;0", "SendTo;nobody;0", 7])
def test_bad_multiplexing_is_one_clear_error(monkeypatch: pytest.MonkeyPatch, item: Any) -> None:
    monkeypatch.setattr(reuse_events, "THRESHOLD", 0)
    g = graph("A:0 B:1", "A>B", attrs={"A": {"_event_multiplexing": [item]}})
    t = run_trace(g, Pipeline.of([*(i.pass_ for i in events_of(g).pipeline), ReuseEvents()]))
    assert t.failed is not None and t.failed.error is not None
    assert "node A" in str(t.failed.error)


def test_bodies_get_a_head_on_the_stream_of_their_holder() -> None:
    trace = gx.compile("control_flow_if")
    s = trace.final
    assert trace.failed is None and s.streams is not None
    heads = [n for n in s.graph if n.attrs.get("subgraph_first_active") is True]
    assert len(heads) == sum(len(n.subgraphs) for n in s.graph if n.op in ("If", "Case", "While", "PartitionedCall"))
    for n in heads:
        parent = s.graph.scope(n.scope).parent
        assert s.streams.node[n.id] == s.streams.node[parent]
        fed = [i for i in s.graph.control_out[n.id] if s.graph.node(i).op != "Send"]
        assert all(s.graph.node(e.src).op in ("Data", "Const") for i in fed for e in s.graph.data_in[i])

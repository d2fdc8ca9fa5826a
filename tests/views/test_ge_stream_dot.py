"""GE's stream graph as DOT: form, folding of Send and Recv, activations, escaping."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from types import MappingProxyType

import pytest

from ge_explorer.cli import main
from ge_explorer.errors import OptionError
from ge_explorer.graph.edit import GraphEditor
from ge_explorer.graph.model import Graph
from ge_explorer.trace.state import Event, PhysicalStreams, Snapshot, StreamAssignment, SyncPlan, int_array
from ge_explorer.views.ge_stream_dot import build_ge_dot, export_text, stream_graphs

GOLDEN = """digraph g{
rankdir="LR";
node[shape="plaintext",width=0,height=0];
edge[arrowhead="none",style="dashed"];

{
rank="same";
edge[style="solid",penwidth=2];
Stream0[label=<<table border="0" cellborder="1" cellspacing="0"><tr><td><b>Stream0</b></td></tr><tr><td>3(2+1)nodes</td></tr></table>>];
End0[shape="point",width=0.1,height=0.1];
S0N0[label=<a<br/>(id:4)>];
S0N4[label=<c<br/>(id:6)>];
Stream0->S0N0->S0N4->End0;
}
{
rank="same";
edge[style="solid",penwidth=2];
Stream1[label=<<table border="0" cellborder="1" cellspacing="0"><tr><td><b>Stream1</b></td></tr><tr><td>2(1+1)nodes</td></tr><tr><td><i>Label:side</i></td></tr></table>>];
End1[shape="point",width=0.1,height=0.1];
S1N3[label=<b<br/>(id:5)>];
Stream1->S1N3->End1;
}
S0N0->S1N3[label="Event7",arrowhead="normal"];
}
"""  # noqa: E501


def graph(*nodes: tuple[str, str], name: str = "g", attrs: dict[str, dict[str, object]] | None = None) -> Graph:
    e = GraphEditor.empty(name)
    for n, op in nodes:
        e.add_node(n, op, attrs=(attrs or {}).get(n))
    return e.freeze()


def snapshot(g: Graph, streams: list[int], *, sync: SyncPlan | None = None) -> Snapshot:
    return Snapshot(g, streams=StreamAssignment(int_array(streams)), sync=sync)


def edges(text: str) -> list[tuple[str, str, str]]:
    """(from, to, event) by node name."""
    names = dict(re.findall(r"^(S\d+N\d+)\[label=<([^<]*)<br/>", text, re.M))
    found = re.findall(r'^(S\d+N\d+)->(S\d+N\d+)\[label="(Event\d+)"', text, re.M)
    return [(names[a], names[b], e) for a, b, e in found]


def rows(text: str) -> dict[str, int]:
    """Stream header -> nodes in its rank."""
    return {a: chain.count("->") - 1 for a, chain in re.findall(r"^(Stream\d+)(->.*);$", text, re.M)}


def test_golden_with_events_whose_nodes_are_not_made_yet() -> None:
    g = graph(("a", "Relu"), ("b", "Relu"), ("c", "Relu"), attrs={"b": {"_stream_label": "side"}})
    sync = SyncPlan(events=(Event(0, 7, 0, 1, 0, 1),))
    s = snapshot(g, [0, 1, 0], sync=sync).evolve(order=int_array([4, 5, 6]))
    assert build_ge_dot(s) == GOLDEN


def test_made_send_and_recv_nodes_give_the_same_picture() -> None:
    g = graph(("a", "Relu"), ("g_Send_7", "Send"), ("g_Recv_7", "Recv"), ("b", "Relu"), ("c", "Relu"),
              attrs={"b": {"_stream_label": "side"}})  # fmt: skip
    sync = SyncPlan(events=(Event(0, 7, 0, 3, 0, 1),), sync_nodes=MappingProxyType({1: 0, 2: 0}))
    s = snapshot(g, [0, 0, 1, 1, 0], sync=sync).evolve(order=int_array([4, 8, 9, 5, 6]))
    assert build_ge_dot(s) == GOLDEN


def test_folding_follows_the_stream_not_the_list() -> None:
    """A Send belongs to the ordinary node before it on its stream, Recvs to the next one; ends without a neighbour are lost."""
    nodes = [("g_Send_5", "Send"), ("a", "Relu"), ("x", "Relu"), ("g_Send_1", "Send"), ("g_Send_2_Reuse_1", "Send"),
             ("g_Recv_1", "Recv"), ("g_Recv_2", "Recv"), ("y", "Relu"), ("g_Recv_5", "Recv"), ("Send_9", "Send")]  # fmt: skip
    text = build_ge_dot(snapshot(graph(*nodes), [0, 0, 1, 0, 0, 1, 1, 1, 1, 1]))
    assert edges(text) == [("a", "y", "Event1"), ("a", "y", "Event2")]
    assert rows(text) == {"Stream0": 1, "Stream1": 2}
    assert "4(1+3)nodes" in text and "6(2+4)nodes" in text


def test_the_last_recv_of_a_shared_id_wins_as_in_ge() -> None:
    nodes = [
        ("a", "Relu"),
        ("g_Send_0", "Send"),
        ("g_Recv_0", "Recv"),
        ("b", "Relu"),
        ("g_Recv_0_Reuse_1", "Recv"),
        ("c", "Relu"),
    ]
    assert edges(build_ge_dot(snapshot(graph(*nodes), [0, 0, 1, 1, 2, 2]))) == [("a", "c", "Event0")]


def test_streams_of_a_switch_are_blue_and_activations_are_listed() -> None:
    g = graph(("sw", "StreamSwitch"), ("act", "StreamActive"), ("b", "Relu"), ("c", "Relu"))
    sync = SyncPlan(active_streams=MappingProxyType({0: (1,), 1: (2,)}))
    text = build_ge_dot(snapshot(g, [0, 1, 1, 2], sync=sync))
    assert re.findall(r'^(Stream\d)\[label=<.*>,color="blue"\];$', text, re.M) == ["Stream1"]
    assert text.count('edge[style="solid",penwidth=2,color="blue"];') == 1
    assert "(active streams:2)" in text
    tail = text[text.index('AN0[label="sw(id: 0,stream: 0)"];') :]
    assert 'AN0-> AS1 [label="active", arrowhead="normal",color="blue",fontcolor="blue"];' in tail
    assert 'AN1-> AS2 [label="active", arrowhead="normal"];' in tail


def test_activations_without_a_switch_are_not_listed() -> None:
    g = graph(("act", "StreamActive"), ("b", "Relu"), attrs={"act": {"active_stream_list": [1]}})
    text = build_ge_dot(snapshot(g, [0, 1]))
    assert "(active streams:1)" in text and "AN0" not in text


def test_physical_streams_replace_logical_ones() -> None:
    g = graph(("a", "Relu"), ("b", "Relu"), ("c", "Relu"))
    first = SyncPlan(events=(Event(0, 0, 0, 2, 0, 1),))
    split = SyncPlan(events=(Event(1, 1, 0, 1, 0, 2),), event_num=2)
    s = snapshot(g, [0, 0, 1], sync=first)
    text = build_ge_dot(s.evolve(physical=PhysicalStreams(int_array([0, 2, 1]), (0, 1, 0), (1, 1, 1), sync=split)))
    assert rows(text) == {"Stream0": 1, "Stream1": 1, "Stream2": 1}
    assert sorted(edges(text)) == [("a", "b", "Event1"), ("a", "c", "Event0")]


def test_empty_rows_nodes_without_a_stream_and_no_stream_at_all() -> None:
    text = build_ge_dot(snapshot(graph(("a", "Data"), ("b", "Relu")), [-1, 1]))
    assert rows(text) == {"Stream0": 0, "Stream1": 1}
    assert "0(0+0)nodes" in text and "<a<br/>" not in text
    assert rows(build_ge_dot(Snapshot(graph(("a", "Data"))))) == {}


def test_subgraphs_are_in_the_graph_of_their_model() -> None:
    for dynamic, expected in ((False, {"root": 2}), (True, {"root": 2, "inner": 1})):
        e = GraphEditor.empty("root", dynamic=dynamic)
        sub = e.add_scope("inner", e.add_node("call", "PartitionedCall"))
        e.add_node("deep", "Relu", scope=sub)
        drawn = stream_graphs(snapshot(e.freeze(), [0, 0]))
        assert {k: rows(v)["Stream0"] for k, v in drawn.items()} == expected


HOSTILE = 'x<b>"]; evil [label="\\N"] &amp; -> \n\u202e end \\'


def test_hostile_names_stay_labels() -> None:
    g = graph((HOSTILE, "StreamSwitch"), ("b", "Relu"), name=HOSTILE, attrs={HOSTILE: {"_stream_label": HOSTILE}})
    text = export_text(snapshot(g, [0, 1], sync=SyncPlan(active_streams=MappingProxyType({0: (1,)}))))
    labels = re.findall(r"\[label=<(.*)>[\],]", text)
    assert len(labels) == 4 and not any("x<b>" in label or 'x"' in label for label in labels)
    assert "\u202e" not in text
    assert not re.search(r"^\s*evil", text, re.M)
    if shutil.which("dot"):
        done = subprocess.run(["dot", "-Tplain"], input=text, capture_output=True, text=True, timeout=30, check=False)
        assert done.returncode == 0, done.stderr
        names = {line.split()[1] for line in done.stdout.splitlines() if line.startswith("node ")}
        assert names == {"Stream0", "End0", "Stream1", "End1", "S0N0", "S1N1", "AN0", "AS1"}


@pytest.mark.parametrize(
    ("name", "head"), [("2nd", 'digraph "2nd"{'), ("Node", 'digraph "Node"{'), ("ge_default", "digraph ge_default{")]
)
def test_graph_names_dot_would_not_read_are_quoted(name: str, head: str) -> None:
    assert build_ge_dot(Snapshot(graph(name=name))).startswith(head)


def test_impossible_stream_numbers_are_refused() -> None:
    with pytest.raises(OptionError, match="stream number out of range"):
        build_ge_dot(snapshot(graph(("a", "Relu")), [2_000_000_000]))


def test_export_command(tmp_path: Path) -> None:
    target = tmp_path / "page.streams.dot"
    assert main(["export", "fork_join", "-o", str(target)]) == 0
    assert edges(target.read_text()) == [("A", "B1", "Event0"), ("B2", "D", "Event1")]


def recorded_orders() -> list[tuple[str, list[tuple[str, int]], list[tuple[str, str, str]]]]:
    """(case, final node list with streams, events) where GE was recorded inserting plain events into one graph."""
    path = Path(__file__).parents[1] / "conformance" / "cases" / "oracle_sync.json"
    out = []
    for case in json.loads(path.read_text(encoding="utf-8")):
        said = case["expect"]
        found = said["steps"].get("RefreshContinuousEvents", {}).get("event_list", [])
        if said["status"] != "success" or len(said["node_order"]) != 1 or said["notify_count"]:
            continue
        if found and len(found) == said["event_count"] and not said.get("attached_streams"):
            order = [(n, k) for n, k in next(iter(said["node_order"].values()))]
            out.append((case["id"], order, sorted((a, b, f"Event{i}") for i, a, b in found)))
    return out


def test_recorded_node_lists_fold_back_to_ges_events() -> None:
    """From GE's own final lists: the picture shows the recorded events, and is the same before Send and Recv are made."""
    cases = recorded_orders()
    assert len(cases) >= 20
    for case, order, expected in cases:
        kinds = [re.search(r"_(Send|Recv)_\d", n) for n, _ in order]
        made = graph(*((n, k[1] if k else "Relu") for (n, _), k in zip(order, kinds, strict=True)))
        text = build_ge_dot(snapshot(made, [k for _, k in order]))
        assert sorted(edges(text)) == expected, case
        plain = [x for x, k in zip(order, kinds, strict=True) if not k]
        at, on = {n: i for i, (n, _) in enumerate(plain)}, dict(plain)
        events = tuple(Event(u, int(e[5:]), at[a], at[b], on[a], on[b]) for u, (a, b, e) in enumerate(expected))
        unmade = snapshot(graph(*((n, "Relu") for n, _ in plain)), [k for _, k in plain], sync=SyncPlan(events=events))
        assert sorted(build_ge_dot(unmade).splitlines()) == sorted(text.splitlines()), case

"""The worked examples of the stream rules, with their numbers, through the real runner with contract checks."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from chain_cases import by_clusters, cluster_streams, streams, whole

from ge_explorer.graph.edit import GraphEditor
from ge_explorer.ids import node
from ge_explorer.passes.streams.assign_by_dependency import AssignByDependency
from ge_explorer.passes.streams.independent_stream import IndependentStream
from ge_explorer.trace.passes import PassContext
from ge_explorer.trace.state import Cluster, Clusters, Snapshot, StreamAssignment, int_array

AI, CPU, HCCL, RTS, LOCAL = "AIcoreEngine", "DNN_VM_AICPU", "DNN_HCCL", "DNN_VM_RTS", "DNN_VM_GE_LOCAL"
ATTACH = {"attach": True}


def test_e1_attach_engines_follow_and_an_ordinary_one_opens_a_stream() -> None:
    t = by_clusters(
        [("A", "e1", []), ("B", "e2", ["A"]), ("C", "e3", ["B"]), ("D", "e4", ["C"])],
        engines={"e2": ATTACH, "e3": ATTACH},
    )
    assert cluster_streams(t, "assign-by-dependency") == [0, 0, 0, 1]


@pytest.mark.parametrize(("parallel", "want"), [(100, [0, 1, 2, 3]), (1, [0, 0, 0, 0]), (2, [0, 1, 0, 1])])
def test_e2_fork_uses_as_many_streams_as_its_engine_may(parallel: int, want: list[int]) -> None:
    rows = [("S1", "e", []), ("S2", "e", ["S1"]), ("S3", "e", ["S1"]), ("S4", "e", ["S1"])]
    assert cluster_streams(by_clusters(rows, parallel=parallel), "assign-by-dependency") == want


E3 = [("S1", "e0", []), ("S2", "e1", ["S1"]), ("S3", "e2", ["S1"]), ("S4", "e1", ["S2"]), ("S5", "e2", ["S3"])]
E3_ENGINES = {"e2": {"independent": True}}


def test_e3_label_then_independent_then_dependency() -> None:
    labels = {"S2": "L1", "S3": "L1", "S4": "L2", "S5": "L2"}
    t = by_clusters(E3, labels, engines=E3_ENGINES)
    assert cluster_streams(t, "assign-by-label") == [-1, 0, 0, 1, 1]
    assert cluster_streams(t, "independent-stream") == [-1, 0, 2, 1, 3]
    assert cluster_streams(t, "assign-by-dependency") == [4, 0, 2, 1, 3]


def test_e3_user_label_keeps_an_independent_cluster_on_the_label_stream() -> None:
    t = by_clusters(E3, {"S2": "L1", "S3": "L1", "S4": "U", "S5": "U"}, {"S4": "U", "S5": "U"}, engines=E3_ENGINES)
    assert cluster_streams(t, "assign-by-dependency") == [3, 0, 2, 1, 1]
    kept = [w for w in t.why("S5", "stream") if w.decision.rule == "user-label-kept"]
    assert len(kept) == 1
    assert not kept[0].decision.decisive


E4 = [("a", AI, []), ("b", CPU, ["a"]), ("c", AI, ["b", "a"]), ("out", RTS, ["c"])]


def test_e4_topology_clean_up_takes_back_a_stream_that_cannot_overlap() -> None:
    t = whole(E4)
    assert streams(t, "skipped-engine") == {"a": 0, "b": 1, "c": 0, "out": 0}
    assert streams(t) == {"a": 0, "b": 0, "c": 0, "out": 0}
    assert t.final.streams is not None
    assert t.final.streams.main_count == 1


def test_e4_without_the_shortcut_the_other_engine_attaches_at_once() -> None:
    t = whole([("a", AI, []), ("b", CPU, ["a"]), ("c", AI, ["b"]), ("out", RTS, ["c"])])
    assert streams(t, "node-stream-update") == {"a": 0, "b": 0, "c": 0, "out": 0}


E5 = [("Data", "", []), ("r1", AI, ["Data"]), ("ar", HCCL, ["r1"]), ("r2", AI, ["ar"]), ("out", RTS, ["r2"])]


def test_e5_serial_collective_ends_on_the_compute_stream() -> None:
    t = whole(E5)
    assert cluster_streams(t, "independent-stream") == [-1, 0, -1, -1]
    assert streams(t, "node-stream-update") == {"Data": -1, "r1": 1, "ar": 0, "r2": 1, "out": 1}
    assert streams(t, "optimize-ineffective")["ar"] == 1
    assert streams(t) == {"Data": -1, "r1": 0, "ar": 0, "r2": 0, "out": 0}


def test_e5_user_labels_on_the_compute_protect_the_stream() -> None:
    label = {"_user_stream_label": "main"}
    t = whole(E5, {"r1": label, "r2": label})
    end = streams(t)
    assert end["ar"] != end["r1"] == end["r2"]
    rules = {w.decision.rule for w in t.why("ar", "stream")}
    assert "label-protects" in rules


def test_e5_a_branch_between_keeps_the_collective_apart() -> None:
    rows = [("Data", "", []), ("r1", AI, ["Data"]), ("ar", HCCL, ["r1"]), ("side", AI, ["r1"]),
            ("r2", AI, ["ar", "side"])]  # fmt: skip
    t = whole(rows, options={"ge.topoSortingMode": "3"})
    end = streams(t)
    assert end["ar"] != end["r2"]


def test_e6_subgraph_inherits_the_stream_of_its_owner() -> None:
    """The owner is on stream 3 and the next free id is 5: a on 3, h on 5, out on 6, next 7."""
    e = GraphEditor.empty("g")
    owner = e.add_node("owner", "PartitionedCall", outputs=1)
    sub = e.add_scope("sub", owner)
    a = e.add_node("a", "Relu", outputs=1, scope=sub)
    h = e.add_node("h", "HcomAllReduce", inputs=[e.output(a)], outputs=1, scope=sub)
    out = e.add_node("out", "NetOutput", inputs=[e.output(h)], scope=sub)
    items = (
        Cluster(0, sub, "ca", AI, (a,), succ=(1,)),
        Cluster(1, sub, "ch", HCCL, (h,), pred=(0,), succ=(2,)),
        Cluster(2, sub, "co", RTS, (out,), pred=(1,)),
    )
    s = Snapshot(
        e.freeze(),
        clusters=Clusters(items, {0: (), sub: (0, 1, 2)}, int_array([-1, 0, 1, 2])),
        streams=StreamAssignment(int_array([3, -1, -1, -1]), (-1, -1, -1), 5),
    )
    for p in (IndependentStream(), AssignByDependency()):
        ctx = PassContext(p.rules, {}, p.option_keys, sub)
        s = p.run(s, ctx)
    assert s.streams is not None
    assert s.streams.cluster == (3, 5, 6)
    assert s.streams.next_stream == 7
    inherited = [d for d in ctx.decisions if d.subject == node(a)]
    assert [d.rule for d in inherited] == ["parent-stream"]
    assert node(owner) in inherited[0].evidence


def test_e7_skip_engine_joins_its_only_neighbour_stream() -> None:
    rows = [("x", "", []), ("relu1", AI, ["x"]), ("reshape", LOCAL, ["relu1"]), ("relu3", AI, ["reshape"])]
    label = {"_stream_label": "X"}
    t = whole(rows, {"relu1": label, "relu3": label})
    assert streams(t, "node-stream-update")["reshape"] == 1
    assert streams(t, "skipped-engine")["reshape"] == 0


def test_e7_constant_fed_skip_nodes_lose_their_stream_in_a_row() -> None:
    rows = [("c", "", []), ("s1", LOCAL, ["c"]), ("s2", LOCAL, ["s1"]), ("relu", AI, ["s2"])]
    t = whole(rows, ops={"c": "Const"})
    assert streams(t) == {"c": -1, "s1": -1, "s2": -1, "relu": 0}


DIAMOND = [("1", AI, []), ("2", AI, ["1"]), ("3", AI, ["1"]), ("4", AI, ["2", "3"])]
CHAINS = [("1", AI, []), ("2", AI, ["1"]), ("3", AI, ["2"]), ("4", AI, ["3"]), ("5", AI, ["1"]), ("6", AI, ["5"]),
          ("7", AI, ["6"]), ("8", AI, ["4", "7"])]  # fmt: skip


@pytest.mark.parametrize("mode", ["LoadBalance:2", "MainStream:2"])
def test_e8_automatic_mode_leaves_a_diamond_alone_and_splits_long_branches(mode: str) -> None:
    options = {"ge.autoMultistreamParallelMode": mode, "ge.topoSortingMode": "3"}
    assert set(streams(whole(DIAMOND, options=options)).values()) == {0}
    t = whole(CHAINS, options=options)
    assert streams(t) == {"1": 0, "2": 0, "3": 0, "4": 0, "8": 0, "5": 1, "6": 1, "7": 1}
    story = [w.decision.rule for w in t.why("5", "stream")]
    assert story[0] == "engine-first"
    assert "from-cluster" in story


def test_e8_default_order_visits_the_last_branch_first_so_the_other_branch_is_split_off() -> None:
    """DFS puts 5, 6, 7 before 2, 3, 4: without a stable order the numbers of the example do not come out."""
    t = whole(CHAINS)
    assert [t.final.graph.node(i).name for i in t.final.sequence or ()] == ["1", "5", "6", "7", "2", "3", "4", "8"]

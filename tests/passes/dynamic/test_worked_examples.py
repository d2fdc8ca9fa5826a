"""The worked examples of dynamic-shape graphs with their numbers: engine streams, labels, the automatic mode, AI CPU."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import pytest

from ge_explorer.graph.edit import GraphEditor
from ge_explorer.graph.model import Graph
from ge_explorer.passes.dynamic.enable import AC_PARALLEL, ENABLE
from ge_explorer.passes.partition.topological_sort import TopologicalSort
from ge_explorer.trace import Pipeline, run_trace
from ge_explorer.trace.passes import Pass, PassContext
from ge_explorer.trace.state import Cluster, Clusters, Snapshot, int_array
from tests.passes.dynamic.dynamic_cases import (
    AI,
    CPU,
    DSA,
    HCCL,
    LOCAL,
    MODE,
    RTS,
    STEPS,
    VEC,
    events,
    graph_of,
    run,
    streams,
)

E10 = [
    ("data1", "", []), ("relu", AI, ["data1"]), ("allreduce", HCCL, ["relu"]), ("dsa", DSA, ["allreduce"]),
    ("out", RTS, ["dsa"]),
]  # fmt: skip
LABELLED = {"relu": {"_stream_label": "aaa"}, "allreduce": {"_stream_label": "aaa"}}


def two_chains() -> Graph:
    rows = [("data1", "", []), ("relu1", AI, ["data1"]), ("data2", "", []), ("relu2", AI, ["data2"])]
    return graph_of([*rows, ("out", RTS, ["relu1", "relu2"])])


def test_e9_automatic_mode_splits_two_chains_and_returns_inputs_and_output() -> None:
    t = run(two_chains(), {MODE: "LoadBalance:2"})
    assert set(streams(t, "dynamic-refresh-by-engine-priority").values()) == {0}
    split = streams(t, "dynamic-mini-dag")
    assert split["data1"] == split["relu1"] == split["out"] != split["relu2"] == split["data2"]
    assert streams(t) == {"data1": 0, "relu1": 0, "data2": 0, "relu2": 1, "out": 0}
    assert t.final.streams is not None
    assert t.final.streams.main_count == 2
    assert events(t) == [(0, "data2", "relu2"), (1, "relu2", "out")]
    notes = [w.decision.note.en for w in t.why("relu2", "stream") if w.decision.note is not None]
    assert any("scores 20" in n and "scores 25" in n for n in notes), notes


def test_e10_engines_are_numbered_by_cost_and_every_change_of_engine_is_an_event() -> None:
    t = run(graph_of(E10))
    assert streams(t) == {"data1": 0, "relu": 0, "allreduce": 1, "dsa": 2, "out": 0}
    assert t.final.streams is not None
    assert t.final.streams.main_count == 3
    assert events(t) == [(0, "allreduce", "dsa"), (1, "dsa", "out"), (2, "relu", "allreduce")]


def test_e10_a_label_takes_both_engines_whose_streams_are_then_dropped() -> None:
    t = run(graph_of(E10, LABELLED))
    assert streams(t) == {"data1": 0, "relu": 1, "allreduce": 1, "dsa": 0, "out": 0}
    gone = {d.before for d in t.step("dynamic-refresh-by-engine-priority").decisions if d.rule == "no-node-left"}
    assert gone == {AI, HCCL}


@dataclass(frozen=True, eq=False)
class GivenClusters(Pass):
    """One cluster per node, Data included, as the engine partition never makes them."""

    name: ClassVar[str] = "given-clusters"
    reads: ClassVar[frozenset[str]] = frozenset({"graph"})
    writes: ClassVar[frozenset[str]] = frozenset({"clusters"})
    engines: tuple[str, ...] = ()

    def run(self, s: Snapshot, ctx: PassContext) -> Snapshot:
        n = len(self.engines)
        items = tuple(
            Cluster(i, 0, f"c{i}", e, (i,), "", "", (i - 1,) if i else (), (i + 1,) if i < n - 1 else ())
            for i, e in enumerate(self.engines)
        )
        return s.evolve(clusters=Clusters(items, {0: tuple(range(n))}, int_array(range(n))))


def test_e10_an_input_cluster_that_attached_keeps_the_engine_alive() -> None:
    given = GivenClusters(engines=(LOCAL, AI, HCCL, DSA, LOCAL))
    steps = [STEPS.get(name)() for name in STEPS.names()]
    t = run_trace(graph_of(E10, LABELLED), Pipeline.of([TopologicalSort(), given, *steps]), {ENABLE: "1"}, strict=True)
    assert streams(t) == {"data1": 0, "relu": 2, "allreduce": 2, "dsa": 1, "out": 0}


FORK = [("data", "", []), ("a", AI, ["data"]), ("cpu", CPU, ["a"]), ("b", AI, ["a", "cpu"]), ("out", RTS, ["b"])]


@pytest.mark.parametrize(("parallel", "want"), [("", 0), ("0", 0), ("1", 1)])
def test_ai_cpu_runs_beside_compute_only_when_asked(parallel: str, want: int) -> None:
    t = run(graph_of(FORK), {AC_PARALLEL: parallel})
    assert streams(t) == {"data": 0, "a": 0, "cpu": want, "b": 0, "out": 0}
    assert len(events(t)) == 2 * want


def test_ai_cpu_with_a_producer_it_can_follow_stays_though_parallel() -> None:
    t = run(
        graph_of([("data", "", []), ("a", AI, ["data"]), ("cpu", CPU, ["a"]), ("out", RTS, ["cpu"])]),
        {AC_PARALLEL: "1"},
    )
    assert set(streams(t).values()) == {0}
    assert "can-follow" in {w.decision.rule for w in t.why("cpu")}


@pytest.mark.parametrize(
    ("producer", "rule"), [([], "no-producer"), (["const"], "nobody-to-follow"), (["free"], "local-producers")]
)
def test_why_ai_cpu_gets_a_stream_of_its_own(producer: list[str], rule: str) -> None:
    rows = [
        ("const", "", []),
        ("free", LOCAL, []),
        ("cpu", CPU, producer),
        ("a", AI, ["const"]),
        ("out", RTS, ["cpu", "a"]),
    ]
    t = run(graph_of(rows), {AC_PARALLEL: "1"})
    assert streams(t)["cpu"] == 1
    assert rule in {w.decision.rule for w in t.why("cpu")}


@pytest.mark.parametrize(("op", "want"), [("GetNext", 1), ("DropOutGenMask", 1), ("Where", 0)])
def test_fetching_and_mask_operators_are_beside_compute_without_the_option(op: str, want: int) -> None:
    rows = [("data", "", []), ("a", AI, ["data"]), ("cpu", CPU, ["data"]), ("b", AI, ["a", "cpu"]), ("out", RTS, ["b"])]
    assert streams(run(graph_of(rows, ops={"cpu": op})))["cpu"] == want


def test_ai_cpu_never_follows_a_collective_but_a_local_node_does() -> None:
    rows = [("data", "", []), ("ar", HCCL, ["data"]), ("cpu", CPU, ["ar"]), ("shape", LOCAL, ["ar"])]
    t = run(graph_of(rows))
    assert streams(t) == {"data": 0, "ar": 0, "cpu": 1, "shape": 0}
    assert {"nobody", "engine-stream"} <= {w.decision.rule for w in t.why("cpu")}


def test_an_output_that_could_follow_nobody_leaves_a_counted_stream_without_nodes() -> None:
    rows = [("data", "", []), ("ar", HCCL, ["data"]), ("cpu", CPU, ["ar"]), ("out", RTS, ["cpu"])]
    t = run(graph_of(rows))
    assert streams(t) == {"data": 0, "ar": 0, "cpu": 2, "out": 0}
    assert "not-yet" in {w.decision.rule for w in t.why("out")}
    assert t.final.streams is not None
    assert t.final.streams.main_count == 3
    found = [i for i in t.issues if i.code == "GX331"]
    assert [str(r) for i in found for r in i.refs] == ["stream:1"]
    assert RTS in found[0].message.en


def test_a_node_that_may_follow_two_takes_the_cheaper_engine_not_the_first() -> None:
    rows = [("d", "", []), ("dsa", DSA, ["d"]), ("relu", AI, ["d"]), ("reshape", LOCAL, ["dsa", "relu"])]
    t = run(graph_of(rows, control=[("dsa", "relu")]))
    assert streams(t) == {"d": 0, "dsa": 1, "relu": 0, "reshape": 0}
    assert t.final.clusters is not None
    producers = t.final.clusters.items[t.final.clusters.of_node[t.final.graph.by_name["reshape"]]].pred
    assert t.final.clusters.items[producers[0]].engine == DSA, "the dearer one stands first"


def test_a_collective_cannot_be_followed_with_parallel_ai_cpu_either() -> None:
    rows = [("data", "", []), ("ar", HCCL, ["data"]), ("cpu", CPU, ["ar"])]
    t = run(graph_of(rows), {AC_PARALLEL: "1"})
    assert streams(t)["cpu"] == 1
    assert "nobody-to-follow" in {w.decision.rule for w in t.why("cpu")}


def test_followers_remember_the_end_of_the_chain() -> None:
    rows = [
        ("data", "", []),
        ("a", AI, ["data"]),
        ("cpu", CPU, ["a"]),
        ("shape", LOCAL, ["cpu"]),
        ("out", RTS, ["shape"]),
    ]
    t = run(graph_of(rows))
    s = t.final
    assert s.dynamic is not None and s.clusters is not None
    name = {c.id: s.graph.node(c.nodes[0]).name for c in s.clusters.items}
    assert {name[c]: name[root] for c, root in s.dynamic.follows.items()} == {"cpu": "a", "shape": "a", "out": "a"}
    assert dict(s.dynamic.engines) == {AI: 0}


def test_without_a_producer_to_follow_the_consumer_is_followed() -> None:
    t = run(graph_of([("shape", LOCAL, []), ("ar", HCCL, ["shape"]), ("a", AI, ["ar"]), ("out", RTS, ["a"])]))
    assert streams(t)["shape"] == streams(t)["ar"] == 1
    said = [w.decision for w in t.why("shape") if w.decision.rule == "attach"]
    assert said[0].note is not None
    assert "consumer" in said[0].note.en


def branches(*, then: bool, other: bool, label: str = "") -> Graph:
    """a → if → out; both branches Data → VectorEngine op → NetOutput, of unknown shapes where the flags say so."""
    e = GraphEditor.empty("g", dynamic=True)
    data = e.add_node("data", "Data", outputs=1)
    a = e.add_node("a", "Relu", inputs=[e.output(data)], outputs=1, attrs={"_gx_engine": AI, "_stream_label": label})
    holder = e.add_node("if", "If", inputs=[e.output(a)], outputs=1, attrs={"_gx_engine": LOCAL})
    e.add_node("out", "NetOutput", inputs=[e.output(holder)], attrs={"_gx_engine": RTS})
    for name, dynamic in (("then", then), ("else", other)):
        scope = e.add_scope(name, holder, dynamic=dynamic)
        x = e.add_node(f"{name}_data", "Data", outputs=1, scope=scope)
        y = e.add_node(
            f"{name}_vec", "Relu", inputs=[e.output(x)], outputs=1, scope=scope,
            attrs={"_gx_engine": VEC, "_stream_label": label},
        )  # fmt: skip
        e.add_node(f"{name}_out", "NetOutput", inputs=[e.output(y)], attrs={"_gx_engine": RTS}, scope=scope)
    return e.freeze()


def test_branches_of_unknown_shapes_share_engine_streams_and_control_flow_stays_on_0() -> None:
    t = run(branches(then=True, other=True))
    got = streams(t)
    assert (got["a"], got["then_vec"], got["else_vec"]) == (0, 1, 1)
    assert {got[n] for n in got if not n.endswith("_vec")} == {0}
    assert len(events(t)) == 4


def test_a_branch_of_known_shapes_is_left_to_the_static_path() -> None:
    t = run(branches(then=True, other=False))
    assert streams(t)["else_vec"] == 0
    assert len(events(t)) == 2
    skipped = t.step("dynamic-assign-with-reuse@else")
    assert skipped.status == "skipped"
    assert skipped.reason is not None
    assert "static path" in skipped.reason.en


def test_a_label_is_one_stream_over_graphs() -> None:
    t = run(branches(then=True, other=True, label="L"))
    got = streams(t)
    assert got["a"] == got["then_vec"] == got["else_vec"]
    assert (
        len(
            {
                w.decision.after
                for n in ("a", "then_vec", "else_vec")
                for w in t.why(n)
                if w.decision.rule.startswith("label")
            }
        )
        <= 2
    )


def test_an_automatic_mode_leaves_its_ids_on_branches_of_known_shapes() -> None:
    t = run(branches(then=True, other=False), {MODE: "LoadBalance:2"})
    got = streams(t)
    assert t.final.streams is not None
    assert got["else_vec"] >= t.final.streams.main_count
    assert got["else_vec"] == streams(t, "dynamic-mini-dag")["else_vec"]
    assert t.why("else_vec", "stream")[-1].decision.rule == "known-shapes"
    assert all(e.recv != t.final.graph.by_name["else_vec"] for e in (t.final.sync.events if t.final.sync else ()))

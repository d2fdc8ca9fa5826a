"""Clusters: merging rules, labels, sort mode 3, options, and equality with the plain search on random graphs."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

import pytest

from ge_explorer.errors import PassFailed
from ge_explorer.graph.edit import GraphEditor
from ge_explorer.graph.model import Graph
from ge_explorer.passes.partition.clustering import Clustering, Seed
from ge_explorer.passes.partition.mark_cv_parallel import MarkCvParallel
from ge_explorer.passes.partition.second_partition import SecondPartition, max_parallel
from ge_explorer.passes.partition.topological_sort import TopologicalSort
from ge_explorer.passes.partition.user_stream_labels import UserStreamLabels
from ge_explorer.trace.passes import PassContext
from ge_explorer.trace.state import Options, Placement, Snapshot

AI, CPU, HCCL = "AIcoreEngine", "DNN_VM_AICPU", "DNN_HCCL"


def snapshot(
    rows: Sequence[tuple[str, str, Sequence[str]]],
    attrs: Mapping[str, Mapping[str, object]] | None = None,
    options: Mapping[str, str] | None = None,
    core: Mapping[str, str] | None = None,
) -> Snapshot:
    """Rows are (name, engine or "" for Data, producers)."""
    e = GraphEditor.empty("g")
    ids: dict[str, int] = {}
    for name, engine, feeds in rows:
        op = "Relu" if engine else "Data"
        ids[name] = e.add_node(
            name, op, inputs=[e.output(ids[f]) for f in feeds], outputs=1, attrs=(attrs or {}).get(name)
        )
    cores = tuple((core or {}).get(r[0], "NONE") for r in rows)
    return Snapshot(e.freeze(), Options.of(options), placement=Placement(tuple(r[1] for r in rows), cores))


def run(s: Snapshot) -> Snapshot:
    for p in (UserStreamLabels(), TopologicalSort(), MarkCvParallel(), SecondPartition()):
        ctx = PassContext(p.rules, s.options.values, p.option_keys)
        if p.skip_reason(s, ctx) is None:
            s = p.run(s, ctx)
    return s


def clusters(s: Snapshot) -> list[str]:
    found = run(s)
    assert found.clusters is not None
    return [" ".join(found.graph.node(i).name for i in c.nodes) for c in found.clusters.items]


def test_connected_nodes_of_one_engine_are_one_cluster_and_data_is_in_none() -> None:
    s = snapshot([("x", "", []), ("a", AI, ["x"]), ("b", AI, ["a"]), ("r", HCCL, ["b"]), ("c", AI, ["r"])])
    assert clusters(s) == ["a b", "r", "c"]
    after = run(s)
    assert after.clusters is not None
    assert after.clusters.of_node.tolist() == [-1, 0, 0, 1, 2]
    assert [c.pred for c in after.clusters.items] == [(), (0,), (1,)]


def test_second_path_through_another_engine_keeps_two_clusters_apart() -> None:
    assert clusters(snapshot([("a", AI, []), ("b", CPU, ["a"]), ("c", AI, ["b", "a"])])) == ["a", "b", "c"]


def test_siblings_merge_only_through_a_common_neighbour() -> None:
    rows = [("x", "", []), ("a", AI, ["x"]), ("b", AI, ["x"])]
    assert sorted(clusters(snapshot(rows))) == ["a", "b"]
    assert clusters(snapshot([*rows, ("c", AI, ["a", "b"])])) == ["b a c"]


def test_sort_mode_3_joins_neighbours_without_an_edge() -> None:
    rows = [("x", "", []), ("a", AI, ["x"]), ("b", AI, ["x"]), ("c", CPU, ["a"])]
    assert clusters(snapshot(rows, options={"ge.topoSortingMode": "3"})) == ["a b", "c"]


def test_user_label_joins_different_engines_and_custom_counts_as_ai_core() -> None:
    labels = {"a": {"_user_stream_label": "u"}, "b": {"_user_stream_label": "u"}}
    assert clusters(snapshot([("a", AI, []), ("b", HCCL, ["a"])], labels)) == ["a b"]
    assert clusters(snapshot([("a", AI, []), ("b", "DNN_VM_CUSTOM", ["a"])])) == ["a b"]


def test_stream_label_separates_nodes_of_one_engine() -> None:
    assert clusters(snapshot([("a", AI, []), ("b", AI, ["a"])], {"b": {"_stream_label": "L"}})) == ["a", "b"]


def test_user_label_on_a_data_node_is_dropped() -> None:
    after = run(snapshot([("x", "", []), ("a", AI, ["x"])], {"x": {"_user_stream_label": "u"}}))
    assert after.graph.node("x").attrs["_user_stream_label"] == ""


def test_user_label_replaces_the_inner_one_or_joins_it() -> None:
    attrs = {
        "a": {"_user_stream_label": "u", "_stream_label": "i"},
        "b": {"_user_stream_label": "u", "_stream_label": "i", "_enable_inner_parallel": True},
    }
    after = run(snapshot([("a", AI, []), ("b", AI, ["a"])], attrs)).graph
    assert after.node("a").attrs["_stream_label"] == "u"
    assert after.node("b").attrs["_stream_label"] == after.node("b").attrs["_user_stream_label"] == "u_i"


def test_cv_mode_moves_a_vector_branch_beside_the_cube_branch_to_the_vector_engine() -> None:
    rows = [("x", "", []), ("conv", AI, ["x"]), ("relu", AI, ["x"]), ("add", AI, ["conv", "relu"])]
    core = {"conv": "AIC", "relu": "AIV", "add": "AIV"}
    after = run(snapshot(rows, options={"ge.autoMultistreamParallelMode": "cv"}, core=core))
    assert after.clusters is not None
    engine = {after.graph.node(i).name: c.engine for c in after.clusters.items for i in c.nodes}
    assert engine == {"conv": AI, "relu": "VectorEngine", "add": AI}
    assert clusters(snapshot(rows, core=core)) == ["relu conv add"]


@pytest.mark.parametrize("text", ["AIcoreEngine", "AIcoreEngine:0", "AIcoreEngine:x", "A:1,A:2"])
def test_bad_parallel_option_is_refused(text: str) -> None:
    with pytest.raises(PassFailed) as caught:
        max_parallel(text)
    assert caught.value.code == "E10001"


# -------------------------------------------------------------------- the fast search against the plain one
class Plain(Clustering):
    """The search as GE writes it: depth first behind the parent, direct edge removed."""

    def _second_path(self, start: int, goal: int, bound: int) -> bool:
        seen, stack = {start}, [y for y in self.seed(start).out if y != goal]
        while stack:
            x = stack.pop()
            if x == goal:
                return True
            if x in seen or x >= bound:
                continue
            seen.add(x)
            stack.extend(self.seed(x).out)
        return False


def seeds(rng: random.Random, n: int) -> list[Seed]:
    out: list[Seed] = []
    for i in range(n):
        user = rng.choice(["", "", "", "", "u", "v"]) if rng.random() < 0.3 else ""
        out.append(Seed(i, rng.choice("AAAB"), user or rng.choice(["", "", "", "L"]), user, [i]))
        for p in rng.sample(range(i), min(i, rng.randrange(4))):
            out[i].into.add(p)
            out[p].out.add(i)
    return out


def test_fast_search_gives_the_clusters_of_the_plain_one() -> None:
    for seed in range(600):
        fast = Clustering(seeds(random.Random(seed), 40))
        plain = Plain(seeds(random.Random(seed), 40))
        fast.merge_along_edges()
        plain.merge_along_edges()
        assert fast.alive == plain.alive, seed


def test_without_user_labels_clusters_never_form_a_loop() -> None:
    for seed in range(50):
        work = Clustering(seeds(random.Random(seed), 40))
        for s in work.alive:
            assert s is not None
            s.user_label = ""
        work.merge_along_edges()
        left = {s.index: set(s.into) for s in work.alive if s is not None}
        while left:
            ready = [i for i, into in left.items() if not into & left.keys()]
            assert ready, seed
            for i in ready:
                del left[i]


def test_scope_without_partition_has_no_clusters() -> None:
    e = GraphEditor.empty("g")
    holder = e.add_node("call", "PartitionedCall", outputs=1)
    inner = e.add_scope("inner", holder, attrs={"_no_need_partition": True})
    e.add_node("a", "Relu", scope=inner)
    graph: Graph = e.freeze()
    s = run(Snapshot(graph, placement=Placement(("DNN_VM_GE_LOCAL", AI), ("NONE", "AIV"))))
    assert s.clusters is not None
    assert inner not in s.clusters.by_scope

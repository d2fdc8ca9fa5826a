"""Errors, groups, AllReduce, renumbering and the story of a node, through the real runner."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from chain_cases import CHAIN, PARTITION, WHOLE, by_clusters, streams, whole

from ge_explorer.errors import PassFailed
from ge_explorer.passes.streams.chain import ChainPass
from ge_explorer.trace import Trace

AI, HCCL = "AIcoreEngine", "DNN_HCCL"
SINGLE = {"ge.enableSingleStream": "true"}
PAIR = [("x", "", []), ("a", AI, ["x"]), ("b", HCCL, ["a"])]


def failure(t: Trace) -> PassFailed:
    assert t.failed is not None
    assert isinstance(t.failed.error, PassFailed)
    return t.failed.error


def test_single_stream_puts_everything_on_stream_0_and_runs_the_short_chain() -> None:
    t = whole(PAIR, options=SINGLE)
    assert streams(t) == {"x": -1, "a": 0, "b": 0}
    ran = [s.name for s in t if isinstance(s.pass_, ChainPass) and s.status != "skipped"]
    assert ran == ["single-stream", "node-stream-update", "skipped-engine"]


def test_single_stream_refuses_a_label_with_e10055() -> None:
    error = failure(whole(PAIR, {"a": {"_stream_label": "L"}}, SINGLE))
    assert (error.code, error.ge_status) == ("E10055", "PARAM_INVALID")


def test_single_stream_refuses_an_automatic_mode_with_e10056_before_it_looks_at_labels() -> None:
    options = {**SINGLE, "ge.autoMultistreamParallelMode": "cv"}
    error = failure(whole(PAIR, {"a": {"_stream_label": "L"}}, options))
    assert (error.code, error.ge_status) == ("E10056", "PARAM_INVALID")
    assert str(error).index("ge.autoMultistreamParallelMode") < str(error).index("ge.enableSingleStream")


def test_unknown_engine_is_an_error_that_offers_the_known_ones() -> None:
    with pytest.raises(PassFailed, match="AIcoreEngine"):
        raise failure(whole([("a", "AicoreEngine", [])]))


def test_switched_off_assignment_fails_at_the_nodes_with_a_next_step() -> None:
    from ge_explorer.trace import Pipeline, run_trace
    from ge_explorer.trace.passes import Pass

    t = whole(PAIR)
    passes: list[Pass] = [s.pass_ for s in t]
    pipeline = Pipeline.of(passes).with_disabled(["assign-by-dependency"])
    again = run_trace(t.initial.graph, pipeline, strict=True)
    error = failure(again)
    assert again.failed is not None
    assert again.failed.name == "node-stream-update"
    assert (error.ge_status, error.inner_status) == ("PARAM_INVALID", "INTERNAL_ERROR")
    assert "Switch" in error.todo


def test_parallel_group_leaves_the_stream_and_group_minus_one_returns_to_its_input() -> None:
    rows = [("x", "", []), ("a", AI, ["x"]), ("g1", HCCL, ["a"]), ("g2", HCCL, ["a"]), ("f", HCCL, ["a"]),
            ("z", AI, ["g1", "g2", "f"])]  # fmt: skip
    t = whole(rows, {"g1": {"_parallel_group": "p"}, "g2": {"_parallel_group": "p"}, "f": {"_parallel_group": "-1"}})
    after = streams(t, "parallel-group")
    assert after["f"] == after["a"]
    assert after["g1"] == after["g2"] == 2


def test_all_reduce_parallel_moves_what_depends_on_it() -> None:
    rows = [
        ("x", "", []),
        ("a", AI, ["x"]),
        ("ar", HCCL, ["a"]),
        ("p", AI, ["ar"]),
        ("q", AI, ["p"]),
        ("side", AI, ["a"]),
    ]
    ops = {"ar": "HcomAllReduce"}
    attrs = {"ar": {"fusion": 1}}
    off = whole(rows, attrs, ops=ops)
    assert off.step("all-reduce-parallel").status == "skipped"
    on = whole(rows, attrs, {"ge.hcomParallel": "1"}, ops)
    before, after = streams(on, "parallel-group"), streams(on, "all-reduce-parallel")
    assert {n for n in after if after[n] != before[n]} == {"p", "q"}
    assert after["p"] == after["q"]


def test_mde_ids_do_not_last_and_leave_no_hole() -> None:
    attrs = {"a": {"NewStreamId": 7}, "b": {"NewStreamId": 9}}
    t = whole(PAIR, attrs)
    assert streams(t, "mde-group") == {"x": -1, "a": 0, "b": 1}
    assert streams(t, "node-stream-update") == {"x": -1, "a": 3, "b": 2}
    assert streams(t) == {"x": -1, "a": 1, "b": 0}


def test_memory_priority_switches_the_conflict_test_off() -> None:
    rows = [("s", "e1", []), ("p", "e1", ["s"]), ("q", "e2", ["s"])]
    attach = {"e2": {"attach": True}}
    plain = by_clusters(rows, engines=attach)
    memory = by_clusters(rows, engines=attach, options={"ge.exec.memoryOptimizationPolicy": "MemoryPriority"})
    assert streams(plain, "node-stream-update")["q"] == 1
    assert streams(memory, "node-stream-update")["q"] == 0


def test_a_chain_of_clusters_of_the_costliest_engine_can_still_be_followed() -> None:
    """HOST_CPU costs 10, the start value of GE's search; recordings show that it is reused all the same."""
    t = whole([("a", "DNN_VM_HOST_CPU", []), ("b", "DNN_VM_RTS", ["a"])])
    assert streams(t, "node-stream-update") == {"a": 0, "b": 0}


def test_story_of_a_labelled_node_goes_from_label_to_cluster_to_stream() -> None:
    label = {"_user_stream_label": "moe"}
    t = whole([("x", "", []), ("a", AI, ["x"]), ("e", AI, ["a"]), ("z", AI, ["a", "e"])], {"e": label})
    story = [(w.decision.facet, w.decision.rule) for w in t.why("e")]
    wanted = [("label", "user-label"), ("cluster", "alone"), ("stream", "label-new"), ("stream", "from-cluster")]
    assert [x for x in story if x in wanted] == wanted
    final = next(w for w in t.why("e", "stream") if w.final)
    assert final.decision.after == streams(t)["e"]


def test_every_stream_change_of_a_node_has_a_decision() -> None:
    rows = [("x", "", []), ("a", AI, ["x"]), ("ar", HCCL, ["a"]), ("b", AI, ["ar"]), ("c", "DNN_VM_AICPU", ["a"]),
            ("z", AI, ["b", "c"])]  # fmt: skip
    t = whole(rows, {"c": {"_stream_label": "L"}})
    for step in t:
        before, after = step.before.streams, step.after.streams
        if before is None or after is None:
            continue
        moved = {i for i in range(len(rows)) if before.node[i] != after.node[i]}
        told = {d.subject.id for d in step.decisions if d.subject.kind == "node" and d.facet == "stream"}
        assert moved <= told, step.name


def test_data_tells_why_it_has_no_stream() -> None:
    story = whole(PAIR).why("x", "stream")
    assert [(w.decision.rule, w.decision.after) for w in story] == [("no-cluster", -1)]


ENGINES = [AI, AI, AI, "DNN_VM_AICPU", HCCL, "DNN_VM_GE_LOCAL", "VectorEngine", "DNN_VM_RTS", "DNN_VM_CUSTOM", ""]
ATTRS = [
    {}, {}, {}, {}, {"_stream_label": "L"}, {"_user_stream_label": "u"}, {"_parallel_group": "p"},
    {"_parallel_group": "-1"}, {"NewStreamId": 2}, {"_force_attach_stream": True}, {"_rts_label_node": True},
    {"fusion": 1},
]  # fmt: skip
OPTIONS = [
    {}, {"ge.hcomParallel": "1"}, {"ge.topoSortingMode": "3"}, {"ge.streamMaxParallelNum": "AIcoreEngine:3"},
    {"ge.autoMultistreamParallelMode": "LoadBalance:3"}, {"ge.exec.memoryOptimizationPolicy": "MemoryPriority"},
]  # fmt: skip


@pytest.mark.parametrize("seed", range(60))
def test_random_graphs_keep_the_invariants_at_every_step(seed: int) -> None:
    rng = random.Random(seed)
    rows, attrs, ops = [], {}, {}
    for i in range(rng.randrange(2, 40)):
        feeds = [rows[p][0] for p in rng.sample(range(i), min(i, rng.randrange(4)))]
        engine = rng.choice(ENGINES) if feeds else rng.choice(["", AI])
        rows.append((f"n{i}", engine or (AI if feeds else ""), feeds))
        attrs[f"n{i}"] = rng.choice(ATTRS)
        if engine == HCCL:
            ops[f"n{i}"] = "HcomAllReduce"
    t = whole(rows, attrs, rng.choice(OPTIONS), ops)
    assert t.failed is None, t.failed.error
    for step in t:
        before, after = step.before.streams, step.after.streams
        if after is None:
            continue
        assert after.node.max() < max(1, after.next_stream), step.name
        old = [-1] * len(rows) if before is None else before.node.tolist()
        moved = {i for i, (a, b) in enumerate(zip(old, after.node.tolist(), strict=True)) if a != b}
        if step.name == "mini-dag":  # its own tests look at its decisions
            continue
        told = {d.subject.id: d.after for d in step.decisions if d.subject.kind == "node" and d.facet == "stream"}
        assert moved <= told.keys(), step.name
        assert all(told[i] == after.node[i] for i in moved), step.name
    end = t.final.streams
    assert end is not None
    assert set(end.node.tolist()) - {-1} == set(range(end.next_stream))
    assert all(end.node[n.id] == -1 for n in t.final.graph if n.op == "Data" and not n.inputs)
    loaded = t.step("node-stream-update").after.streams
    assert loaded is not None
    assert t.final.clusters is not None
    for c in t.final.clusters.items:
        for i in c.nodes:
            labelled = "_rts_label_node" in t.final.graph.node(i).attrs
            assert loaded.node[i] == (-1 if labelled else loaded.cluster[c.id])


def test_every_rule_speaks_both_languages_and_names_its_source() -> None:
    for p in (*PARTITION, *WHOLE):
        assert p.title.zh, p.name
        assert p.summary.zh, p.name
        for key, rule in p.rules.items():
            assert rule.text.zh, (p.name, key)
            assert rule.source, (p.name, key)
    assert len(CHAIN) == 10

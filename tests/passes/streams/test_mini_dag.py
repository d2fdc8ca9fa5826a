"""The automatic-stream pass: skips with a reason, keeps what it must, explains every placement."""

from __future__ import annotations

import numpy as np

from ge_explorer.graph.edit import GraphEditor
from ge_explorer.graph.model import Graph
from ge_explorer.passes.streams.mini_dag import MiniDag
from ge_explorer.trace import Pipeline, Trace, run_trace
from ge_explorer.trace.passes import Pass, PassContext
from ge_explorer.trace.state import Snapshot, StreamAssignment, int_array

KEY = "ge.autoMultistreamParallelMode"


class Given(Pass):
    """States streams by node name; others get 0, and 3 is the next free one."""

    name = "given"
    reads = frozenset({"graph"})
    writes = frozenset({"streams", "scope_order"})

    def run(self, s: Snapshot, ctx: PassContext) -> Snapshot:
        node = int_array([-1 if n is None or n.is_source else 0 for n in s.graph.nodes])
        return s.evolve(streams=StreamAssignment(node, next_stream=3), scope_order=tuple(s.graph.subgraph_order()))


def fork(**attrs: object) -> Graph:
    """data → 1→2→3→4→8 beside 1→5→6→7→8."""
    e = GraphEditor.empty("fork", attrs=attrs)
    data = e.add_node("data", "Data", outputs=1)
    made: dict[str, int] = {}
    ins = {"1": (), "2": "1", "3": "2", "4": "3", "5": "1", "6": "5", "7": "6", "8": "47"}
    for name, sources in ins.items():
        feeds = [made[x] for x in sources] or [data]
        made[name] = e.add_node(name, "Relu", inputs=[e.output(f) for f in feeds], outputs=1)
    return e.freeze()


def run(graph: Graph, mode: str = "", **options: str) -> Trace:
    values = {**({KEY: mode} if mode else {}), **options}
    return run_trace(graph, Pipeline.of([Given(), MiniDag()]), values, strict=True)


def streams(trace: Trace) -> dict[str, int]:
    s = trace.final.streams
    assert s is not None
    return {n.name: int(s.node[n.id]) for n in trace.final.graph}


def test_fork_goes_to_two_streams_counted_from_the_next_free_one() -> None:
    trace = run(fork(), "LoadBalance:2")
    assert streams(trace) == {"data": -1, "1": 3, "2": 3, "3": 3, "4": 3, "8": 3, "5": 4, "6": 4, "7": 4}
    after = trace.final.streams
    assert after is not None
    assert after.next_stream == 6, "one id more than needed is reserved, as GE does"
    assert after.custom == (3, 4, 5)


def test_every_placed_node_says_which_scores_were_compared() -> None:
    trace = run(fork(), "LoadBalance:2")
    (entry,) = trace.why("6", "stream")
    d = entry.decision
    assert (d.before, d.after, d.rule) == (0, 4, "load-balance")
    assert d.note is not None
    assert "stream 3 scores 36" in d.note.en
    assert "new stream 4 scores 28" in d.note.en
    assert d.note.en.endswith("lower wins")
    assert "低者胜" in d.note.zh
    assert {str(r) for r in d.evidence} >= {"stream:3", "stream:4"}
    assert not trace.why("data", "stream")


def test_main_stream_is_forced_where_a_level_has_one_node() -> None:
    trace = run(fork(), "MainStream:2")
    assert trace.why("1", "stream")[0].decision.rule == "main-forced"
    assert trace.why("5", "stream")[0].decision.rule == "main-stream"


def test_modes_that_switch_it_off_say_so() -> None:
    for trace, word in (
        (run(fork()), "not set"),
        (run(fork(), "cv"), "partition"),
        (run(fork(**{KEY: "default"}), "LoadBalance:4"), "default"),
        (run(fork(**{KEY: ""}), "LoadBalance:4"), "not set"),
        (run(fork(), "LoadBalance:4", **{"ge.enableSingleStream": "true"}), "single-stream"),
    ):
        step = trace.steps[-1]
        assert step.status == "skipped"
        assert step.reason is not None
        assert word in step.reason.en
        assert step.reason.zh


def test_the_graph_attribute_wins_over_the_option() -> None:
    trace = run(fork(**{KEY: "LoadBalance:1"}), "LoadBalance:4")
    assert {v for k, v in streams(trace).items() if k != "data"} == {3}


def test_an_illegal_mode_fails_with_the_code_of_ge() -> None:
    trace = run(fork(), "LoadBalance:65")
    assert trace.failed is not None
    assert getattr(trace.failed.error, "code", "") == "E10001"


def test_runtime_label_nodes_keep_their_stream() -> None:
    e = GraphEditor(fork())
    seven = fork().by_name["7"]
    e.update_attrs(seven, {"_rts_label_node": True})
    trace = run(e.freeze(), "LoadBalance:2")
    assert streams(trace)["7"] == 0
    assert not trace.why("7", "stream")[0].decision.decisive


def test_each_subgraph_is_spread_on_its_own_ids() -> None:
    e = GraphEditor.empty("g")
    x = e.add_node("x", "Data", outputs=1)
    holder = e.add_node("if", "If", inputs=[e.output(x)], outputs=1)
    for branch in ("then", "else"):
        scope = e.add_scope(branch, holder)
        d = e.add_node(f"{branch}_d", "Data", outputs=1, scope=scope)
        e.add_node(f"{branch}_relu", "Relu", inputs=[e.output(d)], outputs=1, scope=scope)
    trace = run(e.freeze(), "LoadBalance:2")
    got = streams(trace)
    assert got["if"] == 3
    assert got["else_relu"] == 5, "the last branch is processed first"
    assert got["then_relu"] == 7
    assert trace.final.streams is not None
    assert np.all(trace.final.streams.node[[0]] == -1)

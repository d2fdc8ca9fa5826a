"""The automatic-stream pass: skips with a reason, keeps what it must, explains every placement."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from ge_explorer.errors import OptionError
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


# ------------------------------------------------------- explanations and profiles
HEADER = "Op Name,Task Type,Task Duration(us),Block Num,Mix Block Num\n"
PROFILE = "MINIDAG_PROFILING_PATH"


def diamond(**attrs: object) -> Graph:
    """a → {b, c} → d."""
    e = GraphEditor.empty("diamond", attrs=attrs)
    made: dict[str, int] = {}
    for name, sources in {"a": "", "b": "a", "c": "a", "d": "bc"}.items():
        made[name] = e.add_node(name, "Relu", inputs=[e.output(made[x]) for x in sources], outputs=1)
    return e.freeze()


def profiled(tmp_path: Path, rows: str, header: str = HEADER) -> dict[str, str]:
    path = tmp_path / "op_summary.csv"
    path.write_text(header + rows)
    return {PROFILE: str(path)}


TIMES = "a,AI_CORE,10,1,0\nb,AI_CORE,60,4,0\nc,AI_VECTOR_CORE,20,4,0\nd,AI_CORE,10,1,0\n"


def test_diamond_stays_together_until_a_profile_pulls_it_apart(tmp_path: Path) -> None:
    """Examples E8 and E11: LoadBalance:2 scores 16 against 18; with times 5000 against 48, whatever the mode asked for."""
    plain = run(diamond(), "LoadBalance:2")
    assert streams(plain) == {"a": 3, "b": 3, "c": 3, "d": 3}
    note = plain.why("c", "stream")[0].decision.note
    assert note is not None
    assert "stream 3 scores 16 = 3·0 events + 4·3 balance + 1·4 load" in note.en
    assert "new stream 4 scores 18 = 3·2 events + 4·2.25 balance + 1·1 load + 2·1 new stream" in note.en
    timed = run(diamond(), "MainStream:2", **profiled(tmp_path, TIMES))
    assert streams(timed) == {"a": 3, "b": 3, "c": 4, "d": 3}
    d = timed.why("c", "stream")[0].decision
    assert d.rule == "weighted"
    assert d.note is not None
    assert "stream 3 scores 5000 = 3·0 events + 4·1200 time overlap + 2·100 µs" in d.note.en
    assert "new stream 4 scores 48" in d.note.en
    assert "时间重叠" in d.note.zh
    (issue,) = timed.steps[-1].issues
    assert issue.code == "GX131"
    assert "4 of 4 nodes" in issue.message.en
    assert "instead of MainStream" in issue.message.en


def test_a_partial_profile_names_the_nodes_without_times(tmp_path: Path) -> None:
    trace = run(
        diamond(), "LoadBalance:2", **profiled(tmp_path, "x/c,AI_CORE,20,4,0\nb,AI_CORE,0,1,0\nc,AI_CORE,20,4,0\n")
    )
    (issue,) = trace.steps[-1].issues
    assert "2 of 4 nodes" in issue.message.en
    assert "2 nodes without one" in issue.message.en
    assert [trace.final.graph.node(r.id).name for r in issue.refs] == ["a", "d"]
    kept = trace.why("b", "stream")[0].decision
    assert (kept.rule, kept.after, kept.decisive) == ("no-time", 0, False), "b takes 0 µs and keeps its stream"


def test_a_profile_of_something_else_changes_nothing_and_says_so(tmp_path: Path) -> None:
    trace = run(diamond(), "LoadBalance:2", **profiled(tmp_path, "other,AI_CORE,21.0,4,0\nbad,AI_CORE,x,1,0\n"))
    assert streams(trace) == streams(run(diamond(), "LoadBalance:2"))
    assert [(i.code, i.severity) for i in trace.steps[-1].issues] == [("GX131", "warning"), ("GX132", "note")]


@pytest.mark.parametrize(
    ("name", "content", "word"),
    [
        ("a.csv", None, "cannot be read"),
        ("a.txt", HEADER + TIMES, "must end in .csv"),
        ("a.csv", "", "is empty"),
        ("a.csv", "Op Name,Task Type\n" + TIMES, "no column"),
    ],
)
def test_an_unusable_profile_means_default_times(tmp_path: Path, name: str, content: str | None, word: str) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_text(content)
    trace = run(diamond(), "LoadBalance:2", **{PROFILE: str(path)})
    assert streams(trace) == streams(run(diamond(), "LoadBalance:2"))
    (issue,) = trace.steps[-1].issues
    assert (issue.code, issue.severity) == ("GX130", "warning")
    assert word in issue.message.en
    assert issue.fix is not None


def test_routes_say_where_the_cover_had_a_choice() -> None:
    trace = run(fork(), "LoadBalance:2")
    (one,) = trace.why("1", "route")
    assert one.decision.after == 1
    assert one.decision.note is not None
    assert "route 1 goes on to 2, 5 on other routes" in one.decision.note.en
    assert "2 routes = 8 nodes − 6 edges" in one.decision.note.en
    (five,) = trace.why("5", "route")
    assert five.decision.note is not None
    assert "what runs before it goes on elsewhere: 1 → 2" in five.decision.note.en
    assert not trace.why("3", "route"), "no choice, no entry"


def test_repair_is_off_by_default_and_shows_both_scores_when_on() -> None:
    """a and b feed d, c is alone. b goes to the stream of a and d; once c has opened another one, b is better off there."""
    e = GraphEditor.empty("g")
    a, b, _ = (e.add_node(n, "Relu", outputs=1) for n in "abc")
    e.add_node("d", "Relu", inputs=[e.output(a), e.output(b)], outputs=1)
    graph = e.freeze()
    assert streams(run(graph, "LoadBalance:2")) == {"a": 3, "b": 3, "c": 4, "d": 3}
    repaired = Pipeline.of([Given(), MiniDag(repair_moves=3)])
    trace = run_trace(graph, repaired, {KEY: "LoadBalance:2"}, strict=True)
    assert streams(trace) == {"a": 3, "b": 4, "c": 4, "d": 3}
    d = trace.why("b", "stream")[0].decision
    assert d.rule == "repair"
    assert d.note is not None
    assert "moved afterwards: stream 3 scores" in d.note.en
    assert "随后调整" in d.note.zh
    for moves in (-1, 1001):
        with pytest.raises(OptionError, match="repair"):
            MiniDag(repair_moves=moves)


def test_equal_scores_say_what_decided() -> None:
    e = GraphEditor.empty("g")
    for k in range(3):
        e.add_node(f"n{k}", "Relu", outputs=1)
    trace = run(e.freeze(), "LoadBalance:2")
    notes = [trace.why(f"n{k}", "stream")[0].decision.note for k in range(3)]
    assert any(n is not None and "equal scores" in n.en and "同分" in n.zh for n in notes)


def test_a_large_graph_is_explained_in_about_a_second() -> None:
    rng = random.Random(3)
    e = GraphEditor.empty("big")
    made: list[int] = []
    for k in range(10_000):
        near = [made[rng.randrange(max(0, k - 60), k)] for _ in range(rng.choice((1, 1, 2)))] if k else []
        made.append(e.add_node(f"n{k}", "Relu", inputs=[e.output(i) for i in dict.fromkeys(near)], outputs=1))
    graph = e.freeze()
    trace = run(graph, "LoadBalance:8")
    assert len(trace.steps[-1].decisions) < 25_000

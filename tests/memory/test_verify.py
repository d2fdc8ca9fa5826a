"""The verifier finds what a broken plan breaks, and names the event that would mend it."""

from __future__ import annotations

import numpy as np

from ge_explorer.graph.edit import GraphEditor
from ge_explorer.graph.happens_before import HappensBefore, dependency_orders, happens_before
from ge_explorer.issue import Issue
from ge_explorer.memory.model import MemoryPlan, MemoryProblem
from ge_explorer.memory.planner import plan_hb
from ge_explorer.memory.problem import build_problem
from ge_explorer.memory.verify import verify


def two_streams() -> tuple[MemoryProblem, HappensBefore, dict[int, str], list[int]]:
    e = GraphEditor.empty("g")
    a = e.add_node("A", "Op", outputs=[((4064,), "int8")])
    b = e.add_node("B", "Op", inputs=[e.output(a)], outputs=[((4064,), "int8")])
    x = e.add_node("X", "Op", outputs=[((4064,), "int8")])
    e.add_node("Y", "Op", inputs=[e.output(x)], outputs=[((4064,), "int8")])
    g = e.freeze()
    stream = np.array([0, 0, 1, 1], dtype=np.int32)
    hb = happens_before(range(4), stream, dependency_orders(g, stream))
    assert b == 1
    return build_problem(g, range(4), stream, hb=hb), hb, g.unique_names, stream.tolist()


def issues_of(offsets: tuple[int, ...], peak: int) -> tuple[Issue, ...]:
    problem, hb, names, stream = two_streams()
    return verify(problem, MemoryPlan(offsets, peak, "hand"), hb, names, stream)


def test_planned_offsets_are_safe() -> None:
    problem, hb, names, stream = two_streams()
    assert verify(problem, plan_hb(problem), hb, names, stream) == ()


def test_race_names_bytes_reader_writer_and_the_missing_event() -> None:
    (issue,) = issues_of((0, 4096, 3584, 8192), 12288)[:1]
    assert issue.code == "GX201"
    assert "3584..4096" in issue.message.en
    assert issue.fix is not None
    assert "from B to X (stream 0 to stream 1)" in issue.fix.en
    assert issue.message.zh
    assert issue.fix.zh


def test_every_overlapping_pair_is_tested() -> None:
    found = issues_of((0, 4096, 0, 4096), 8192)
    assert [i.code for i in found] == ["GX201", "GX201"]


def test_same_bytes_in_order_are_fine_on_one_stream() -> None:
    e = GraphEditor.empty("g")
    last = None
    for k in range(4):
        last = e.add_node(f"n{k}", "Op", inputs=[] if last is None else [e.output(last)], outputs=[((480,), "int8")])
    stream = np.zeros(4, dtype=np.int32)
    hb = happens_before(range(4), stream)
    problem = build_problem(e.freeze(), range(4), stream, hb=hb)
    assert verify(problem, MemoryPlan((0, 512, 0, 512), 1024, "hand"), hb, {}, [0] * 4) == ()
    assert [i.code for i in verify(problem, MemoryPlan((0, 0, 512, 1024), 2048, "hand"), hb, {}, [0] * 4)] == ["GX201"]


def test_misaligned_and_outside() -> None:
    assert [i.code for i in issues_of((100, 4608, 9216, 13824), 17920)] == ["GX202"]
    assert [i.code for i in issues_of((0, 4096, 8192, 12288), 12288)] == ["GX203"]


def test_wrong_number_of_offsets() -> None:
    assert [i.code for i in issues_of((0,), 4096)] == ["GX204"]

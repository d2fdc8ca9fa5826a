"""In-place by type and hints: what the article's checks let through, and what they miss."""

from __future__ import annotations

import numpy as np
import pytest

from ge_explorer.errors import OptionError
from ge_explorer.graph.edit import GraphEditor
from ge_explorer.graph.happens_before import dependency_orders, happens_before
from ge_explorer.graph.model import Graph
from ge_explorer.memory.planner import plan_hb
from ge_explorer.memory.problem import build_problem
from ge_explorer.memory.teaching.hint_plan import plan_hinted
from ge_explorer.memory.teaching.hints import REAL_COUNTERPART, Hint, Hinted, Wish, apply_hints, hint
from ge_explorer.memory.teaching.inplace import WHY, Verdict, check_inplace
from ge_explorer.memory.verify import find_races
from tests.memory.teaching.graphs import Case, case


def of(graph: Graph, side: str = "") -> Case:
    stream = np.array([-1 if n.is_source else 1 if n.name in side else 0 for n in graph], dtype=np.int32)
    order = np.arange(len(graph), dtype=np.int32)
    hb = happens_before(range(len(graph)), stream, dependency_orders(graph, stream))
    return Case(graph, stream, order, hb, build_problem(graph, range(len(graph)), stream, order, hb))


def verdict(c: Case, name: str, training: bool = False) -> Verdict:
    return check_inplace(c.graph, c.problem, c.hb, c.graph.node(name), training=training)


def built(*steps: tuple[str, str, str, tuple[tuple[int, ...], str]], side: str = "") -> Case:
    """(name, type, inputs as letters, (shape, dtype)) per node."""
    e = GraphEditor.empty("g")
    ids: dict[str, int] = {}
    for name, op, ins, spec in steps:
        ids[name] = e.add_node(name, op, inputs=[e.output(ids[x]) for x in ins], outputs=[spec] if spec[0] else 0)
    return of(e.freeze(), side)


F32 = ((64,), "float")


def test_plain_case() -> None:
    assert verdict(built(("a", "Op", "", F32), ("b", "Relu", "a", F32)), "b") == Verdict(0, 0, 1, "ok")


@pytest.mark.parametrize("spec", [((64,), "float16"), ((32,), "float")])
def test_b3_output_and_input_are_compared_not_one_tensor_with_itself(spec: tuple[tuple[int, ...], str]) -> None:
    c = built(("a", "Op", "", F32), ("b", "Relu", "a", spec))
    a, b = c.graph.node("a"), c.graph.node("b")
    produced, read = c.graph.tensor(a.outputs[0]), c.graph.tensor(b.inputs[0] or 0)
    assert produced.shape == read.shape, "the article compares these two: they are the same tensor"
    assert verdict(c, "b").why == "shape"


def test_b3_every_input_is_looked_at() -> None:
    c = built(("a", "Op", "", ((32,), "float")), ("x", "Op", "", F32), ("b", "Relu", "ax", F32))
    assert verdict(c, "b").index == 1


def test_b3_inputs_without_a_producer_are_no_crash() -> None:
    c = built(("w", "Const", "", F32), ("d", "Data", "", F32), ("b", "Relu", "w", F32), ("c", "Relu", "d", F32))
    assert (verdict(c, "b").why, verdict(c, "c").why) == ("no-buffer", "no-buffer")


def test_b3_graph_results_stay() -> None:
    c = built(("a", "Op", "", F32), ("b", "Relu", "a", F32), ("out", "NetOutput", "ab", ((), "")))
    assert not verdict(c, "b").ok


def test_b3_other_readers_must_be_done_on_every_stream() -> None:
    steps = [("a", "Op", "", F32), ("r", "Op", "a", F32), ("b", "Relu", "a", F32)]
    assert verdict(built(*steps), "b").ok, "one stream: the other reader has run (the article refuses)"
    assert verdict(built(*steps, side="r"), "b").why == "readers"
    assert verdict(built(steps[0], steps[2], ("z", "Op", "a", F32)), "b").why == "readers"


def test_b3_views_and_several_outputs() -> None:
    assert verdict(built(("a", "Op", "", F32), ("v", "Reshape", "a", F32), ("b", "Relu", "v", F32)), "b").why == "view"
    e = GraphEditor.empty("g")
    a = e.add_node("a", "Op", outputs=[F32])
    e.add_node("b", "Relu", inputs=[e.output(a)], outputs=[F32, F32])
    assert verdict(of(e.freeze()), "b").why == "outputs"


@pytest.mark.parametrize(
    ("op", "ok"), [("Relu", True), ("Sigmoid", True), ("Abs", False), ("Square", False), ("Sign", True)]
)
def test_b3_training_keeps_what_the_gradient_reads(op: str, ok: bool) -> None:
    c = built(("a", "Op", "", F32), ("b", op, "a", F32))
    assert verdict(c, "b").ok
    assert verdict(c, "b", training=True).ok is ok


def test_every_reason_has_words() -> None:
    assert all(t.en and t.zh for t in WHY.values())


def wish(c: Case, op: str, what: Hint) -> Hinted:
    return apply_hints(c.graph, c.problem, c.hb, c.order, {op: Wish(what, "test")})


def chain4() -> Case:
    return built(
        ("c", "Conv2D", "", F32), ("n", "BatchNorm", "c", F32), ("r", "Relu", "n", F32), ("p", "MaxPool", "r", F32)
    )


def test_8_two_tensors_become_one() -> None:
    c = built(("c", "Conv2D", "", F32), ("r", "Relu", "c", F32))
    h = wish(c, "Relu", Hint.PREFER_INPLACE)
    assert (plan_hb(c.problem).peak, plan_hb(h.problem).peak, h.merged) == (1024, 512, 1)


def test_8_in_a_chain_in_place_saves_nothing() -> None:
    c = chain4()
    h = wish(c, "Relu", Hint.PREFER_INPLACE)
    assert h.merged == 1
    assert [b.id for b in h.problem.buffers] == [0, 1, 2]
    assert plan_hb(c.problem).peak == plan_hb(h.problem).peak == 1024
    assert [sum(b.size for b in p.buffers) for p in (c.problem, h.problem)] == [2048, 1536], "only the sum falls"


def test_b14_in_place_is_a_wish() -> None:
    c = built(("a", "Op", "", F32), ("b", "Gelu", "a", F32), ("z", "Op", "a", F32))
    h = wish(c, "Gelu", Hint.PREFER_INPLACE)
    assert (h.merged, [(c.graph.node(n).name, why.en) for n, _, why in h.refused]) == (0, [("b", WHY["readers"].en)])
    assert h.problem.before == c.problem.before


def test_b14_fresh_takes_nothing_and_gives() -> None:
    c = chain4()
    h = wish(c, "Relu", Hint.PREFER_FRESH)
    assert h.problem.before[2] == 0
    assert c.problem.before[2]
    assert plan_hb(h.problem).peak == 1536


def test_b14_dont_reuse_output_takes_and_does_not_give() -> None:
    c = chain4()
    h = wish(c, "Conv2D", Hint.DONT_REUSE_OUTPUT)
    assert not any(m & 1 for m in h.problem.before)
    assert any(m & 1 for m in c.problem.before)
    assert h.problem.before[3] == 0b10


def test_b14_flags_of_the_graph_stay() -> None:
    e = GraphEditor.empty("g")
    a = e.add_node("a", "Op", outputs=[F32], attrs={"no_reuse_mem_flag": True})
    b = e.add_node("b", "Op", inputs=[e.output(a)], outputs=[F32])
    d = e.add_node("d", "Relu", inputs=[e.output(b)], outputs=[F32])
    e.add_node("x", "Op", inputs=[e.output(d)], outputs=[F32])
    c = of(e.freeze())
    assert apply_hints(c.graph, c.problem, c.hb, c.order, {}).problem.before == c.problem.before


def test_b14_shared_never_forces() -> None:
    """Equal shapes are no reason to share: two MatMuls alive together stay apart; a third sits on the first once that is free."""
    c = case([("a", "MatMul"), ("b", "MatMul"), ("c", "Op"), ("d", "MatMul")], "ac bc cd")
    h = wish(c, "MatMul", Hint.PREFER_SHARED)
    assert h.problem.before == c.problem.before
    plan = plan_hinted(h)
    assert list(find_races(h.problem.buffers, plan.offsets, c.hb)) == []
    assert plan.offsets[0] != plan.offsets[1]
    assert plan.offsets[3] in plan.offsets[:2]
    assert h.partners == {0: (), 1: (), 3: (0, 1)}


def test_b14_hint_names() -> None:
    assert hint("PREFER_FRESH") is Hint.PREFER_FRESH
    with pytest.raises(OptionError, match="PREFER_INPLACE"):
        hint("PREFER_STALE")
    assert set(REAL_COUNTERPART) == set(Hint)


def test_hints_on_streams_stay_safe() -> None:
    c = case(["a", ("b", "Relu"), ("x", "Relu"), "y", "z"], "ab ax by xy yz", side="xy")
    for what in Hint:
        h = wish(c, "Relu", what)
        for plan in (plan_hb(h.problem), plan_hinted(h)):
            assert list(find_races(h.problem.buffers, plan.offsets, c.hb)) == [], what

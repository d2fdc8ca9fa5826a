"""Strengths side by side on the built-in examples; EX-00 has a known verdict."""

from __future__ import annotations

from functools import cache

from ge_explorer import api
from ge_explorer.plan.builtin import MOE
from ge_explorer.plan.compare import StrengthResult
from ge_explorer.session import Session


@cache
def opened(name: str) -> tuple[Session, dict[str, StrengthResult]]:
    session = api.open_session(name)
    return session, {r.strength: r for r in session.strengths.values() if r is not None}


def name_of(name: str, node: int) -> str:
    return opened(name)[0].trace.final.graph.unique_names[node]


def test_silu_a_is_fake_and_cast_is_the_barrier() -> None:
    r = opened("silu_barrier:A")[1]["C1"]
    assert (r.overlap_pct, r.verdict) == (0.0, "fake")
    assert (name_of("silu_barrier:A", r.dominator), name_of("silu_barrier:A", r.barrier)) == ("qkv", "cast")
    assert r.side_window == (0, 19_500)
    assert r.main_window is not None
    assert r.main_window[1] - r.main_window[0] == 22_750
    assert r.main_window[0] >= 22_750  # both cheap operators run between the side and the big matmul


def test_silu_b_is_real() -> None:
    r = opened("silu_barrier:B")[1]["C1"]
    assert (r.overlap_pct, r.verdict, r.barrier) == (1.0, "real", -1)
    assert r.main_window == (0, 22_750)
    a = opened("silu_barrier:A")[1]
    assert r.makespan_ns < a["C1"].makespan_ns
    assert r.makespan_ns < a["single"].makespan_ns


def test_single_stream_has_no_overlap_figure() -> None:
    r = opened("moe_shared_expert")[1]["single"]
    assert (r.streams, r.events, r.overlap_pct, r.verdict, r.side_window) == (1, 0, None, "", None)
    assert list(r.busy) == [0]


def test_moe_strengths_differ_in_what_they_add() -> None:
    r = opened("moe_shared_expert")[1]
    assert list(r) == ["single", "C1", "C2", "C3"]
    assert [r[k].streams for k in r] == [1, 2, 2, 2]
    assert r["C1"].events == r["C2"].events < r["C3"].events  # core limits add no event, sync points do
    assert sum(r["C1"].busy.values()) == r["single"].busy[0]  # the same work on two streams
    assert sum(r["C2"].busy.values()) > sum(r["C1"].busy.values())  # fewer cores, longer tasks
    assert all(r[k].makespan_ns >= max(r[k].busy.values()) for k in r)
    pcts = [r[k].overlap_pct or 0.0 for k in ("C1", "C2", "C3")]
    assert pcts == sorted(pcts)
    assert all(r[k].peak for k in r)


def spans(strength: str) -> dict[str, tuple[int, int]]:
    """Operator name -> (start, end) in ns under one strength of the MoE plan."""
    session = Session(opened("moe_shared_expert")[0].graph, plan=MOE, strength=strength)
    t, names = session.timeline, session.trace.final.graph.unique_names
    return {names[int(n)]: (int(a), int(b)) for n, a, b in zip(t.node, t.start_ns, t.end_ns, strict=True)}


def test_moe_lesson_says_what_the_simulation_gives() -> None:
    r = opened("moe_shared_expert")[1]
    ns = {k: r[k].makespan_ns for k in r}
    assert ns["C2"] < ns["C1"] < ns["single"]
    assert abs(ns["C3"] - ns["C2"]) < 0.001 * ns["C2"]  # the wait moves the side, not the end
    assert (r["C3"].overlap_pct or 0.0) > (r["C2"].overlap_pct or 0.0)
    assert [r[k].verdict for k in ("C1", "C2", "C3")] == ["partial", "real", "real"]
    labels, cores = spans("C1"), spans("C2")
    assert (
        labels["topk"][0] >= labels["sh.gate_up"][1] > cores["topk"][0]
    )  # every core taken: routing waits for the side
    assert cores["dispatch"][0] < labels["dispatch"][0]
    assert (
        cores["sh.down"][1] <= cores["dispatch"][1]
    )  # nothing of the side is left for the grouped matmuls to share with

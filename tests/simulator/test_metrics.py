"""Overlap by the recipe and by busy time, verdict borders, barrier, ceiling."""

from __future__ import annotations

import numpy as np
import pytest

from ge_explorer.errors import OptionError
from ge_explorer.graph.builder import GraphBuilder
from ge_explorer.simulator.metrics import busy_overlap, busy_per_stream, ceiling, overlap, verdict_of, window_overlap
from ge_explorer.simulator.timeline import Timeline


def timeline(*rows: tuple[int, int, int, int]) -> Timeline:
    """Rows of (node, stream, start us, end us)."""
    n = len(rows)
    zero = np.zeros(n, np.int32)
    cols = [np.array(c, np.int64) for c in zip(*rows, strict=True)]
    return Timeline(cols[0].astype(np.int32), cols[1].astype(np.int32), cols[2] * 1000, cols[3] * 1000, zero, zero,
                    ("measured",) * n, (), (), "Ascend910B1", 24, 48, "measured")  # fmt: skip


@pytest.mark.parametrize(
    ("pct", "word"),
    [
        (0.0, "fake"),
        (0.05, "fake"),
        (0.0501, "partial"),
        (0.40, "partial"),
        (0.4999, "partial"),
        (0.50, "real"),
        (1.0, "real"),
    ],
)
def test_verdict_borders_are_inclusive(pct: float, word: str) -> None:
    assert verdict_of(pct) == word


@pytest.mark.parametrize(("covered", "word"), [(5, "fake"), (40, "partial"), (50, "real")])
def test_overlap_of_exactly_5_40_and_50_percent(covered: int, word: str) -> None:
    found = overlap(timeline((0, 0, 0, 100), (1, 1, 100 - covered, 200 - covered)), [1], [0])
    assert found.pct == covered / 100
    assert found.verdict == word


def test_reference_windows() -> None:
    assert window_overlap((1615250, 1634750), (1638000, 1660750)) == (0, 0.0)


def test_idle_side_around_the_dominator_shows_both_values_and_the_note() -> None:
    found = overlap(timeline((0, 0, 2, 8), (1, 1, 0, 1), (2, 1, 9, 10)), [1, 2], [0])
    assert (found.pct, found.busy_pct, found.verdict) == (1.0, 0.0, "real")
    assert found.side_window == (0, 10_000)
    assert found.main_window == (2000, 8000)
    assert any("idle" in n.en for n in found.notes)
    assert any("disagree" in n.en for n in found.notes)
    assert all(n.zh for n in found.notes)


def test_no_side_stream_is_not_applicable() -> None:
    found = overlap(timeline((0, 0, 0, 5), (1, 0, 5, 9)), [], [0, 1])
    assert (found.pct, found.busy_pct, found.verdict) == (None, None, "not applicable")
    assert found.notes[0].en


def test_side_on_the_main_stream_is_not_applicable() -> None:
    found = overlap(timeline((0, 0, 0, 5), (1, 0, 5, 9)), [1], [0])
    assert (found.pct, found.verdict) == (None, "not applicable")


def test_empty_window_is_an_error() -> None:
    with pytest.raises(OptionError, match="undefined"):
        window_overlap((5, 5), (0, 9))
    with pytest.raises(OptionError):
        busy_overlap([(0, 0)], [(0, 9)])


def test_waiting_is_never_busy() -> None:
    assert busy_per_stream(timeline((0, 0, 0, 5), (1, 0, 50, 60), (2, 1, 30, 31))) == {0: 15_000, 1: 1000}


def test_side_on_two_streams_is_merged_for_busy_time() -> None:
    found = overlap(timeline((0, 0, 0, 10), (1, 1, 0, 6), (2, 2, 4, 10)), [1, 2], [0])
    assert (found.pct, found.busy_pct) == (1.0, 1.0)


def test_several_dominators_share_a_window_only_when_contiguous() -> None:
    close = timeline((0, 0, 0, 50), (1, 0, 51, 100), (2, 1, 40, 60))
    assert overlap(close, [2], [0, 1], dominator=[0, 1]).main_window == (0, 100_000)
    apart = timeline((0, 0, 0, 50), (1, 0, 61, 100), (2, 1, 40, 60))
    found = overlap(apart, [2], [0, 1], dominator=[0, 1])
    assert found.main_window == (0, 50_000)
    assert any("contiguous" in n.en for n in found.notes)


def test_barrier_is_seen_through_a_view_and_only_when_fake() -> None:
    b = GraphBuilder("g")
    x = b.data("x", (4, 4))
    z = b.op("MatMulV2", x, x, name="z", shape=(4, 4))
    view = b.op("Reshape", z, name="view", shape=(16,))
    cast = b.op("Cast", view, name="cast", shape=(16,))
    big = b.op("MatMulV2", x, x, name="big", shape=(4, 4))
    g = b.build(b.op("Add", big, cast, name="end"))
    ids = {n: g.node(n).id for n in ("z", "view", "cast", "big", "end")}
    fake = timeline((ids["z"], 1, 0, 20), (ids["view"], 0, 20, 20), (ids["cast"], 0, 20, 22), (ids["big"], 0, 22, 45),
                    (ids["end"], 0, 45, 90))  # fmt: skip
    mains = [ids["view"], ids["cast"], ids["big"], ids["end"]]
    found = overlap(fake, [ids["z"]], mains, g)
    assert found.dominator == ids["big"]  # "end" is longer but needs the side result, so it cannot hide it
    assert (found.verdict, found.barrier) == ("fake", ids["cast"])
    real = timeline((ids["z"], 1, 0, 20), (ids["big"], 0, 0, 23), (ids["cast"], 0, 23, 25), (ids["end"], 0, 25, 70))
    assert overlap(real, [ids["z"]], mains, g).barrier == -1


def test_ceiling_of_a_fork() -> None:
    b = GraphBuilder("g")
    x = b.data("x", (4, 4))
    a = b.op("Relu", x, name="a")
    g = b.build(b.op("Add", b.op("Relu", a, name="b"), b.op("Relu", a, name="c"), name="d"))
    ns = {g.node("a").id: 10, g.node("b").id: 20, g.node("c").id: 30, g.node("d").id: 10}
    found = ceiling(g, ns)
    assert (found.work_ns, found.path_ns, found.width) == (70, 50, 2)
    assert found.speedup == pytest.approx(1.4)
    assert ceiling(g, {}).speedup is None

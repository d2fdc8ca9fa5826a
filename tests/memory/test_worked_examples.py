"""Worked examples of the memory notes (part D): peak of the happens-before planner, proven bound, and safety."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from ge_explorer.graph.edit import GraphEditor
from ge_explorer.graph.happens_before import Order, dependency_orders, happens_before
from ge_explorer.graph.model import Graph
from ge_explorer.memory.bounds import best_bound, is_certificate
from ge_explorer.memory.model import MemoryPlan, MemoryProblem
from ge_explorer.memory.planner import plan_hb, plan_none
from ge_explorer.memory.problem import build_problem
from ge_explorer.memory.verify import find_races, verify

M = 1048576


def graph_of(
    nodes: Sequence[tuple[str, int]], edges: Sequence[str], workspace: dict[str, int] | None = None
) -> tuple[Graph, dict[str, int]]:
    """Nodes (name, GE size in bytes, a multiple of 512) in issue order and data edges written "AB" or "A>B"."""
    e = GraphEditor.empty("d")
    ids: dict[str, int] = {}
    pairs = [tuple(x.split(">")) if ">" in x else (x[0], x[1]) for x in edges]
    for name, size in nodes:
        inputs = [e.output(ids[a]) for a, b in pairs if b == name]
        attrs = {"workspace_bytes": [workspace[name]]} if workspace and name in workspace else None
        # a payload of size - 32 bytes is padded to exactly ``size``
        ids[name] = e.add_node(name, "Op", inputs=inputs, outputs=[((size - 32,), "int8")], attrs=attrs)
    return e.freeze(), ids


def solve(
    nodes: Sequence[tuple[str, int]], edges: Sequence[str], side: str = "", third: str = "", extra: Sequence[str] = (),
    workspace: dict[str, int] | None = None,
) -> tuple[MemoryProblem, MemoryPlan, int]:  # fmt: skip
    """Plan with the nodes named in ``side`` on stream 1 and in ``third`` on stream 2; returns (problem, plan, bound)."""
    g, ids = graph_of(nodes, edges, workspace)
    stream = np.array([1 if n.name in side else 2 if n.name in third else 0 for n in g], dtype=np.int32)
    orders = dependency_orders(g, stream) + [Order(ids[x[0]], ids[x[1]], "event") for x in extra]
    hb = happens_before(range(len(g)), stream, orders)
    problem = build_problem(g, range(len(g)), stream, hb=hb)
    plan = plan_hb(problem)
    assert verify(problem, plan, hb, g.unique_names, stream.tolist()) == ()
    bound = best_bound(problem, hb, plan)
    assert is_certificate(problem, bound)
    return problem, plan, bound.bytes


def same(names: str, size: int = 4096) -> list[tuple[str, int]]:
    return [(n, size) for n in names]


def test_1_single_stream_chain_needs_two_of_four_buffers() -> None:
    problem, plan, bound = solve(same("abcd", 4 * M), ["ab", "bc", "cd"])
    assert (plan.peak, bound, plan_none(problem).peak) == (8 * M, 8 * M, 16 * M)
    assert [(x.begin, x.end) for x in problem.lifetimes] == [(0, 1), (1, 2), (2, 3), (3, 3)]


def test_2_residual_with_workspace() -> None:
    nodes = [("A", 4096), ("B", 8192), ("C", 4096), ("E", 4096), ("D", 1024)]
    problem, plan, bound = solve(nodes, ["AB", "BC", "CE", "AE", "ED"], workspace={"B": 2048})
    assert (plan.peak, bound, plan_none(problem).peak) == (16384, 16384, 23552)


FORK_JOIN = ["AB", "AC", "CD", "BE", "DE", "EF", "FG"]


def test_3_fork_join_on_two_streams() -> None:
    problem, plan, bound = solve(same("ABCDEFG"), FORK_JOIN, side="CD")
    assert (plan.peak, bound) == (16384, 16384)
    # A is read on both streams; D -> E brings the second reader home, so E may follow A
    a = problem.lifetimes[0]
    assert a.last_use == {0: 1, 1: 2}
    assert a.free_at == {0: 4, 1: -1}


def test_3_the_same_graph_on_one_stream_needs_4096_less() -> None:
    _, plan, bound = solve(same("ABCDEFG"), FORK_JOIN)
    assert (plan.peak, bound) == (12288, 12288)


def test_4_no_way_back_pins_the_buffer() -> None:
    problem, plan, bound = solve(same("ABPCQD"), ["AB", "AP", "PQ", "BC", "CD"], side="BCD")
    assert (plan.peak, bound) == (20480, 20480)
    assert problem.lifetimes[0].free_at == {0: -1, 1: -1}


def test_4_interval_thinking_races() -> None:
    g, _ = graph_of(same("ABPCQD"), ["AB", "AP", "PQ", "BC", "CD"])
    stream = np.array([0, 1, 0, 1, 0, 1], dtype=np.int32)
    hb = happens_before(range(6), stream, dependency_orders(g, stream))
    problem = build_problem(g, range(6), stream, hb=hb)
    plan = MemoryPlan((0, 4096, 8192, 0, 4096, 8192), 12288, "interval")
    races = list(find_races(problem.buffers, plan.offsets, hb))
    assert (0, 3) in {(r.x, r.y) for r in races}
    first = next(r for r in races if (r.x, r.y) == (0, 3))
    assert (first.user, first.writer) == (2, 3)  # P on stream 0 still reads A while C on stream 1 overwrites it


def test_5_reader_only_on_the_other_stream() -> None:
    _, plan, bound = solve(same("ABCD"), ["AB", "BC", "CD"], side="BCD")
    assert (plan.peak, bound) == (8192, 8192)


def test_6_serial_detour() -> None:
    _, plan, bound = solve(same("ABCD"), ["AB", "BC", "CD"], side="B")
    assert (plan.peak, bound) == (8192, 8192)


def test_7_independent_streams_share_nothing() -> None:
    _, plan, bound = solve(same("ABXY"), ["AB", "XY"], side="XY")
    assert (plan.peak, bound) == (16384, 16384)


def test_7_an_event_between_them_halves_the_peak() -> None:
    _, plan, bound = solve(same("ABXY"), ["AB", "XY"], side="XY", extra=["BX"])
    assert (plan.peak, bound) == (8192, 8192)


MIXED = [("A", 4096), ("B", 512), ("C", 512), ("J", 4096), ("K", 4096), ("L", 4096)]


@pytest.mark.parametrize(("more", "peak"), [([], 12800), (["CJ"], 8192)])
def test_7b_one_missing_return_edge_pins_the_buffer(more: list[str], peak: int) -> None:
    _, plan, bound = solve(MIXED, ["AB", "AC", "BJ", "JK", "KL", *more], side="B", third="C")
    assert plan.peak == bound
    assert plan.peak == peak


def test_9_mixed_sizes_nest() -> None:
    sizes = [1024, 4096, 2048, 3584, 512, 1024]
    nodes = [(f"n{i}", s) for i, s in enumerate(sizes)]
    problem, plan, bound = solve(nodes, [f"n{i}>n{i + 1}" for i in range(5)])
    assert (plan.peak, bound, plan_none(problem).peak) == (6144, 6144, 12288)

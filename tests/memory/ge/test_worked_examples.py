"""Worked examples of the memory notes (part D) with GE's own planner: totals, offsets, lifetimes."""

from __future__ import annotations

import pytest

from ge_explorer.memory.ge.blocks import FOREVER, UNSET
from tests.memory.ge.plans import PRIORITY, on, plan, races, same

M = 1 << 20
FORK_JOIN = ["A>B", "A>C", "C>D", "B>E", "D>E", "E>F", "F>G"]
DETOUR = ["A>B", "B>C", "C>D"]


def test_1_chain_needs_two_of_four_buffers() -> None:
    p = plan(same("abcd", 4 * M), ["a>b", "b>c", "c>d"])
    assert p.peaks() == {"binary-block": 8 * M, "max-block": 8 * M}
    assert p.offsets == {"a": 0, "b": 4 * M, "c": 0, "d": 4 * M}
    assert p.lives == {"a": (0, 1), "b": (1, 2), "c": (2, 3), "d": (3, UNSET)}
    assert p.result.statistics.total == 16 * M


def test_2_residual_with_workspace() -> None:
    nodes = [("A", 4096), ("B", 8192), ("C", 4096), ("Add", 4096), ("D", 1024)]
    p = plan(nodes, ["A>B", "B>C", "A>Add", "C>Add", "Add>D"], workspace={"B": [2048]})
    assert p.result.best.size == 16384
    assert p.offsets == {"B": 0, "Add": 0, "D": 4096, "A": 8192, "C": 12288}
    assert p.result.workspaces[1] == (12288,)
    assert p.lives == {"A": (0, 3), "B": (1, 2), "C": (2, 3), "Add": (3, 4), "D": (4, UNSET)}
    assert (p.result.statistics.theory_min, p.result.statistics.total) == (16384, 23552)


def test_3_fork_join_on_two_streams() -> None:
    p = plan(same("ABCDEFG"), FORK_JOIN, on(1, "CD"))
    # ids: A0 B1 C2 D3 E4 ...: the return of stream 1 is what ends A and D for stream 0
    assert p.result.into == {0: {1: ((4, 3),)}, 1: {0: ((2, 0),)}}
    assert p.result.best.size == 20480
    assert p.offsets == {"A": 0, "F": 0, "C": 4096, "D": 8192, "B": 12288, "G": 12288, "E": 16384}
    members = {m.name: m for _, m in p.members}
    assert (members["A"].end, members["B"].end, members["E"].end) == (4, 4, 5)
    assert (members["D"].end_on(1), members["D"].end_on(0)) == (FOREVER, 4)
    assert p.result.statistics.theory_min == 12288


def test_3_memory_priority_gains_nothing_and_one_stream_needs_less() -> None:
    assert plan(same("ABCDEFG"), FORK_JOIN, on(1, "CD"), PRIORITY).result.best.size == 20480
    assert plan(same("ABCDEFG"), FORK_JOIN).result.best.size == 12288


def test_4_no_way_back_pins_the_buffer() -> None:
    p = plan(same("ABPCQD"), ["A>B", "A>P", "P>Q", "B>C", "C>D"], on(1, "BCD"))
    assert p.result.best.size == 20480
    assert p.lives["A"][1] == FOREVER
    assert p.offsets["B"] == p.offsets["D"]


def test_5_reader_only_on_the_other_stream() -> None:
    nodes, edges = same("ABCD"), DETOUR
    for options in ({}, PRIORITY):
        p = plan(nodes, edges, on(1, "BCD"), options)
        assert p.result.best.size == 12288  # a block whose last operator has id 0 is never shared across streams
        assert [m.foreign for _, m in p.members if m.name == "A"] == [((1, 1),)]


@pytest.mark.parametrize(("options", "size"), [({}, 12800), (PRIORITY, 8704)])
def test_5b_memory_priority_pays_off_across_streams(options: dict[str, str], size: int) -> None:
    p = plan([("Z", 512), *same("ABCD")], ["Z>A", *DETOUR], on(1, "BCD"), options)
    assert p.result.best.size == size
    assert p.result.statistics.theory_min == 8192
    want = {"A": 0, "C": 4096, "B": 8192, "D": 8192, "Z": 12288}
    if options:
        want = {"A": 0, "C": 0, "B": 4096, "D": 4096, "Z": 8192}
    assert p.offsets == want


def test_6_serial_detour_counts_on_the_home_stream() -> None:
    p = plan(same("ABCD"), DETOUR, on(1, "B"))
    assert p.result.moved == {1: 0}
    assert p.result.best.size == 8192
    assert p.offsets == {"A": 0, "C": 0, "B": 4096, "D": 4096}


def test_7_independent_streams_share_nothing() -> None:
    p = plan(same("ABXY"), ["A>B", "X>Y"], on(1, "XY"))
    assert (p.result.best.size, p.result.statistics.theory_min) == (16384, 8192)


MIXED = [("A", 4096), ("B", 512), ("C", 512), ("J", 4096), ("K", 4096), ("L", 4096)]


def test_7b_one_missing_return_edge_pins_the_buffer() -> None:
    edges = ["A>B", "A>C", "B>J", "J>K", "K>L"]
    streams = {"B": 1, "C": 2}
    p = plan(MIXED, edges, streams)
    assert (p.result.best.size, p.lives["A"][1]) == (13312, FOREVER)
    q = plan(MIXED, [*edges, "C>J"], streams)
    assert (q.result.best.size, q.lives["A"]) == (9216, (0, 3))
    assert q.offsets == {"A": 0, "K": 0, "J": 4096, "L": 4096, "B": 8192, "C": 8704}


@pytest.mark.parametrize("order", [{}, PRIORITY])
def test_8_in_place(order: dict[str, str]) -> None:
    ability = {"_output_inplace_ability": [[0, 0]]}
    pair = [("conv", 4 * M), ("relu", 4 * M)]
    assert plan(pair, ["conv>relu"], options=order).result.best.size == 8 * M
    one = plan(pair, ["conv>relu"], options=order, attrs={"relu": ability})
    assert (one.result.best.size, one.result.inplace) == (4 * M, ((1, 0, 0),))
    chain = [("conv", 4 * M), ("bn", 4 * M), ("relu", 4 * M), ("pool", 4 * M)]
    edges = ["conv>bn", "bn>relu", "relu>pool"]
    p = plan(chain, edges, options=order, attrs={"relu": ability})
    assert (p.result.best.size, p.result.statistics.total) == (8 * M, 12 * M)
    assert plan(chain, edges, options=order).result.best.size == 8 * M


def test_9_mixed_sizes_nest() -> None:
    sizes = [1024, 4096, 2048, 3584, 512, 1024]
    p = plan([(f"n{i}", s) for i, s in enumerate(sizes)], [f"n{i}>n{i + 1}" for i in range(5)])
    assert p.peaks() == {"binary-block": 6144, "max-block": 6144}
    assert p.offsets == {"n1": 0, "n3": 0, "n5": 0, "n4": 3584, "n2": 4096, "n0": 4096}
    parent = {m.name: b.parent for b, m in p.members}
    block = {m.name: b.uid for b, m in p.members}
    assert (parent["n3"], parent["n5"], parent["n0"]) == (block["n1"], block["n3"], block["n2"])
    assert p.result.statistics.total == 12288


FAN = [f"e:{k}>f:{k}" for k in range(4)]
DIAMOND = ["a>b", "a>c", "c>d:0", "b>d:1", "d>e", *FAN]


@pytest.mark.parametrize(("d", "largest"), [(1, 20480), (2, None)])
def test_10_diamond_over_three_streams(d: int, largest: int | None) -> None:
    nodes = [("a", 2048), ("c", 2048), ("b", 4096), ("d", 2048), ("e", [2048] * 4), ("f", 2048)]
    p = plan(nodes, DIAMOND, {"a": 1, "b": 0, "c": 2, "d": d, "e": d, "f": d}, workspace={k: [1024] for k in "abcdef"})
    assert p.peaks()["binary-block"] == 19456
    assert largest is None or p.peaks()["max-block"] == largest


def test_10_late_uses_on_the_second_stream() -> None:
    nodes: list[tuple[str, int] | tuple[str, list[int]]] = [
        ("a", [2048, 2048]), ("b", [4608, 2048]), ("c", 2048), ("d", 2048), ("e", 2048), ("f", 2048), ("g", 4096), ("h", 2048),
        ("i", 4608), ("j", 2048),
    ]  # fmt: skip
    edges = ["a>b", "b>c", "c>d", "d>e", "e>f", "f>g:0", "a:1>g:1", "g>h:0", "b:1>h:1", "h>i", "i>j"]
    p = plan(nodes, edges, on(1, "fghij"), workspace={k: [1024] for k in "abcdefghij"})
    assert p.peaks() == {"binary-block": 17408, "max-block": 23552}


def test_10_reference_chain() -> None:
    nodes = [("A", 6656), ("B", 1024), ("C", 6500), ("D", 6500), ("E", 1024), ("F", 1024)]
    edges = ["A>B", "B>C", "C>D", "D>E", "E>F"]
    p = plan(nodes, edges, workspace={k: [1024] for k in "ABCDEF"}, references={"C": 0, "D": 0})
    assert p.result.best.size == 14336
    assert p.offsets["B"] == p.offsets["C"] == p.offsets["D"]


def test_a_plan_for_one_stream_races_on_two() -> None:
    p = plan(same("ABXY"), ["A>B", "X>Y"])
    assert p.result.best.size == 8192
    moved = type(p)(p.graph, p.stream * 0 + [0, 0, 1, 1], p.result)
    assert [i.code for i in races(moved)] == ["GX201"] * 2
    assert races(moved, extra=[(1, 2)]) == ()

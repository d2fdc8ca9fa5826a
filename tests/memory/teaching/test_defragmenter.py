"""Fragmentation, compaction and the health monitor."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ge_explorer.errors import OptionError
from ge_explorer.memory.teaching.defragmenter import Block, Relocation, carry_out, repack_by_size, slide_down
from ge_explorer.memory.teaching.fragmentation import PRESETS, Thresholds, fragmentation, holes, over_time
from ge_explorer.memory.teaching.health import Pool, monitor
from tests.memory.teaching.graphs import case


def test_b10_metric_and_presets() -> None:
    assert fragmentation([]) == 0.0
    assert fragmentation([0, 0]) == 0.0
    assert fragmentation([256, 256, 512]) == 0.5
    assert (PRESETS["monitor"].warn, PRESETS["monitor"].defrag, PRESETS["training"].warn) == (0.20, 0.30, 0.25)
    assert (PRESETS["defragmenter"].interval, PRESETS["monitor"].interval) == (100, 50)
    assert [PRESETS["monitor"].state(x) for x in (0.2, 0.21, 0.31)] == ["ok", "warn", "defrag"]
    with pytest.raises(OptionError, match="warn <= defrag"):
        Thresholds(0.4, 0.3, 10)


def test_planned_fragmentation_over_time() -> None:
    assert holes([(0, 10), (20, 5), (22, 8)], 40) == [(10, 10), (30, 10)]
    c = case("abcd", "ab bc cd")
    found = over_time(c.problem, c.plan("hb"))
    assert [t for t, _, _ in found] == [0, 1, 2, 3, 4]
    assert found[0][2] == 4096
    assert all(0 <= f < 1 for _, f, _ in found)


def layout(rows: list[tuple[int, int]]) -> tuple[list[Block], int]:
    """(gap before, size) rows as blocks, and the capacity."""
    out, at = [], 0
    for k, (gap, size) in enumerate(rows):
        at += gap
        out.append(Block(f"b{k}", at, size, k % 2))
        at += size
    return out, at + 3


def contents_after(blocks: list[Block], found: Relocation, capacity: int) -> dict[str, bytes]:
    memory = bytearray(capacity + found.scratch)
    for k, b in enumerate(blocks):
        memory[b.offset : b.offset + b.size] = bytes([k + 1]) * b.size
    carry_out(memory, found.moves)
    return {b.name: bytes(memory[found.table[b.name][1] : found.table[b.name][1] + b.size]) for b in blocks}


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 9)), max_size=9), st.booleans())
def test_b11_every_block_arrives_whole(rows: list[tuple[int, int]], by_size: bool) -> None:
    blocks, capacity = layout(rows)
    found = (repack_by_size if by_size else slide_down)(blocks, capacity)
    assert contents_after(blocks, found, capacity) == {b.name: bytes([k + 1]) * b.size for k, b in enumerate(blocks)}
    assert found.top == sum(b.size for b in blocks)
    assert {n: old for n, (old, _) in found.table.items()} == {b.name: b.offset for b in blocks}
    if not by_size:
        assert found.scratch == 0


def test_b11_the_table_knows_where_from() -> None:
    found = slide_down([Block("a", 64, 32), Block("b", 200, 16, 3)], 256)
    assert found.table == {"a": (64, 0), "b": (200, 32)}
    assert (found.copied, found.barrier) == (48, (0, 3)), "both streams must be idle"


def test_b11_careless_order_destroys_what_waits() -> None:
    """Largest first without a schedule: big lands on small before small has moved."""
    blocks = [Block("small", 0, 2), Block("big", 2, 4)]
    careless = bytearray(b"sBBBB".replace(b"s", b"ss") + b"....")
    careless[0:4] = careless[2:6]
    assert bytes(careless[0:2]) != b"ss"
    found = repack_by_size(blocks, 10)
    assert any(m.scratch for m in found.moves)
    assert contents_after(blocks, found, 10) == {"small": b"\1\1", "big": b"\2" * 4}


def test_b11_no_room_is_an_error() -> None:
    with pytest.raises(OptionError, match="do not fit"):
        slide_down([Block("a", 0, 8), Block("b", 8, 8)], 12)
    with pytest.raises(OptionError, match="unique"):
        slide_down([Block("a", 0, 1), Block("a", 4, 1)], 12)


def fill(pool: Pool) -> None:
    for k in range(8):
        pool.allocate(f"x{k}", 64)
    for k in (1, 3, 5):
        pool.free(f"x{k}")


def test_b11_only_the_pool_above_the_threshold_is_compacted() -> None:
    pools = {"messy": Pool("messy", 512), "calm": Pool("calm", 512)}

    def first(p: Mapping[str, Pool]) -> None:
        fill(p["messy"])
        p["calm"].allocate("y", 64)

    steps = [first] + [lambda p: None] * 100
    report = monitor(pools, steps, PRESETS["monitor"])
    assert [(e.step, e.pool, e.state) for e in report.entries] == [
        (50, "messy", "defrag"), (50, "calm", "ok"), (100, "messy", "ok"), (100, "calm", "ok"),
    ]  # fmt: skip
    assert (report.compactions, report.warnings) == (1, 0)
    assert pools["messy"].fragmentation == 0.0
    assert sorted(pools["messy"].offset.values()) == [0, 64, 128, 192, 256]
    assert pools["calm"].relocations == []


def test_b11_a_warning_is_between_the_thresholds() -> None:
    pool = Pool("p", 640)

    def first(p: Mapping[str, Pool]) -> None:
        for k in range(7):
            p["p"].allocate(f"x{k}", 64)
        p["p"].free("x1")

    report = monitor({"p": pool}, [first, lambda p: None], Thresholds(0.2, 0.3, 1))
    assert [(round(e.fragmentation, 2), e.state) for e in report.entries] == [(0.25, "warn")]
    assert report.warnings == 1
    assert pool.relocations == []


def test_pool_names() -> None:
    p = Pool("p", 256)
    p.allocate("a", 10)
    with pytest.raises(OptionError, match="allocated already"):
        p.allocate("a", 10)
    with pytest.raises(OptionError, match="not allocated"):
        p.free("b")

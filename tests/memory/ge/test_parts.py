"""Parts of GE's planner on their own: stream edges, size classes, the library's orders, flags, effective streams."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ge_explorer.memory.ge.libstdcxx import hash_map_order, introsort
from ge_explorer.memory.ge.options import GeOptions
from ge_explorer.memory.ge.size_classes import binary_classes, class_of
from ge_explorer.memory.ge.stream_edges import Steps
from tests.memory.ge.plans import on, plan, same


def test_edges_over_three_streams() -> None:
    edges = ["a>b", "a>c:0", "b>c:1", "b>d:0", "c>d:1", "c>e:0", "d>e:1", "d>f:0", "e>f:1"]
    p = plan(same("abcdef"), edges, {**on(0, "ab"), **on(1, "cd"), **on(2, "ef")})
    assert p.result.into == {1: {0: ((2, 1),)}, 2: {0: ((4, 1),), 1: ((4, 3),)}}
    assert p.result.out_of == {0: {1: ((1, 2),), 2: ((1, 4),)}, 1: {2: ((3, 4),)}}


def test_a_crossed_edge_is_dropped() -> None:
    p = plan(same("abcde"), ["a>e", "b>c", "c>d"], {**on(0, "ab"), "c": 1, **on(2, "de")})
    assert p.result.into[2][0] == ((3, 1),)  # a -> e says less than b -> c -> d and comes later


def test_steps_look_ups() -> None:
    steps = Steps()
    for k, v in ((4, 1), (9, 3), (4, 2), (4, 0)):
        steps.put(k, v)
    assert list(steps.items()) == [(4, 2), (9, 3)]
    assert (steps.at_most(3), steps.at_most(8), steps.at_least(5), steps.at_least(10)) == (None, (4, 2), (9, 3), None)


@given(st.lists(st.integers(0, 1 << 40)))
def test_the_sort_sorts(items: list[int]) -> None:
    got = list(items)
    introsort(got, lambda a, b: a < b)
    assert got == sorted(items)


@given(st.lists(st.integers(0, 3), max_size=16))
def test_up_to_16_elements_the_sort_is_stable(keys: list[int]) -> None:
    items = list(enumerate(keys))
    got = list(items)
    introsort(got, lambda a, b: a[1] < b[1])
    assert got == sorted(items, key=lambda x: x[1])


def test_above_16_elements_equal_ones_change_places() -> None:
    items = [(i, 0) for i in range(17)]
    got = list(items)
    introsort(got, lambda a, b: a[1] < b[1])
    assert got != items
    assert sorted(got) == items


def test_a_falling_list_of_many_elements() -> None:
    items = list(range(5000, 0, -1))
    introsort(items, lambda a, b: a < b)
    assert items == list(range(1, 5001))


def test_hash_map_order_is_mostly_latest_first() -> None:
    assert hash_map_order([1, 2, 3]) == [3, 2, 1]
    assert hash_map_order([1, 14, 2]) == [2, 14, 1]  # 14 falls into the bucket of 1 and goes before it
    keys = list(range(14))  # the 14th element makes the table grow from 13 to 29 buckets: the walk is inserted again
    assert hash_map_order(keys) == [13, *range(13)]


@pytest.mark.parametrize(
    ("sizes", "classes"),
    [
        ([1536, 1536, 2080, 2080, 8192, 65568], (1536, 2080, 8192, 65568)),
        ([], ()),
        ([512], ()),  # one bucket, and what is left after halving enters none
        ([64, 512], (512,)),
        ([1024], ()),
        ([1025], (1025,)),
    ],
)
def test_size_classes(sizes: list[int], classes: tuple[int, ...]) -> None:
    assert binary_classes(sizes) == classes


def test_thin_buckets_go_to_the_right_unless_they_are_large() -> None:
    few = [600] * 20 + [3000] + [40000] * 20
    assert binary_classes(few) == (40000,)
    large = [9 << 20, 9 << 20, *[40 << 20] * 200]
    assert 9 << 20 in binary_classes(large)


def test_a_size_above_every_class_stays_itself() -> None:
    assert (class_of(600, (512, 2048)), class_of(9999, (512, 2048)), class_of(7, ())) == (2048, 9999, 7)


def test_options() -> None:
    o = GeOptions.of(
        {"ge.exec.inputReuseMemIndexes": "0, 2,x", "ge.hardwareInfo": "a:b;memory_size:77", "OP_NO_REUSE_MEM": "A,B"}
    )
    assert (o.inputs, o.device_bytes, o.no_reuse_ops) == (frozenset({0, 2}), 77, frozenset({"A", "B"}))
    assert GeOptions.of({"OP_NO_REUSE_MEM": ",".join("abcdefghijk")}).no_reuse_ops == frozenset()
    assert GeOptions.of({}) == GeOptions()


def test_a_detour_over_a_merge_or_with_a_second_consumer_stays() -> None:
    edges = ["A>B", "B>C", "C>D"]
    assert plan(same("ABCD"), edges, on(1, "B")).result.moved == {1: 0}
    assert plan(same("ABCD"), edges, on(1, "B"), types={"B": "StreamMerge"}).result.moved == {}
    assert plan(same("ABCDE"), [*edges, "B>E"], on(1, "B")).result.moved == {}
    assert (
        plan(same("AXBCD"), edges, on(1, "B")).result.moved == {}
    )  # X lies between: the detour is not contiguous in time


def test_a_thread_scope_has_no_stream() -> None:
    p = plan(same("AB"), ["A>B"], attrs={"B": {"_thread_scope_id": 1}})
    assert p.result.streams == {0: 0, 1: -1}

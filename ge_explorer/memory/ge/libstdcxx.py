"""Orders that GE gets from its C++ library: the sort that is not stable, and the walk of a hash map (memory.md A9.1, A13).

Equal blocks are frequent, so their order, and with it their offsets, depends on these.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cmp_to_key
from typing import TypeVar

T = TypeVar("T")
SMALL = 16
BUCKETS = (13, 29, 59, 127, 257, 541, 1109, 2357, 5087, 10273, 20753, 42043, 85229, 172933, 351061, 712697)
"""Bucket counts of libstdc++'s hash map as it grows from one."""


def introsort(items: list[T], less: Callable[[T, T], bool]) -> None:
    """``std::sort`` of libstdc++ in place: median-of-three quick sort down to 16 elements, then insertion sort."""
    n = len(items)
    if n < 2:
        return
    _quick(items, 0, n, 2 * (n.bit_length() - 1), less)
    for k in range(1, min(n, SMALL)):
        if less(items[k], items[0]):
            items.insert(0, items.pop(k))
        else:
            _sink(items, k, less)
    for k in range(SMALL, n):
        _sink(items, k, less)


def _sink(v: list[T], k: int, less: Callable[[T, T], bool]) -> None:
    x, j = v[k], k
    while j > 0 and less(x, v[j - 1]):
        v[j] = v[j - 1]
        j -= 1
    v[j] = x


def _quick(v: list[T], first: int, last: int, depth: int, less: Callable[[T, T], bool]) -> None:
    while last - first > SMALL:
        if depth == 0:
            v[first:last] = _heap_sorted(v[first:last], less)
            return
        depth -= 1
        a, b, c = first + 1, first + (last - first) // 2, last - 1
        if less(v[a], v[b]):
            m = b if less(v[b], v[c]) else c if less(v[a], v[c]) else a
        else:
            m = a if less(v[a], v[c]) else c if less(v[b], v[c]) else b
        v[first], v[m] = v[m], v[first]
        pivot, i, j = v[first], first + 1, last
        while True:
            while less(v[i], pivot):
                i += 1
            j -= 1
            while less(pivot, v[j]):
                j -= 1
            if i >= j:
                break
            v[i], v[j] = v[j], v[i]
            i += 1
        _quick(v, i, last, depth, less)
        last = i


def _heap_sorted(items: Sequence[T], less: Callable[[T, T], bool]) -> list[T]:
    """Stand-in for the heap sort that GE's lists never reached; ties keep their order."""

    def order(a: T, b: T) -> int:
        return -1 if less(a, b) else 1 if less(b, a) else 0

    return sorted(items, key=cmp_to_key(order))


def hash_map_order(keys: Sequence[int]) -> list[int]:
    """Iteration order of a ``std::unordered_map`` with these integer keys, inserted in this order.

    A key of an empty bucket goes to the front; one of a used bucket goes before that bucket's first; growing inserts again.
    """
    order: list[int] = []
    count = 0
    for k in keys:
        if len(order) + 1 > count:
            count = next((b for b in BUCKETS if b > count and b >= len(order) + 1), count * 2 + 1)
            walk, order = order, []
            for x in walk:
                _into(order, x, count)
        _into(order, k, count)
    return order


def _into(order: list[int], key: int, count: int) -> None:
    at = next((i for i, x in enumerate(order) if x % count == key % count), 0)
    order.insert(at, key)

"""Which task of one stream is surely done at which task of another (memory.md A8.2; block_mem_stream.cc)."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from ge_explorer.memory.ge.view import CLEANERS, MERGE, View


class Steps:
    """Sorted map id -> id with the two look-ups the planner needs."""

    __slots__ = ("keys", "values")

    def __init__(self) -> None:
        self.keys: list[int] = []
        self.values: dict[int, int] = {}

    def put(self, key: int, value: int) -> None:
        """Set ``key``; an entry that is there keeps the larger value."""
        if key not in self.values:
            insort(self.keys, key)
            self.values[key] = value
        elif value > self.values[key]:
            self.values[key] = value

    def drop(self, key: int) -> None:
        """Remove an entry."""
        del self.values[key]
        self.keys.remove(key)

    def at_most(self, key: int) -> tuple[int, int] | None:
        """Entry with the largest key <= ``key``."""
        i = bisect_right(self.keys, key)
        return (self.keys[i - 1], self.values[self.keys[i - 1]]) if i else None

    def at_least(self, key: int) -> tuple[int, int] | None:
        """Entry with the smallest key >= ``key``."""
        i = bisect_left(self.keys, key)
        return (self.keys[i], self.values[self.keys[i]]) if i < len(self.keys) else None

    def items(self) -> Iterator[tuple[int, int]]:
        """Entries by key."""
        return ((k, self.values[k]) for k in self.keys)

    def __len__(self) -> int:
        return len(self.keys)


@dataclass(frozen=True, slots=True, eq=False)
class StreamEdges:
    """``into[dst][src]`` maps v -> u: task v of dst runs after task u of src. ``out_of[src][dst]`` maps u -> v."""

    into: Mapping[int, Mapping[int, Steps]]
    out_of: Mapping[int, Mapping[int, Steps]]

    def done_before(self, dst: int, src: int, now: int) -> int:
        """Largest known id of stream ``src`` that is done when task ``now`` of ``dst`` starts; 0 when nothing is known."""
        steps = self.into.get(dst, {}).get(src)
        found = steps.at_most(now) if steps is not None else None
        return found[1] if found else 0

    def first_after(self, src: int, dst: int, when: int) -> int | None:
        """First task of ``dst`` known to run after task ``when`` (or a later one) of ``src``."""
        steps = self.out_of.get(src, {}).get(dst)
        found = steps.at_least(when) if steps is not None else None
        return found[1] if found else None


def build_stream_edges(view: View, stream: tuple[int, ...]) -> StreamEdges:
    """Tables over all data and control edges between different effective streams, with their transitive closure."""
    into: dict[int, dict[int, Steps]] = {}
    tainted = _tainted(view, stream)
    for op in view.ops:
        if op.local or op.type in CLEANERS:
            continue
        readers = [r.op for x in op.outputs for r in x.readers]
        for c in (*readers, *op.control):
            src, dst = stream[op.place], stream[c]
            if src != dst and src not in tainted and dst not in tainted:
                _add(into, src, dst, op.id, view.ops[c].id)
    for row in into.values():
        for steps in row.values():
            _keep_rising(steps)
    out_of: dict[int, dict[int, Steps]] = {}
    for dst, row in into.items():
        for src, steps in row.items():
            inverse = out_of.setdefault(src, {}).setdefault(dst, Steps())
            for v, u in steps.items():
                if u not in inverse.values:
                    inverse.put(u, v)
    return StreamEdges(MappingProxyType(into), MappingProxyType(out_of))


def _add(into: dict[int, dict[int, Steps]], src: int, dst: int, u: int, v: int) -> None:
    into.setdefault(dst, {}).setdefault(src, Steps()).put(v, u)
    for t, known in list(into.get(src, {}).items()):
        found = known.at_most(u) if t != dst else None
        if found is None:
            continue
        steps = into[dst].setdefault(t, Steps())
        later = steps.at_least(v)
        if later is not None and later[0] > v and later[1] < found[1]:
            steps.drop(later[0])
        steps.put(v, found[1])


def _keep_rising(steps: Steps) -> None:
    """Drop entries that say no more than an earlier one (so a value 0 goes, unless it is alone)."""
    if len(steps) < 2:
        return
    highest = 0
    for v, u in list(steps.items()):
        if u <= highest:
            steps.drop(v)
        else:
            highest = u


def _tainted(view: View, stream: tuple[int, ...]) -> frozenset[int]:
    """Streams of a merge and of what directly follows it: nothing is concluded from their order."""
    out: set[int] = set()
    for op in view.ops:
        if op.type in MERGE:
            out.add(stream[op.place])
            out.update(stream[r.op] for x in op.outputs for r in x.readers)
            out.update(stream[c] for c in op.control)
    return frozenset(out)

"""Reachability with Python big-int bitsets: who can reach whom in a directed acyclic graph.

One integer per node holds its ancestors, one bit each. ORing two of them handles 30 nodes per machine word and nanosecond,
which beats boolean matrices and per-node sets by orders of magnitude at 10,000 nodes. Above ``COMPONENT_LIMIT`` nodes every
weakly connected component gets bits of its own, so that many small networks do not pay for one large one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from ge_explorer.errors import GraphError

Neighbours = Sequence[Sequence[int]] | Mapping[int, Sequence[int]]
"""Predecessors of each node, by node id. Repeats are allowed."""

COMPONENT_LIMIT = 30_000
"""Number of nodes above which bits are numbered per component (perf.md, facts)."""


def bits(mask: int) -> Iterator[int]:
    """Positions of the set bits, ascending.

    >>> list(bits(0b10110))
    [1, 2, 4]
    """
    text = bin(mask)[:1:-1]
    at = text.find("1")
    while at >= 0:
        yield at
        at = text.find("1", at + 1)


@dataclass(frozen=True, eq=False)
class Reach:
    """Transitive closure of a DAG.

    ``order`` is the topological order it was built on, ``bit`` the bit number of each node inside its component,
    ``component`` the component number, ``masks`` the strict ancestors of each node as bits of that component.

    >>> r = Reach.of([0, 1, 2], {1: [0], 2: [1]})
    >>> r.reaches(0, 2), r.reaches(2, 0)
    (True, False)
    """

    order: tuple[int, ...]
    bit: Mapping[int, int]
    component: Mapping[int, int]
    members: tuple[tuple[int, ...], ...]
    masks: Mapping[int, int]
    pred: Neighbours

    @staticmethod
    def of(order: Sequence[int], pred: Neighbours) -> Reach:
        """Closure over ``order``, which must be topological for ``pred``; predecessors outside ``order`` are ignored.

        Raises GraphError naming the pair when a predecessor comes later in ``order`` than its node.
        """
        component, members = _components(order, pred) if len(order) > COMPONENT_LIMIT else ({}, [list(order)])
        bit: dict[int, int] = {}
        for nodes in members:
            bit.update((v, i) for i, v in enumerate(nodes))
        masks: dict[int, int] = {}
        for v in order:
            mask = 0
            for p in _row(pred, v):
                if p in masks:
                    mask |= masks[p] | 1 << bit[p]
                elif p in bit:
                    raise GraphError(f"node {p} comes after its consumer {v}", todo="Pass a topological order.")
            masks[v] = mask
        return Reach(tuple(order), bit, component, tuple(map(tuple, members)), masks, pred)

    def reaches(self, u: int, v: int) -> bool:
        """True if a path of at least one edge leads from ``u`` to ``v``."""
        if self.component and self.component[u] != self.component[v]:
            return False
        return bool(self.masks[v] >> self.bit[u] & 1)

    def ancestors(self, v: int) -> list[int]:
        """Every node that reaches ``v``, in topological order."""
        nodes = self.members[self.component.get(v, 0)]
        return [nodes[i] for i in bits(self.masks[v])]

    def descendants(self, u: int) -> list[int]:
        """Every node that ``u`` reaches, in topological order."""
        nodes = self.members[self.component.get(u, 0)]
        return [nodes[i] for i in bits(self.descendant_masks[u])]

    @cached_property
    def descendant_masks(self) -> Mapping[int, int]:
        """Strict descendants of each node as bits of its component (built on first use)."""
        out: dict[int, int] = dict.fromkeys(self.order, 0)
        for v in reversed(self.order):
            mine = out[v] | 1 << self.bit[v]
            for p in _row(self.pred, v):
                if p in out:
                    out[p] |= mine
        return out

    def mask(self, nodes: Iterable[int]) -> int:
        """Bits of ``nodes``; they must share one component."""
        out = 0
        for v in nodes:
            out |= 1 << self.bit[v]
        return out


def _row(pred: Neighbours, v: int) -> Sequence[int]:
    return pred.get(v, ()) if isinstance(pred, Mapping) else pred[v]


def _components(order: Sequence[int], pred: Neighbours) -> tuple[dict[int, int], list[list[int]]]:
    """Weakly connected components, numbered by first appearance; members keep the topological order."""
    parent: dict[int, int] = {v: v for v in order}

    def find(v: int) -> int:
        while parent[v] != v:
            parent[v] = parent[parent[v]]
            v = parent[v]
        return v

    for v in order:
        for p in _row(pred, v):
            if p in parent:
                parent[find(p)] = find(v)
    number: dict[int, int] = {}
    members: list[list[int]] = []
    component: dict[int, int] = {}
    for v in order:
        c = number.setdefault(find(v), len(number))
        if c == len(members):
            members.append([])
        members[c].append(v)
        component[v] = c
    return component, members

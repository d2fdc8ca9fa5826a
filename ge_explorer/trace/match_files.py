"""Which node of one file is which node of another: by place and name, by original names, then by what surrounds it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass

from ge_explorer.graph.model import CONST_LIKE, Graph, Node
from ge_explorer.loaders.staged_align import ORIGINAL_NAMES

ROUNDS = 30
"""Sweeps of the search by surroundings; each needs at least one new pair to go on."""


@dataclass(frozen=True, slots=True)
class Match:
    """``pairs`` are (node of a, node of b) in the order of b; ``renamed`` those whose names differ; ``merged`` maps a node of
    b to the nodes of a that GE made it from.
    """

    pairs: tuple[tuple[int, int], ...]
    renamed: tuple[tuple[int, int], ...]
    merged: dict[int, tuple[int, ...]]
    only_a: tuple[int, ...]
    only_b: tuple[int, ...]


def match_nodes(a: Graph, b: Graph) -> Match:
    """One-to-one pairs between two graphs. Subgraphs belong together when their owners and places do, or their names."""
    m = _Matcher(a, b)
    m.by_name()
    merged = m.by_original_names()
    m.by_surroundings()
    into = {i for group in merged.values() for i in group}
    pairs = tuple((m.to_a[j], j) for j in b.node_ids if j in m.to_a)
    return Match(
        pairs, tuple(p for p in pairs if a.node(p[0]).name != b.node(p[1]).name), merged,
        tuple(i for i in a.node_ids if i not in m.to_b and i not in into),
        tuple(j for j in b.node_ids if j not in m.to_a and j not in merged),
    )  # fmt: skip


class _Matcher:
    def __init__(self, a: Graph, b: Graph) -> None:
        self.a, self.b = a, b
        self.to_b: dict[int, int] = {}
        self.to_a: dict[int, int] = {}
        self.scopes: dict[int, int] = {0: 0}

    def pair(self, i: int, j: int) -> None:
        self.to_b[i], self.to_a[j] = j, i
        for s, t in zip(self.a.node(i).subgraphs, self.b.node(j).subgraphs, strict=False):
            self.scopes.setdefault(s, t)

    def by_name(self) -> None:
        """Scope by scope, owners before what they own."""
        of_b = {(n.scope, n.name): n.id for n in self.b}
        named = {s.name: s.id for s in self.b.scopes if s is not None and s.id}
        for s in _outside_in(self.a):
            if s not in self.scopes and self.a.scope(s).name in named:
                self.scopes[s] = named[self.a.scope(s).name]
            there = self.scopes.get(s)
            if there is None:
                continue
            for i in self.a.scope(s).nodes:
                j = of_b.get((there, self.a.node(i).name))
                if j is not None and not self._other_constant(i, j):
                    self.pair(i, j)

    def _other_constant(self, i: int, j: int) -> bool:
        """Passes number constants anew (``dynamic_const_12``), so a name alone does not make two of them one."""
        x, y = self.a.node(i), self.b.node(j)
        return x.op in CONST_LIKE and y.op in CONST_LIKE and _sizes(self.a, x) != _sizes(self.b, y)

    def by_original_names(self) -> dict[int, tuple[int, ...]]:
        """Fused nodes by ``_datadump_original_op_names``: one origin left is a pair, several are a merge."""
        names_a = {n.name: n.id for n in self.a if n.id not in self.to_b}
        claims: dict[str, list[int]] = {}
        for n in self.a:
            for name in _originals(n) if n.id not in self.to_b else ():
                claims.setdefault(name, []).append(n.id)
        merged: dict[int, tuple[int, ...]] = {}
        taken: set[int] = set()
        for n in self.b:
            if n.id in self.to_a:
                continue
            found = [names_a[x] for x in _originals(n) if x in names_a]
            found += [i for x in (n.name, *_originals(n)) for i in claims.get(x, ())]
            found = [i for i in dict.fromkeys(found) if i not in self.to_b and i not in taken]
            if len(found) == 1:
                self.pair(found[0], n.id)
            elif found:
                merged[n.id] = tuple(found)
                taken.update(found)
        return merged

    def by_surroundings(self) -> None:
        """The only node of its type with these producers (or readers), sizes and place, on both sides."""
        for _ in range(ROUNDS):
            before = len(self.to_b)
            self._unique(self._inputs)
            self._unique(self._outputs)
            if len(self.to_b) == before:
                return

    def _unique(self, sign: Callable[[Graph, Node, dict[int, int] | None], Hashable]) -> None:
        groups: dict[Hashable, tuple[list[int], list[int]]] = {}
        back = self.to_b
        for side, (g, done, names) in enumerate(((self.a, self.to_b, back), (self.b, self.to_a, None))):
            for n in g:
                if n.id not in done:
                    key = sign(g, n, names)
                    if key is not None:
                        groups.setdefault(key, ([], []))[side].append(n.id)
        for left, right in groups.values():
            if len(left) == len(right) == 1:
                self.pair(left[0], right[0])

    def _place(self, n: Node, names: dict[int, int] | None) -> int | None:
        return self.scopes.get(n.scope) if names is not None else n.scope

    def _inputs(self, g: Graph, n: Node, names: dict[int, int] | None) -> Hashable:
        made: list[Hashable] = []
        for t in n.inputs:
            if t is None:
                made.append(None)
                continue
            producer, k = g.tensor(t).producer, g.tensor(t).index
            known = names.get(producer) if names is not None else producer if producer in self.to_a else None
            if known is None:
                return None
            made.append((known, k))
        if not made and not n.outputs:
            return None
        return ("in", n.op, self._place(n, names), tuple(made), _sizes(g, n))

    def _outputs(self, g: Graph, n: Node, names: dict[int, int] | None) -> Hashable:
        read: list[tuple[int, int, int]] = []
        for e in g.data_out[n.id]:
            known = names.get(e.dst) if names is not None else e.dst if e.dst in self.to_a else None
            if known is None:
                return None
            read.append((e.src_out, known, e.dst_in))
        return ("out", n.op, self._place(n, names), tuple(sorted(read)), _sizes(g, n)) if read else None


def _sizes(g: Graph, n: Node) -> Hashable:
    return tuple((g.tensor(t).shape, g.tensor(t).dtype) for t in n.outputs)


def _originals(n: Node) -> Iterable[str]:
    names = n.attrs.get(ORIGINAL_NAMES, ())
    return [x for x in names if isinstance(x, str)] if isinstance(names, tuple) else []


def _outside_in(g: Graph) -> list[int]:
    depth: dict[int, int] = {0: 0}

    def of(s: int) -> int:
        chain = []
        while s not in depth:
            chain.append(s)
            parent = g.scope(s).parent
            if parent < 0:
                depth[s] = 1
                break
            s = g.node(parent).scope
        for x in reversed(chain):
            if x not in depth:
                parent = g.scope(x).parent
                depth[x] = depth[g.node(parent).scope] + 1
        return 0

    ids = [s.id for s in g.scopes if s is not None]
    for s in ids:
        of(s)
    return sorted(ids, key=lambda s: (depth[s], s))

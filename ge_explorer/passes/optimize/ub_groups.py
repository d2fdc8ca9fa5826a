"""Which nodes become one buffer-fused kernel: chains behind cube operators, and trees of vector operators."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from ge_explorer.device.work import Operands, work_of
from ge_explorer.graph.model import Graph, Node
from ge_explorer.passes.optimize.fusion_legality import Blocked, blocked
from ge_explorer.passes.optimize.fusion_rewrite import in_order
from ge_explorer.passes.optimize.ub_cost import Part, fits, gain_ns, joined
from ge_explorer.passes.optimize.ub_table import (
    CHAIN_LIMIT,
    CUBE,
    CUBE_CHAIN,
    ELTWISE,
    ELTWISE_CAST,
    FOLLOWERS,
    MEMBER_LIMIT,
    REDUCE,
    BufferRule,
    vector_rule,
)

Refuse = Callable[[tuple[int, ...], Blocked], None]


@dataclass(frozen=True, slots=True)
class Group:
    """Members in execution order, the rule that made it, and the modelled time saved (ns, 0 for cube chains)."""

    members: tuple[int, ...]
    rule: BufferRule
    gain: float = 0.0


def only_reader(g: Graph, n: Node) -> int:
    """The one node that reads ``n`` (all its results), or -1."""
    readers = {e.dst for e in g.data_out[n.id]}
    return readers.pop() if len(readers) == 1 else -1


def cube_chains(g: Graph, refuse: Refuse, *, capture: bool) -> list[Group]:
    """Cube operator plus up to three followers, each the only reader of the one before."""
    out = []
    for i in g.walk():
        n = g.node(i)
        if n.op not in CUBE:
            continue
        members = [i]
        while len(members) <= CHAIN_LIMIT:
            nxt = only_reader(g, g.node(members[-1]))
            if nxt < 0 or g.node(nxt).op not in FOLLOWERS or not _first_input(g, nxt, members[-1]):
                break
            why = blocked(g, [*members, nxt], capture=capture)
            if why is not None:
                refuse((*members, nxt), why)
                break
            members.append(nxt)
        if len(members) > 1:
            out.append(Group(tuple(members), CUBE_CHAIN))
    return out


def _first_input(g: Graph, node: int, producer: int) -> bool:
    inputs = [t for t in g.node(node).inputs if t is not None]
    return bool(inputs) and g.tensor(inputs[0]).producer == producer


@dataclass
class VectorTrees:
    """Greedy merging of vector operators, largest gain first; every merge is a producer into its only reader."""

    g: Graph
    on: Mapping[str, bool]
    refuse: Refuse
    capture: bool
    too_large: list[tuple[int, int]] = field(default_factory=list)
    no_gain: list[tuple[int, int]] = field(default_factory=list)
    _part: dict[int, Part] = field(default_factory=dict)
    _owner: dict[int, int] = field(default_factory=dict)

    def groups(self, taken: set[int]) -> list[Group]:
        """Groups of two or more; ``taken`` are nodes already fused. Nodes are keyed by the group's last node."""
        operands = Operands(self.g)
        for n in self.g:
            if n.id not in taken and self._may_join(n):
                tiles = tuple(o.nbytes for o in (*operands.inputs(n), *operands.outputs(n)))
                self._part[n.id] = Part(work_of(n, operands), tiles, (n.id,))
                self._owner[n.id] = n.id
        gains: dict[int, float] = {}
        heap = [found for i in list(self._part) if (found := self._candidate(i)) is not None]
        heapq.heapify(heap)
        while heap:
            negative, p, c, sizes = heapq.heappop(heap)
            if p not in self._part or self._owner.get(c) is None:
                continue
            end = self._owner[c]
            if sizes != len(self._part[p].members) + len(self._part[end].members):  # a member changed since: look again
                again = self._candidate(p)
                if again is not None:
                    heapq.heappush(heap, again)
                continue
            gains[end] = gains.pop(p, 0.0) + gains.get(end, 0.0) - negative
            self._merge(p, end)
            for other in (*self._feeders(end), end):
                again = self._candidate(other)
                if again is not None:
                    heapq.heappush(heap, again)
        return [
            Group(in_order(self.g, part.members), self._rule(part), gains.get(i, 0.0))
            for i, part in self._part.items()
            if len(part.members) > 1
        ]

    def _may_join(self, n: Node) -> bool:
        rule = vector_rule(n.op)
        return rule is not None and self.on[rule.id] and len(n.outputs) == 1 and not n.subgraphs

    def _next(self, i: int) -> int:
        """Group that alone reads the group ending in ``i`` (-1 none)."""
        reader = only_reader(self.g, self.g.node(i))
        return self._owner.get(reader, -1) if reader >= 0 else -1

    def _feeders(self, end: int) -> list[int]:
        """Groups a member of this group reads from."""
        made_by = (
            self.g.tensor(t).producer for m in self._part[end].members for t in self.g.node(m).inputs if t is not None
        )
        owners = dict.fromkeys(self._owner[i] for i in made_by if i in self._owner)
        return [i for i in owners if i != end]

    def _candidate(self, p: int) -> tuple[float, int, int, int] | None:
        end = self._next(p)
        if end < 0 or end == p:
            return None
        a, b = self._part[p], self._part[end]
        members = (*a.members, *b.members)
        reductions = sum(vector_rule(self.g.node(m).op) is REDUCE for m in members)
        if len(members) > MEMBER_LIMIT or reductions > 1:
            return None
        reader = only_reader(self.g, self.g.node(p))
        x, y = self.g.tensor(self.g.node(p).outputs[0]), self.g.tensor(self.g.node(reader).outputs[0])
        if x.nbytes is None or y.elements is None or x.elements is None:
            return None
        grows = y.elements / max(1, x.elements)
        both = joined(a, b, float(x.nbytes), max(1.0, grows))
        gain = gain_ns(a, b, both)
        if gain <= 0:
            self.no_gain.append((p, end))
            return None
        if not fits(both):
            self.too_large.append((p, end))
            return None
        why = blocked(self.g, members, capture=self.capture)
        if why is not None:
            self.refuse(members, why)
            return None
        return (-gain, p, reader, len(members))

    def _merge(self, p: int, end: int) -> None:
        a, b = self._part.pop(p), self._part[end]
        x = self.g.tensor(self.g.node(p).outputs[0])
        grows = (self.g.tensor(self.g.node(only_reader(self.g, self.g.node(p))).outputs[0]).elements or 1) / (
            x.elements or 1
        )
        self._part[end] = joined(a, b, float(x.nbytes or 0), max(1.0, grows))
        for m in a.members:
            self._owner[m] = end

    def _rule(self, part: Part) -> BufferRule:
        rules = {vector_rule(self.g.node(m).op) for m in part.members}
        return REDUCE if REDUCE in rules else ELTWISE_CAST if ELTWISE_CAST in rules else ELTWISE

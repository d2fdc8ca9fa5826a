"""Writes the streams of one scope back and records why each node is where it is."""

from __future__ import annotations

from collections.abc import Sequence

from ge_explorer.graph.model import Graph, IntArray
from ge_explorer.ids import Ref, node, stream
from ge_explorer.passes.streams.dag.adapter import write_back
from ge_explorer.passes.streams.dag.allocator import Cover
from ge_explorer.passes.streams.dag.explain import RULE, cover_text, join, placement_text, repair_text, route_texts
from ge_explorer.passes.streams.dag.merger import RepairMove
from ge_explorer.passes.streams.dag.mode import Strategy
from ge_explorer.passes.streams.dag.model import Dag
from ge_explorer.text import Text
from ge_explorer.trace.passes import PassContext


class Writer:
    """``before`` are the streams per node id, ``base`` the first stream of the scope, ``next_stream`` the one after its last."""

    def __init__(self, graph: Graph, ctx: PassContext, dag: Dag, before: IntArray, base: int, next_stream: int) -> None:
        self.graph, self.ctx, self.dag, self.before = graph, ctx, dag, before
        self.base, self.next_stream = base, next_stream

    def write(self, cover: Cover, strategy: Strategy, after: IntArray) -> None:
        """Fill ``after`` and record: routes, then unit by unit as placed, label by label, and what was left alone.

        One text per unit, shared by its nodes, so that large graphs stay fast.
        """
        dag = self.dag
        verdict = {i: v for i, _, v in write_back(self.graph, dag, cover.node_streams, self.before, self.next_stream)}

        def put(members: Sequence[int], target: int, rule: str, evidence: list[Ref], note: Text) -> None:
            for i in members:
                old = int(self.before[i])
                if verdict[i] == "rts-label" and old >= 0:
                    self.ctx.decide(node(i), "stream", old, old, "rts-label", decisive=False)
                elif verdict[i] == "moved":
                    after[i] = target
                    self.ctx.decide(node(i), "stream", old, target, rule, evidence, note)

        moves: dict[int, list[RepairMove]] = {}
        for m in cover.merged.repairs:
            moves.setdefault(m.unit, []).append(m)

        def number(k: int) -> int:
            names = cover.merged.renumbered
            return self.base + names[k] if k in names else (-1 if moves else self.base + k)

        if not cover.failure:
            self.routes(cover)
        for p in cover.merged.placements:
            members = [dag.nodes[i].node_id for i in cover.routes[p.unit]]
            note = placement_text(strategy, p, number)
            rule = "main-forced" if p.forced else RULE[strategy]
            if p.unit in moves:
                note, rule = join(note, *(repair_text(m, number) for m in moves[p.unit]), sep=("; ", "；")), "repair"
            looked_at = [stream(k) for c in p.candidates if (k := number(c.stream)) >= 0]
            put(members, self.base + cover.merged.mapping[p.unit], rule, [*_ends(members), *looked_at], note)
        for label, target in cover.label_streams.items():
            members = [dag.nodes[k].node_id for k in cover.residual.labels[label]]
            put(members, target, "label", [node(members[0])], Text(f"label {label}", f"标签 {label}"))
        for k in cover.residual.dropped:
            i = dag.nodes[k].node_id
            if (old := int(self.before[i])) >= 0:
                self.ctx.decide(node(i), "stream", old, old, "no-time", decisive=False)

    def routes(self, cover: Cover) -> None:
        """Where the path cover had a choice."""
        nodes = self.dag.nodes
        why = cover_text(cover)
        for place, route, text in route_texts(cover, lambda i: nodes[i].name):
            row = cover.routes[route]
            ends = _ends([nodes[row[0]].node_id, nodes[row[-1]].node_id])
            note = join(text, why, sep=("; ", "；"))
            self.ctx.decide(node(nodes[place].node_id), "route", None, route + 1, "path-cover", ends, note)


def _ends(members: Sequence[int]) -> list[Ref]:
    """First and last node of a unit."""
    return [node(i) for i in dict.fromkeys((members[0], members[-1]))]

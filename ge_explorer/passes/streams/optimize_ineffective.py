"""optimize-ineffective: a node whose stream brings no overlap goes back to its neighbours' stream."""

from __future__ import annotations

from bisect import bisect_right, insort
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from ge_explorer.ids import node
from ge_explorer.passes.streams.chain import (
    LSA,
    NEW_STREAM_ID,
    PARALLEL_GROUP,
    STREAM_LABEL,
    USER_LABEL,
    ChainPass,
    Draft,
)
from ge_explorer.text import Text
from ge_explorer.trace.passes import Rule
from ge_explorer.trace.state import NO_STREAM

_SOURCE = f"{LSA}: OptimizeIneffectiveMultiStreamPass::Run"


@dataclass(frozen=True)
class OptimizeIneffective(ChainPass):
    """Take back streams that cannot overlap with anything.

    Rule, nodes in order; those with a label, ``NewStreamId``, ``_parallel_group`` or no stream are exempt:
    1. A neighbour on the node's own stream: nothing to do.
    2. For each other neighbouring stream without labelled nodes, ascending: the last producer and the first consumer on it;
       when nothing of that stream lies between them, the node moves there.

    GE source: logical_stream_allocator.cc, exact. The engine is not asked, so a lone collective loses its stream too.
    Example: relu (1) → AllReduce (0) → relu (1), nothing of stream 1 in between → AllReduce to 1.
    """

    name: ClassVar[str] = "optimize-ineffective"
    title: ClassVar[Text] = Text("No overlap", "无效多流")
    summary: ClassVar[Text] = Text(
        "Moves nodes back where a stream of their own cannot overlap with anything.", "把单独成流却无法重叠的节点移回。"
    )
    reads: ClassVar[frozenset[str]] = ChainPass.reads | {"order"}
    ge_name: ClassVar[str] = "OptimizeIneffectiveMultiStreamPass"
    source: ClassVar[str] = _SOURCE
    rules = MappingProxyType(
        {
            "no-overlap": Rule(
                Text(
                    "Its producer and consumer follow each other on one stream: a stream of its own would only wait.",
                    "生产者与消费者在同一条流上相邻：单独成流只会等待。",
                ),
                _SOURCE,
            ),
            "label-protects": Rule(
                Text(
                    "Would not overlap, but the neighbours' stream has labelled nodes, so it stays.",
                    "虽无法重叠，但相邻流上有带标签的节点，因此保留。",
                ),
                _SOURCE,
            ),
        }
    )

    def work(self, d: Draft) -> bool:
        """SUCCESS when a node moved."""
        graph, order = d.s.graph, d.s.order
        assert order is not None
        place = order.tolist()
        on_stream: dict[int, list[int]] = {}
        protected: set[int] = set()
        nodes = graph.scope(d.ctx.scope).nodes
        for i in nodes:
            on_stream.setdefault(d.node[i], []).append(place[i])
            attrs = graph.node(i).attrs
            if STREAM_LABEL in attrs or USER_LABEL in attrs:
                protected.add(d.node[i])
        for row in on_stream.values():
            row.sort()
        moved = False
        for i in nodes:
            mine = d.node[i]
            if mine == NO_STREAM:
                continue
            before, after = graph.pred[i], graph.succ[i]
            around = {d.node[x] for x in (*before, *after)}
            if mine in around or around <= {NO_STREAM}:
                continue
            if not graph.node(i).attrs.keys().isdisjoint((STREAM_LABEL, USER_LABEL, NEW_STREAM_ID, PARALLEL_GROUP)):
                continue
            for s in sorted(around - {NO_STREAM}):
                last = max((x for x in before if d.node[x] == s), key=place.__getitem__, default=None)
                first = min((x for x in after if d.node[x] == s), key=place.__getitem__, default=None)
                if last is None or first is None:
                    continue
                row = on_stream[s]
                k = bisect_right(row, place[last])
                if k >= len(row) or row[k] != place[first]:
                    continue
                pair = (node(last), node(first))
                if s in protected:
                    d.ctx.decide(node(i), "stream", d.node[i], d.node[i], "label-protects", pair, decisive=False)
                    continue
                on_stream[d.node[i]].remove(place[i])
                insort(row, place[i])
                d.set_node(i, s, "no-overlap", pair)
                moved = True
        return moved

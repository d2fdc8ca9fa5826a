"""parallel-group: nodes of a parallel group leave their stream together."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from ge_explorer.ids import node
from ge_explorer.passes.streams.chain import LSA, PARALLEL_GROUP, USER_LABEL, ChainPass, Draft
from ge_explorer.text import Text
from ge_explorer.trace.passes import Rule
from ge_explorer.trace.state import NO_STREAM

_SOURCE = f"{LSA}: UpdateForParallelGroupPass::Run"
_FOLLOW = "-1"


@dataclass(frozen=True)
class ParallelGroup(ChainPass):
    """Nodes with ``_parallel_group`` move to a stream per (old stream, group).

    Rule, old streams ascending, nodes with a user label exempt:
    1. Group "-1" goes back to the stream of its only data producer, when there is exactly one and it has a stream.
    2. Otherwise each group takes a new stream; the same name on two old streams gives two new ones.

    GE source: logical_stream_allocator.cc, exact. Meant for collectives, but no type is tested.
    Example: two AllGathers of group "" on stream 1 → both on new stream 2.
    """

    name: ClassVar[str] = "parallel-group"
    title: ClassVar[Text] = Text("Parallel groups", "并行组")
    summary: ClassVar[Text] = Text("Moves parallel groups to streams of their own.", "把并行组移到各自的流上。")
    ge_name: ClassVar[str] = "UpdateForParallelGroupPass"
    source: ClassVar[str] = _SOURCE
    rules = MappingProxyType(
        {
            "group-new": Rule(
                Text("First node of this parallel group: a new stream.", "并行组的第一个节点：新建流。"), _SOURCE
            ),
            "group-shared": Rule(Text("Shares the stream of its parallel group.", "与同一并行组共用一条流。"), _SOURCE),
            "group-follows": Rule(
                Text("Group -1: back to the stream of its only input.", "并行组 -1：回到唯一输入的流。"), _SOURCE
            ),
        }
    )

    def work(self, d: Draft) -> bool:
        """Move; always SUCCESS."""
        graph = d.s.graph
        by_stream: dict[int, list[tuple[int, str]]] = {}
        for c in d.clusters:
            for i in c.nodes:
                attrs = graph.node(i).attrs
                if PARALLEL_GROUP in attrs and USER_LABEL not in attrs and d.node[i] != NO_STREAM:
                    by_stream.setdefault(d.node[i], []).append((i, str(attrs[PARALLEL_GROUP])))
        for old in sorted(by_stream):
            streams: dict[str, int] = {}
            first: dict[str, int] = {}
            for i, group in by_stream[old]:
                feeds = graph.data_in[i]
                if group == _FOLLOW and len(feeds) == 1 and d.node[feeds[0].src] != NO_STREAM:
                    d.set_node(i, d.node[feeds[0].src], "group-follows", (node(feeds[0].src),))
                    continue
                note = Text(f"group {group!r}", f"组 {group!r}")
                if group not in streams:
                    streams[group], first[group] = d.new_stream(), i
                    d.set_node(i, streams[group], "group-new", (), note)
                else:
                    d.set_node(i, streams[group], "group-shared", (node(first[group]),), note)
        return True

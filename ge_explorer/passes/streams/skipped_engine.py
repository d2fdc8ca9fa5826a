"""skipped-engine: nodes of engines that run nothing join their neighbours."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from ge_explorer.ids import node
from ge_explorer.passes.streams.chain import LSA, ChainPass, Draft
from ge_explorer.text import Text
from ge_explorer.trace.passes import Rule
from ge_explorer.trace.state import NO_STREAM

_SOURCE = f"{LSA}: UpdateForSkippedEnginePass::Run"


@dataclass(frozen=True)
class SkippedEngine(ChainPass):
    """Nodes of skip engines (GE_LOCAL, HOST_CPU, FFTS+) get no stream that only they use.

    Rule, nodes in order, without stream label, with a stream:
    1. No subgraph, and every predecessor has no stream (or there is none): no stream either. This cascades.
    2. At least one successor, and all neighbours with a stream share one: that stream.

    GE source: logical_stream_allocator.cc, exact.
    Example: relu (0) → Reshape (1) → relu (0): Reshape goes to 0.
    """

    name: ClassVar[str] = "skipped-engine"
    title: ClassVar[Text] = Text("Skip engines", "跳过引擎")
    summary: ClassVar[Text] = Text(
        "Nodes that run nothing on the device follow their neighbours.", "不在设备上执行的节点跟随相邻节点。"
    )
    ge_name: ClassVar[str] = "UpdateForSkippedEnginePass"
    source: ClassVar[str] = _SOURCE
    in_single_mode: ClassVar[bool] = True
    rules = MappingProxyType(
        {
            "no-predecessor-stream": Rule(
                Text(
                    "Its engine needs no stream and nothing before it has one.",
                    "其引擎不需要流，且上游都没有流。",
                ),
                _SOURCE,
            ),
            "single-neighbour-stream": Rule(
                Text(
                    "Its engine needs no stream and all its neighbours are on one.",
                    "其引擎不需要流，且相邻节点都在同一条流上。",
                ),
                _SOURCE,
            ),
        }
    )

    def work(self, d: Draft) -> bool:
        """Move; always SUCCESS."""
        graph = d.s.graph
        todo = {
            i for c in d.clusters if not c.stream_label and d.engine(c).skip for i in c.nodes if d.node[i] != NO_STREAM
        }
        for i in graph.scope(d.ctx.scope).nodes if todo else ():
            if i not in todo:
                continue
            before = [p for p in graph.pred[i] if d.node[p] != NO_STREAM]
            if not before and not graph.node(i).subgraphs:
                d.set_node(i, NO_STREAM, "no-predecessor-stream", tuple(map(node, graph.pred[i][:8])))
                continue
            after = graph.succ[i]
            streams = {d.node[x] for x in (*before, *after)} - {NO_STREAM}
            if after and len(streams) == 1:
                neighbours = tuple(node(x) for x in (*before, *after)[:8])
                d.set_node(i, streams.pop(), "single-neighbour-stream", neighbours)
        return True

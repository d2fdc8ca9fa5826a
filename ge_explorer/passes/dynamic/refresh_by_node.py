"""dynamic-refresh-by-node: after an automatic mode, number the streams found on nodes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import ClassVar

from ge_explorer.errors import ContractError
from ge_explorer.graph.model import Node
from ge_explorer.ids import node
from ge_explorer.ids import stream as stream_ref
from ge_explorer.passes.dynamic.chain import DSA
from ge_explorer.passes.dynamic.enable import ENABLE, off_reason
from ge_explorer.passes.dynamic.mini_dag import no_dag_mode
from ge_explorer.passes.dynamic.scopes import MAIN_STREAM, common_streams, dynamic_nodes, forced_main
from ge_explorer.passes.streams.dag.mode import KEY
from ge_explorer.text import Text
from ge_explorer.trace.passes import Pass, PassContext, Rule
from ge_explorer.trace.state import NO_STREAM, Snapshot, int_array

_SOURCE = f"{DSA}: DynamicStreamAllocator::RefreshContinuousStreamsByNodeIds"


@dataclass(frozen=True)
class RefreshByNode(Pass):
    """Number the streams that count without holes, and put everything else on stream 0.

    Rule:
    1. Streams that count are those of nodes that are neither inputs, constants, variables or NetOutput nor own subgraphs, in the
       root and the subgraphs of unknown shapes. Ascending, they become 0, 1, 2, …
    2. All other nodes of these graphs go to stream 0. Subgraphs of known shapes keep what they have.

    GE source: dynamic_stream_allocator.cc, exact.
    Example: relu 2, if 0, relu in its branch 4 → relu 0, if 0, the other relu 1.
    """

    name: ClassVar[str] = "dynamic-refresh-by-node"
    title: ClassVar[Text] = Text("Renumber", "流号连续化")
    summary: ClassVar[Text] = Text(
        "Numbers the streams of the automatic mode without holes; inputs, outputs and control flow return to stream 0.",
        "为自动多流的结果连续编号；输入、输出和控制流回到流 0。",
    )
    chapter = "streams"
    reads: ClassVar[frozenset[str]] = frozenset({"graph", "clusters", "streams", "scope_order"})
    writes: ClassVar[frozenset[str]] = frozenset({"streams"})
    option_keys: ClassVar[frozenset[str]] = frozenset({ENABLE, KEY})
    ge_name: ClassVar[str] = "RefreshContinuousStreamsByNodeIds"
    source: ClassVar[str] = _SOURCE
    rules = MappingProxyType(
        {
            "renumber": Rule(
                Text("Streams in use are numbered in ascending order.", "使用中的流按升序连续编号。"), _SOURCE
            ),
            "back-to-main": Rule(
                Text(
                    "Inputs, constants, outputs and control flow return to stream 0.",
                    "输入、常量、输出和控制流回到流 0。",
                ),
                _SOURCE,
            ),
            "known-shapes": Rule(
                Text(
                    "In a subgraph of known shapes: keeps the id of the automatic mode until the static path gives it its own.",
                    "位于形状已知的子图：保留自动多流的编号，待静态路径另行分配。",
                ),
                _SOURCE,
            ),
        }
    )

    def skip_reason(self, s: Snapshot, ctx: PassContext) -> Text | None:
        """Allocator off, or no automatic mode: the numbering by engines holds."""
        return off_reason(s, ctx) or no_dag_mode(s, ctx)

    def run(self, s: Snapshot, ctx: PassContext) -> Snapshot:
        """Snapshot with continuous ids; ``main_count`` and ``next_stream`` count them (at least 1)."""
        assert s.streams is not None
        graph = s.graph
        nodes = dynamic_nodes(graph, s.scope_order)
        now: list[int] = s.streams.node.tolist()
        counted = [i for i in nodes if now[i] != NO_STREAM and _counts(graph.node(i))]
        new_of = {old: k for k, old in enumerate(sorted({now[i] for i in counted}))}
        after = list(now)
        on_its_own = set(counted)
        for i in nodes:
            after[i] = new_of[now[i]] if i in on_its_own else MAIN_STREAM
            if after[i] != now[i]:
                rule = "renumber" if i in on_its_own else "back-to-main"
                ctx.decide(node(i), "stream", now[i], after[i], rule, (stream_ref(after[i]),))
        count = max(len(new_of), 1)
        inside = set(nodes)
        for n in graph:
            if n.id not in inside and now[n.id] != MAIN_STREAM:
                ctx.decide(node(n.id), "stream", now[n.id], now[n.id], "known-shapes", decisive=False)
        ctx.status = "SUCCESS"
        streams = replace(
            s.streams,
            node=int_array(after),
            cluster=common_streams(s.clusters, after),
            next_stream=count,
            main_count=count,
        )
        return s.evolve(streams=streams)

    def ensures(self, before: Snapshot, after: Snapshot) -> None:
        """Ids of the graphs of unknown shapes have no holes above stream 0."""
        assert after.streams is not None
        nodes = dynamic_nodes(after.graph, after.scope_order)
        used = {int(after.streams.node[i]) for i in nodes} | {MAIN_STREAM}
        if used != set(range(after.streams.main_count)):
            raise ContractError("stream ids have holes after renumbering", got=sorted(used))


def _counts(n: Node) -> bool:
    return not n.subgraphs and not forced_main(n)

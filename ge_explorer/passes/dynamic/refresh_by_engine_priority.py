"""dynamic-refresh-by-engine-priority: number engines by cost, then labels by name; forced nodes go to stream 0."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import ClassVar

from ge_explorer.device.engines import ENGINES_OPTION, Engine, engine_table
from ge_explorer.errors import ContractError, PassFailed, did_you_mean
from ge_explorer.graph.model import Node
from ge_explorer.ids import node
from ge_explorer.ids import stream as stream_ref
from ge_explorer.issue import Issue
from ge_explorer.passes.dynamic.chain import DSA
from ge_explorer.passes.dynamic.enable import ENABLE, off_reason
from ge_explorer.passes.dynamic.engine_sort import device_order, intended_order
from ge_explorer.passes.dynamic.scopes import MAIN_STREAM, common_streams, dynamic_nodes, forced_main
from ge_explorer.text import Text
from ge_explorer.trace.passes import Pass, PassContext, Rule
from ge_explorer.trace.state import NO_STREAM, DynamicState, Snapshot, int_array

_SOURCE = f"{DSA}: DynamicStreamAllocator::RefreshContinuousStreams"
_PER_GRAPH = f"{DSA}: DynamicStreamAllocator::RefreshStreamsForGraph"
UNSTABLE_SORT, EMPTY_STREAM = "GX330", "GX331"


@dataclass(frozen=True)
class RefreshByEnginePriority(Pass):
    """Close the holes and give the cheapest engine stream 0.

    Rule:
    1. Engines whose stream has no node left (all moved to labels) are dropped.
    2. The rest is numbered by (compute cost, name), then the labels by name.
    3. Nodes without a stream, nodes that own subgraphs, inputs, constants, variables and NetOutput go to stream 0.
    4. At least one stream is counted.

    GE source: dynamic_stream_allocator.cc, exact for the order GE means; where its code ends in another one, see GX330.
    Example: HCCL 0, AI Core 1, label a 2 → AI Core 0, HCCL 1, a 2.
    """

    name: ClassVar[str] = "dynamic-refresh-by-engine-priority"
    title: ClassVar[Text] = Text("Number engines", "按引擎编号")
    summary: ClassVar[Text] = Text(
        "Numbers engine streams by cost, then label streams; control flow, inputs and outputs go to stream 0.",
        "按开销为引擎流编号，再为标签流编号；控制流、输入和输出归到流 0。",
    )
    chapter = "streams"
    reads: ClassVar[frozenset[str]] = frozenset({"graph", "clusters", "streams", "scope_order", "dynamic"})
    writes: ClassVar[frozenset[str]] = frozenset({"streams"})
    option_keys: ClassVar[frozenset[str]] = frozenset({ENABLE, ENGINES_OPTION})
    ge_name: ClassVar[str] = "RefreshContinuousStreams"
    source: ClassVar[str] = _SOURCE
    rules = MappingProxyType(
        {
            "engine-order": Rule(
                Text("Engines are numbered by cost, then by name.", "引擎按开销、再按名称编号。"), _SOURCE
            ),
            "label-order": Rule(
                Text("Labels are numbered by name, after the engines.", "标签在引擎之后按名称编号。"), _SOURCE
            ),
            "no-node-left": Rule(
                Text("All its nodes went to labels, so its stream is dropped.", "其节点都移到了标签流，该流被删除。"),
                f"{DSA}: DynamicStreamAllocator::RetainEngineOwingNodes",
            ),
            "no-stream": Rule(
                Text("Nodes without a stream run on stream 0.", "没有流的节点在流 0 上执行。"), _PER_GRAPH
            ),
            "control-flow": Rule(
                Text("Nodes that own subgraphs stay on stream 0.", "拥有子图的控制流节点留在流 0。"), _PER_GRAPH
            ),
            "forced-main": Rule(
                Text("Inputs, constants, variables and outputs stay on stream 0.", "输入、常量、变量和输出留在流 0。"),
                f"{DSA}: DynamicStreamAllocator::IsForcedAssignMainStream",
            ),
        }
    )

    def skip_reason(self, s: Snapshot, ctx: PassContext) -> Text | None:
        """Allocator off."""
        return off_reason(s, ctx)

    def run(self, s: Snapshot, ctx: PassContext) -> Snapshot:
        """Snapshot with final engine and label streams; ``main_count`` counts them, used or not."""
        assert s.streams is not None
        graph, state = s.graph, s.dynamic or DynamicState()
        nodes = dynamic_nodes(graph, s.scope_order)
        now: list[int] = s.streams.node.tolist()
        used = {now[i] for i in nodes}
        table = engine_table(ctx.option(ENGINES_OPTION))
        kept = _sorted_engines([e for e, old in state.engines.items() if old in used], table)
        for e, old in sorted(state.engines.items()):
            if old not in used:
                ctx.decide(stream_ref(old), "engine", e, None, "no-node-left")
        unstable = _unstable(kept)
        if unstable is not None:
            ctx.report(unstable)
        new_of: dict[int, tuple[int, str, Text]] = {}
        for k, engine in enumerate(kept):
            note = Text(f"{engine.id}, cost {engine.cost}", f"{engine.id}，开销 {engine.cost}")
            new_of[state.engines[engine.id]] = (k, "engine-order", note)
        for label in sorted(state.labels, key=str.encode):
            new_of[state.labels[label]] = (len(new_of), "label-order", Text(f"label {label!r}", f"标签 {label!r}"))
        after = list(now)
        for i in nodes:
            n = graph.node(i)
            why: Text | None = None
            if now[i] == NO_STREAM or not new_of:
                after[i], rule = MAIN_STREAM, "no-stream"
            elif n.subgraphs:
                after[i], rule = MAIN_STREAM, "control-flow"
            elif forced_main(n):
                after[i], rule = MAIN_STREAM, "forced-main"
            elif now[i] in new_of:
                after[i], rule, why = new_of[now[i]]
            else:
                raise _unknown_stream(n, now[i])
            ctx.decide(node(i), "stream", now[i], after[i], rule, (stream_ref(after[i]),), why)
        count = max(len(new_of), 1)
        for stream in sorted(set(range(1, count)) - {after[i] for i in nodes}):
            owner = next(note for new, _, note in new_of.values() if new == stream)
            ctx.report(_empty(stream, owner))
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
        """Every node of a graph of unknown shapes has a stream below the count."""
        assert after.streams is not None
        for i in dynamic_nodes(after.graph, after.scope_order):
            if not 0 <= after.streams.node[i] < after.streams.main_count:
                raise ContractError("node without a counted stream", where=after.graph.node(i).name)


def _unstable(meant: list[Engine]) -> Issue | None:
    """GX330 when GE's own sort does not come out in the order it means."""
    real = device_order(meant)
    if real == meant:
        return None
    lost = [e.id for e in meant if e not in real]
    names, became = (", ".join(e.id for e in row) for row in (meant, real))
    if lost:
        gone = ", ".join(lost)
        en = f"loses {gone}, and the compile fails if a node still runs there"
        zh = f"丢失 {gone}，若仍有节点在其流上则编译失败"
    else:
        en, zh = f"numbers them {became}", f"编号顺序变为 {became}"
    return Issue(
        UNSTABLE_SORT, "warning",
        Text(
            f"GE sorts the {len(meant)} engines of this graph by a comparator that contradicts itself. Built with gcc it {en}. "
            f"Shown here is the order it means: {names}.",
            f"GE 对该图 {len(meant)} 个引擎排序的比较器自相矛盾：用 gcc 构建时会{zh}。此处显示其本意顺序：{names}。",
        ),
        tuple(stream_ref(k) for k in range(len(meant))),
        Text(
            "Have fewer engines with a stream of their own, or put all nodes of one on a stream label.",
            "减少独占流的引擎，或把某个引擎的全部节点放到流标签上。",
        ),
        _SOURCE,
    )  # fmt: skip


def _empty(stream: int, owner: Text) -> Issue:
    """GX331: all nodes of the engine or label were put on stream 0, but GE counts the stream all the same."""
    return Issue(
        EMPTY_STREAM, "note",
        Text(
            f"Stream {stream} ({owner.en}) is counted and created though no node is left on it: all of them are inputs, outputs, "
            "constants or control flow, which stay on stream 0.",
            f"流 {stream}（{owner.zh}）会被计数并创建，但没有节点在其上：它们都是输入、输出、常量或控制流，固定在流 0。",
        ),
        (stream_ref(stream),),
        source=_PER_GRAPH,
    )  # fmt: skip


def _unknown_stream(n: Node, stream: int) -> PassFailed:
    return PassFailed(
        f"stream {stream} belongs to no engine and no label", code="E19999", ge_status="PARAM_INVALID", inner_status="FAILED",
        where=f"node {n.name}", got=stream, todo="Switch the assigning passes and dynamic-node-update on again.",
    )  # fmt: skip


def _sorted_engines(ids: list[str], table: Mapping[str, Engine]) -> list[Engine]:
    for e in ids:
        if e not in table:
            raise PassFailed(
                f"engine {e!r} is not in the engine table", ge_status="PARAM_INVALID", inner_status="INTERNAL_ERROR",
                todo=did_you_mean(e, table),
            )  # fmt: skip
    return intended_order(table[e] for e in ids)

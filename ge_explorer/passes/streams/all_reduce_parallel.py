"""all-reduce-parallel: what depends on a fused AllReduce moves away from its stream."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from ge_explorer.ids import node
from ge_explorer.passes.streams.chain import LSA, SINGLE, STREAM_LABEL, USER_LABEL, ChainPass, Draft
from ge_explorer.text import Text
from ge_explorer.trace.passes import PassContext, Rule
from ge_explorer.trace.state import NO_STREAM, Snapshot

_SOURCE = f"{LSA}: AllReduceParallelPass::Run"
_OPTION = "ge.hcomParallel"
_TYPES = frozenset({"HcomAllReduce", "HorovodAllreduce"})


@dataclass(frozen=True)
class AllReduceParallel(ChainPass):
    """With ``ge.hcomParallel`` = ``1``, everything behind a fused AllReduce gets streams of its own.

    Rule:
    1. Seeds: HcomAllReduce and HorovodAllreduce with ``fusion`` > 0 and no user label.
    2. All transitive data successors are reached; a step needs the seed's stream label, or none when the seed has one.
    3. Every old stream met takes one new id; only nodes that are no AllReduce move to it.

    GE source: logical_stream_allocator.cc, exact; ids are handed out in node order (GE: by pointer).
    Example: ar → apply1 → apply2 on stream 0 → both applies on stream 1.
    """

    name: ClassVar[str] = "all-reduce-parallel"
    title: ClassVar[Text] = Text("AllReduce", "AllReduce 并行")
    summary: ClassVar[Text] = Text(
        "Moves what depends on a fused AllReduce to other streams.", "把依赖融合 AllReduce 的节点移到其他流。"
    )
    reads: ClassVar[frozenset[str]] = ChainPass.reads | {"order"}
    option_keys: ClassVar[frozenset[str]] = ChainPass.option_keys | {_OPTION}
    ge_name: ClassVar[str] = "AllReduceParallelPass"
    source: ClassVar[str] = _SOURCE
    rules = MappingProxyType(
        {
            "behind-all-reduce": Rule(
                Text(
                    "Depends on a fused AllReduce, so it leaves the old stream and overlaps with other work.",
                    "依赖融合的 AllReduce，因此离开原来的流，以便与其他计算重叠。",
                ),
                _SOURCE,
            ),
        }
    )

    def skip_reason(self, s: Snapshot, ctx: PassContext) -> Text | None:
        """Only with the option on."""
        if ctx.option(_OPTION) != "1" and ctx.option(SINGLE) != "true":
            return Text(f"{_OPTION} is not 1", f"{_OPTION} 不是 1")
        return super().skip_reason(s, ctx)

    def work(self, d: Draft) -> bool:
        """SUCCESS when anything depends on a seed."""
        graph = d.s.graph
        assert d.s.order is not None
        order = d.s.order
        seeds: dict[str, list[int]] = {}
        for i in graph.scope(d.ctx.scope).nodes:
            n = graph.node(i)
            fusion = n.attrs.get("fusion")
            if n.op in _TYPES and isinstance(fusion, int) and fusion > 0 and USER_LABEL not in n.attrs:
                seeds.setdefault(str(n.attrs.get(STREAM_LABEL, "")), []).append(i)
        reached: dict[int, int] = {}
        for label, starts in seeds.items():
            for i, seed in _behind(d, label, starts).items():
                reached.setdefault(i, seed)
        streams: dict[int, int] = {}
        for i in sorted(reached, key=lambda i: order[i]):
            old = d.node[i]
            if old == NO_STREAM:
                continue
            if old not in streams:
                streams[old] = d.new_stream()
            if graph.node(i).op not in _TYPES:
                d.set_node(i, streams[old], "behind-all-reduce", (node(reached[i]),))
        return bool(reached)


def _behind(d: Draft, label: str, starts: list[int]) -> dict[int, int]:
    """Nodes reached from any of the seeds with this label -> the seed it was reached from."""
    graph = d.s.graph
    found: dict[int, int] = {}
    stack = [(i, i) for i in starts]
    while stack:
        x, seed = stack.pop()
        for e in graph.data_out[x]:
            theirs = str(graph.node(e.dst).attrs.get(STREAM_LABEL, ""))
            if (theirs == label or (label and not theirs)) and e.dst not in found:
                found[e.dst] = seed
                stack.append((e.dst, seed))
    return found

"""refresh-streams: number the streams in use 0, 1, 2 … without holes."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from ge_explorer.errors import PassFailed
from ge_explorer.ids import node
from ge_explorer.passes.streams.chain import LSA
from ge_explorer.text import Text
from ge_explorer.trace.passes import Pass, PassContext, Rule
from ge_explorer.trace.state import NO_STREAM, Cluster, Snapshot, StreamAssignment, int_array

_SOURCE = f"{LSA}: RefreshContinuousStreams"


@dataclass(frozen=True)
class RefreshStreams(Pass):
    """Renumber the used streams in ascending order; holes left by earlier passes vanish.

    Rule: ids used by any node (of the root only when it is dynamic) → 0..k-1, ascending; no stream stays no stream.

    GE source: logical_stream_allocator.cc, exact.
    Example: streams 1, 4, 6 → 0, 1, 2.
    """

    name: ClassVar[str] = "refresh-streams"
    title: ClassVar[Text] = Text("Renumber", "流号连续化")
    summary: ClassVar[Text] = Text("Numbers the streams in use without holes.", "把使用中的流重新连续编号。")
    chapter = "streams"
    reads: ClassVar[frozenset[str]] = frozenset({"graph", "clusters", "streams"})
    writes: ClassVar[frozenset[str]] = frozenset({"streams"})
    ge_name: ClassVar[str] = "RefreshContinuousStreams"
    source: ClassVar[str] = _SOURCE
    rules = MappingProxyType(
        {
            "renumber": Rule(Text("Stream ids are made continuous.", "流号连续化。"), _SOURCE),
        }
    )

    def requires(self, s: Snapshot) -> None:
        """PassFailed for streams in bodies of a root of unknown shape: numbering the root alone would mix them up."""
        now = s.streams.node.tolist() if s.streams is not None else []
        if s.graph.root.dynamic and any(now[n.id] != NO_STREAM for n in s.graph if n.scope):
            raise PassFailed(
                "shapes are unknown, so GE never runs its known-shape steps on this graph and its bodies", where=s.graph.name,
                todo="Leave the pipeline out (the dynamic steps run then), or give the input shapes.",
            )  # fmt: skip

    def run(self, s: Snapshot, ctx: PassContext) -> Snapshot:
        """Snapshot with continuous ids, ``next_stream`` and ``main_count`` = number of streams."""
        graph, old = s.graph, s.streams or StreamAssignment(int_array([NO_STREAM] * s.graph.id_bound))
        covered = graph.root.nodes if graph.root.dynamic else graph.node_ids
        now = old.node.tolist()
        new_of = {stream: k for k, stream in enumerate(sorted({now[i] for i in covered} - {NO_STREAM}))}
        after = list(now)
        for i in covered:
            if now[i] != NO_STREAM and new_of[now[i]] != now[i]:
                after[i] = new_of[now[i]]
                ctx.decide(node(i), "stream", now[i], after[i], "renumber")
        # GE drops its cluster graphs here; ours stay visible and show the stream all their nodes share.
        cluster = tuple(_common(after, c) for c in s.clusters.items) if s.clusters is not None else ()
        ctx.status = "SUCCESS"
        return s.evolve(
            streams=StreamAssignment(
                old.node if after == now else int_array(after),
                cluster,
                len(new_of),
                len(new_of),
                old.attached,
                old.custom,
            )
        )


def _common(streams: list[int], c: Cluster) -> int:
    found = {streams[i] for i in c.nodes}
    return found.pop() if len(found) == 1 else NO_STREAM

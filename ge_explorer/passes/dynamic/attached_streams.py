"""dynamic-attached-streams: streams beside the main one, for operators of dynamic-shape graphs that ask for them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, ClassVar

from ge_explorer.ids import node
from ge_explorer.ids import stream as stream_ref
from ge_explorer.passes.dynamic.attached_rounds import rounds
from ge_explorer.passes.dynamic.chain import DSA
from ge_explorer.passes.dynamic.enable import STATIC_ROOT
from ge_explorer.passes.streams.attach_streams import AttachStreams
from ge_explorer.text import Text
from ge_explorer.trace.passes import PassContext
from ge_explorer.trace.state import Snapshot


@dataclass(frozen=True)
class DynamicAttachedStreams(AttachStreams):
    """One more stream for every key that operators ask for, counted on from the main streams.

    Rule:
    1. Attributes and keys as for known shapes, for the root and the subgraphs of unknown shapes; keys are shared between them.
    2. Every further of these graphs hands out all keys again with new ids (GE keeps its groups), so ids may have holes.
    3. Also when multi-stream for dynamic shapes is off.

    GE source: dynamic_stream_allocator.cc (AssignAttachedResource), assign_attached_stream_pass.cc; read, rule 2 not recorded.
    Example: one operator with key k in a branch, two main streams → it gets attached stream 2.
    """

    name: ClassVar[str] = "dynamic-attached-streams"
    ge_name: ClassVar[str] = "AssignAttachedResource"
    source: ClassVar[str] = f"{DSA}: DynamicStreamAllocator::AssignAttachedResource"

    def skip_reason(self, s: Snapshot, ctx: PassContext) -> Text | None:
        """Known shapes, or nobody asks."""
        return super().skip_reason(s, ctx) if s.graph.root.dynamic else STATIC_ROOT

    def run(self, s: Snapshot, ctx: PassContext) -> Snapshot:
        """Snapshot with ``streams.attached``, the ids in the attributes, and ``next_stream`` counted on. Status SUCCESS."""
        streams = s.streams
        assert streams is not None
        attached = {i: list(ids) for i, ids in streams.attached.items()}
        attrs: dict[int, dict[str, Any]] = {}
        following = streams.next_stream
        for asked in rounds(s, "stream"):
            for wish in asked:
                for i, item in wish.nodes:
                    before = tuple(attached[i]) if i in attached else None
                    ids = self._place(s, attached, attrs, i, item, following)
                    others = [node(j) for j, _ in wish.nodes if j != i][:8]
                    note = Text(f"key {wish.key}", f"键 {wish.key}")
                    ctx.decide(
                        node(i), "attached stream", before, tuple(ids), "key", [stream_ref(following), *others], note
                    )
                following += wish.num
        ctx.status = "SUCCESS"
        found = MappingProxyType({i: tuple(v) for i, v in sorted(attached.items())})
        graph = s.graph.with_attrs(attrs) if attrs else s.graph
        return s.evolve(graph=graph, streams=replace(streams, next_stream=following, attached=found))

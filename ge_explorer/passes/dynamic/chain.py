"""What the per-graph passes of the dynamic allocator share: the working copy, and the base class with their contract.

GE keeps one engine -> stream map for the root and all subgraphs of unknown shapes, so an engine has one stream in the whole
model. Source: compiler/graph/build/stream/dynamic_stream_allocator.cc (DynamicStreamAllocator::AssignStreams).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from ge_explorer.device.engines import AICORE_ENGINE, ENGINES_OPTION, VECTOR_ENGINE, Engine
from ge_explorer.errors import PassFailed
from ge_explorer.ids import Ref
from ge_explorer.ids import stream as stream_ref
from ge_explorer.passes.dynamic.enable import ENABLE, STATIC_SCOPE, off_reason
from ge_explorer.passes.streams.chain import Draft
from ge_explorer.text import Text
from ge_explorer.trace.passes import Pass, PassContext
from ge_explorer.trace.state import NO_STREAM, Cluster, DynamicState, Snapshot

DSA = "compiler/graph/build/stream/dynamic_stream_allocator.cc"
OWNING_ENGINES = frozenset({AICORE_ENGINE, VECTOR_ENGINE, "DNN_HCCL", "DSAEngine"})
"""Engines that get a stream whatever surrounds them."""
AICPU_ENGINES = frozenset(
    {"DNN_VM_AICPU", "DNN_VM_AICPU_FFTS_PLUS", "DNN_VM_AICPU_ASCEND", "DNN_VM_AICPU_ASCEND_FFTS_PLUS"}
)
LOCAL_ENGINE = "DNN_VM_GE_LOCAL"


class DynamicDraft:
    """Streams of one graph while a pass works on them, with the maps shared by all graphs."""

    def __init__(self, s: Snapshot, ctx: PassContext) -> None:
        state = s.dynamic or DynamicState()
        self.s, self.ctx, self.state = s, ctx, state
        self.draft = Draft.of(s, ctx)
        self.engines: dict[str, int] = dict(state.engines)
        self.labels: dict[str, int] = dict(state.labels)
        self.follows: dict[int, int] = dict(state.follows)
        assert s.clusters is not None
        self.items = s.clusters.items

    @property
    def clusters(self) -> tuple[Cluster, ...]:
        """Clusters of the graph in GE's order."""
        return self.draft.clusters

    def engine(self, c: Cluster) -> Engine:
        """Flags and cost of the cluster's engine; PassFailed when it is not in the table."""
        return self.draft.engine(c)

    def stream(self, c: Cluster) -> int:
        """Stream of a cluster, -1 for none yet."""
        return self.draft.cluster[c.id]

    def unassigned(self) -> list[Cluster]:
        """Clusters that have no stream yet, in order."""
        return [c for c in self.clusters if self.stream(c) == NO_STREAM]

    def assign(self, c: Cluster, rule: str, evidence: Iterable[Ref] = ()) -> None:
        """Put ``c`` on the stream of its engine, which is opened when the engine has none."""
        known = self.engines.get(c.engine)
        if known is None:
            known = self.engines[c.engine] = self.draft.new_stream()
            note = Text(f"first cluster of {c.engine}: opens stream {known}", f"{c.engine} 的第一个簇：新建流 {known}")
            self.draft.set_cluster(c, known, rule, evidence, note)
            return
        note = Text(f"{c.engine} has stream {known} already", f"{c.engine} 已有流 {known}")
        self.draft.set_cluster(c, known, rule, (*evidence, stream_ref(known)), note)

    def done(self) -> Snapshot:
        """Snapshot with the facets that changed."""
        out = self.draft.done()
        old = self.state
        if (self.engines, self.labels, self.follows) == (dict(old.engines), dict(old.labels), dict(old.follows)):
            return out
        engines, labels = MappingProxyType(self.engines), MappingProxyType(self.labels)
        return out.evolve(dynamic=DynamicState(engines, labels, MappingProxyType(self.follows)))


@dataclass(frozen=True)
class DynamicChainPass(Pass):
    """Base of the per-graph passes; ``work`` edits the draft and says whether it did anything."""

    chapter = "streams"
    reads: ClassVar[frozenset[str]] = frozenset({"graph", "clusters", "streams", "dynamic"})
    writes: ClassVar[frozenset[str]] = frozenset({"streams", "dynamic"})
    option_keys: ClassVar[frozenset[str]] = frozenset({ENABLE, ENGINES_OPTION})
    per_scope: ClassVar[bool] = True

    def skip_reason(self, s: Snapshot, ctx: PassContext) -> Text | None:
        """Allocator off, or a subgraph of known shapes."""
        off = off_reason(s, ctx)
        if off is None and not s.graph.scope(ctx.scope).dynamic:
            return STATIC_SCOPE
        return off

    def run(self, s: Snapshot, ctx: PassContext) -> Snapshot:
        """Edit a draft of the graph and hand it back. PassFailed when the graph was not partitioned."""
        assert s.clusters is not None
        if ctx.scope not in s.clusters.by_scope:
            raise PassFailed(
                "the graph was not partitioned", ge_status="PARAM_INVALID", inner_status="FAILED",
                where=f"scope {s.graph.scope(ctx.scope).name}", todo="Remove its attribute _no_need_partition.",
            )  # fmt: skip
        draft = DynamicDraft(s, ctx)
        ctx.status = "SUCCESS" if self.work(draft) else "NOT_CHANGED"
        return draft.done()

    def work(self, d: DynamicDraft) -> bool:
        """Do the pass; True when it placed something."""
        raise NotImplementedError

"""What the passes of the static chain share: the working copy of one scope, and the base class with their contract.

GE runs the chain per graph with one context (default stream, next stream, single); source: compiler/graph/build/stream/
logical_stream_allocator.cc (LogicalStreamAllocator::Assign, DoAssign).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from ge_explorer.device.engines import ENGINES_OPTION, Engine, engine_table
from ge_explorer.errors import PassFailed, did_you_mean
from ge_explorer.ids import Ref, node
from ge_explorer.text import Text
from ge_explorer.trace.passes import Pass, PassContext
from ge_explorer.trace.state import NO_STREAM, Cluster, Snapshot, StreamAssignment, int_array

SINGLE = "ge.enableSingleStream"
STREAM_LABEL, USER_LABEL = "_stream_label", "_user_stream_label"
PARALLEL_GROUP, NEW_STREAM_ID, RTS_LABEL = "_parallel_group", "NewStreamId", "_rts_label_node"
LSA = "compiler/graph/build/stream/logical_stream_allocator.cc"

IN_SINGLE_MODE = Text("single-stream mode has its own pass", "单流模式使用专门的 Pass")


def cluster_ref(c: Cluster) -> Ref:
    """Reference to a cluster."""
    return Ref("cluster", c.id)


@dataclass(slots=True)
class Draft:
    """Streams of one scope while a pass works on them.

    ``cluster`` and ``node`` are full-length lists (all scopes); a pass touches only those of its scope. ``default`` is the
    stream of the node that owns the scope (-1 in the root and under a dynamic scope).
    """

    s: Snapshot
    ctx: PassContext
    before: StreamAssignment
    clusters: tuple[Cluster, ...]
    cluster: list[int]
    node: list[int]
    next: int
    default: int
    engines: Mapping[str, Engine]

    @staticmethod
    def of(s: Snapshot, ctx: PassContext) -> Draft:
        """Working copy for the scope of ``ctx``."""
        assert s.clusters is not None
        items, before = s.clusters.items, s.streams
        if before is None:
            before = StreamAssignment(int_array([NO_STREAM] * s.graph.id_bound))
        cluster = list(before.cluster) or [NO_STREAM] * len(items)
        parent = s.graph.scope(ctx.scope).parent
        default = NO_STREAM
        if parent >= 0 and not s.graph.scope(s.graph.node(parent).scope).dynamic:
            default = int(before.node[parent])
        mine = tuple(items[i] for i in s.clusters.by_scope.get(ctx.scope, ()))
        nodes = before.node.tolist()
        return Draft(
            s, ctx, before, mine, cluster, nodes, before.next_stream, default,
            engine_table(ctx.option(ENGINES_OPTION)),
        )  # fmt: skip

    def engine(self, c: Cluster) -> Engine:
        """Flags of a cluster's engine; PassFailed when the table has no such engine.

        GE answers INTERNAL_ERROR inside; every failure leaves the entry point of the stage as PARAM_INVALID.
        """
        found = self.engines.get(c.engine)
        if found is None:
            raise PassFailed(
                f"engine {c.engine!r} is not in the engine table", ge_status="PARAM_INVALID", inner_status="INTERNAL_ERROR",
                where=f"cluster {c.name}", todo=did_you_mean(c.engine, self.engines),
            )  # fmt: skip
        return found

    def new_stream(self) -> int:
        """Next free id."""
        self.next += 1
        return self.next - 1

    def set_cluster(
        self, c: Cluster, stream: int, rule: str, evidence: Iterable[Ref] = (), note: Text | None = None
    ) -> None:
        """Give a cluster a stream, and tell every member why."""
        old = self.cluster[c.id]
        self.cluster[c.id] = stream
        mine, why = cluster_ref(c), tuple(evidence)
        self.ctx.decide(mine, "stream", old, stream, rule, why, note)
        for i in c.nodes:
            self.ctx.decide(node(i), "stream", old, stream, rule, (mine, *why), note)

    def keep_cluster(self, c: Cluster, rule: str, evidence: Iterable[Ref] = ()) -> None:
        """Record that a pass looked at a cluster and left it alone, and why."""
        mine, now = cluster_ref(c), self.cluster[c.id]
        self.ctx.decide(mine, "stream", now, now, rule, evidence, decisive=False)
        for i in c.nodes:
            self.ctx.decide(node(i), "stream", now, now, rule, (mine,), decisive=False)

    def set_node(self, i: int, stream: int, rule: str, evidence: Iterable[Ref] = (), note: Text | None = None) -> None:
        """Give one node a stream (recorded only when it changes)."""
        old = self.node[i]
        if old != stream:
            self.node[i] = stream
            self.ctx.decide(node(i), "stream", old, stream, rule, evidence, note)

    def done(self) -> Snapshot:
        """Snapshot with the changed facet; the same snapshot when nothing was set at all."""
        b = self.before
        same_nodes = self.node == b.node.tolist()
        if same_nodes and self.next == b.next_stream and tuple(self.cluster) == b.cluster:
            return self.s
        nothing = not b.cluster and all(c == NO_STREAM for c in self.cluster)
        if nothing and same_nodes and self.next == b.next_stream:
            return self.s
        array = b.node if same_nodes else int_array(self.node)
        return self.s.evolve(
            streams=StreamAssignment(array, tuple(self.cluster), self.next, b.main_count, b.attached, b.custom)
        )


@dataclass(frozen=True)
class ChainPass(Pass):
    """Base of the per-scope passes of the multi-stream chain; ``work`` edits the draft and returns GE's status."""

    chapter = "streams"
    reads: ClassVar[frozenset[str]] = frozenset({"graph", "clusters", "streams"})
    writes: ClassVar[frozenset[str]] = frozenset({"streams"})
    option_keys: ClassVar[frozenset[str]] = frozenset({SINGLE, ENGINES_OPTION})
    per_scope: ClassVar[bool] = True
    in_single_mode: ClassVar[bool] = False

    def skip_reason(self, s: Snapshot, ctx: PassContext) -> Text | None:
        """Single-stream mode runs its own short chain."""
        if not self.in_single_mode and ctx.option(SINGLE) == "true":
            return IN_SINGLE_MODE
        return None

    def run(self, s: Snapshot, ctx: PassContext) -> Snapshot:
        """Edit a draft of the scope and hand it back."""
        assert s.clusters is not None
        if ctx.scope not in s.clusters.by_scope:
            raise PassFailed(
                "the scope was not partitioned", ge_status="PARAM_INVALID", inner_status="FAILED",
                where=f"scope {s.graph.scope(ctx.scope).name}",
                todo="Remove its attribute _no_need_partition.",
            )  # fmt: skip
        draft = Draft.of(s, ctx)
        changed = self.work(draft)
        ctx.status = "SUCCESS" if changed else "NOT_CHANGED"
        return draft.done()

    def work(self, d: Draft) -> bool:
        """Do the pass; True for GE's SUCCESS, False for NOT_CHANGED."""
        raise NotImplementedError

"""attach-streams: streams beside the main one, for operators that ask for them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from ge_explorer.ids import Ref, node
from ge_explorer.passes.streams.attached_keys import (
    IS_VALID,
    RESOURCE_ID,
    STREAM_INFO,
    STREAM_LIST,
    KeyCounter,
    Wish,
    entries,
    wishes,
)  # fmt: skip
from ge_explorer.text import Text
from ge_explorer.trace.passes import Pass, PassContext, Rule
from ge_explorer.trace.state import NO_STREAM, Snapshot

_SOURCE = "compiler/graph/build/stream/assign_attached_stream_pass.cc: AssignAttachedStreamPass"


@dataclass(frozen=True)
class AttachStreams(Pass):
    """One more stream for every key that operators of one graph ask for.

    Rule, per graph (root first, then the subgraphs in GE's order; keys are never shared between graphs):
    1. A node's ``_attached_stream_info_list`` (newer) or ``_attached_stream_info`` (older) names what it wants; entries of the
       newer form count only when required.
    2. Nodes with the same group and key share one stream. In the list forms the key includes the main stream, unless the
       entry forces reuse.
    3. Keys in order of their text get the next free stream ids.

    GE source: assign_attached_stream_pass.cc, exact; groups by name (GE: hash order).
    Example: a and b on stream 0, both with key k → both get attached stream 1.
    """

    name = "attach-streams"
    title = Text("Attached streams", "附属流")
    summary = Text("Gives operators the extra streams they ask for.", "为申请附属流的算子分配额外的流。")
    chapter = "streams"
    reads = frozenset({"graph", "streams", "scope_order"})
    writes = frozenset({"graph", "streams"})
    ge_name = "AssignAttachedStreamPass"
    source = _SOURCE
    rules = MappingProxyType(
        {
            "key": Rule(
                Text("All nodes of the graph with this key share the stream.", "同一图中具有该键的节点共用此流。"),
                _SOURCE,
            ),
        }
    )

    def skip_reason(self, s: Snapshot, ctx: PassContext) -> Text | None:
        """Nobody asks."""
        if not any(k in n.attrs for n in s.graph for k in (STREAM_LIST, STREAM_INFO)):
            return Text("no operator asks for an attached stream", "没有算子申请附属流")
        return None

    def run(self, s: Snapshot, ctx: PassContext) -> Snapshot:
        """Snapshot with ``streams.attached`` and the ids written back into the attributes. Status SUCCESS."""
        graph, streams = s.graph, s.streams
        assert streams is not None
        main = dict(enumerate(streams.node.tolist()))
        attached = {i: list(ids) for i, ids in streams.attached.items()}
        following, attrs = streams.next_stream, dict[int, dict[str, Any]]()
        counter = KeyCounter()
        for scope in (0, *(s.scope_order or ())):
            asked = wishes(graph, scope, "stream", main, counter)
            for wish in asked:
                for i, item in wish.nodes:
                    ids = self._place(s, attached, attrs, i, item, following)
                    others = [node(j) for j, _ in wish.nodes if j != i][:8]
                    ctx.decide(node(i), "attached stream", None, tuple(ids), "key", [Ref("stream", following), *others],
                               Text(f"key {wish.key}", f"键 {wish.key}"))  # fmt: skip
                following += wish.num
            self._unasked(graph.scope(scope).nodes, s, attached, asked)
        ctx.status = "SUCCESS"
        after = replace(
            streams,
            next_stream=following,
            attached=MappingProxyType({i: tuple(v) for i, v in sorted(attached.items())}),
        )
        return s.evolve(graph=graph.with_attrs(attrs) if attrs else graph, streams=after)

    @staticmethod
    def _place(
        s: Snapshot, attached: dict[int, list[int]], attrs: dict[int, dict[str, Any]], i: int, item: int, stream: int
    ) -> list[int]:  # fmt: skip
        n = s.graph.node(i)
        if item < 0:
            attached[i] = [stream]
            if not isinstance(n.attrs[STREAM_INFO], list | tuple):
                attrs.setdefault(i, {})[STREAM_INFO] = None
            return attached[i]
        rows = attrs.setdefault(i, {}).setdefault(
            STREAM_LIST, [dict(r) for r in entries(n.attrs[STREAM_LIST], n, STREAM_LIST)]
        )
        rows[item].update({RESOURCE_ID: stream, IS_VALID: True})
        ids = attached.setdefault(i, [NO_STREAM] * len(rows))
        if len(ids) != len(rows):
            ids = attached[i] = [NO_STREAM] * len(rows)
        ids[item] = stream
        return ids

    @staticmethod
    def _unasked(nodes: tuple[int, ...], s: Snapshot, attached: dict[int, list[int]], asked: list[Wish]) -> None:
        """Nodes whose entries are all optional hold no attached stream at all."""
        served = {i for w in asked for i, _ in w.nodes}
        for i in nodes:
            if i not in served and i in attached and STREAM_LIST in s.graph.node(i).attrs:
                del attached[i]

"""mde-group: reserves stream ids for nodes that carry NewStreamId."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from ge_explorer.passes.streams.chain import LSA, NEW_STREAM_ID, PARALLEL_GROUP, ChainPass, Draft, cluster_ref
from ge_explorer.text import Text
from ge_explorer.trace.passes import Rule
from ge_explorer.trace.state import NO_STREAM

_SOURCE = f"{LSA}: UpdateForMdeGroupPass::Run"


@dataclass(frozen=True)
class MdeGroup(ChainPass):
    """Give each distinct ``NewStreamId`` value a stream id of its own.

    Rule: nodes of the clusters with an integer ``NewStreamId`` and no ``_parallel_group``, grouped by the stream they hold
    now, ascending; each distinct value takes the next free id.

    The ids do not last: node-stream-update writes over them, and refresh-streams closes the hole. What remains is that these
    nodes are left alone by optimize-ineffective.

    GE source: logical_stream_allocator.cc, exact.
    Example: four nodes with values 0, 0, 1, 1 reserve two ids; the next cluster gets the third.
    """

    name: ClassVar[str] = "mde-group"
    title: ClassVar[Text] = Text("MDE groups", "MDE 分组")
    summary: ClassVar[Text] = Text(
        "Reserves stream ids for NewStreamId groups; a later pass writes over them.",
        "为 NewStreamId 分组预留流号，后面的 Pass 会覆盖。",
    )
    ge_name: ClassVar[str] = "UpdateForMdeGroupPass"
    source: ClassVar[str] = _SOURCE
    rules = MappingProxyType(
        {
            "reserve": Rule(
                Text(
                    "Reserves an id for this NewStreamId value; it does not last.",
                    "为该 NewStreamId 值预留流号，之后会被覆盖。",
                ),
                _SOURCE,
            ),
        }
    )

    def work(self, d: Draft) -> bool:
        """Reserve ids; always SUCCESS."""
        groups: dict[int, list[tuple[int, int, int]]] = {}
        untouched = all(d.node[i] == NO_STREAM for i in d.s.graph.scope(d.ctx.scope).nodes)
        for c in d.clusters:
            for i in c.nodes:
                attrs = d.s.graph.node(i).attrs
                value = attrs.get(NEW_STREAM_ID)
                if isinstance(value, int) and PARALLEL_GROUP not in attrs:
                    # A node that nobody set yet holds 0 in GE (the descriptor's default), which we show as no stream.
                    held = 0 if untouched else d.node[i]
                    groups.setdefault(held, []).append((i, value, c.id))
        of_id = {c.id: c for c in d.clusters}
        for held in sorted(groups):
            if held == NO_STREAM:
                continue
            ids: dict[int, int] = {}
            for i, value, cluster in groups[held]:
                if value not in ids:
                    ids[value] = d.new_stream()
                d.set_node(i, ids[value], "reserve", (cluster_ref(of_id[cluster]),))
        return True

"""dynamic-attached-notifies: notifies that operators of dynamic-shape graphs own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, ClassVar

from ge_explorer.errors import PassFailed
from ge_explorer.graph.model import Graph
from ge_explorer.ids import node
from ge_explorer.passes.dynamic.attached_rounds import rounds
from ge_explorer.passes.dynamic.chain import DSA
from ge_explorer.passes.dynamic.enable import STATIC_ROOT
from ge_explorer.passes.streams.attached_keys import (
    IS_VALID,
    NOTIFY_ID,
    NOTIFY_INFO,
    RESOURCE_ID,
    SYNC_LIST,
    Wish,
    entries,
)  # fmt: skip
from ge_explorer.passes.sync.event_table import CODE
from ge_explorer.text import Text
from ge_explorer.trace.passes import Pass, PassContext, Rule
from ge_explorer.trace.state import EventKind, Snapshot, SyncPlan

_SOURCE = "compiler/graph/build/stream/assign_attached_notify_pass.cc: AssignAttachedNotifyPass"
_TYPE = "_attached_notify_type"


@dataclass(frozen=True)
class DynamicAttachedNotifies(Pass):
    """Number the notifies that operators ask for; operators' own events are not handed out in dynamic-shape graphs.

    Rule: keys as for known shapes, shared between the root and the subgraphs of unknown shapes; every further of these graphs
    hands out all keys again with new ids. Operators of one key must agree on the type of the notify.

    GE source: dynamic_stream_allocator.cc (AssignAttachedResource), assign_attached_notify_pass.cc; read, the repetition is not
    recorded.
    Example: one operator asks for a notify → it owns notify 0; the number of events stays.
    """

    name: ClassVar[str] = "dynamic-attached-notifies"
    title: ClassVar[Text] = Text("Operators' own", "算子自有 notify")
    summary: ClassVar[Text] = Text("Numbers the notifies that operators own.", "为算子自有的 notify 编号。")
    chapter = "events"
    reads: ClassVar[frozenset[str]] = frozenset({"graph", "streams", "sync", "scope_order"})
    writes: ClassVar[frozenset[str]] = frozenset({"graph", "sync"})
    ge_name: ClassVar[str] = "AssignAttachedResource"
    source: ClassVar[str] = f"{DSA}: DynamicStreamAllocator::AssignAttachedResource"
    rules = MappingProxyType({"notify": Rule(Text("A notify of the operator's own.", "算子自有的 notify。"), _SOURCE)})

    def skip_reason(self, s: Snapshot, ctx: PassContext) -> Text | None:
        """Known shapes, or nobody asks."""
        if not s.graph.root.dynamic:
            return STATIC_ROOT
        if any(k in n.attrs for n in s.graph for k in (SYNC_LIST, NOTIFY_INFO)):
            return None
        return Text("no operator asks for a notify", "没有算子申请 notify")

    def run(self, s: Snapshot, ctx: PassContext) -> Snapshot:
        """Snapshot with ids in the attributes and in ``sync.owned``. PassFailed when types disagree. Status SUCCESS."""
        plan = s.sync or SyncPlan()
        following = plan.notify_num
        types = [*plan.notify_types, *[0] * (following - len(plan.notify_types))]
        owned: dict[int, dict[int, tuple[int, ...]]] = {}
        for asked in rounds(s, "notify"):
            for wish in asked:
                ids = tuple(range(following, following + wish.num))
                following += wish.num
                types += [_type(s.graph, wish)] * wish.num
                for k, (i, item) in enumerate(wish.nodes):
                    before = owned.setdefault(i, {}).get(item)
                    owned[i][item] = ids
                    others = [node(j) for j, _ in (*wish.nodes[:k], *wish.nodes[k + 1 :])][:8]
                    note = Text(f"key {wish.key}", f"键 {wish.key}")
                    ctx.decide(node(i), "own notify", before, ids, "notify", others, note)
        ctx.status = "SUCCESS"
        attrs = {i: _attributes(s.graph, i, items) for i, items in owned.items()}
        mine: dict[int, tuple[tuple[EventKind, int], ...]] = dict(plan.owned)
        for i, items in sorted(owned.items()):
            mine[i] = tuple(dict.fromkeys(("notify", x) for ids in items.values() for x in ids))
        return s.evolve(
            graph=s.graph.with_attrs(attrs) if attrs else s.graph,
            sync=replace(
                plan,
                notify_num=following,
                notify_types=tuple(types),
                owned=MappingProxyType(dict(sorted(mine.items()))),
            ),
        )


def _attributes(graph: Graph, i: int, items: Mapping[int, tuple[int, ...]]) -> dict[str, Any]:
    """What GE writes back: the id list (older form) or id and validity in the entries (newer form)."""
    n = graph.node(i)
    if -1 in items:
        return {NOTIFY_ID: list(items[-1])}
    rows = [dict(r) for r in entries(n.attrs[SYNC_LIST], n, SYNC_LIST)]
    for item, ids in items.items():
        rows[item].update({RESOURCE_ID: ids[0], IS_VALID: True})
    return {SYNC_LIST: rows}


def _type(graph: Graph, wish: Wish) -> int:
    """Type of a notify; only the older form states one, otherwise it is 0."""
    infos = [graph.node(i).attrs.get(NOTIFY_INFO) for i, _ in wish.nodes]
    found = {int(x.get(_TYPE, 0)) if isinstance(x, Mapping) else 0 for x in infos}
    if len(found) > 1:
        raise PassFailed(
            f"operators that share notify key {wish.key!r} disagree on its type", code=CODE, ge_status="PARAM_INVALID",
            inner_status="FAILED", where=f"node {graph.node(wish.nodes[0][0]).name}", got=sorted(found),
            todo=f"Give them the same {_TYPE}.",
        )  # fmt: skip
    return found.pop()

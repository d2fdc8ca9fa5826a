"""attached-resources: events and notifies that operators own, numbered after all others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from ge_explorer.errors import PassFailed
from ge_explorer.graph.model import Node
from ge_explorer.ids import node
from ge_explorer.passes.streams.attached_keys import (
    EVENT_ID,
    IS_VALID,
    NOTIFY_ID,
    NOTIFY_INFO,
    RESOURCE_ID,
    SYNC_INFO,
    SYNC_LIST,
    KeyCounter,
    Wish,
    entries,
    entry_key,
    wishes,
)  # fmt: skip
from ge_explorer.passes.sync.event_table import CODE
from ge_explorer.text import Text
from ge_explorer.trace.passes import Pass, PassContext, Rule
from ge_explorer.trace.state import EventKind, Snapshot, SyncPlan

_EVENT = "compiler/graph/build/stream/assign_attached_event_pass.cc: AssignAttachedEventPass"
_NOTIFY = "compiler/graph/build/stream/assign_attached_notify_pass.cc: AssignAttachedNotifyPass"


@dataclass(frozen=True)
class AttachedResources(Pass):
    """Give operators the notifies, then the events, that they ask for; no Send or Recv nodes are made for them.

    Rule, per graph (root first): nodes with the same key share one id; an entry without a key has one of its own; keys in
    order of their text take the next ids. An event's id also goes into notify entries of the same key (recorded). Operators
    that share a notify must agree on its type. Events are not given to subgraphs of unknown shape.

    GE source: assign_attached_notify_pass.cc, assign_attached_event_pass.cc, exact; groups by name (GE: hash order).
    Example: two operators with event key k after 8 events → both own event 8.
    """

    name = "attached-resources"
    title = Text("Operators' own", "算子自有同步")
    summary = Text("Numbers events and notifies that operators own.", "为算子自有的事件与 notify 编号。")
    chapter = "events"
    reads = frozenset({"graph", "streams", "sync", "scope_order"})
    writes = frozenset({"graph", "sync"})
    ge_name = "AssignAttachedEventResource"
    source = _EVENT
    rules = MappingProxyType(
        {
            "event": Rule(Text("An event of the operator's own.", "算子自有的事件。"), _EVENT),
            "notify": Rule(Text("A notify of the operator's own.", "算子自有的 notify。"), _NOTIFY),
        }
    )
    kinds: tuple[EventKind, ...] = ("notify", "event")

    def skip_reason(self, s: Snapshot, ctx: PassContext) -> Text | None:
        """Nobody asks."""
        if any(k in n.attrs for n in s.graph for k in (SYNC_LIST, SYNC_INFO, NOTIFY_INFO)):
            return None
        return Text("no operator asks for an event or a notify", "没有算子申请事件或 notify")

    def run(self, s: Snapshot, ctx: PassContext) -> Snapshot:
        """Snapshot with ids in the attributes and in ``sync.owned``. Status SUCCESS."""
        assert s.streams is not None
        work = _Owners(s, ctx)
        for kind in self.kinds:
            for scope in (0, *(s.scope_order or ())):
                if kind == "event" and scope and s.graph.scope(scope).dynamic:
                    continue
                work.graph_of(scope, kind)
        ctx.status = "SUCCESS"
        return work.result()


class _Owners:
    def __init__(self, s: Snapshot, ctx: PassContext) -> None:
        assert s.streams is not None
        self.s, self.ctx, self.plan = s, ctx, s.sync or SyncPlan()
        self.main = dict(enumerate(s.streams.node.tolist()))
        self.counter = KeyCounter()
        self.next: dict[EventKind, int] = {"event": self.plan.event_num, "notify": self.plan.notify_num}
        self.types = list(self.plan.notify_types)
        self.attrs: dict[int, dict[str, Any]] = {}
        self.owned: dict[int, list[tuple[EventKind, int]]] = {}

    def graph_of(self, scope: int, kind: EventKind) -> None:
        """Hand out ids to one graph."""
        for wish in wishes(self.s.graph, scope, kind, self.main, self.counter):
            first = self.next[kind]
            self.next[kind] += wish.num
            if kind == "notify":
                self.types += [self._type(wish)] * wish.num
            for i, item in wish.nodes:
                self._write(i, item, kind, wish.key, list(range(first, first + wish.num)))
                note = Text(f"key {wish.key}", f"键 {wish.key}")
                self.ctx.decide(
                    node(i), "own sync", None, first, kind, [node(j) for j, _ in wish.nodes if j != i][:8], note
                )

    def _write(self, i: int, item: int, kind: EventKind, key: str, ids: list[int]) -> None:
        n = self.s.graph.node(i)
        mine = self.owned.setdefault(i, [])
        mine += [(kind, x) for x in ids if (kind, x) not in mine]
        changes = self.attrs.setdefault(i, {})
        if item < 0:
            attr = EVENT_ID if kind == "event" else NOTIFY_ID
            now = changes.get(attr, n.attrs.get(attr, ())) if kind == "event" else ()
            changes[attr] = [*(now if isinstance(now, list | tuple) else (now,)), *ids]
            changes.update({NOTIFY_INFO: None} if kind == "notify" else {})
            return
        rows = changes.setdefault(SYNC_LIST, [dict(r) for r in entries(n.attrs[SYNC_LIST], n, SYNC_LIST)])
        for k, row in enumerate(rows):
            same = entry_key(row, n, kind, self.main[i], None) == key
            if k == item or (same and kind == "event") or (same and row.get("_attached_resource_type") == 1):
                row.update({RESOURCE_ID: ids[0], IS_VALID: True})

    def _type(self, wish: Wish) -> int:
        found = {_notify_type(self.s.graph.node(i)) for i, item in wish.nodes if item < 0} or {0}
        if len(found) > 1:
            raise PassFailed(
                f"operators that share notify key {wish.key!r} disagree on its type", code=CODE, ge_status="PARAM_INVALID",
                inner_status="FAILED", where=f"node {self.s.graph.node(wish.nodes[0][0]).name}", got=sorted(found),
                todo="Give them the same _attached_notify_type.",
            )  # fmt: skip
        return found.pop()

    def result(self) -> Snapshot:
        """Snapshot with the written attributes and counters."""
        plan = replace(
            self.plan, event_num=self.next["event"], notify_num=self.next["notify"], notify_types=tuple(self.types),
            owned=MappingProxyType({i: tuple(v) for i, v in sorted(self.owned.items())}),
        )  # fmt: skip
        return self.s.evolve(graph=self.s.graph.with_attrs(self.attrs) if self.attrs else self.s.graph, sync=plan)


def _notify_type(n: Node) -> int:
    value = n.attrs.get(NOTIFY_INFO)
    return int(value.get("_attached_notify_type", 0)) if isinstance(value, Mapping) else 0

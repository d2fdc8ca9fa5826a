"""reuse-events: branches of a multi-gear Case share event ids; declared multiplexing when there are far too many."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from types import MappingProxyType

from ge_explorer.errors import PassFailed
from ge_explorer.passes.sync.event_table import CODE, SA, label, name_key, record
from ge_explorer.text import Text
from ge_explorer.trace.passes import Pass, PassContext, Rule
from ge_explorer.trace.state import Event, EventKind, Snapshot, SyncPlan

BATCH_NUM, MULTIPLEXING = "_batch_num", "_event_multiplexing"
THRESHOLD = 65500
"""Events a model may have before declared multiplexing is looked at (omg_util.h, kEventReuseThreshold)."""
_DEPTH = 10
_DIMS = f"{SA}: StreamAllocator::ReuseEventForMultiDims"
_DECLARED = f"{SA}: StreamAllocator::RefreshEventsWithReuse"


@dataclass(frozen=True)
class ReuseEvents(Pass):
    """Only one gear of a multi-gear Case runs, so its branches may use the same events.

    Rule:
    1. Every Case with ``_batch_num``: each branch numbers the events that stay inside one of its graphs from the same start;
       the longest branch decides where the next Case starts.
    2. Events that cross a graph boundary get ids after those, by sender name.
    3. Above 65,500 events, ``_event_multiplexing`` entries (``SendTo;peer;n`` / ``RecvFrom;peer;n``) make named pairs share an id;
       the ids are made continuous again.

    GE source: stream_allocator.cc (ReuseEventForMultiDims, RefreshEventsWithReuse), exact.
    Example: branch 0 has one event, branch 1 has one → both get id 0.
    """

    name = "reuse-events"
    title = Text("Reuse ids", "事件号复用")
    summary = Text("Lets exclusive branches share event ids.", "让互斥分支共用事件号。")
    chapter = "events"
    reads = frozenset({"graph", "sync", "sequence"})
    writes = frozenset({"sync"})
    ge_name = "RefreshEventsAndNotifiesWithReuse"
    source = _DIMS
    rules = MappingProxyType(
        {
            "one-gear-runs": Rule(
                Text("Only one branch runs, so branches use the same ids.", "每次只运行一个分支，各分支共用编号。"), _DIMS
            ),
            "declared": Rule(
                Text("Declared to share an id with other pairs.", "声明与其他事件对共用编号。"), _DECLARED
            ),
        }
    )  # fmt: skip

    def skip_reason(self, s: Snapshot, ctx: PassContext) -> Text | None:
        """Neither applies."""
        if any(n.op == "Case" and BATCH_NUM in n.attrs for n in s.graph):
            return None
        if s.sync is not None and s.sync.event_num > THRESHOLD and any(MULTIPLEXING in n.attrs for n in s.graph):
            return None
        return Text("no multi-gear Case, and no need for multiplexing", "没有多档位 Case，也无需复用")

    def run(self, s: Snapshot, ctx: PassContext) -> Snapshot:
        """Snapshot whose events may share ids. Status SUCCESS."""
        plan = s.sync or SyncPlan()
        for kind in ("event", "notify"):
            plan = _Dims(s, plan, kind).renumbered()
        if plan.event_num > THRESHOLD:
            plan = _declared(s, plan)
        old = {e.uid: e for e in (s.sync or SyncPlan()).events}
        for e in plan.events:
            if e.id != old[e.uid].id:
                rule = "declared" if plan.event_num > THRESHOLD else "one-gear-runs"
                record(ctx, s, e, label(s, old[e.uid]), label(s, e), rule)
        ctx.status = "SUCCESS"
        return s.evolve(sync=plan)


class _Dims:
    """Numbers the events of one kind, gear by gear."""

    def __init__(self, s: Snapshot, plan: SyncPlan, kind: EventKind) -> None:
        self.s, self.plan, self.kind = s, plan, kind
        self.mine = [e for e in plan.events if e.kind == kind]
        self.seen: dict[int, int] = {}
        self.sends: dict[int, list[Event]] = {}
        self.receives: dict[int, list[Event]] = {}
        for e in self.mine:
            self.sends.setdefault(e.send, []).append(e)
            self.receives.setdefault(e.recv, []).append(e)

    def renumbered(self) -> SyncPlan:
        """Plan with new ids; the same plan when no gear holds an event."""
        graph, base = self.s.graph, 0
        for i in self.s.sequence or ():
            n = graph.node(i)
            if n.op == "Case" and BATCH_NUM in n.attrs:
                base = max([base, *(self._gear(scope, base, 0) for scope in n.subgraphs)])
        if not base:
            return self.plan
        for ends in (self.sends, self.receives):
            for i in sorted(ends, key=lambda i: name_key(graph, i)):
                for e in ends[i]:
                    if e.id not in self.seen:
                        self.seen[e.id] = base
                        base += 1
        events = tuple(replace(e, id=self.seen[e.id]) if e.kind == self.kind else e for e in self.plan.events)
        if self.kind == "event":
            return replace(self.plan, events=events, event_num=base)
        return replace(self.plan, events=events, notify_num=base)

    def _gear(self, scope: int, k: int, depth: int) -> int:
        """Number what stays inside one graph of this gear; returns the next free id."""
        graph = self.s.graph
        if depth > _DEPTH:
            raise PassFailed(
                f"graphs of a gear are nested deeper than {_DEPTH}", code=CODE, ge_status="PARAM_INVALID",
                inner_status="FAILED", where=f"scope {graph.scope(scope).name}", todo="Flatten the nested branches.",
            )  # fmt: skip
        inside = set(graph.scope(scope).nodes)
        for i in graph.scope(scope).nodes:
            own = [e for e in self.sends.get(i, ()) if e.recv in inside]
            own += [e for e in self.receives.get(i, ()) if e.send in inside]
            for e in own:
                if e.id not in self.seen:
                    self.seen[e.id] = k
                    k += 1
            for inner in graph.node(i).subgraphs:
                k = self._gear(inner, k, depth + 1)
        return k


def _declared(s: Snapshot, plan: SyncPlan) -> SyncPlan:
    """Share ids where nodes declare it, then close the holes by sender name."""
    graph, events = s.graph, list(plan.events)
    names = {n.name: n.id for n in graph}
    for word in ("SendTo", "RecvFrom"):
        for i in s.sequence or ():
            for peer, number in _items(graph.node(i).attrs.get(MULTIPLEXING, ()), graph.node(i).name, word):
                if peer not in names:
                    raise _bad(graph.node(i).name, peer, "the name of a node")
                ends = (i, names[peer]) if word == "SendTo" else (names[peer], i)
                e = next((x for x in events if x.on_main and x.kind == "event" and (x.send, x.recv) == ends), None)
                if e is not None:
                    events.remove(e)
                    events.append(replace(e, id=plan.event_num + number))
    new: dict[int, int] = {}
    for e in sorted((e for e in events if e.kind == "event"), key=lambda e: name_key(graph, e.send)):
        new.setdefault(e.id, len(new))
    out = tuple(replace(e, id=new[e.id]) if e.kind == "event" else e for e in events)
    return replace(plan, events=out, event_num=len(new))


def _items(value: object, where: str, wanted: str) -> Iterable[tuple[str, int]]:
    if not isinstance(value, list | tuple):
        raise _bad(where, value, "a list")
    for item in value:
        fields = str(item).split(";")
        if len(fields) != 3 or fields[0] not in ("SendTo", "RecvFrom") or not fields[2].isdecimal():
            raise _bad(where, item, "SendTo;peer;n or RecvFrom;peer;n with n from 0")
        if fields[0] == wanted:
            yield fields[1], int(fields[2])


def _bad(where: str, got: object, want: str) -> PassFailed:
    return PassFailed(
        f"{MULTIPLEXING} has an entry that cannot be read", code=CODE, ge_status="PARAM_INVALID", where=f"node {where}",
        got=got, todo=f"Write {want}.",
    )  # fmt: skip

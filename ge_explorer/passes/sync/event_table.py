"""The events of a running pass: per-node lists as GE keeps them, removal in constant time, and the decisions that go with it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from ge_explorer.errors import PassFailed
from ge_explorer.graph.model import Graph, IntArray
from ge_explorer.ids import Ref
from ge_explorer.ids import event as event_ref
from ge_explorer.ids import node as node_ref
from ge_explorer.trace.passes import Pass, PassContext
from ge_explorer.trace.state import Event, EventKind, RemovedEvent, Snapshot, SyncPlan

SA = "compiler/graph/build/stream/stream_allocator.cc"
SU = "compiler/graph/build/stream/stream_utils.cc"
EVENT_OPTION = "ge.event"
CODE = "E19999"
STREAM_LABEL = "_stream_label"


def sync_kind(ctx: PassContext) -> EventKind:
    """What GE inserts between streams: events, or notifies when ``ge.event`` is notify."""
    return "notify" if ctx.option(EVENT_OPTION) == "notify" else "event"


def name_key(graph: Graph, i: int) -> tuple[bytes, bytes]:
    """Place of a node in GE's event maps: name byte by byte, then the owner graph's name (node_utils.h, NodeCompareKey)."""
    n = graph.node(i)
    return n.name.encode(), graph.scope(n.scope).name.encode()


def append_events(plan: SyncPlan, made: Sequence[Event]) -> SyncPlan:
    """Plan with more events at the end; the counters go up by as many."""
    notifies = sum(e.kind == "notify" for e in made)
    return replace(
        plan,
        events=(*plan.events, *made),
        next_uid=plan.next_uid + len(made),
        event_num=plan.event_num + len(made) - notifies,
        notify_num=plan.notify_num + notifies,
    )


def stream_nodes(sequence: Iterable[int], stream: IntArray) -> dict[int, list[int]]:
    """Main stream -> its nodes in traversal order, streams ascending. -1 (no stream) is a key too, as in GE."""
    out: dict[int, list[int]] = {}
    lookup = stream.tolist()
    for i in sequence:
        out.setdefault(lookup[i], []).append(i)
    return {k: out[k] for k in sorted(out)}


class EventTable:
    """Events by sender and by receiver, lists in creation order. GE finds an end by scanning all lists; here it is a field.

    Raises PassFailed (E19999, PARAM_INVALID) for an event that lacks one of its two nodes.
    """

    def __init__(self, owner: Pass, s: Snapshot, ctx: PassContext) -> None:
        self.owner, self.s, self.ctx = owner, s, ctx
        self.plan = s.sync or SyncPlan()
        self.alive: dict[int, Event] = {e.uid: e for e in self.plan.events}
        self.removed: list[RemovedEvent] = []
        self.sends: dict[int, list[Event]] = {}
        self.receives: dict[int, list[Event]] = {}
        for e in self.plan.events:
            self._check_ends(e)
            self.sends.setdefault(e.send, []).append(e)
            self.receives.setdefault(e.recv, []).append(e)

    def _check_ends(self, e: Event) -> None:
        nodes = self.s.graph.nodes
        for end, word in ((e.send, "sender"), (e.recv, "receiver")):
            if not 0 <= end < len(nodes) or nodes[end] is None:
                other = e.recv if end == e.send else e.send
                known = 0 <= other < len(nodes) and nodes[other] is not None
                raise PassFailed(
                    f"event {e.id} has no {word}", code=CODE, ge_status="PARAM_INVALID",
                    where=f"node {self.s.graph.unique_names[other]}" if known else self.s.graph.name,
                    todo="Insert the events again after the graph changed.",
                )  # fmt: skip

    def sends_of(self, node: int) -> list[Event]:
        """Living events that ``node`` sends."""
        return [e for e in self.sends.get(node, ()) if e.uid in self.alive]

    def receives_of(self, node: int) -> list[Event]:
        """Living events that ``node`` waits for."""
        return [e for e in self.receives.get(node, ()) if e.uid in self.alive]

    def senders_by_name(self) -> list[int]:
        """Senders in the order of GE's event maps: node name byte by byte, then owner graph's name (NodeCompareKey)."""
        return sorted(self.sends, key=lambda i: name_key(self.s.graph, i))

    def remove(self, e: Event, rule: str, by: Iterable[int] = (), evidence: Iterable[Ref] = ()) -> None:
        """Drop ``e`` from both ends. ``by`` are uids of the events that make it redundant."""
        covers = tuple(by)
        del self.alive[e.uid]
        self.removed.append(RemovedEvent(e, rule, self.owner.name, covers))
        record(self.ctx, self.s, e, label(self.s, e), None, rule, (*map(event_ref, covers), *evidence))

    def result(self) -> Snapshot:
        """Snapshot with the events that are left; the same one when nothing was removed."""
        if not self.removed:
            return self.s
        events = tuple(e for e in self.plan.events if e.uid in self.alive)
        return self.s.evolve(sync=replace(self.plan, events=events, removed=(*self.plan.removed, *self.removed)))


def label(s: Snapshot, e: Event) -> str:
    """``3: A → B``, the same in both languages."""
    names = s.graph.unique_names
    return f"{e.id}: {names[e.send]} → {names[e.recv]}"


def record(
    ctx: PassContext, s: Snapshot, e: Event, before: str | None, after: str | None, rule: str, evidence: Iterable[Ref] = ()
) -> None:  # fmt: skip
    """One decision for the event (facet ``event``) and one for each of its nodes (facet ``events``)."""
    why = tuple(evidence)
    ctx.decide(event_ref(e.uid), "event", before, after, rule, why or (node_ref(e.send), node_ref(e.recv)))
    ctx.decide(node_ref(e.send), "events", before, after, rule, (event_ref(e.uid), *why))
    ctx.decide(node_ref(e.recv), "events", before, after, rule, (event_ref(e.uid), *why))

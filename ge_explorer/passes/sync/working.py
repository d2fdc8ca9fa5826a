"""Working form of the sync plan while a pass edits it: events by identity, per-node lists in GE's order.

GE keeps two maps, node -> list of event ids, ordered by node name and then owner-graph name
(``NodeCompareKey``, inc/graph_metadef/graph/utils/node_utils.h). Here an event knows both ends, so a look-up is one step
where GE scans all lists.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from ge_explorer.graph.model import Graph
from ge_explorer.ids import Ref, event, node
from ge_explorer.trace.passes import PassContext
from ge_explorer.trace.state import Event, RemovedEvent, Snapshot, SyncPlan


class WorkingSync:
    """Mutable view of a ``SyncPlan``. ``send[n]`` and ``recv[n]`` list event uids in GE's list order."""

    def __init__(self, s: Snapshot) -> None:
        plan = s.sync if s.sync is not None else SyncPlan()
        self.plan = plan
        self.events: dict[int, Event] = {e.uid: e for e in plan.events}
        self.removed: list[RemovedEvent] = list(plan.removed)
        self.send: dict[int, list[int]] = {}
        self.recv: dict[int, list[int]] = {}
        for e in plan.events:
            self.send.setdefault(e.send, []).append(e.uid)
            self.recv.setdefault(e.recv, []).append(e.uid)

    def remove(self, uid: int, rule: str, step: str, ctx: PassContext, by: Iterable[int] = ()) -> None:
        """Drop an event from both ends; it keeps its rule and the events that made it redundant."""
        e = self.events.pop(uid)
        self.send[e.send].remove(uid)
        self.recv[e.recv].remove(uid)
        kept = tuple(by)
        self.removed.append(RemovedEvent(e, rule, step, kept))
        evidence: list[Ref] = [*(event(k) for k in kept), node(e.send), node(e.recv)]
        ctx.decide(event(uid), "event", e.id, None, rule, evidence)
        for end in (e.send, e.recv):
            ctx.decide(node(end), "events", f"{e.kind} {e.id}", "removed", rule, [event(uid), *evidence])

    def frozen(self) -> SyncPlan:
        """Immutable plan with the current events in creation order."""
        return replace(self.plan, events=tuple(self.events.values()), removed=tuple(self.removed))


def in_name_order(graph: Graph, nodes: Iterable[int]) -> list[int]:
    """Nodes as GE's event maps hold them: by name bytewise, then owner-graph name."""

    def key(i: int) -> tuple[bytes, bytes]:
        n = graph.node(i)
        return n.name.encode(), graph.scope(n.scope).name.encode()

    return sorted(nodes, key=key)


def nodes_of_streams(s: Snapshot) -> dict[int, list[int]]:
    """Stream -> its nodes in traversal order, streams ascending."""
    out: dict[int, list[int]] = {}
    if s.streams is None or s.sequence is None:
        return out
    streams = s.streams.node.tolist()
    for i in s.sequence:
        out.setdefault(streams[i], []).append(i)
    return dict(sorted(out.items()))


def stream_list(value: object) -> Sequence[str]:
    """A label list attribute as strings (anything else: empty)."""
    return [v for v in value if isinstance(v, str)] if isinstance(value, list | tuple) else []

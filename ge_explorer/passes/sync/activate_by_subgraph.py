"""activate-by-subgraph: the StreamActive at the head of a body starts the other streams of that body."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import ClassVar

from ge_explorer.ids import Ref, node, stream
from ge_explorer.passes.sync.event_table import SA, STREAM_LABEL
from ge_explorer.text import Text
from ge_explorer.trace.passes import Pass, PassContext, Rule
from ge_explorer.trace.state import NO_STREAM, Snapshot, SyncPlan

FIRST_ACTIVE = "subgraph_first_active"
ACTIVE_LIST = "active_stream_list"
_SOURCE = f"{SA}: StreamAllocator::SetActiveStreamsForSubgraphs"


@dataclass(frozen=True)
class ActivateBySubgraph(Pass):
    """The node marked ``subgraph_first_active`` starts every other stream of its subgraph.

    Rule, per subgraph (branches last to first, nested ones after their parent):
    1. Collect the main and attached streams of the direct nodes that have no stream label.
    2. Without the head's own stream they are appended, ascending, to the head's list and count as activated.

    GE source: stream_allocator.cc (SetActiveStreamsForSubgraphs), exact.
    Example: body head(S1), x(S2), y(S3) → head starts streams 2 and 3.
    """

    name: ClassVar[str] = "activate-by-subgraph"
    title: ClassVar[Text] = Text("Activate bodies", "激活子图流")
    summary: ClassVar[Text] = Text(
        "The head of a subgraph starts the other streams used inside it.", "子图首个激活节点启动子图内的其他流。"
    )
    chapter = "events"
    reads: ClassVar[frozenset[str]] = frozenset({"graph", "streams", "scope_order"})
    writes: ClassVar[frozenset[str]] = frozenset({"sync"})
    ge_name: ClassVar[str] = "SetActiveStreamsForSubgraphs"
    source: ClassVar[str] = _SOURCE
    rules = MappingProxyType(
        {
            "subgraph-head": Rule(
                Text(
                    "Head of its subgraph: starts all other streams used there.", "子图的首节点：启动其中用到的其他流。"
                ),
                _SOURCE,
            ),
        }
    )

    def run(self, s: Snapshot, ctx: PassContext) -> Snapshot:
        """Snapshot with longer active lists; the same one when no subgraph has a head. Status SUCCESS."""
        graph, sync = s.graph, s.sync or SyncPlan()
        assert s.streams is not None
        of = s.streams.node.tolist()
        active = dict(sync.active_streams)
        activated = set(sync.activated)
        ctx.status = "SUCCESS"
        changed = False
        for scope in s.scope_order or ():
            used: set[int] = set()
            head = -1
            for i in graph.scope(scope).nodes:
                n = graph.node(i)
                if n.attrs.get(STREAM_LABEL):
                    continue
                used.update((of[i], *s.streams.attached.get(i, ())))
                if n.attrs.get(FIRST_ACTIVE) is True:
                    head = i
            if head < 0:
                continue
            others = tuple(sorted(used - {NO_STREAM, of[head]}))
            before = active.get(head, tuple(graph.node(head).attrs.get(ACTIVE_LIST) or ()))
            active[head] = (*before, *others)
            activated.update(others)
            changed = True
            evidence = (Ref("scope", scope), *map(stream, others))
            ctx.decide(node(head), ACTIVE_LIST, before or None, active[head], "subgraph-head", evidence)
        if not changed:
            return s
        plan = replace(sync, active_streams=MappingProxyType(active), activated=frozenset(activated))
        return s.evolve(sync=plan)

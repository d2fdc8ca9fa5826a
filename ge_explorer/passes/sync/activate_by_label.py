"""activate-by-label: a node with an active label list starts the streams of those labels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import ClassVar

from ge_explorer.ids import node, stream
from ge_explorer.passes.sync.event_table import SA, STREAM_LABEL
from ge_explorer.text import Text
from ge_explorer.trace.passes import Pass, PassContext, Rule
from ge_explorer.trace.state import NO_STREAM, Snapshot, SyncPlan

ACTIVE_LABELS = "_active_label_list"
_SOURCE = f"{SA}: StreamAllocator::SetActiveStreamsByLabel"


@dataclass(frozen=True)
class ActivateByLabel(Pass):
    """Write the streams that every activator starts (GE's ``active_stream_list``).

    Rule:
    1. A stream belongs to the labels (``_stream_label``) of its nodes.
    2. A node with ``_active_label_list`` activates the streams of these labels: labels in list order, streams ascending.
    3. The activator is remembered per label and per stream; event insertion and clean-up ask for it.

    GE source: stream_allocator.cc (SetActiveStreamsByLabel), exact. A label without a stream is known afterwards, with none.
    Example: active(S1, list [L]) and x(S2, label L) → active starts stream 2.
    """

    name: ClassVar[str] = "activate-by-label"
    title: ClassVar[Text] = Text("Activate by label", "按标签激活")
    summary: ClassVar[Text] = Text(
        "Finds the streams that nodes with an active label list start.", "找出带激活标签列表的节点所启动的流。"
    )
    chapter = "events"
    reads: ClassVar[frozenset[str]] = frozenset({"graph", "streams", "sequence"})
    writes: ClassVar[frozenset[str]] = frozenset({"sync"})
    ge_name: ClassVar[str] = "SetActiveStreamsByLabel"
    source: ClassVar[str] = _SOURCE
    rules = MappingProxyType(
        {
            "label": Rule(
                Text("Starts every stream that has a node with one of its labels.", "启动含有其标签节点的所有流。"),
                _SOURCE,
            ),
        }
    )

    def run(self, s: Snapshot, ctx: PassContext) -> Snapshot:
        """Snapshot whose sync facet knows labels, activators and activated streams. Status SUCCESS."""
        graph, sync = s.graph, s.sync or SyncPlan()
        assert s.streams is not None
        assert s.sequence is not None
        of = s.streams.node.tolist()
        nodes = [graph.node(i) for i in s.sequence if not graph.root.dynamic or graph.node(i).scope == 0]
        labels = {k: set(v) for k, v in sync.label_streams.items()}
        for n in nodes:
            text = str(n.attrs.get(STREAM_LABEL, ""))
            if text and of[n.id] != NO_STREAM:
                labels.setdefault(text, set()).add(of[n.id])
        active = dict(sync.active_streams)
        label_activators: dict[str, list[int]] = {}
        stream_activators: dict[int, list[int]] = {}
        for n in nodes:
            wanted = n.attrs.get(ACTIVE_LABELS) or ()
            if not wanted:
                continue
            started: list[int] = []
            for text in map(str, wanted):
                _add(label_activators.setdefault(text, []), n.id)
                for i in sorted(labels.setdefault(text, set())):
                    started.append(i)
                    _add(stream_activators.setdefault(i, []), n.id)
            before, active[n.id] = active.get(n.id), tuple(started)
            ctx.decide(node(n.id), "active_stream_list", before, tuple(started), "label", map(stream, started))
        ctx.status = "SUCCESS"
        return s.evolve(
            sync=replace(
                sync,
                active_streams=MappingProxyType(active),
                label_streams=MappingProxyType({k: tuple(sorted(v)) for k, v in sorted(labels.items())}),
                label_activators=MappingProxyType({k: tuple(v) for k, v in label_activators.items()}),
                stream_activators=MappingProxyType({k: tuple(v) for k, v in stream_activators.items()}),
                activated=sync.activated | frozenset(stream_activators),
            )
        )


def _add(nodes: list[int], i: int) -> None:
    """Append once: one activator may name a label twice (its nodes come one after another)."""
    if not nodes or nodes[-1] != i:
        nodes.append(i)

"""What a StreamSwitch starts: the rule shared by the logical and the physical activation (sync.md sections 9.1 and 12)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from ge_explorer.errors import PassFailed
from ge_explorer.ids import node, stream
from ge_explorer.passes.sync.activate_by_label import ACTIVE_LABELS
from ge_explorer.passes.sync.event_table import CODE, SA, STREAM_LABEL
from ge_explorer.passes.sync.new_nodes import NewNodes
from ge_explorer.trace.passes import PassContext
from ge_explorer.trace.state import Snapshot

SWITCH, ACTIVE = "StreamSwitch", "StreamActive"
BRANCH_LABEL = "_switch_branch_node_label"
SOURCE = f"{SA}: StreamAllocator::UpdateActiveStreamsForSwitchNode"


@dataclass
class SwitchActivation:
    """Working copy of the activation maps while switches are handled; ``new_streams`` counts up from the current number."""

    s: Snapshot
    ctx: PassContext
    label_streams: Mapping[str, tuple[int, ...]]
    active: dict[int, tuple[int, ...]]
    activated: set[int]
    handled: dict[int, tuple[str, ...]]
    next_stream: int
    place: Callable[[int, int], None] = lambda node, stream: None
    nodes: NewNodes = field(init=False)

    def __post_init__(self) -> None:
        self.nodes = NewNodes(self.s)

    def labels_of(self, i: int) -> tuple[str, ...]:
        """The switch's label list; PassFailed when it has none."""
        wanted = tuple(map(str, self.s.graph.node(i).attrs.get(ACTIVE_LABELS) or ()))
        if not wanted:
            raise _failed(self.s, i, "has no active label list", None, "INTERNAL_ERROR")
        return wanted

    def switch(self, i: int) -> None:
        """Give every label with several streams a StreamActive behind switch ``i``."""
        fresh: list[int] = []
        labels: list[str] = []
        for k, text in enumerate(self.labels_of(i)):
            labels.append(self._one_label(i, k, text, fresh))
        self.nodes.editor.update_attrs(i, {ACTIVE_LABELS: labels})
        if fresh:
            started = tuple(self.nodes.stream[a] for a in fresh)
            self.ctx.decide(node(i), "active_stream_list", self.active.get(i), started, "switch", map(node, fresh))
            self.active[i] = started

    def _one_label(self, i: int, k: int, text: str, fresh: list[int]) -> str:
        graph, editor = self.s.graph, self.nodes.editor
        n = graph.node(i)
        if text not in self.label_streams and text in self.handled.get(i, ()):
            return text
        check_labels(self.s, i, (text,), self.label_streams)
        streams = sorted(set(self.label_streams[text]))
        if len(streams) <= 1 or text in self.handled.get(i, ()):
            return text
        name = f"{n.name}_StreamActive_{k}"
        number, self.next_stream = self.next_stream, self.next_stream + 1
        attrs = {BRANCH_LABEL: name, STREAM_LABEL: name, ACTIVE_LABELS: [text], "active_stream_list": streams}
        a = self.nodes.add(name, ACTIVE, n.scope, number, attrs, control=(i,))
        for x in graph.control_out[i]:
            if graph.node(x).attrs.get(STREAM_LABEL) == text:
                editor.remove_control(i, x)
                editor.add_control(a, x)
        self.active[a] = tuple(streams)
        self.activated.add(number)
        self.handled[i] = (*self.handled.get(i, ()), text, name)
        fresh.append(a)
        self.place(a, number)
        self.ctx.decide(node(a), "stream", None, number, "switch-active", [node(i), *map(stream, streams)])
        return name


def frozen(values: Mapping[int, tuple[int, ...]]) -> Mapping[int, tuple[int, ...]]:
    """Read-only copy."""
    return MappingProxyType(dict(values))


def check_labels(s: Snapshot, i: int, labels: Iterable[str], known: Mapping[str, tuple[int, ...]]) -> None:
    """PassFailed for a label that owns no stream entry (AddActiveNodes)."""
    for text in labels:
        if text not in known:
            raise _failed(s, i, f"activates the unknown label {text!r}", text, "FAILED")


def _failed(s: Snapshot, i: int, what: str, got: object, inner: str) -> PassFailed:
    name = s.graph.unique_names[i]
    return PassFailed(
        f"StreamSwitch {name} {what}", code=CODE, ge_status="PARAM_INVALID", inner_status=inner, where=f"node {name}",
        got=got, todo="Give it the stream labels it starts; GE's flow-control passes set them.",
    )  # fmt: skip

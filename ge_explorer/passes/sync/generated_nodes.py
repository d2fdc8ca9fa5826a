"""Send and Recv nodes of events: names, attributes, places in the node list. Used after insertion and after the split."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from ge_explorer.graph.model import Graph
from ge_explorer.passes.sync.event_table import SA
from ge_explorer.passes.sync.new_nodes import NewNodes
from ge_explorer.trace.state import SYNC_OPS, Event, Snapshot

SOURCE = f"{SA}: StreamAllocator::GenerateSyncEventNodes"
EVENT_ID, NOTIFY_ID = "event_id", "notify_id"


class Generation:
    """Makes the nodes of ``events``. ``streams`` is the main stream of each node, ``attached`` its attached ones.

    GE walks all nodes; at each node: sends (main, attached, per stream), receives (likewise), notify receives, notify sends.
    """

    def __init__(
        self, s: Snapshot, events: Iterable[Event], streams: Mapping[int, int], attached: Mapping[int, tuple[int, ...]]
    ) -> None:
        self.s, self.streams, self.attached = s, streams, attached
        self.nodes = NewNodes(s)
        self.made: dict[int, int] = {}
        self.taken = {n.name for n in s.graph}
        self.sends: dict[int, list[Event]] = {}
        self.receives: dict[int, list[Event]] = {}
        for e in events:
            self.sends.setdefault(e.send, []).append(e)
            self.receives.setdefault(e.recv, []).append(e)

    def run(self, *, renumber: bool) -> Snapshot:
        """Snapshot with the nodes; ``made`` maps them to event uids."""
        for i in self.s.graph.walk():
            if i not in self.sends and i not in self.receives:
                continue
            for e in self._ordered(i, self.sends, "send_on", "send_stream"):
                self._add(i, e, send=True)
            for e in self._ordered(i, self.receives, "recv_on", "recv_stream"):
                self._add(i, e, send=False)
            for e in self.receives.get(i, ()):
                if e.kind == "notify":
                    self._add(i, e, send=False)
            for e in self.sends.get(i, ()):
                if e.kind == "notify":
                    self._add(i, e, send=True)
        return self.nodes.result(arrange, renumber=renumber)

    def sync_nodes(self, known: Mapping[int, int]) -> Mapping[int, int]:
        """Send/Recv node -> uid, the earlier ones included."""
        return MappingProxyType({**known, **self.made})

    def _ordered(self, i: int, ends: dict[int, list[Event]], place: str, stream: str) -> list[Event]:
        mine = [e for e in ends.get(i, ()) if e.kind == "event"]
        if not mine:
            return []
        on = {w: [e for e in mine if getattr(e, place) == w] for w in ("main", "attached", "by-stream")}
        if len(self.attached.get(i, ())) != 1:
            on["attached"] = []
        return [*on["main"], *on["attached"], *sorted(on["by-stream"], key=lambda e: int(getattr(e, stream)))]

    def _add(self, i: int, e: Event, *, send: bool) -> None:
        graph = self.s.graph
        notify = e.kind == "notify"
        op = ("Send" if send else "Recv") + ("Notify" if notify else "")
        name = base = f"{graph.root.name}_{'Send' if send else 'Recv'}_{'Notify_' if notify else ''}{e.id}"
        k = 0
        while name in self.taken:
            k += 1
            name = f"{base}_Reuse_{k}"
        self.taken.add(name)
        where = e.send_on if send else e.recv_on
        if where == "main":
            stream = self.streams[i]
        elif where == "attached":
            stream = self.attached[i][0]
        else:
            stream = e.send_stream if send else e.recv_stream
        attrs = {NOTIFY_ID if notify else EVENT_ID: e.id, "_datadump_original_op_names": []}
        scope = graph.node(i).scope
        new = self.nodes.add(name, op, scope, stream, attrs, control=(i,) if send else (), after=i if send else None)
        if not send:
            self.nodes.editor.add_control(new, i)
        self.made[new] = e.uid


def arrange(graph: Graph, members: list[int]) -> list[int]:
    """Receives directly before the node they guard, sends directly behind the node they follow (ReorderEventNodes).

    Every sync node is taken out and put back, in list order: earlier sends move too, so a second call turns them around. After
    the split a sync node may guard or follow another one.
    """
    end = -1
    after = dict(zip([end, *members], [*members, end], strict=True))
    before = {b: a for a, b in after.items()}

    def unlink(x: int) -> None:
        a, b = before[x], after[x]
        after[a], before[b] = b, a

    def link(a: int, x: int, b: int) -> None:
        after[a] = before[b] = x
        before[x], after[x] = a, b

    for i in members:
        n = graph.node(i)
        sends = n.op.startswith("Send")
        near = () if n.op not in SYNC_OPS else n.control_in if sends else graph.control_out[i]
        if near and near[0] in after:
            unlink(i)
            if sends:
                link(near[0], i, after[near[0]])
            else:
                link(before[near[0]], i, near[0])
    out: list[int] = []
    x = after[end]
    while x != end:
        out.append(x)
        x = after[x]
    return out

"""The order that streams, events and activations really give: the common ground of all synchronisation checks."""

from __future__ import annotations

from collections.abc import Iterator

from ge_explorer.graph.happens_before import (
    NEXT_LIKE,
    DeadlockError,
    HappensBefore,
    Order,
    happens_before,
    holder_orders,
)  # fmt: skip
from ge_explorer.ids import Ref
from ge_explorer.issue import Issue
from ge_explorer.text import Text
from ge_explorer.trace.state import SYNC_OPS, Snapshot, StreamAssignment, SyncPlan

DEADLOCK = "GX111"


def streams_of(s: Snapshot) -> StreamAssignment:
    """The streams of a snapshot that must have them."""
    if s.streams is None:
        raise ValueError("snapshot has no streams yet")
    return s.streams


def sequence_of(s: Snapshot) -> tuple[int, ...]:
    """Nodes in issue order; the graph's own walk where no pass has sorted it yet.

    Send and Recv nodes are left out: the events say what they do.
    """
    order = s.sequence if s.sequence is not None else tuple(s.graph.walk())
    if s.sync is None or not s.sync.sync_nodes:
        return order
    return tuple(i for i in order if s.graph.node(i).op not in SYNC_OPS)


def event_orders(s: Snapshot) -> list[Order]:
    """Send before receive, for events whose ends sit on the main streams of existing nodes."""
    stream = streams_of(s).node
    out = []
    for e in (s.sync or SyncPlan()).events:
        ends = [i for i in (e.send, e.recv) if 0 <= i < s.graph.id_bound and s.graph.nodes[i] is not None]
        if len(ends) == 2 and e.on_main and stream[e.send] == e.send_stream and stream[e.recv] == e.recv_stream:
            out.append(Order(e.send, e.recv, e.kind, e.uid))
    return out


def is_loop_activator(s: Snapshot, node: int) -> bool:
    """Activators that start the NEXT round of a loop: they prove nothing inside this round (sync.md 19.1)."""
    n = s.graph.node(node)
    if n.attrs.get("is_loop_active"):
        return True
    before = [s.graph.node(c).op for c in n.control_in]
    return bool(before) and all(op in NEXT_LIKE for op in before)


def activators(s: Snapshot) -> dict[int, tuple[int, ...]]:
    """Stream -> nodes that activate it in this round, in plan order."""
    found: dict[int, dict[int, None]] = {}
    for node, streams in (s.sync or SyncPlan()).active_streams.items():
        if not is_loop_activator(s, node):
            for st in streams:
                found.setdefault(st, {})[node] = None
    return {st: tuple(nodes) for st, nodes in found.items()}


def activation_orders(s: Snapshot) -> tuple[list[Order], list[int]]:
    """(orders, any-of points): the first task of an activated stream starts after its activator.

    With several activators (the branches of a switch) it starts after one of them, so only their common past counts.
    """
    stream = streams_of(s).node
    first: dict[int, int] = {}
    for v in sequence_of(s):
        if stream[v] >= 0:
            first.setdefault(int(stream[v]), v)
    orders: list[Order] = []
    points: list[int] = []
    for st, nodes in activators(s).items():
        head = first.get(st)
        sources = [a for a in nodes if stream[a] >= 0 and stream[a] != st]
        if head is None or not sources:
            continue
        if len(sources) == 1:
            orders.append(Order(sources[0], head, "activation"))
            continue
        point = 2 * s.graph.id_bound + st
        points.append(point)
        orders += [Order(a, point, "activation") for a in sources]
        orders.append(Order(point, head, "activation"))
    return orders, points


def real_order(s: Snapshot, *, holders: bool = False) -> HappensBefore:
    """Happens-before over streams, events and activations of a snapshot; ``holders`` adds GE's rule for subgraph bodies
    (what its own memory check relies on). Raises DeadlockError.
    """
    orders, points = activation_orders(s)
    orders += event_orders(s)
    stream = streams_of(s).node
    if holders:
        orders += holder_orders(s.graph, stream)
    return happens_before(sequence_of(s), stream, orders, any_of=points)


def deadlock_issue(s: Snapshot, error: DeadlockError) -> Issue:
    """GX111 with the blocked-by chain."""
    names, stream = s.graph.unique_names, streams_of(s).node
    links = [b for b in error.chain if b.node in names]

    def say(lang: str) -> Iterator[str]:
        for b in links:
            name, by = names[b.node], names.get(b.by, "…")
            if b.event >= 0:
                why = f"event {b.event} from {by}" if lang == "en" else f"来自 {by} 的事件 {b.event}"
            elif b.why == "stream":
                why = f"{by} before it on stream {int(stream[b.node])}" if lang == "en" else f"同流前序 {by}"
            else:
                why = f"{by} ({b.why})"
            yield f"{name} waits for {why}" if lang == "en" else f"{name} 等待{why}"

    events = [b.event for b in links if b.event >= 0]
    drop = f"event {events[-1]}" if events else "one of these orders"
    drop_zh = f"事件 {events[-1]}" if events else "其中一个顺序"
    return Issue(
        DEADLOCK, "error",
        Text("deadlock: " + "; ".join(say("en")), "死锁：" + "；".join(say("zh"))),
        tuple(dict.fromkeys([Ref("node", b.node) for b in links] + [Ref("event", e) for e in events])),
        Text(
            f"Remove {drop}, or issue the waiting nodes in another order.",
            f"去掉{drop_zh}，或改变等待节点的下发顺序。",
        ),
        "sync.md 19.1",
    )  # fmt: skip

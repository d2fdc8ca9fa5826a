"""The order that streams, events and activations really give: the common ground of all synchronisation checks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ge_explorer.checks.schedule import Schedule
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
from ge_explorer.trace.state import SYNC_OPS, Snapshot

DEADLOCK = "GX111"
BRANCH_NODE = "_switch_branch_node_label"


def as_schedule(s: Snapshot | Schedule) -> Schedule:
    """Schedule of a snapshot; a schedule as it is."""
    return s if isinstance(s, Schedule) else Schedule.of(s)


def sequence_of(s: Snapshot) -> tuple[int, ...]:
    """Nodes in issue order without the Send and Recv nodes of events; the graph's own walk where no pass has sorted it yet."""
    order = s.sequence if s.sequence is not None else tuple(s.graph.walk())
    if s.sync is None or not s.sync.sync_nodes:
        return order
    return tuple(i for i in order if s.graph.node(i).op not in SYNC_OPS)


def event_orders(s: Snapshot | Schedule) -> list[Order]:
    """Send before receive, for every event whose ends fit their nodes."""
    plan = as_schedule(s)
    ends = plan.tasks.ends
    return [Order(*ends[e.uid], e.kind, e.uid) for e in plan.events if e.uid in ends]


def is_loop_activator(s: Snapshot, node: int) -> bool:
    """Activators that start the NEXT round of a loop: they prove nothing inside this round (sync.md 19.1)."""
    n = s.graph.node(node)
    if n.attrs.get("is_loop_active"):
        return True
    before = [s.graph.node(c).op for c in n.control_in]
    return bool(before) and all(op in NEXT_LIKE for op in before)


def holds_back(s: Snapshot, node: int) -> bool:
    """True if the loader keeps the streams that ``node`` lists from starting with the model (davinci_model.cc, BindModelStream)."""
    n = s.graph.node(node)
    return n.op == "StreamSwitch" or (n.op == "StreamActive" and BRANCH_NODE in n.attrs)


def activators(plan: Schedule) -> dict[int, tuple[int, ...]]:
    """Final stream -> nodes that activate it in this round, in plan order."""
    found: dict[int, dict[int, None]] = {}
    for node, streams in plan.active.items():
        if 0 <= node < plan.s.graph.id_bound and plan.s.graph.nodes[node] is not None:
            for st in () if is_loop_activator(plan.s, node) else streams:
                found.setdefault(st, {})[node] = None
    return {st: tuple(nodes) for st, nodes in found.items()}


def activation_orders(plan: Schedule) -> tuple[list[Order], list[int]]:
    """(orders, any-of points): the first task of an activated stream starts after its activator.

    With several activators (the branches of a switch) it starts after one of them, so only their common past counts. A stream
    that is in use before its activator is left out unless the loader holds it back: it starts with the model (sync.md 15).
    """
    of, first, bound = plan.of_node, plan.tasks.first, plan.s.graph.id_bound
    place = {v: k for k, v in enumerate(plan.sequence)} if plan.active else {}
    orders: list[Order] = []
    points: list[int] = []
    for st, nodes in activators(plan).items():
        head = first.get(st)
        sources = [a for a in nodes if of[a] >= 0 and of[a] != st and a in plan.tasks.stream]
        if head is None or not sources:
            continue
        used = place.get(plan.tasks.node(head), 0)
        if used < min(place.get(a, 0) for a in sources) and not any(holds_back(plan.s, a) for a in nodes):
            continue
        if len(sources) == 1:
            orders.append(Order(sources[0], head, "activation"))
            continue
        point = 2 * bound + st
        points.append(point)
        orders += [Order(a, point, "activation") for a in sources]
        orders.append(Order(point, head, "activation"))
    return orders, points


def real_order(s: Snapshot | Schedule, *, holders: bool = False, extra: Iterable[Order] = ()) -> HappensBefore:
    """Happens-before over streams, events and activations of a snapshot; ``holders`` adds GE's rule for subgraph bodies
    (what its own memory check relies on), ``extra`` further orders. Raises DeadlockError.
    """
    plan = as_schedule(s)
    orders, points = activation_orders(plan)
    orders += [*event_orders(plan), *extra]
    tasks = plan.tasks
    if holders:
        column = [tasks.stream.get(i, -1) for i in range(plan.s.graph.id_bound)]
        orders += holder_orders(plan.s.graph, column)
    return happens_before(tasks.sequence, tasks.stream, orders, any_of=points)


def deadlock_issue(plan: Schedule, error: DeadlockError) -> Issue:
    """GX111 with the blocked-by chain."""
    s, tasks = plan.s, plan.tasks
    names = s.graph.unique_names
    links = [b for b in error.chain if tasks.node(b.node) in names]
    by_uid = {e.uid: e for e in plan.events}

    def say(lang: str) -> Iterator[str]:
        for b in links:
            name, by = names[tasks.node(b.node)], names.get(tasks.node(b.by), "…")
            if b.event >= 0:
                number = by_uid[b.event].id
                why = f"event {number} from {by}" if lang == "en" else f"来自 {by} 的事件 {number}"
            elif b.why == "stream":
                st = tasks.stream[b.node]
                why = f"{by} before it on stream {st}" if lang == "en" else f"同在流 {st} 且排在前面的 {by}"
            else:
                why = f"{by} ({b.why})" if lang == "en" else f"{by}（{_WHY_ZH.get(b.why, b.why)}）"
            yield f"{name} waits for {why}" if lang == "en" else f"{name} 等待{why}"

    events = [b.event for b in links if b.event >= 0]
    drop = f"event {by_uid[events[-1]].id}" if events else "one of these orders"
    drop_zh = f"事件 {by_uid[events[-1]].id}" if events else "其中一个顺序"
    return Issue(
        DEADLOCK, "error",
        Text("deadlock: " + "; ".join(say("en")), "死锁：" + "；".join(say("zh"))),
        tuple(dict.fromkeys([Ref("node", tasks.node(b.node)) for b in links] + [Ref("event", e) for e in events])),
        Text(
            f"Remove {drop}, or issue the waiting nodes in another order.",
            f"去掉{drop_zh}，或改变等待节点的下发顺序。",
        ),
        "sync.md 19.1",
    )  # fmt: skip


_WHY_ZH = {"activation": "激活", "holder": "子图父节点", "control": "控制边", "data": "数据边"}

"""19.4: event and notify ids are exactly 0..n-1, those that operators own included, in the order GE gives them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from ge_explorer.checks.context import Context
from ge_explorer.ids import Ref
from ge_explorer.issue import Issue
from ge_explorer.text import Text
from ge_explorer.trace.state import EventKind

EVENT_IDS, COUNTERS, NAME_ORDER = "GX113", "GX127", "GX134"
MULTIPLEXED = 65500
FIRST_BATCH = frozenset({"data", "control", "boundary"})
SOURCE = "sync.md 19.4"
WORD: dict[EventKind, Text] = {"event": Text("event", "事件"), "notify": Text("notify", "notify")}
KINDS: tuple[EventKind, ...] = ("event", "notify")


def owned_ids(c: Context, kind: EventKind) -> dict[int, list[int]]:
    """Id -> operators that own it."""
    out: dict[int, list[int]] = {}
    for i, rows in c.final_sync.owned.items():
        for k, number in rows:
            if k == kind:
                out.setdefault(number, []).append(i)
    return out


def dense_ids(c: Context) -> Iterator[Issue]:
    """GX113 for a hole; GX127 where the counter the model is loaded with says another number."""
    for kind in KINDS:
        events = [e for e in c.plan.events if e.kind == kind]
        own = owned_ids(c, kind)
        used = {e.id for e in events} | set(own)
        word = WORD[kind]
        gap = next((i for i in range(len(used)) if i not in used), None)
        if gap is not None:
            yield Issue(
                EVENT_IDS, "error",
                Text(
                    f"{kind} ids are not dense: {gap} is missing, {max(used)} is used",
                    f"{word.zh} 编号不连续：缺少 {gap}，却用到了 {max(used)}",
                ),
                (*(Ref("event", e.uid) for e in events if e.id > gap),
                 *(Ref("node", i) for k, rows in own.items() if k > gap for i in rows)),
                Text("Renumber the events (renumber-events).", "请重新编号（renumber-events）。"), SOURCE,
            )  # fmt: skip
            continue
        stated = c.final_sync.event_num if kind == "event" else c.final_sync.notify_num
        if stated and stated != len(used):
            yield Issue(
                COUNTERS, "error",
                Text(
                    f"the model asks for {stated} {kind}s but uses {len(used)}",
                    f"模型申请 {stated} 个 {word.zh}，实际使用 {len(used)} 个",
                ),
                fix=Text("Renumber the events (renumber-events), so that the counter follows.",
                         "请重新编号（renumber-events），使计数一致。"), source=SOURCE,
            )  # fmt: skip


def notify_types(c: Context) -> Iterator[Issue]:
    """GX127: the loader refuses a list of notify types that is not as long as there are notifies (sync.md 15)."""
    plan = c.final_sync
    if plan.notify_types and len(plan.notify_types) != plan.notify_num:
        yield Issue(
            COUNTERS, "error",
            Text(
                f"{len(plan.notify_types)} notify types for {plan.notify_num} notifies: the loader refuses the model",
                f"{plan.notify_num} 个 notify 却有 {len(plan.notify_types)} 个类型：加载会失败",
            ),
            fix=Text("Run attached-resources after all notifies are numbered.", "请在 notify 编号之后运行 attached-resources。"),
            source="sync.md 15",
        )  # fmt: skip


def name_order(c: Context) -> Iterator[Issue]:
    """GX134: the events of edges are numbered by sender name, byte by byte (sync.md 7.1).

    Judged only where the counters show that a compiler numbered them, and where no gears or multiplexing share ids.
    """
    g, plan = c.s.graph, c.sync
    shared = any("_batch_num" in n.attrs for n in g) or plan.event_num > MULTIPLEXED
    for kind in () if g.root.dynamic or shared else KINDS:
        if not (plan.event_num if kind == "event" else plan.notify_num):
            continue
        first = [
            e for e in plan.events if e.kind == kind and e.on_main and e.cause in FIRST_BATCH and c.node_ref(e.send)
        ]
        first.sort(key=lambda e: e.id)
        for a, b in pairwise(first):
            if _key(c, a.send) > _key(c, b.send):
                yield Issue(
                    NAME_ORDER, "warning",
                    Text(
                        f"{kind} {a.id} of {c.name(a.send)} comes before {b.id} of {c.name(b.send)}; GE numbers by sender name",
                        f"{c.name(a.send)} 的{WORD[kind].zh} {a.id} 排在 {c.name(b.send)} 的 {b.id} 之前；GE 按发送节点名称编号",
                    ),
                    (Ref("event", a.uid), Ref("event", b.uid)),
                    Text("Renumber the events (renumber-events).", "请重新编号（renumber-events）。"), "sync.md 7.1",
                )  # fmt: skip
                return


def _key(c: Context, node: int) -> tuple[bytes, bytes]:
    n = c.s.graph.node(node)
    return n.name.encode(), c.s.graph.scope(n.scope).name.encode()

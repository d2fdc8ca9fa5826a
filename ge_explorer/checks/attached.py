"""19.2 and 19.3 for attached streams: values they declare to need, and their end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ge_explorer.checks.context import OPEN_CUT, Context
from ge_explorer.checks.dependencies import missing_path
from ge_explorer.graph.model import CONST_LIKE, VARIABLE_LIKE, Graph, Node
from ge_explorer.ids import Ref
from ge_explorer.issue import Issue
from ge_explorer.text import Text

VALUE, COVER = "GX124", "GX125"
LIST, OLD = "_attached_stream_info_list", "_attached_stream_info"


def attached_values(c: Context) -> Iterator[Issue]:
    """GX124: an attached stream starts without the value its operator declares to need (sync.md 8.1).

    Not applicable to what GE deleted: the older attribute is taken off the node once its events exist.
    """
    hb, plan = c.hb, c.plan
    if hb is None:
        return
    for n in c.s.graph:
        own = [x for x in plan.attached.get(n.id, ()) if x >= 0]
        for index in _indices(n):
            producer = next((e.src for e in c.s.graph.data_in[n.id] if e.dst_in == index), None)
            if producer is None or _free(c.s.graph, producer):
                continue
            theirs = [x for x in plan.attached.get(producer, ()) if x >= 0]
            if len(own) > 1 or len(theirs) > 1 or own == theirs:
                continue
            sender = plan.tasks.attached.get((producer, theirs[0])) if theirs else producer
            receiver = plan.tasks.attached.get((n.id, own[0])) if own else n.id
            if sender is None or receiver is None or sender not in hb or receiver not in hb:
                continue
            if hb.ordered(sender, receiver):
                continue
            a, b = c.name(producer), n.name
            far = missing_path(c, hb, sender, receiver)
            known = _open_cut(c, (producer, theirs[0] if theirs else -1), (n.id, own[0] if own else -1))
            where = plan.say(own[0]) if own else plan.say(plan.of_node[n.id])
            yield Issue(
                VALUE, "warning" if known.en else "error",
                Text(
                    f"{b} reads the value of {a} on stream {where}, but may do so before it is written; {far.en}{known.en}",
                    f"{b} 在流 {where} 上读取 {a} 的值，但可能早于其写入；{far.zh}{known.zh}",
                ),
                (Ref("node", producer), Ref("node", n.id)),
                Text(f"Add an event from {a} to that stream of {b} (attached-events).",
                     f"在 {a} 与 {b} 的该流之间加一个事件（attached-events）。"), "sync.md 8.1",
            )  # fmt: skip


NOTHING = Text("")


def _open_cut(c: Context, sender: tuple[int, int], receiver: tuple[int, int]) -> Text:
    """What to add where the pair was in order before the split. A pair names a node and its final attached stream (-1: main)."""
    before = c.unsplit
    if before is None or before.hb is None:
        return NOTHING
    of = before.plan.tasks.attached
    a, b = (i if x < 0 else of.get((i, c.plan.logical(x)), -1) for i, x in (sender, receiver))
    if a == -1 or b == -1 or not before.hb.ordered(a, b):
        return NOTHING
    return Text(f": {OPEN_CUT.en}", f"：{OPEN_CUT.zh}")


def _indices(n: Node) -> list[int]:
    found: list[int] = []
    for row in _rows(n.attrs.get(LIST)):
        values = row.get("_attached_resource_depend_value_list_int", ())
        found += [x for x in values if isinstance(x, int)] if isinstance(values, tuple | list) else []
    for row in _rows(n.attrs.get(OLD)):
        text = str(row.get("_attached_stream_depend_value_list", ""))
        found += [int(x) for x in text.split(",") if x.strip().isdecimal()]
    return found


def _rows(value: object) -> list[Mapping[str, Any]]:
    values = [value] if isinstance(value, Mapping) else value if isinstance(value, tuple | list) else []
    return [x for x in values if isinstance(x, Mapping)]


def _free(g: Graph, producer: int) -> bool:
    """Data and constants are there from the start; a variable stands for its latest writer, found by GE alone."""
    op = g.node(producer).op
    return op in CONST_LIKE or op in VARIABLE_LIKE or op in ("Data", "RefData")


def attached_ends(c: Context) -> Iterator[Issue]:
    """GX125: the NetOutput of the graph that uses an attached stream last does not wait for that use (sync.md 8.2)."""
    hb, plan, g = c.hb, c.plan, c.s.graph
    if hb is None or g.root.dynamic:
        return
    last: dict[int, int] = {}
    for i in plan.sequence:
        for x in plan.attached.get(i, ()):
            if x >= 0:
                whole = plan.logical(x)
                last[whole if whole >= 0 else x] = plan.tasks.attached.get((i, x), -1)
    for st, task in sorted(last.items()):
        node = plan.tasks.node(task)
        if task == -1 or task not in hb:
            continue
        ends = [j for j in g.scope(g.node(node).scope).nodes if g.node(j).op == "NetOutput"]
        if not ends:
            yield Issue(
                COVER, "warning",
                Text(f"attached stream {st} ends with {c.name(node)} in a graph without NetOutput: GE lets nothing wait for it",
                     f"附属流 {st} 在没有 NetOutput 的图中以 {c.name(node)} 结束：GE 不会让任何节点等待它"),
                (Ref("stream", st), Ref("node", node)),
                Text("Give that graph a NetOutput.", "请为该图添加 NetOutput。"), "sync.md 8.2",
            )  # fmt: skip
        elif ends[0] in hb and not hb.ordered(task, ends[0]):
            end = c.name(ends[0])
            far = missing_path(c, hb, task, ends[0])
            known = _open_cut(
                c, (node, next(x for (i, x), t in plan.tasks.attached.items() if t == task)), (ends[0], -1)
            )
            yield Issue(
                COVER, "warning" if known.en else "error",
                Text(f"{end} does not wait for the last use of attached stream {st} ({c.name(node)}); {far.en}{known.en}",
                     f"{end} 没有等待附属流 {st} 的最后一次使用（{c.name(node)}）；{far.zh}{known.zh}"),
                (Ref("stream", st), Ref("node", node), Ref("node", ends[0])),
                Text(f"Add an event from {c.name(node)} on that stream to {end} (cover-netoutput).",
                     f"从该流上的 {c.name(node)} 到 {end} 加一个事件（cover-netoutput）。"), "sync.md 8.2",
            )  # fmt: skip

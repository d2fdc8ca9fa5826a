"""19.3: does everything end before the output is read?"""

from __future__ import annotations

from collections.abc import Iterator

from ge_explorer.checks.context import Context
from ge_explorer.ids import Ref
from ge_explorer.issue import Issue
from ge_explorer.text import Text
from ge_explorer.trace.state import SYNC_OPS

NOT_JOINED, AT_LOAD, BODY = "GX115", "GX126", "GX121"


def joined_streams(c: Context) -> Iterator[Issue]:
    """GX115 for every stream whose last task the root's NetOutput does not wait for: its results may be read too early."""
    s, plan, hb = c.s, c.plan, c.full
    if hb is None or s.graph.root.dynamic:
        return
    of = plan.of_node
    ends = [i for i in s.graph.root.nodes if s.graph.node(i).op == "NetOutput" and i in hb]
    if not ends:
        return
    end = ends[-1]
    own = hb.streams[int(hb.column[hb.row[end]])]
    for st in hb.streams:
        # Sends and receives at the end leave no result.
        rows = [t for t in hb.on_stream(st) if s.graph.node(plan.tasks.node(t)).op not in SYNC_OPS]
        task = rows[-1] if rows else end
        last = plan.tasks.node(task)
        if st == own or task == end or hb.ordered(task, end) or task in plan.tasks.owner:
            continue
        yield Issue(
            NOT_JOINED, "warning",
            Text(
                f"stream {plan.say(of[last])} is not joined: nothing makes {c.name(end)} wait for its last node {c.name(last)}",
                f"流 {plan.say(of[last])} 没有汇合：{c.name(end)} 不会等待它的最后一个节点 {c.name(last)}",
            ),
            (plan.ref(of[last]), Ref("node", last), Ref("node", end)),
            Text(
                f"Add a control edge or an event from {c.name(last)} to {c.name(end)}.",
                f"从 {c.name(last)} 到 {c.name(end)} 加一条控制边或一个事件。",
            ),
            "sync.md 19.3",
        )  # fmt: skip


def joined_at_load(c: Context) -> Iterator[Issue]:
    """GX126: streams of a dynamic model that end without reaching stream 0. The loader adds the events that are missing."""
    hb = c.hb
    if hb is None or not c.s.graph.root.dynamic or 0 not in hb.streams:
        return
    main = [t for t in hb.on_stream(0) if t >= 0 and not c.inside_static(t)]
    late: list[tuple[int, int]] = []
    for st in hb.streams:
        mine = [t for t in hb.on_stream(st) if t >= 0 and not c.inside_static(t)]
        if st and mine and not (main and hb.ordered(mine[-1], main[-1])):
            late.append((st, mine[-1]))
    if late:
        ids = ", ".join(str(st) for st, _ in late[:8]) + (" …" if len(late) > 8 else "")
        yield Issue(
            AT_LOAD, "note",
            Text(
                f"streams {ids} end without an event to stream 0; GE adds these last events when the model is loaded",
                f"流 {ids} 结束时没有到流 0 的事件；GE 在加载模型时添加（added at load）",
            ),
            tuple(r for st, i in late[:50] for r in (Ref("stream", st), Ref("node", i))), source="sync.md 16",
        )  # fmt: skip


def subgraph_bodies(c: Context) -> Iterator[Issue]:
    """GX121 where a body runs on another stream than its holder and nothing proves that it stays between what the holder waits
    for and what waits for the holder. The nodes of GE's label makers do it as long as they are on the holder's stream; an automatic
    mode may move the holder away from them.
    """
    g, hb = c.s.graph, c.hb
    if hb is None:
        return
    column = c.plan.tasks.stream
    place = {v: k for k, v in enumerate(c.plan.sequence)} if any(n.subgraphs for n in g) else {}
    for holder in g:
        own = column.get(holder.id)
        if not holder.subgraphs or own is None:
            continue
        by_stream: dict[int, list[int]] = {}
        for scope in holder.subgraphs:
            for i in g.scope(scope).nodes:
                if i in hb and column[i] != own:
                    by_stream.setdefault(column[i], []).append(i)
        for st, body in by_stream.items():
            body.sort(key=lambda i: place.get(i, -1))
            early = [p for p in g.pred[holder.id] if p in hb and column[p] != st and not hb.ordered(p, body[0])]
            late = [x for x in g.succ[holder.id] if x in hb and column[x] != st and not hb.ordered(body[-1], x)]
            if early or late:
                yield Issue(
                    BODY, "note",
                    Text(
                        f"the body of {c.name(holder.id)} uses stream {st}, and no event or activation in this graph ties it to "
                        f"what comes before and after: at a body's border only nodes without inputs and the end node get events. "
                        f"The memory plan does not rely on that order",
                        f"{c.name(holder.id)} 的子图使用流 {st}，图中没有事件或激活把它与前后任务连起来："
                        "在子图边界上，只有无输入的节点和结尾节点会得到事件。内存规划不依赖这一顺序",
                    ),
                    (Ref("node", holder.id), Ref("stream", st)),
                    Text(
                        "Put the body on its holder's stream, or let a StreamActive at its head start the stream.",
                        "把子图放在其父节点的流上，或由子图开头的 StreamActive 激活该流。",
                    ),
                    "memory.md A18",
                )  # fmt: skip

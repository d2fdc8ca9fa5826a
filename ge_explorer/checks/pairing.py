"""19.5 and 19.6: one Send and one Recv an id, on streams of the nodes they belong to."""

from __future__ import annotations

from collections.abc import Iterator

from ge_explorer.checks.context import Context
from ge_explorer.checks.event_ids import KINDS, MULTIPLEXED, WORD
from ge_explorer.checks.schedule import streams_of, sync_number
from ge_explorer.ids import Ref
from ge_explorer.issue import Issue, Severity
from ge_explorer.text import Text
from ge_explorer.trace.state import SYNC_OPS, Event

TWICE, NODES, OWN_STREAM, MISFIT = "GX113", "GX129", "GX112", "GX120"


def one_pair_an_id(c: Context) -> Iterator[Issue]:
    """GX113 for an id that several pairs use, unless only one of them ever runs (multi-gear Case) or they are multiplexed."""
    for kind in KINDS:
        pairs: dict[int, list[Event]] = {}
        for e in c.plan.events:
            if e.kind == kind:
                pairs.setdefault(e.id, []).append(e)
        declared = kind == "event" and c.final_sync.event_num > MULTIPLEXED
        for number, rows in pairs.items():
            if len(rows) < 2 or declared:
                continue
            problem = _gears(c, rows)
            if problem is None:
                continue
            word = WORD[kind]
            yield Issue(
                TWICE, "error",
                Text(
                    f"{kind} id {number} has more than one sender and receiver; {problem.en}",
                    f"{word.zh} 编号 {number} 对应多个发送与接收节点；{problem.zh}",
                ),
                tuple(Ref("event", e.uid) for e in rows),
                Text("Give every pair an id of its own.", "请为每一对分配各自的编号。"), "sync.md 19.5",
            )  # fmt: skip


def _gears(c: Context, rows: list[Event]) -> Text | None:
    """Why these events may not share an id; None when each lies in a gear of its own of one multi-gear Case."""
    if c.s.graph.root.dynamic:
        return Text("a dynamic model sends and waits once per id", "动态模型每个编号只能收发一次")
    seen: set[int] = set()
    holders: set[int] = set()
    for e in rows:
        if not (c.node_ref(e.send) and c.node_ref(e.recv)):
            return None  # GX120 says so
        gears = _gear(c, e.send)
        if not gears or gears != _gear(c, e.recv):
            a, b = c.name(e.send), c.name(e.recv)
            return Text(f"{a} to {b} does not stay inside one gear of a Case", f"{a} 到 {b} 不在 Case 的同一档位内")
        holder, scope = next(iter(gears))
        if scope in seen:
            return Text(
                f"two pairs sit in the same gear {c.s.graph.scope(scope).name}",
                f"两对位于同一档位 {c.s.graph.scope(scope).name}",
            )
        seen.add(scope)
        holders.add(holder)
    if len(holders) > 1:
        return Text("the pairs belong to different Case nodes, which both run", "这些事件对属于不同的 Case，都会执行")
    return None


def _gear(c: Context, node: int) -> list[tuple[int, int]]:
    """(Case, branch) of the outermost multi-gear Case around a node; empty outside of all."""
    g, out = c.s.graph, []
    scope = g.node(node).scope
    while scope:
        holder = g.scope(scope).parent
        if "_batch_num" in g.node(holder).attrs:
            out = [(holder, scope)]
        scope = g.node(holder).scope
    return out


def paired_nodes(c: Context) -> Iterator[Issue]:
    """GX129: a Send or Recv node without its partner, or with the wrong number; an event that got only one node."""
    plan, g = c.plan, c.s.graph
    mine = {**{i: uid for uid, i in plan.sends.items()}, **{i: uid for uid, i in plan.recvs.items()}}
    of = {e.uid: e for e in plan.events}
    made = bool(plan.sends or plan.recvs)
    for n in g:
        if n.op not in SYNC_OPS or (n.id in mine and mine[n.id] in of):
            continue
        yield _node_issue(c, n.id, Text("belongs to no event", "不属于任何事件"))
    for e in plan.events if made else ():
        ends = (plan.sends.get(e.uid), plan.recvs.get(e.uid))
        for i, word in zip(ends, (Text("Send"), Text("Recv")), strict=True):
            if i is None:
                yield Issue(
                    NODES, "error",
                    Text(f"event {e.id} ({c.name(e.send)} to {c.name(e.recv)}) has no {word.en} node",
                         f"事件 {e.id}（{c.name(e.send)} 到 {c.name(e.recv)}）没有 {word.en} 节点"),
                    (Ref("event", e.uid), *c.node_ref(e.send), *c.node_ref(e.recv)),
                    Text("Generate the nodes again (generate-sync-nodes).", "请重新生成（generate-sync-nodes）。"), "sync.md 19.5",
                )  # fmt: skip
            elif sync_number(g.node(i).attrs) not in (e.id, None):
                number = sync_number(g.node(i).attrs)
                yield _node_issue(
                    c, i, Text(f"says id {number}, its event has {e.id}", f"编号为 {number}，事件编号为 {e.id}")
                )


def _node_issue(c: Context, i: int, what: Text) -> Issue:
    op = c.s.graph.node(i).op
    return Issue(
        NODES, "error", Text(f"{op} node {c.name(i)} {what.en}", f"{op} 节点 {c.name(i)} {what.zh}"), (Ref("node", i),),
        Text("Generate the nodes again (generate-sync-nodes).", "请重新生成（generate-sync-nodes）。"), "sync.md 19.5",
    )  # fmt: skip


def two_streams(c: Context) -> Iterator[Issue]:
    """GX112: an event whose two ends share a stream does nothing but cost two tasks."""
    plan, of = c.plan, c.plan.of_node
    for e in plan.events:
        a, b = plan.sends.get(e.uid), plan.recvs.get(e.uid)
        sent, received = (of[a], of[b]) if a is not None and b is not None else (e.send_stream, e.recv_stream)
        if sent != received:
            continue
        ends = f"({c.name(e.send)} to {c.name(e.recv)})"
        yield Issue(
            OWN_STREAM, "error",
            Text(
                f"event {e.id} is sent and received on stream {plan.say(sent)} {ends}",
                f"事件 {e.id} 的发送与接收都在流 {plan.say(sent)}（{c.name(e.send)} 到 {c.name(e.recv)}）",
            ),
            (Ref("event", e.uid), *c.node_ref(e.send), *c.node_ref(e.recv)),
            Text("Remove it: the stream already orders its nodes.", "去掉它：同一条流本来就有先后顺序。"), "sync.md 19.6",
        )  # fmt: skip


def ends_fit(c: Context) -> Iterator[Issue]:
    """GX120: an event whose node is gone, or whose end is not on a stream of that node."""
    plan, streams = c.plan, streams_of(c.s)
    for e in plan.events:
        second = e.uid in plan.second
        for node, st, role, sync in (
            (e.send, e.send_stream, Text("sender", "发送"), plan.sends.get(e.uid)),
            (e.recv, e.recv_stream, Text("receiver", "接收"), plan.recvs.get(e.uid)),
        ):
            there = bool(c.node_ref(node))
            level: Severity = "error"
            if not there:
                what = Text(f"the {role.en} node does not exist any more", f"{role.zh}节点已不存在")
            elif sync is not None:
                # After a split a Send may stand on another part than its operator: the parts of one stream are chained.
                whole = {plan.logical(x) for x in (plan.of_node[node], *plan.attached.get(node, ()))}
                raw = {plan.of_node[node], *plan.attached.get(node, ())}
                now = plan.of_node[sync]
                if now >= 0 and (now in raw or plan.logical(now) in whole):
                    continue
                # GE asks for the stream of a node that has none (sync.md 8.1), and moves groups off their stream (11.5).
                if int(streams.node[node]) < 0 <= now or plan.carried_off(node):
                    level = "warning"
                what = Text(f"node {c.name(sync)} is on stream {plan.say(now)}, the {role.en} {c.name(node)} is not",
                            f"节点 {c.name(sync)} 在流 {plan.say(now)} 上，{role.zh}节点 {c.name(node)} 不在")  # fmt: skip
            else:
                own = (plan.of_node[node], *plan.attached.get(node, ()))
                if not second:
                    own = (int(streams.node[node]), *streams.attached.get(node, ()))
                if st in own and st >= 0:
                    continue
                what = Text(
                    f"the {role.en} {c.name(node)} is not on stream {st}",
                    f"{role.zh}节点 {c.name(node)} 不在流 {st} 上",
                )
            yield Issue(
                MISFIT, level, Text(f"event {e.id}: {what.en}", f"事件 {e.id}：{what.zh}"),
                (Ref("event", e.uid), *c.node_ref(node)),
                Text("Insert the events again after the streams changed.", "流改变之后请重新插入事件。"), "sync.md 19.6",
            )  # fmt: skip

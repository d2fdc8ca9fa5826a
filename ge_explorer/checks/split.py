"""19.11: the physical split. Tasks are counted again here from the nodes and the task table; nothing of the pass is used."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from ge_explorer.checks.context import Context
from ge_explorer.checks.schedule import CONTINUOUS, streams_of
from ge_explorer.graph.model import Node
from ge_explorer.ids import Ref
from ge_explorer.issue import Issue
from ge_explorer.text import Text
from ge_explorer.trace.state import PhysicalStreams, TaskTable

TOO_LONG, CHAIN, MAPPING, GROUP, HUGE, OLD_TASKS = "GX143", "GX144", "GX145", "GX146", "GX147", "GX152"
RESERVE = 27
STAYS = frozenset({"LabelSet", "LabelGotoEx", "LabelSwitchByIndex"})
COLLECTIVES = frozenset(
    "Hcom" + x for x in ("Broadcast", "AllGather", "AllReduce", "ReduceScatter", "Reduce", "AllToAllV", "GatherAllToAllV",
                         "AllToAllVC", "AllToAll")
)  # fmt: skip
SOURCE = "sync.md 19.11"


def parts_fit(c: Context) -> Iterator[Issue]:
    """GX143 for a part whose tasks and the reserve of 27 exceed the limit though it could have been cut before some node."""
    physical, table = c.s.physical, c.s.tasks
    if physical is None or table is None or table.unlimited:
        return
    limit = table.huge_limit if physical.huge and table.huge_limit is not None else table.limit
    size = _sizes(c, physical, table)
    full: dict[int, int] = {}
    of = c.plan.of_node
    for i in c.plan.sequence:
        for st in (of[i], *c.plan.attached.get(i, ())):
            tasks = size.get((i, st), 0)
            before = full.get(st, 0)
            full[st] = before + tasks
            if before + tasks + RESERVE <= limit or before == 0 or st < 0 or tasks == 0:
                continue
            if _may_overflow(c.s.graph.node(i)):
                continue
            if any(CONTINUOUS in c.s.graph.node(j).attrs for j in _members(c, st)):
                continue  # a group that moved as a whole may be longer than a stream
            yield Issue(
                TOO_LONG, "error",
                Text(
                    f"stream {c.plan.say(st)} is full before {c.name(i)}: {before} + {tasks} tasks and {RESERVE} in reserve exceed "
                    f"{limit}",
                    f"流 {c.plan.say(st)} 在 {c.name(i)} 之前已满：{before} + {tasks} 个任务加预留 {RESERVE} 超过 {limit}",
                ),
                (c.plan.ref(st), Ref("node", i)),
                Text(f"Cut the stream before {c.name(i)} (split-streams).",
                     f"请在 {c.name(i)} 之前切开该流（split-streams）。"), SOURCE,
            )  # fmt: skip
            full[st] = -(1 << 40)  # one finding a part


def _may_overflow(n: Node) -> bool:
    """GE never cuts in front of these."""
    return bool(n.subgraphs) or n.attrs.get("subgraph_first_active") is True or n.op in STAYS


def _members(c: Context, st: int) -> list[int]:
    return [i for i in c.plan.sequence if st == c.plan.of_node[i] or st in c.plan.attached.get(i, ())]


def _sizes(c: Context, physical: PhysicalStreams, table: TaskTable) -> dict[tuple[int, int], int]:
    """(node, final stream) -> queue entries, for the nodes that existed when GE split (the task table is from before it)."""
    attached, nodes, stream = streams_of(c.s).attached, c.s.graph.nodes, c.plan.logical_node
    whole: dict[int, int] = {}
    rows: dict[tuple[int, int], int] = {}
    late = set(physical.sync.sync_nodes)
    for i in c.plan.sequence:
        n, main = nodes[i], stream[i]
        if i in late or n is None:
            continue
        groups = table.of.get(i, ())
        if main < 0 and groups:
            main = 0
        if main < 0:
            continue
        mine = {main: 0}
        for g in groups:
            mine[g.stream] = mine.get(g.stream, 0) + g.count * ((g.sqe or 1) + int(g.wait))
        if (own := _declared(n, False)) > 0:
            mine[main] = own
        for st in attached.get(i, ()):
            if st >= 0 and (own := _declared(n, True)) > 0:
                mine[st] = own
        for st, count in mine.items():
            rows[(i, st)] = count
            whole[st] = whole.get(st, 0) + count
    started = c.sync.active_streams
    for i, st in list(rows):
        n = nodes[i]
        if n is not None and n.op == "StreamActive" and st == stream[i] and _declared(n, False) <= 0:
            rows[(i, st)] = sum(-(-whole.get(x, 0) // table.limit) for x in started.get(i, ()))
    out: dict[tuple[int, int], int] = {}
    of, logic_of = c.plan.of_node, dict(enumerate(physical.logic_of))
    for (i, st), count in rows.items():
        for final in (of[i], *physical.attached.get(i, ())):
            if final >= 0 and logic_of.get(final) == st:
                out[(i, final)] = count
    return out


def _declared(n: Node, beside: bool) -> int:
    """Queue entries a node states itself; 0: none."""
    if "_node_sqe_num" in n.attrs:
        own = int(n.attrs["_node_sqe_num"])
    elif n.op in COLLECTIVES or n.attrs.get("_ge_attr_op_kernel_lib_name") == "ops_kernel_info_hccl":
        own = int(n.attrs.get("_hccl_attached_task_num" if beside else "_hccl_task_num", 0))
    else:
        own = 0
    return own + 1 if own > 0 and n.op in ("Recv", "RecvMem") else own


def chain_events(c: Context) -> Iterator[Issue]:
    """GX144: consecutive parts of a stream need exactly one event between them, and it must give the order."""
    physical = c.s.physical
    if physical is None:
        return
    found: dict[tuple[int, int], list[int]] = {}
    for e in physical.sync.events:
        if e.cause == "split":
            found.setdefault((e.send_stream, e.recv_stream), []).append(e.uid)
    first, last = c.plan.ends
    for whole, parts in physical.parts.items():
        for a, b in pairwise((whole, *parts)):
            uids = found.get((a, b), [])
            if not uids and (a not in last or b not in first):
                continue
            if len(uids) == 1:
                yield from _open_cut(c, a, b, uids[0])
                continue
            yield Issue(
                CHAIN, "error",
                Text(f"{len(uids)} events lead from part {c.plan.say(a)} to part {c.plan.say(b)} of stream {whole}, one is needed",
                     f"流 {whole} 的部分 {c.plan.say(a)} 与 {c.plan.say(b)} 之间有 {len(uids)} 个事件，应为一个"),
                (Ref("stream", whole), *(Ref("event", u) for u in uids)),
                Text("Split the streams again (split-streams).", "请重新切分（split-streams）。"), SOURCE,
            )  # fmt: skip


def _open_cut(c: Context, a: int, b: int, uid: int) -> Iterator[Issue]:
    """GX144, warning: the event of a cut does not keep the whole order. GE turns the Sends behind a node around when it makes the
    nodes of the split, puts the Send of an attached stream on the main one, and moves groups out of the middle of a stream.
    """
    plan = c.plan
    send, recv = plan.sends.get(uid), plan.recvs.get(uid)
    if send is None or recv is None:
        return
    first, last = plan.cut_ends
    names = (c.name(send), c.name(recv))
    if plan.of_node[send] != a or plan.of_node[recv] != b:
        st = plan.say(plan.of_node[send])
        why = Text(f"{names[0]} stands on stream {st} instead", f"{names[0]} 却位于流 {st}")
    elif first[b][1] != recv:
        other = c.name(first[b][1])
        why = Text(f"{other} stands on {plan.say(b)} before {names[1]} and waits for nothing",
                   f"{other} 在 {plan.say(b)} 上排在 {names[1]} 之前，不等待任何任务")  # fmt: skip
    elif last[a][1] != send:
        other = c.name(last[a][1])
        why = Text(
            f"{other} stays on {plan.say(a)} behind {names[0]}", f"{other} 留在 {plan.say(a)} 上，排在 {names[0]} 之后"
        )
    else:
        return
    yield Issue(
        CHAIN, "warning",
        Text(f"the cut between {plan.say(a)} and {plan.say(b)} is open: {why.en}",
             f"{plan.say(a)} 与 {plan.say(b)} 之间的切分没有闭合：{why.zh}"),
        (plan.ref(a), Ref("event", uid), Ref("node", send), Ref("node", recv)),
        Text("Raise gx.maxTasksPerStream, or shorten the stream, so that the cut falls elsewhere.",
             "请提高 gx.maxTasksPerStream 或缩短该流，使切分点落在别处。"), "sync.md 22",
    )  # fmt: skip


def mapping_total(c: Context) -> Iterator[Issue]:
    """GX145: every part belongs to one logical stream, streams of before keep their ids, nodes stay on parts of their stream."""
    physical, logical = c.s.physical, streams_of(c.s)
    if physical is None:
        return
    old = max(logical.next_stream, 0)
    of = physical.logic_of
    wrong = [i for i, x in enumerate(of[:old]) if x != i]
    wrong += [i for i, x in enumerate(of) if i >= old and x >= old]
    wrong += [p for whole, parts in physical.parts.items() for p in parts if not (old <= p < len(of)) or of[p] != whole]
    for i in sorted(set(wrong)):
        yield Issue(
            MAPPING, "error",
            Text(f"physical stream {i} is mapped to the wrong logical stream", f"物理流 {i} 映射到了错误的逻辑流"),
            (c.plan.ref(i),), Text("Split the streams again (split-streams).", "请重新切分（split-streams）。"), SOURCE,
        )  # fmt: skip
    final = physical.node.tolist()
    for i in c.s.graph.node_ids:
        now, was = final[i], c.plan.logical_node[i]
        if was >= 0 and now >= 0 and not (now < len(of) and of[now] == was):
            off = c.plan.carried_off(i)
            why = Text(": its continuous group has nodes on several streams, and GE moves them together",
                       "：其连续组的节点分布在多条流上，GE 会一起移动") if off else Text("")  # fmt: skip
            yield Issue(
                MAPPING, "warning" if off else "error",
                Text(f"{c.name(i)} of stream {was} runs on physical stream {now}, which is no part of it{why.en}",
                     f"{c.name(i)} 属于流 {was}，却在不属于它的物理流 {now} 上运行{why.zh}"),
                (Ref("node", i), Ref("stream", was)), Text("Split the streams again.", "请重新切分。"), SOURCE,
            )  # fmt: skip

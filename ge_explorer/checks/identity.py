"""Ids, pairing and placement of streams, events and activations (sync.md 19, items 4, 5, 6, 7, 8, 9, 12, 13)."""

from __future__ import annotations

from collections.abc import Iterator

from ge_explorer.checks.ordering import streams_of
from ge_explorer.ids import Ref
from ge_explorer.issue import Issue
from ge_explorer.text import Text
from ge_explorer.trace.state import SYNC_OPS, Event, Snapshot, SyncPlan

OWN_STREAM, EVENT_IDS, STREAM_IDS = "GX112", "GX113", "GX114"
EXTRA, SWITCH, NO_STREAM, ACTIVATION, MISFIT = "GX116", "GX117", "GX118", "GX119", "GX120"
GE_LOCAL = "DNN_VM_GE_LOCAL"


def _events(s: Snapshot) -> tuple[Event, ...]:
    return (s.sync or SyncPlan()).events


def _name(s: Snapshot, node: int) -> str:
    return s.graph.unique_names.get(node, f"#{node}")


def own_stream_events(s: Snapshot) -> Iterator[Issue]:
    """GX112: an event whose two ends share a stream does nothing but cost two tasks."""
    for e in _events(s):
        if e.send_stream == e.recv_stream:
            yield Issue(
                OWN_STREAM, "error",
                Text(
                    f"event {e.id} is sent and received on stream {e.send_stream} ({_name(s, e.send)} to {_name(s, e.recv)})",
                    f"事件 {e.id} 的发送与接收都在流 {e.send_stream}（{_name(s, e.send)} 到 {_name(s, e.recv)}）",
                ),
                (Ref("event", e.uid), Ref("node", e.send), Ref("node", e.recv)),
                Text("Remove it: the stream already orders its nodes.", "去掉它：同一条流本来就有先后顺序。"), "sync.md 19.6",
            )  # fmt: skip


def event_ends(s: Snapshot) -> Iterator[Issue]:
    """GX120: an event whose node is gone, or whose stream is not a stream of that node."""
    assignment = streams_of(s)
    for e in _events(s):
        for node, st, role, role_zh in (
            (e.send, e.send_stream, "sender", "发送"),
            (e.recv, e.recv_stream, "receiver", "接收"),
        ):
            exists = 0 <= node < s.graph.id_bound and s.graph.nodes[node] is not None
            own = (int(assignment.node[node]), *assignment.attached.get(node, ())) if exists else ()
            if st in own and st >= 0:
                continue
            yield Issue(
                MISFIT, "error",
                Text(
                    f"event {e.id}: the {role} {_name(s, node)} is not on stream {st}"
                    if exists
                    else f"event {e.id}: the {role} node does not exist any more",
                    f"事件 {e.id}：{role_zh}节点 {_name(s, node)} 不在流 {st} 上"
                    if exists
                    else f"事件 {e.id}：{role_zh}节点已不存在",
                ),
                (Ref("event", e.uid), *((Ref("node", node),) if exists else ())),
                Text("Insert the events again after the streams changed.", "流改变之后请重新插入事件。"), "sync.md 19.5",
            )  # fmt: skip


def dense_event_ids(s: Snapshot) -> Iterator[Issue]:
    """GX113: used ids must be 0..n-1 per kind, one pair per id (multi-dims branches may share an id)."""
    shared_ok = any(n.op == "Case" and "_batch_num" in n.attrs for n in s.graph)
    for kind in ("event", "notify"):
        ids = [e.id for e in _events(s) if e.kind == kind]
        used = set(ids)
        gap = next((i for i in range(len(used)) if i not in used), None)
        word = "事件" if kind == "event" else "notify"
        if gap is not None:
            yield Issue(
                EVENT_IDS, "error",
                Text(
                    f"{kind} ids are not dense: {gap} is missing, {max(used)} is used",
                    f"{word} 编号不连续：缺少 {gap}，却用到了 {max(used)}",
                ),
                tuple(Ref("event", e.uid) for e in _events(s) if e.kind == kind and e.id > gap),
                Text("Renumber the events (renumber-events).", "请重新编号（renumber-events）。"), "sync.md 19.4",
            )  # fmt: skip
        if len(used) < len(ids) and not shared_ok:
            twice = next(i for i in ids if ids.count(i) > 1)
            yield Issue(
                EVENT_IDS, "error",
                Text(
                    f"{kind} id {twice} has more than one sender and receiver",
                    f"{word} 编号 {twice} 对应多个发送与接收节点",
                ),
                tuple(Ref("event", e.uid) for e in _events(s) if e.kind == kind and e.id == twice),
                Text("Give every pair an id of its own.", "请为每一对分配各自的编号。"), "sync.md 19.5",
            )  # fmt: skip


def dense_stream_ids(s: Snapshot) -> Iterator[Issue]:
    """GX114: stream ids in use must be 0..n-1."""
    assignment = streams_of(s)
    used = {int(x) for x in assignment.node if x >= 0} | {
        x for ids in assignment.attached.values() for x in ids if x >= 0
    }
    if s.graph.root.dynamic:
        used |= set(range(max(assignment.main_count, 0)))  # GE counts streams no node ends up on (GX331)
        inner = {int(assignment.node[n.id]) for n in s.graph if not s.graph.scope(n.scope).dynamic}
        used -= inner - {int(assignment.node[n.id]) for n in s.graph if s.graph.scope(n.scope).dynamic}
    gap = next((i for i in range(len(used)) if i not in used), None)
    if gap is not None:
        yield Issue(
            STREAM_IDS, "error",
            Text(
                f"stream ids are not dense: {gap} is missing, {max(used)} is used",
                f"流编号不连续：缺少 {gap}，却用到了 {max(used)}",
            ),
            tuple(Ref("stream", i) for i in sorted(used) if i > gap),
            Text("Renumber the streams (refresh-streams).", "请重新编号（refresh-streams）。"), "sync.md 19.12",
        )  # fmt: skip


def streamless_nodes(s: Snapshot) -> Iterator[Issue]:
    """GX118: a node that runs something but has no stream. Data, constants and GE-local nodes may have none."""
    stream = streams_of(s).node
    for n in s.graph:
        if stream[n.id] >= 0 or n.is_source or n.op in SYNC_OPS or "_thread_scope_id" in n.attrs:
            continue
        if n.op == "StreamActive" and s.physical is not None and s.physical.node[n.id] >= 0:
            continue  # made after the split: it has a physical stream only
        engine = s.placement.engine[n.id] if s.placement is not None and n.id < len(s.placement.engine) else ""
        if engine.startswith(GE_LOCAL) or n.op == "NetOutput":
            continue
        yield Issue(
            NO_STREAM, "error",
            Text(f"{_name(s, n.id)} ({n.op}) has no stream", f"{_name(s, n.id)}（{n.op}）没有流"),
            (Ref("node", n.id),),
            Text("Let one of the stream passes assign it.", "请由某个流分配 pass 为其分配。"), "sync.md 19.13",
        )  # fmt: skip


def surplus_events(s: Snapshot) -> Iterator[Issue]:
    """GX116: after GE's clean-up a node sends at most one event to a stream, and receives at most one from a stream."""
    to_stream: dict[tuple[int, int], Event] = {}
    from_stream: dict[tuple[int, int], Event] = {}
    pairs: list[tuple[Event, Event]] = []
    for e in _events(s):
        a = to_stream.setdefault((e.send, e.recv_stream), e)
        b = from_stream.setdefault((e.send_stream, e.recv), e)
        if a is not e or b is not e:
            pairs.append((a if a is not e else b, e))
    if not pairs:
        return
    first, second = pairs[0]
    example = f"{first.id}, {second.id}"
    yield Issue(
        EXTRA, "note",
        Text(
            f"{len(pairs)} events repeat what another one between the same node and stream says already (such as events {example})",
            f"{len(pairs)} 个事件与同一节点、同一流之间的另一事件重复（例如事件 {example}）",
        ),
        tuple(dict.fromkeys(Ref("event", e.uid) for pair in pairs for e in pair)),
        Text("Run optimize-by-send and optimize-by-recv.", "请运行 optimize-by-send 与 optimize-by-recv。"), "sync.md 19.7",
    )  # fmt: skip


def switch_senders(s: Snapshot) -> Iterator[Issue]:
    """GX117: a StreamSwitch must not send events; what it guards is started by activation."""
    for e in _events(s):
        n = s.graph.nodes[e.send] if 0 <= e.send < s.graph.id_bound else None
        if n is not None and n.op == "StreamSwitch":
            yield Issue(
                SWITCH, "error",
                Text(f"StreamSwitch {n.name} sends event {e.id}", f"StreamSwitch {n.name} 发送了事件 {e.id}"),
                (Ref("event", e.uid), Ref("node", e.send)),
                Text("Run switch-clean-up.", "请运行 switch-clean-up。"), "sync.md 19.8",
            )  # fmt: skip


def activation_lists(s: Snapshot) -> Iterator[Issue]:
    """GX119: nobody may activate the stream it runs on, and an activated stream must exist."""
    assignment = streams_of(s)
    count = max((int(assignment.node.max(initial=-1)), *(x for ids in assignment.attached.values() for x in ids))) + 1
    fix = Text("Correct the active stream list.", "请修正激活流列表。")
    for node, streams in (s.sync or SyncPlan()).active_streams.items():
        for st in streams:
            if st == assignment.node[node]:
                en, zh = f"{_name(s, node)} activates its own stream {st}", f"{_name(s, node)} 激活了自己所在的流 {st}"
            elif not 0 <= st < count:
                en, zh = (
                    f"{_name(s, node)} activates stream {st}, which does not exist",
                    f"{_name(s, node)} 激活了不存在的流 {st}",
                )
            else:
                continue
            yield Issue(ACTIVATION, "error", Text(en, zh), (Ref("node", node), Ref("stream", st)), fix, "sync.md 19.9")

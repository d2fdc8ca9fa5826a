"""Is every dependency kept? Decided by reachability over streams and events, never by "an event exists" (sync.md 19.2)."""

from __future__ import annotations

from collections.abc import Iterator

from ge_explorer.checks.ordering import activators, sequence_of, streams_of
from ge_explorer.graph.happens_before import ENTER_LIKE, NEXT_LIKE, HappensBefore, border_pairs
from ge_explorer.ids import Ref
from ge_explorer.issue import Issue
from ge_explorer.text import Text
from ge_explorer.trace.state import SYNC_OPS, Snapshot, SyncPlan

UNORDERED, NOT_JOINED, BODY = "GX110", "GX115", "GX121"
LIMIT = 100
MERGE_LIKE = frozenset({"Merge", "RefMerge", "StreamMerge"})
THREAD_SCOPE = "_thread_scope_id"


def ordered_dependencies(s: Snapshot, hb: HappensBefore) -> Iterator[Issue]:
    """GX110 for every data or control edge, and every subgraph border pair, whose ends no stream, event or activation orders."""
    stream, names = streams_of(s).node, s.graph.unique_names
    count = 0
    for u, v, why in _pairs(s):
        if s.graph.root.dynamic and not s.graph.scope(s.graph.node(u).scope).dynamic:
            continue  # a known-shape part is compiled as a model of its own
        if stream[u] < 0 or stream[v] < 0 or stream[u] == stream[v]:
            continue
        a, b = s.graph.node(u), s.graph.node(v)
        if a.op in SYNC_OPS or b.op in SYNC_OPS:
            continue
        if (
            (a.op in ENTER_LIKE and b.op != "StreamActive")
            or (a.op in NEXT_LIKE and b.op in MERGE_LIKE)
            or THREAD_SCOPE in b.attrs
        ):
            continue
        if hb.ordered(u, v) or _by_activation(s, hb, u, v):
            continue
        count += 1
        if count > LIMIT:
            continue
        i, j = int(stream[u]), int(stream[v])
        yield Issue(
            UNORDERED, "error",
            Text(
                f"{names[v]} (stream {j}) needs {names[u]} (stream {i}), but may start before it is done ({why})",
                f"{names[v]}（流 {j}）依赖 {names[u]}（流 {i}），但可能在其完成之前启动（{_WHY_ZH[why]}）",
            ),
            (Ref("node", u), Ref("node", v)),
            Text(
                f"Add an event from {names[u]} to {names[v]} (stream {i} to stream {j}).",
                f"在 {names[u]} 与 {names[v]} 之间加一个事件（流 {i} 到流 {j}）。",
            ),
            "sync.md 19.2",
        )  # fmt: skip
    if count > LIMIT:
        yield Issue(
            UNORDERED, "error",
            Text(f"{count - LIMIT} more unordered dependencies", f"另有 {count - LIMIT} 处依赖没有顺序保证"), source="sync.md 19.2",
        )  # fmt: skip


_WHY_ZH = {"data": "数据边", "control": "控制边", "subgraph entry": "子图入口", "subgraph end": "子图出口"}


def _pairs(s: Snapshot) -> Iterator[tuple[int, int, str]]:
    """Edges inside scopes, then the border pairs of sync.md 5.2."""
    g, stream = s.graph, streams_of(s).node
    seen: set[tuple[int, int]] = set()
    for u, v, why in [*((e.src, e.dst, "data") for e in g.edges), *((a, b, "control") for a, b in g.control)]:
        if (u, v) not in seen:
            seen.add((u, v))
            yield u, v, why
    for u, v in border_pairs(g, stream):
        yield u, v, "subgraph end" if g.pred[v] else "subgraph entry"


def _by_activation(s: Snapshot, hb: HappensBefore, u: int, v: int) -> bool:
    """True if an activator of v's stream runs after u. One is enough: when another branch started the stream, u's branch did
    not run (sync.md 5.3 rule 5).
    """
    sync, stream = s.sync or SyncPlan(), streams_of(s).node
    label = s.graph.node(v).attrs.get("_stream_label")
    starters = dict.fromkeys((*sync.label_activators.get(str(label), ()), *activators(s).get(int(stream[v]), ())))
    return any(a == u or hb.ordered(u, a) for a in starters)


def joined_streams(s: Snapshot, hb: HappensBefore) -> Iterator[Issue]:
    """GX115 for every stream whose last task the root's NetOutput does not wait for: its results may be read too early."""
    stream, names = streams_of(s).node, s.graph.unique_names
    ends = [i for i in s.graph.root.nodes if s.graph.node(i).op == "NetOutput" and stream[i] >= 0]
    if not ends:
        return
    end = ends[-1]
    for st in hb.streams:
        last = hb.on_stream(st)[-1]
        if st == stream[end] or hb.ordered(last, end):
            continue
        yield Issue(
            NOT_JOINED, "warning",
            Text(
                f"stream {st} is not joined: nothing makes {names[end]} wait for its last node {names[last]}",
                f"流 {st} 没有汇合：{names[end]} 不会等待它的最后一个节点 {names[last]}",
            ),
            (Ref("stream", st), Ref("node", last), Ref("node", end)),
            Text(
                f"Add a control edge or an event from {names[last]} to {names[end]}.",
                f"从 {names[last]} 到 {names[end]} 加一条控制边或一个事件。",
            ),
            "sync.md 19.3",
        )  # fmt: skip


def subgraph_bodies(s: Snapshot, hb: HappensBefore) -> Iterator[Issue]:
    """GX121 where a body runs on another stream than its holder and nothing proves that it stays between what the holder waits
    for and what waits for the holder. GE's label maker adds StreamActive and LabelSet nodes for that; graphs that did not come
    from GE have none.
    """
    g, stream, names = s.graph, streams_of(s).node, s.graph.unique_names
    place = {v: k for k, v in enumerate(sequence_of(s))}
    for holder in g:
        if not holder.subgraphs or stream[holder.id] < 0:
            continue
        by_stream: dict[int, list[int]] = {}
        for scope in holder.subgraphs:
            for i in g.scope(scope).nodes:
                if stream[i] >= 0 and stream[i] != stream[holder.id]:
                    by_stream.setdefault(int(stream[i]), []).append(i)
        for st, body in by_stream.items():
            body.sort(key=lambda i: place.get(i, -1))
            early = [p for p in g.pred[holder.id] if stream[p] >= 0 and stream[p] != st and not hb.ordered(p, body[0])]
            late = [x for x in g.succ[holder.id] if stream[x] >= 0 and stream[x] != st and not hb.ordered(body[-1], x)]
            if early or late:
                yield Issue(
                    BODY, "note",
                    Text(
                        f"the body of {names[holder.id]} uses stream {st}, and no event or activation in this graph ties it to "
                        f"what comes before and after. GE adds nodes for that when it makes labels; they are not modelled. The "
                        f"memory plan does not rely on that order",
                        f"{names[holder.id]} 的子图使用流 {st}，图中没有事件或激活把它与前后任务连起来。"
                        "GE 在生成 label 时会为此插入节点，这里没有建模；内存规划也不依赖这一顺序",
                    ),
                    (Ref("node", holder.id), Ref("stream", st)),
                    Text(
                        "Put the body on its holder's stream, or let a StreamActive at its head start the stream.",
                        "把子图放在其父节点的流上，或由子图开头的 StreamActive 激活该流。",
                    ),
                    "memory.md A18",
                )  # fmt: skip

"""Streams picture: one row per stream with its identity, GE number, nodes, tasks of its parts, load and who starts it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np

from ge_explorer.ids import Ref
from ge_explorer.ids import node as node_ref
from ge_explorer.ids import stream as stream_ref
from ge_explorer.passes.physical.limits import RESERVE
from ge_explorer.provenance import Origin
from ge_explorer.simulator.timeline import Timeline
from ge_explorer.text import Text
from ge_explorer.trace.state import SYNC_OPS, Snapshot
from ge_explorer.views.marks import by_letter, node_name, number, plain, stream_marks, us
from ge_explorer.views.palette import StreamIdentity
from ge_explorer.views.stream_load import StreamLoads, stream_loads
from ge_explorer.views.table import Column, Figure, Part, Row, Table, TablePicture, cut, thing, words

LIMIT = 100


def build(
    s: Snapshot,
    identities: Mapping[int, StreamIdentity],
    *,
    timeline: Timeline | None = None,
    stream_limit: int | None = None,
    limit: int = LIMIT,
) -> TablePicture:
    """Picture of the streams of ``s``. ``stream_limit`` is the chip's number of streams where known.

    Send and Recv nodes are counted apart (``11 + 2 sync``). Tasks are queue entries of all parts, then of the fullest part.
    """
    if s.streams is None:
        alt = Text("No stream is assigned yet.", "还没有分配流。")
        return TablePicture("streams", (), (), alt, (alt,))
    marks = stream_marks(s, identities)
    nodes: Counter[int] = Counter()
    syncs: Counter[int] = Counter()
    bare = 0
    for n in s.graph:
        k = int(s.streams.node[n.id]) if n.id < s.streams.node.size else -1
        if k < 0:
            bare += n.op not in SYNC_OPS
        else:
            (syncs if n.op in SYNC_OPS else nodes)[k] += 1
    attached = Counter(x for ids in s.streams.attached.values() for x in ids)
    activators = _activators(s)
    loads = stream_loads(s)
    span = max(1, timeline.makespan_ns) if timeline is not None else 1
    rows = []
    for m in by_letter(marks.values()):
        engine = m.engine or _engine(s, m.stream)
        about = tuple(
            words(en, zh, tone="muted", new_line=True)
            for text, en, zh in (
                (engine, plain(engine, 40), ""),
                (m.label, f"label {plain(m.label, 40)}", f"标签 {plain(m.label, 40)}"),
            )
            if text
        )
        busy = share = "–"
        if timeline is not None:
            b = timeline.busy_ns(m.stream)
            busy, share = us(b), f"{number(100 * b / span)} %"
        own = f"{nodes[m.stream]}" + (f" + {attached[m.stream]}" if attached[m.stream] else "")
        sync = syncs[m.stream]
        who = activators.get(m.stream, [])
        first = m.stream not in (s.sync.activated if s.sync else frozenset())
        start: tuple[Part, ...] = (words("runs from the start", "一开始就运行", tone="muted"),) if first else ()
        if first and who:  # a loop starts again what runs already
            start = (*start, words("and again by", "并再次由", tone="muted"))
        starters = (*start, *(thing(node_name(s, i, 40), node_ref(i)) for i in who[:3]))
        rows.append(
            Row(
                (
                    (Part(m.role, mark=m, tone="strong"),
                     *about),
                    (Part(Text(str(m.stream)), origin=Origin.GE_RULE),),
                    (Part(Text(own), origin=Origin.GE_RULE),
                     *((words(f"+ {sync} sync", f"+ {sync} 同步", tone="muted", new_line=True),) if sync else ())),
                    *_loaded(loads, m.stream),
                    (Part(Text(busy), origin=_origin(timeline)), words(share, tone="muted", new_line=True))
                    if timeline else (words("–", tone="muted"),),
                    starters or (words("–", tone="muted"),),
                ),
                stream_ref(m.stream),
                (stream_ref(m.stream), *_part_refs(loads, m.stream)),
            )
        )  # fmt: skip
    shown, left = cut(rows, limit)
    columns = (
        Column(Text("stream", "流")), Column(Text("GE id", "GE 编号"), "right", True), Column(Text("nodes", "节点"), "right", True),
        Column(Text("tasks", "任务"), "right", True), Column(Text("fullest part", "最满的部分"), "right", True),
        Column(Text("busy", "忙碌"), "right", True), Column(Text("started by", "启动者")),
    )  # fmt: skip
    count = s.streams.count
    figures = [
        Figure(
            Text(number(count)), Text("streams in use" if count != 1 else "stream in use", "条流在用"), Origin.GE_RULE
        )
    ]
    if stream_limit:
        over = count > stream_limit
        figures.append(
            Figure(
                Text(number(stream_limit)),
                Text("the chip's limit", "芯片上限"),
                Origin.GE_RULE,
                "/",
                "error" if over else "",
            )
        )
    figures.append(
        Figure(
            Text(number(bare)),
            Text("nodes without a stream (they run nothing)", "个节点无流（不执行）"),
            Origin.GE_RULE,
        )
    )
    table = Table(Text("Streams", "流"), columns, shown, left, Text("No stream is in use.", "没有使用流。"))
    en = f"{count} stream{'s' * (count != 1)} in use, {bare} nodes without a stream."
    return TablePicture("streams", tuple(figures), (table,), Text(en, f"使用 {count} 条流，{bare} 个节点没有流。"))


def _loaded(loads: StreamLoads | None, stream: int) -> tuple[tuple[Part, ...], tuple[Part, ...]]:
    """Cells: tasks of the stream in how many parts, and its fullest part against the limit."""
    parts = loads.of(stream) if loads is not None else ()
    if loads is None or not parts:
        return (words("–", tone="muted"),), (words("–", tone="muted"),)
    total = Part(Text(number(sum(p.tasks for p in parts))), origin=loads.origin)
    several = (
        (words(f"in {len(parts)} parts", f"{len(parts)} 个部分", tone="muted", new_line=True),)
        if len(parts) > 1
        else ()
    )
    full = max(parts, key=lambda p: p.tasks)
    used = Part(Text(number(full.tasks)), Ref("part", full.physical) if loads.split else None, origin=loads.origin,
                tone="error" if full.over else "")  # fmt: skip
    limit = (
        words(f"+ {RESERVE} / {number(full.limit)}", tone="muted", new_line=True)
        if full.limit
        else words("no limit", "无上限", tone="muted", new_line=True)
    )
    return (total, *several), (used, limit)


def _part_refs(loads: StreamLoads | None, stream: int) -> tuple[Ref, ...]:
    return tuple(Ref("part", p.physical) for p in loads.of(stream)) if loads is not None and loads.split else ()


def _origin(t: Timeline | None) -> Origin | None:
    return None if t is None else Origin.MEASURED if t.origin == "measured" else Origin.MODEL


def _engine(s: Snapshot, stream: int) -> str:
    if s.placement is None or s.streams is None:
        return ""
    names = Counter(
        s.placement.engine[i] for i in np.flatnonzero(s.streams.node == stream).tolist() if i < len(s.placement.engine)
    )
    return names.most_common(1)[0][0] if names else ""


def _activators(s: Snapshot) -> dict[int, list[int]]:
    """Stream -> nodes whose activation list names it."""
    out: dict[int, list[int]] = {}
    for node, streams in (s.sync.active_streams if s.sync else {}).items():
        for x in streams:
            out.setdefault(x, []).append(node)
    return out

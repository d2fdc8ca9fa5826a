"""Streams picture: one row per stream with its identity, GE number, engine, load and who activates it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np

from ge_explorer.ids import node as node_ref
from ge_explorer.ids import stream as stream_ref
from ge_explorer.provenance import Origin
from ge_explorer.simulator.timeline import Timeline
from ge_explorer.text import Text
from ge_explorer.trace.state import Snapshot
from ge_explorer.views.marks import by_letter, node_name, number, plain, stream_marks, us
from ge_explorer.views.palette import StreamIdentity
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
    """Picture of the streams of ``s``. ``stream_limit`` is the chip's number of streams where known."""
    if s.streams is None:
        alt = Text("No stream is assigned yet.", "还没有分配流。")
        return TablePicture("streams", (), (), alt, (alt,))
    marks = stream_marks(s, identities)
    nodes = Counter(int(x) for i, x in enumerate(s.streams.node.tolist()) if x >= 0 and _exists(s, i))
    bare = sum(1 for i in s.graph.node_ids if i < s.streams.node.size and s.streams.node[i] < 0)
    attached = Counter(x for ids in s.streams.attached.values() for x in ids)
    activators = _activators(s)
    span = max(1, timeline.makespan_ns) if timeline is not None else 1
    rows = []
    for m in by_letter(marks.values()):
        engine = m.engine or _engine(s, m.stream)
        tasks = busy = "–"
        if timeline is not None:
            mask = timeline.stream == m.stream
            b = timeline.busy_ns(m.stream)
            tasks, busy = number(int(np.count_nonzero(mask))), f"{us(b)} ({number(100 * b / span)} %)"
        own = f"{nodes[m.stream]}" + (f" + {attached[m.stream]}" if attached[m.stream] else "")
        who = activators.get(m.stream, [])
        first = m.stream not in (s.sync.activated if s.sync else frozenset()) and not who
        rows.append(
            Row(
                (
                    (Part(m.role, mark=m, tone="strong"),),
                    (Part(Text(str(m.stream)), origin=Origin.GE_RULE),),
                    (words(plain(engine, 40) if engine else "–"),),
                    (words(plain(m.label, 40)) if m.label else words("–", tone="muted"),),
                    (words(own),),
                    (words(tasks),),
                    (Part(Text(busy), origin=_origin(timeline)),) if timeline else (words("–", tone="muted"),),
                    tuple(thing(node_name(s, i, 40), node_ref(i)) for i in who[:3])
                    or (
                        (
                            words("runs from the start", "一开始就运行", tone="muted")
                            if first
                            else words("–", tone="muted")
                        ),
                    ),
                ),
                stream_ref(m.stream),
                (stream_ref(m.stream),),
            )
        )
    shown, left = cut(rows, limit)
    columns = (
        Column(Text("stream", "流"), nowrap=True), Column(Text("GE id"), "right"), Column(Text("engine", "引擎")),
        Column(Text("label", "标签")), Column(Text("nodes", "节点"), "right", True), Column(Text("tasks", "任务"), "right", True),
        Column(Text("busy", "忙碌"), "right", True), Column(Text("activated by", "激活者")),
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


def _exists(s: Snapshot, i: int) -> bool:
    return i < s.graph.id_bound and s.graph.nodes[i] is not None


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

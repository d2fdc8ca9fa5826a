"""GE's stream allocation summary as a table picture: one table a graph, columns in GE's order."""

from __future__ import annotations

from ge_explorer.ids import node as node_ref
from ge_explorer.ids import stream as stream_ref
from ge_explorer.provenance import Origin
from ge_explorer.text import Text
from ge_explorer.trace.state import Snapshot
from ge_explorer.views.marks import plain
from ge_explorer.views.stream_summary import StreamSummary, StreamSummaryRow, build_summary
from ge_explorer.views.table import Column, Figure, Part, Row, Table, TablePicture, cut, words

LIMIT = 100


def build(s: Snapshot, *, limit: int = LIMIT) -> TablePicture:
    """Picture of the summary of a snapshot; at most ``limit`` streams of a graph are listed."""
    return picture(build_summary(s), limit=limit)


def picture(summary: StreamSummary, *, limit: int = LIMIT) -> TablePicture:
    """Picture of a summary."""
    columns = (
        Column(Text("logical stream", "逻辑流"), "right"), Column(Text("user label", "用户流标签")),
        Column(Text("custom pass", "自定义 pass")), Column(Text("attached streams", "附属流")),
        Column(Text("physical streams", "物理流数"), "right"),
        Column(Text("collective follow streams", "通信从流数"), "right"), Column(Text("nodes", "节点"), "right", True),
    )  # fmt: skip
    tables = []
    for g in summary.graphs:
        shown, left = cut([_picture_row(r) for r in g.rows], limit)
        shape = Text("known shape", "静态 shape") if g.known_shape else Text("unknown shape", "动态 shape")
        name = plain(g.name, 60)
        tables.append(Table(Text(f"{name} ({shape.en})", f"{name}（{shape.zh}）"), columns, shown, left))
    n = summary.stream_num
    kind = Text("physical streams", "条物理流") if summary.split else Text("logical streams", "条逻辑流")
    figures = (Figure(Text(str(n)), kind, Origin.GE_RULE),) if summary.graphs else ()
    alt = Text(f"Summary of {n} {kind.en}.", f"{n} {kind.zh}的摘要。") if summary.graphs else summary.notes[0]
    return TablePicture("summary", figures, tuple(tables), alt, summary.notes)


def _picture_row(r: StreamSummaryRow) -> Row:
    none = words("–", tone="muted")
    attached = " ".join(map(str, r.attached_stream_ids))
    physical = (
        none
        if r.physical_model_stream_num is None
        else Part(Text(str(r.physical_model_stream_num)), origin=Origin.GE_RULE)
    )
    cells = (
        (Part(Text(str(r.logic_stream_id)), origin=Origin.GE_RULE),),
        (words(plain(r.user_stream_label, 40)) if r.user_stream_label else none,),
        (words("yes", "是") if r.is_assigned_by_user_stream_pass else none,),
        (words(attached) if attached else none,),
        (physical,),
        (Part(Text(str(r.hccl_followed_stream_num)), origin=Origin.GE_RULE),),
        (Part(Text(str(len(r.nodes))), origin=Origin.GE_RULE),),
    )
    refs = (stream_ref(r.logic_stream_id), *(node_ref(i) for i in r.nodes))
    return Row(cells, stream_ref(r.logic_stream_id), refs)

"""Who holds which device stream, as a table picture: capacity figures, one row a stream and model, the last operation's steps."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from ge_explorer.ids import part as part_ref
from ge_explorer.ids import stream as stream_ref
from ge_explorer.provenance import Origin
from ge_explorer.runtime import DeviceSession, RuntimeStep, StreamRow
from ge_explorer.text import Text
from ge_explorer.views.marks import Mark, number, plain
from ge_explorer.views.table import Column, Figure, Part, Row, Table, TablePicture, Tone, cut, words

LIMIT = 200
NO_MARKS: Mapping[str, Mapping[int, Mark]] = MappingProxyType({})
BIND = {
    "head": Text("starts with the model", "随模型启动"),
    "ordinary": Text("waits to be activated", "等待激活"),
    "unbound": Text("no task, not bound", "无任务，未绑定"),
}


def build(
    session: DeviceSession,
    *,
    dead: bool = False,
    limit: int = LIMIT,
    marks: Mapping[str, Mapping[int, Mark]] = NO_MARKS,
) -> TablePicture:
    """Picture of a session after its last operation; ``dead`` lists destroyed streams too.

    ``marks``: model name -> logical stream -> mark, for models whose streams the screen knows; their rows select the stream.
    """
    device = session.state.device
    rows, left = cut([_row(r, marks.get(r.model, {})) for r in session.rows(dead=dead)], limit)
    streams = Table(
        Text("Device streams", "设备流"),
        (
            Column(Text("device stream", "设备流"), "right", True), Column(Text("model", "模型")),
            Column(Text("role", "用途"), nowrap=True),
            Column(Text("physical", "物理流"), "right"), Column(Text("logical", "逻辑流"), "right"),
            Column(Text("flags", "标志"), nowrap=True), Column(Text("bound as", "绑定")),
            Column(Text("alive", "存活"), nowrap=True),
        ),
        rows, left,
    )  # fmt: skip
    steps, more = cut([_step(t) for t in session.steps], limit)
    columns = (Column(Text("step", "步骤")), Column(Text("source", "来源")))
    title = session.history[-1].title if session.history else Text("fresh device", "初始设备")
    figures = (
        Figure(Text(number(device.live)), Text("streams in use", "条流在用"), Origin.MODEL),
        Figure(Text(number(device.limit)), Text(f"on {device.chip}", f"{device.chip} 上限"), Origin.GE_RULE, "/"),
        Figure(
            Text(number(device.available)), Text("available", "可用"), Origin.MODEL, tone="" if session.ok else "error"
        ),
    )
    names = ", ".join(plain(m.name, 30) for m in session.state.loaded()[:10])
    alt = Text(
        f"{device.live} of {device.limit} streams in use; loaded: {names or 'nothing'}.",
        f"{device.limit} 条流中 {device.live} 条在用；已加载：{names or '无'}。",
    )
    last = Table(Text(plain(title.en, 60), plain(title.zh, 60)), columns, steps, more)
    return TablePicture("runtime", figures, (streams, last), alt)


def _row(r: StreamRow, marks: Mapping[int, Mark]) -> Row:
    tone: Tone = "" if r.alive else "muted"
    bind = BIND.get(r.bind, Text("–"))
    rule = Origin.GE_RULE
    mark = marks.get(r.logical) if r.logical is not None else None

    def cell(value: int | None) -> str:
        return "–" if value is None else str(value)

    cells = (
        (Part(Text(str(r.device_stream)), origin=Origin.ASSUMED),),
        (words(plain(r.model, 40) if r.model else "–"),), (words(plain(r.role, 40)),),
        (Part(Text(cell(r.physical)), origin=rule if r.physical is not None else None),),
        (Part(Text(cell(r.logical)), mark=mark, origin=rule if r.logical is not None else None),), (words(r.flags, code=True),),
        (words(bind.en, bind.zh),), (words("yes", "是") if r.alive else words("no", "否"),),
    )  # fmt: skip
    if mark is None or not r.alive or r.logical is None:
        return Row(cells, tone=tone)
    refs = (stream_ref(r.logical), *((part_ref(r.physical),) if r.physical is not None else ()))
    return Row(cells, refs[-1], refs, tone)


def _step(t: RuntimeStep) -> Row:
    end = f" [{t.code} {t.status}]" if not t.ok else ""
    return Row(
        (
            (words(plain(t.text.en + end, 300), plain(t.text.zh + end, 300)),),
            (words(t.source, code=True, tone="muted"),),
        ),
        tone="" if t.ok else "error",
    )

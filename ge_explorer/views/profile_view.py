"""What a profile gave, as a table below the findings: what is left over, then the tasks with measured times."""

from __future__ import annotations

from dataclasses import replace

from ge_explorer.device.profile_report import WAY_TEXT, ProfileReport
from ge_explorer.ids import Ref
from ge_explorer.provenance import Origin
from ge_explorer.text import Text
from ge_explorer.trace.state import Snapshot
from ge_explorer.views.marks import node_name, plain
from ge_explorer.views.table import Column, Figure, Part, Row, Table, TablePicture, cut, thing, words
from ge_explorer.views.wording import us

LIMIT = 100
_MISSING = Text("no row in the profile: our model", "profile 中无此行：模型估算")
_UNUSED = Text("no task of this name", "没有同名任务")
_GONE = Text("removed by the compilation", "已被编译移除")


def with_profile(picture: TablePicture, report: ProfileReport | None, s: Snapshot, limit: int = LIMIT) -> TablePicture:
    """The picture with a table about the profile below; unchanged without a profile."""
    if report is None:
        return picture
    figures = (
        *picture.figures,
        Figure(Text(f"{len(report.matched)} / {len(report.matched) + len(report.missing)}"),
               Text("tasks measured (profile)", "个任务有实测（profile）"), Origin.MEASURED),
    )  # fmt: skip
    return replace(picture, figures=figures, tables=(*picture.tables, build(report, s, limit)),
                   notes=(*picture.notes, report.issue().message))  # fmt: skip


def build(report: ProfileReport, s: Snapshot, limit: int = LIMIT) -> Table:
    """Table of the report: what is left over first (it needs attention), then the matched tasks, longest first."""
    rows = [_left_over(thing(node_name(s, i, 40), Ref("node", i)), "", _MISSING) for i, _ in report.missing]
    rows += [_left_over(words(plain(n, 60), code=True), us(ns), _UNUSED) for n, ns in report.unused]
    rows += [_left_over(words(plain(n, 60), code=True), us(ns), _GONE) for n, ns in report.gone]
    for m in sorted(report.matched, key=lambda m: -m.ns):
        how = [Part(WAY_TEXT[m.way])]
        if m.members:
            how.append(words(f" ({m.members})", f"（{m.members}）", tone="muted"))
        if m.rows and m.rows != (m.name,):
            how.append(words(plain(", ".join(m.rows), 80), tone="muted", code=True, new_line=True))
        ref = Ref("node", m.node)
        time = Part(Text(us(m.ns)), origin=Origin.MEASURED)
        rows.append(Row(((thing(node_name(s, m.node, 40), ref),), (time,), tuple(how)), ref, (ref,)))
    shown, left = cut(rows, limit)
    title = Text(f"Profile {plain(report.source, 60)}")
    columns = (
        Column(Text("task or row", "任务或行")), Column(Text("us"), "right", nowrap=True), Column(Text("matched", "匹配方式")),
    )  # fmt: skip
    return Table(title, columns, shown, left)


def _left_over(name: Part, time: str, why: Text) -> Row:
    ref = name.ref
    return Row(((name,), (words(time or "–"),), (Part(why, tone="muted"),)), ref, (ref,) if ref is not None else ())

"""Issues picture: findings by severity, each with its fix and what it is about."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ge_explorer.issue import Issue
from ge_explorer.text import Text
from ge_explorer.trace.state import Snapshot
from ge_explorer.views.marks import node_name, stream_marks
from ge_explorer.views.palette import StreamIdentity
from ge_explorer.views.table import Column, Figure, Part, Row, Table, TablePicture, cut, thing, words
from ge_explorer.views.wording import source_file

SEVERITY = {"error": Text("error", "错误"), "warning": Text("warning", "警告"), "note": Text("note", "提示")}
_RANK = {"error": 0, "warning": 1, "note": 2}
LIMIT = 200


def build(
    s: Snapshot, issues: Iterable[Issue], identities: Mapping[int, StreamIdentity], limit: int = LIMIT
) -> TablePicture:
    """Picture of the findings, errors first."""
    found = sorted(issues, key=lambda i: (_RANK[i.severity], i.code))
    marks = stream_marks(s, identities)
    rows = []
    for i in found:
        message = [Part(i.message)]
        if i.fix is not None:
            message.append(Part(Text(f"Fix: {i.fix.en}", f"修复：{i.fix.get('zh')}"), tone="muted", new_line=True))
        if i.source:
            message.append(words(source_file(i.source), tone="muted", code=True))
        about = []
        for r in i.refs[:4]:
            stream = r.id if r.kind == "stream" else -1
            if r.kind == "node" and s.streams is not None and r.id < s.streams.node.size:
                stream = int(s.streams.node[r.id])
            name = node_name(s, r.id, 40) if r.kind == "node" else f"{r.kind} {r.id}"
            about.append(thing(name, r, marks[stream]) if stream in marks else thing(name, r))
        if len(i.refs) > 4:
            about.append(words(f"+{len(i.refs) - 4}", tone="muted"))
        severity = Part(SEVERITY[i.severity], tone="error" if i.severity == "error" else "strong")
        rows.append(
            Row(((severity,), (words(i.code, code=True),), tuple(message), tuple(about) or (words("–", tone="muted"),)),
                i.refs[0] if i.refs else None, i.refs)
        )  # fmt: skip
    counts = {k: sum(i.severity == k for i in found) for k in SEVERITY}
    figures = tuple(
        Figure(Text(str(n)), SEVERITY[k], tone="error" if k == "error" else "") for k, n in counts.items() if n
    )
    shown, left = cut(rows, limit)
    columns = (
        Column(Text("level", "级别"), nowrap=True), Column(Text("code", "编号"), nowrap=True), Column(Text("finding", "发现")),
        Column(Text("about", "涉及")),
    )  # fmt: skip
    empty = Text(
        "No finding: every dependency is ordered, no memory race, no deadlock.",
        "没有问题：依赖均有序，无内存竞争，无死锁。",
    )
    alt = Text(", ".join(f"{n} {k}{'s' * (n != 1)}" for k, n in counts.items() if n) + ".",
               "，".join(f"{n} 个{SEVERITY[k].zh}" for k, n in counts.items() if n) + "。")  # fmt: skip
    return TablePicture(
        "issues", figures, (Table(Text("Issues", "问题"), columns, shown, left, empty),), alt if found else empty
    )

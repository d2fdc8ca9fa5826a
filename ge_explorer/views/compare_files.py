"""Pictures of two comparisons: file against file, and our result against what a dump records. Figures first, then rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from ge_explorer.ids import node as node_ref
from ge_explorer.provenance import GE_RULES_VERSION, Origin
from ge_explorer.text import Text
from ge_explorer.trace.agreement import Agreement
from ge_explorer.trace.compare_files import FieldChange, FilesDiff, Side
from ge_explorer.views.marks import number, plain
from ge_explorer.views.table import Column, Figure, Part, Row, Table, TablePicture, cut, thing, words
from ge_explorer.views.wording import MINUS

LIMIT = 120
_COLUMNS = (Column(Text("")), Column(Text("what", "内容"), nowrap=True), Column(Text("change", "变化")))
Part2 = tuple[Part, ...]
RowKind = Literal["node", "stream", "event", "memory", "option"]


def build_diff(d: FilesDiff, limit: int = LIMIT) -> TablePicture:
    """Difference of two files; references are nodes of ``b``, except for nodes that only ``a`` has."""
    shown, left = cut([r for _, r in diff_rows(d)], limit)
    title = Text(f"{plain(d.a.source, 60)} → {plain(d.b.source, 60)}")
    table = Table(title, _COLUMNS, shown, left, Text("These two files are equal.", "这两个文件完全相同。"))
    figures = diff_figures(d)
    counts = ", ".join(f"{f.value.en} {f.label.en}" for f in figures)
    counts_zh = "，".join(f"{f.label.get('zh')} {f.value.get('zh')}" for f in figures)
    if d.empty:
        alt = Text(f"{title.en}: equal, {len(d.match.pairs)} nodes compared.",
                   f"{title.en}：完全相同，比较了 {len(d.match.pairs)} 个节点。")  # fmt: skip
    else:
        alt = Text(f"{title.en}: {counts}.", f"{title.en}：{counts_zh}。")
    return TablePicture("compare-files", tuple(figures), (table,), alt, tuple(diff_notes(d)))


def diff_figures(d: FilesDiff) -> list[Figure]:
    """Counts per kind; only kinds that differ, and the nodes."""
    nodes = f"+{len(d.match.only_b)} {MINUS}{len(d.match.only_a)} ~{len(d.changed)}"
    out = [Figure(Text(nodes), Text("nodes", "节点"))]
    if d.match.renamed:
        out.append(Figure(Text(number(len(d.match.renamed))), Text("renamed", "改名")))
    if d.match.merged:
        out.append(Figure(Text(number(len(d.match.merged))), Text("fused", "融合")))
    if d.moved is not None:
        out.append(Figure(Text(number(len(d.moved))), Text("streams moved", "流变化")))
    if d.events_a or d.events_b:
        out.append(Figure(Text(f"+{len(d.events_b)} {MINUS}{len(d.events_a)}"), Text("events", "事件")))
    for count, en, zh in ((len(d.offsets), "offsets", "偏移"), (len(d.options), "options", "选项")):
        if count:
            out.append(Figure(Text(number(count)), Text(en, zh)))
    if d.reordered:
        out.append(Figure(Text(number(d.reordered)), Text("places in the order", "次序位置")))
    return out


def diff_notes(d: FilesDiff) -> list[Text]:
    """What the figures do not say: what is not compared, numbering, versions."""
    out = []
    if d.moved is None:
        if d.a.format != d.b.format:
            out.append(Text(f"Two forms: {d.a.format}, {d.b.format}. Attributes are compared where both write them.",
                            f"两种格式：{d.a.format}、{d.b.format}。仅比较双方都写出的属性。"))  # fmt: skip
        out.append(Text("Streams are not compared: both files must record them.", "未比较流：两个文件都需记录流。"))
    renumbered = {s: t for s, t in d.stream_of.items() if s != t}
    if renumbered:
        listed = ", ".join(f"{s} → {t}" for s, t in sorted(renumbered.items())[:8])
        out.append(Text(f"Streams are numbered differently: {listed}.", f"流编号不同：{listed}。"))
    for v in d.versions:
        out.append(Text(f"Versions differ: {plain(v.name, 40)} {v.before or '–'} → {v.after or '–'}.",
                        f"版本不同：{plain(v.name, 40)} {v.before or '–'} → {v.after or '–'}。"))  # fmt: skip
    stated = [v for side in (d.a, d.b) for v in side.versions if not v[0].startswith("opset")]
    if stated:
        out.append(Text(f"The rules of this program follow GE's sources of {GE_RULES_VERSION}.",
                        f"本程序的规则依据 {GE_RULES_VERSION} 的 GE 源码。"))  # fmt: skip
    return out


def diff_rows(
    d: FilesDiff,
    only_a: Callable[[int], int] | None = None,
    names: tuple[Mapping[int, str], Mapping[int, str]] | None = None,
) -> list[tuple[RowKind, Row]]:
    """Every difference with its kind. ``only_a`` gives the reference of a node that only ``a`` has; None: it has none.

    ``names`` are the letters of the streams of both sides, where the two have common ones.
    """
    node = Text("node", "节点")
    rows: list[tuple[RowKind, Row]] = []
    into = {i: j for j, group in d.match.merged.items() for i in group}
    rows += [("node", _node_row("+", node, d.b, j, j)) for j in d.match.only_b]
    for j, group in d.match.merged.items():
        made = ", ".join(plain(d.a.graph.unique_names[i], 40) for i in group[:4]) + (" …" if len(group) > 4 else "")
        cells = (_thing(d.b, j), words(f"from {made}", f"由 {made}"))
        rows.append(("node", _row("+", Text("fused", "融合"), cells, j)))
    for i in d.match.only_a:
        if i not in into:
            rows.append(("node", _node_row(MINUS, node, d.a, i, None if only_a is None else only_a(i))))
    renamed = {j: i for i, j in d.match.renamed}
    for j, i in renamed.items():
        old = plain(d.a.graph.unique_names[i], 60)
        rows.append(("node", _row("~", Text("name", "名称"), (words(f"{old} →"), _thing(d.b, j)), j)))
    for c in d.changed:
        rows.append(("node", _row("~", node, (_thing(d.b, c.b), Part(_fields(c.fields))), c.b)))
    for m in d.moved or ():
        here = d.stream_of.get(m.before if isinstance(m.before, int) else -1)
        if names is not None:
            told = " → ".join(_lettered(v, known) for v, known in zip((m.before, m.after), names, strict=True))
        else:
            told = f"{_stream(m.before)} → {_stream(m.after)}"
            if here is not None and here != m.before:
                told += f" (expected {_stream(here)})"
        rows.append(("stream", _row("~", Text("stream", "流"), (_thing(d.b, m.id), words(told)), m.id)))
    for sign, events in ((MINUS, d.events_a), ("+", d.events_b)):
        for s, r, k in events:
            what = Text(k, "事件" if k == "event" else k)
            rows.append(("event", _row(sign, what, (words(f"{plain(s, 60)} → {plain(r, 60)}"),))))
    for m in d.offsets:
        told = f"{plain(m.name, 60)} {_at(m.before)} → {_at(m.after)}"
        rows.append(("memory", _row("~", Text("offset", "偏移"), (words(told),))))
    for m in d.options:
        told = f"{plain(m.name, 60)} {_side(m.before)} → {_side(m.after)}"
        rows.append(("option", _row("~", Text("option", "选项"), (words(told),))))
    return rows


def build_agreement(a: Agreement, limit: int = LIMIT) -> TablePicture:
    """Agreement with a dump: what differs, node by node."""
    rows = [
        _row("~", Text("stream", "流"), (thing(plain(r.name, 60), node_ref(r.node)),
             words(f"dump {r.dump}, here {r.ours}", f"转储 {r.dump}，此处 {r.ours}")), r.node)
        for r in a.streams if not r.same
    ]  # fmt: skip
    for sign, events in ((MINUS, a.events_dump), ("+", a.events_ours)):
        rows += [_row(sign, Text("event", "事件"), (words(f"{plain(a.names[s], 60)} → {plain(a.names[r], 60)}"),), r)
                 for s, r in events]  # fmt: skip
    rows += [_row("~", Text("offset", "偏移"), (words(f"{plain(r.name, 60)} {_at(r.dump)} → {_at(r.ours)}"),))
             for r in a.offsets if r.dump != r.ours]  # fmt: skip
    figures = []
    if a.streams:
        figures.append(_share(a.streams_equal, len(a.streams), "nodes on the same stream", "个节点流相同"))
    total = len(a.events_both) + len(a.events_dump)
    if total or a.events_ours:
        figures.append(_share(len(a.events_both), total, "events of the dump are here", "个转储事件在此出现"))
    if a.offsets:
        figures.append(_share(a.offsets_equal, len(a.offsets), "outputs at the same offset", "个输出偏移相同"))
    shown, left = cut(rows, limit)
    title = Text("The dump → our compilation", "转储 → 本工具的编译")
    table = Table(title, _COLUMNS, shown, left, Text("Everything compared is equal.", "比较的内容全部相同。"))
    renumbered = {s: t for s, t in a.stream_of.items() if s != t}
    notes = list(a.notes)
    if renumbered:
        listed = ", ".join(f"{s} → {t}" for s, t in sorted(renumbered.items())[:8])
        notes.append(Text(f"streams are numbered differently: {listed}", f"流编号不同：{listed}"))
    notes.append(Text(f"rules of GE's sources of {GE_RULES_VERSION}", f"规则依据 {GE_RULES_VERSION} 的 GE 源码"))
    alt = Text(
        "; ".join(f"{f.value.en} {f.label.en}" for f in figures) or "Nothing could be compared.",
        "；".join(f"{f.value.get('zh')} {f.label.get('zh')}" for f in figures) or "没有可比较的内容。",
    )
    return TablePicture("agreement", tuple(figures), (table,), alt, tuple(notes))


# ---------------------------------------------------------------- pieces
def _share(equal: int, total: int, en: str, zh: str) -> Figure:
    return Figure(
        Text(f"{number(equal)} of {number(total)}", f"{number(equal)}/{number(total)}"), Text(en, zh), Origin.GE_RULE
    )


def _row(sign: str, what: Text, change: Part2, ref: int | None = None) -> Row:
    at = None if ref is None else node_ref(ref)
    return Row(((words(sign, tone="strong"),), (Part(what),), change), at, (at,) if at is not None else ())


def _node_row(sign: str, what: Text, side: Side, i: int, ref: int | None) -> Row:
    name = plain(side.graph.unique_names[i], 60)
    part = words(name) if ref is None else thing(name, node_ref(ref))
    return _row(sign, what, (part, words(plain(side.graph.node(i).op, 40), tone="muted")), ref)


def _thing(side: Side, i: int) -> Part:
    return thing(plain(side.graph.unique_names[i], 60), node_ref(i))


_FIELDS = {
    "type": "类型", "shape": "形状", "dtype": "数据类型", "output": "输出", "input": "输入", "control": "控制边",
    "attribute": "属性",
}  # fmt: skip


def _fields(fields: Sequence[FieldChange], limit: int = 4) -> Text:
    """What changed in a node: the first fields with both values, and how many more."""
    more = f" +{len(fields) - limit}" if len(fields) > limit else ""
    said = [f"{_side(f.before)} → {_side(f.after)}" for f in fields[:limit]]
    kinds = [f.field.partition(" ") for f in fields[:limit]]
    en = "; ".join(f"{f.field} {x}" for f, x in zip(fields, said, strict=False))
    zh = "；".join(f"{_FIELDS.get(k, k)}{sep}{rest} {x}" for (k, sep, rest), x in zip(kinds, said, strict=True))
    return Text(plain(en, 240) + more, plain(zh, 240) + more)


def _stream(value: object) -> str:
    """Stream number; -1 is no stream."""
    return "–" if value is None or value == -1 else str(value)


def _lettered(value: object, names: Mapping[int, str]) -> str:
    """Letter and GE number of a stream."""
    return f"{names[value]} (GE {value})" if isinstance(value, int) and value in names else _stream(value)


def _side(text: object) -> str:
    return plain(str(text), 60) if text not in (None, "") else "–"


def _at(value: object) -> str:
    return f"@ {number(value)}" if isinstance(value, int) else "–"


def text_lines(p: TablePicture, lang: str = "en", escape: Callable[[str], str] = str) -> list[str]:
    """The picture as plain lines."""
    out = [escape(p.alt.get(lang))]
    for t in p.tables:
        if not t.rows:
            out.append(t.empty.get(lang))
        out += ["  ".join(" ".join(q.text.get(lang) for q in cell) for cell in r.cells) for r in t.rows]
        if t.left_out:
            out.append(
                Text("{n} more are not listed (--limit).", "另有 {n} 行未列出（--limit）。")
                .format(n=t.left_out)
                .get(lang)
            )
    return [escape(line) for line in (*out, *(n.get(lang) for n in p.notes))]

"""Diff picture of two steps: counts first, then every entry with the rule behind it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ge_explorer.ids import Ref
from ge_explorer.ids import event as event_ref
from ge_explorer.ids import node as node_ref
from ge_explorer.provenance import Origin
from ge_explorer.text import Text
from ge_explorer.trace.diff import Diff
from ge_explorer.trace.state import Event, Snapshot
from ge_explorer.trace.trace import Trace
from ge_explorer.views.marks import NO_MARK, Mark, node_name, number, plain, size, stream_marks
from ge_explorer.views.palette import StreamIdentity
from ge_explorer.views.rule_text import cause_text, rule_of
from ge_explorer.views.table import Column, Figure, Part, Row, Table, TablePicture, cut, thing, words
from ge_explorer.views.wording import MINUS, source_file

LIMIT = 120
Identities = Mapping[int, StreamIdentity]


def step_name(trace: Trace, step: int) -> Text:
    """Title of a step for headings; -1 is the start."""
    return Text("Start", "初始") if step < 0 else trace.steps[step].title


def build(trace: Trace, i: int, j: int, before: Identities, after: Identities, limit: int = LIMIT) -> TablePicture:
    """Difference from the state after step ``i`` to the one after ``j`` (-1: start), with each side's stream identities."""
    d, a, b = trace.diff(i, j), trace.snapshot(i), trace.snapshot(j)
    marks_a, marks_b = stream_marks(a, before), stream_marks(b, after)
    head = (step_name(trace, i), step_name(trace, j))
    figures = _figures(d)
    rows: list[Row] = []
    rows += _nodes(d, a, b)
    rows += [_moved(m.id, m.name, m.before, m.after, marks_a, marks_b) for m in d.moved]
    rows += [_event(e, b, marks_b, "+", (Part(cause_text(e.cause)),)) for e in d.events_added]
    for r in d.events_removed:
        rule = rule_of(trace, r.step, r.rule)
        why: tuple[Part, ...] = (Part(rule.text), words(source_file(rule.source) or r.step, code=True, tone="muted"))
        rows.append(_event(r.event, a, marks_a, MINUS, why))
    by_uid = {e.uid: e for e in (b.sync.events if b.sync else ())}
    for m in d.renumbered:
        why = (words(f"Renumbered {m.before} → {m.after}; sender and receiver are the same.",
                     f"仅重新编号 {m.before} → {m.after}，收发双方不变。"),)  # fmt: skip
        rows.append(_event(by_uid[m.id], b, marks_b, "~", why))
    rows += [_change("engine", "引擎", m.id, m.name, m.before, m.after) for m in d.engines]
    rows += [_change("activates", "激活", m.id, m.name, m.before, m.after) for m in d.activations]
    rows += [_offset(m.name, m.before, m.after) for m in d.offsets]
    shown, left = cut(rows, limit)
    columns = (
        Column(Text("")),
        Column(Text("what", "内容"), nowrap=True),
        Column(Text("change", "变化")),
        Column(Text("why", "原因")),
    )
    title = Text(f"{head[0].en} → {head[1].en}", f"{head[0].get('zh')} → {head[1].get('zh')}")
    empty = _nothing(a, b)
    table = Table(title, columns, shown, left, empty)
    counts = "; ".join(f"{f.value.en} {f.label.en}" for f in figures)
    counts_zh = "；".join(f"{f.label.get('zh')} {f.value.get('zh')}" for f in figures)
    alt = Text(f"{title.en}: {counts or 'no difference'}.", f"{title.zh}：{counts_zh or '没有差别'}。")
    return TablePicture("diff", tuple(figures), (table,), alt)


def _nothing(a: Snapshot, b: Snapshot) -> Text:
    """No entry to list: equal, or changed in what has a panel of its own."""
    if a.physical is not b.physical or a.tasks is not b.tasks:
        return Text(
            "Nodes, logical streams, events and memory are equal. Tasks or physical streams changed: see Streams.",
            "节点、逻辑流、事件与内存均相同；任务或物理流有变化，见“流”标签页。",
        )
    return Text("Nodes, streams, events and memory are equal.", "节点、流、事件与内存均相同。")


def _figures(d: Diff) -> list[Figure]:
    out = []
    plus, minus = len(d.nodes_added), len(d.nodes_removed)
    node_text = f"+{plus} {MINUS}{minus}" if plus or minus else "±0"
    out.append(Figure(Text(node_text), Text("nodes", "节点"), Origin.GE_RULE))
    out.append(Figure(Text(number(len(d.moved)) if d.moved else "±0"), Text("streams moved", "流变化"), Origin.GE_RULE))
    ev = f"+{len(d.events_added)} {MINUS}{len(d.events_removed)}" if d.events_added or d.events_removed else "±0"
    out.append(Figure(Text(ev), Text("events", "事件"), Origin.GE_RULE))
    out.append(Figure(Text(number(len(d.offsets)) if d.offsets else "±0"), Text("offsets", "偏移"), Origin.MODEL))
    if d.reordered:
        out.append(Figure(Text(number(d.reordered)), Text("places in the order", "次序位置"), Origin.GE_RULE))
    if d.peak[1] is not None:
        text = size(d.peak[1] - d.peak[0], signed=True) if d.peak[0] is not None else size(d.peak[1])
        out.append(Figure(Text(text), Text("peak memory", "峰值内存"), Origin.MODEL))
    return out


def _row(sign: str, what: Text, change: Iterable[Part], why: Iterable[Part], refs: tuple[Ref, ...] = ()) -> Row:
    return Row(
        ((words(sign, tone="strong"),), (Part(what),), tuple(change), tuple(why)), refs[0] if refs else None, refs
    )


def _nodes(d: Diff, a: Snapshot, b: Snapshot) -> list[Row]:
    node = Text("node", "节点")
    out = []
    merged = {o for origins in d.fused.values() for o in origins}
    for i in d.nodes_added:
        made = d.fused.get(i, ())
        names = ", ".join(node_name(a, o, 30) for o in made[:4]) + (f" +{len(made) - 4}" if len(made) > 4 else "")
        origin: list[Part] = [words(f"made from {names}", f"由 {names} 得到")] if made else []
        what = (thing(node_name(b, i, 60), node_ref(i)), words(plain(b.graph.node(i).op, 40), tone="muted"))
        out.append(_row("+", node, what, origin, (node_ref(i),)))
    for i in d.nodes_removed:
        gone: list[Part] = [words("went into another node", "并入其他节点")] if i in merged else []
        what = (words(node_name(a, i, 60)), words(plain(a.graph.node(i).op, 40), tone="muted"))
        out.append(_row(MINUS, node, what, gone))
    for i in d.nodes_changed:
        name = (thing(node_name(b, i, 60), node_ref(i)),)
        out.append(_row("~", node, name, (Part(_what_changed(a, b, i)),), (node_ref(i),)))
    return out


def _what_changed(a: Snapshot, b: Snapshot, i: int) -> Text:
    x, y = a.graph.node(i), b.graph.node(i)
    keys = sorted(k for k in {*x.attrs, *y.attrs} if x.attrs.get(k) != y.attrs.get(k))
    parts, parts_zh = [], []
    if x.op != y.op:
        parts.append(f"type {plain(x.op, 30)} → {plain(y.op, 30)}")
        parts_zh.append(f"类型 {plain(x.op, 30)} → {plain(y.op, 30)}")
    if keys:
        names = ", ".join(plain(k, 40) for k in keys[:4]) + (f" +{len(keys) - 4}" if len(keys) > 4 else "")
        parts.append(f"attributes {names}")
        parts_zh.append(f"属性 {names}")
    if x.inputs != y.inputs or x.control_in != y.control_in:
        parts.append("inputs")
        parts_zh.append("输入")
    return Text("; ".join(parts) or "contents", "；".join(parts_zh) or "内容")


def _moved(
    i: int, name: str, before: object, after: object, marks_a: Mapping[int, Mark], marks_b: Mapping[int, Mark]
) -> Row:
    def side(value: object, marks: Mapping[int, Mark]) -> Part:
        mark = marks.get(value, NO_MARK) if isinstance(value, int) else NO_MARK
        if mark.index < 0:
            return words("no stream", "无流", tone="muted")
        return Part(Text(f"GE id {value}"), mark=mark)

    change = (side(before, marks_a), words("→", tone="muted"), side(after, marks_b))
    return _row("~", Text(plain(name, 60)), change, (), (node_ref(i),))


def _event(e: Event, s: Snapshot, marks: Mapping[int, Mark], sign: str, why: Iterable[Part]) -> Row:
    change = (
        thing(node_name(s, e.send, 40), node_ref(e.send), marks.get(e.send_stream, NO_MARK)),
        words("→", tone="muted"),
        thing(node_name(s, e.recv, 40), node_ref(e.recv), marks.get(e.recv_stream, NO_MARK)),
    )
    return _row(
        sign, Text(f"event {e.id}", f"事件 {e.id}"), change, why, (event_ref(e.uid), node_ref(e.send), node_ref(e.recv))
    )


def _change(en: str, zh: str, i: int, name: str, before: object, after: object) -> Row:
    old, new = (plain(str(x), 40) if x not in (None, "") else "–" for x in (before, after))
    return _row("~", Text(en, zh), (thing(plain(name, 60), node_ref(i)), words(f"{old} → {new}")), (), (node_ref(i),))


def _offset(name: str, before: object, after: object) -> Row:
    def place(x: object) -> str:
        return f"@ {number(x)}" if isinstance(x, int) else "–"

    text = f"{place(before)} → {place(after)}" if before is not None else place(after)
    return _row(
        "~" if before is not None else "+",
        Text("offset", "偏移"),
        (words(plain(name, 60)), words(text, tone="muted")),
        (),
    )

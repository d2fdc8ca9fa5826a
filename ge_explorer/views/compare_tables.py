"""Words of a comparison: figures of A and B with their change, the table of differences with its filter, versions, agreement."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from ge_explorer.provenance import GE_RULES_VERSION, Origin
from ge_explorer.text import Text
from ge_explorer.trace.state import SYNC_OPS
from ge_explorer.views import compare_files
from ge_explorer.views.comparison import CompareSide, Comparison
from ge_explorer.views.figures import VERDICTS
from ge_explorer.views.marks import number, plain, size, us
from ge_explorer.views.table import Column, Part, Row, Table, TablePicture, cut, words
from ge_explorer.views.wording import percent, ratio

KINDS: Mapping[str, Text] = MappingProxyType(
    {
        "": Text("everything", "全部"), "node": Text("nodes", "节点"), "stream": Text("streams", "流"),
        "event": Text("events", "事件"), "memory": Text("offsets", "偏移"), "option": Text("options", "选项"),
    }
)  # fmt: skip
LIMIT = 200
_NONE = Text("–")


def sentence(c: Comparison) -> Text:
    """One sentence: how many nodes, streams, events differ, and what that does to time and memory."""
    d = c.diff
    n = len(d.match.only_a) + len(d.match.only_b) + len(d.changed) + len(d.match.merged)
    moved, events = len(d.moved or ()), len(d.events_a) + len(d.events_b)
    head = Text(f"A: {c.a.title.en}. B: {c.b.title.en}. ", f"A：{c.a.title.get('zh')}。B：{c.b.title.get('zh')}。")
    if d.empty:
        return Text(head.en + "Nothing differs.", head.get("zh") + "没有差别。")
    tail_en, tail_zh = "", ""
    if c.a.timeline is not None and c.b.timeline is not None:
        step = us(c.b.timeline.makespan_ns - c.a.timeline.makespan_ns, signed=True)
        tail_en += f", makespan {step}"
        tail_zh += f"，总时长 {step}"
    if d.peak[0] is not None and d.peak[1] is not None:
        more = size(d.peak[1] - d.peak[0], signed=True)
        tail_en += f", peak memory {more}"
        tail_zh += f"，内存峰值 {more}"
    return Text(
        f"{head.en}{number(n)} nodes differ, {number(moved)} are on another stream, {number(events)} events differ{tail_en}.",
        f"{head.get('zh')}{number(n)} 个节点不同，{number(moved)} 个换了流，{number(events)} 个事件不同{tail_zh}。",
    )


def figures(c: Comparison) -> Table:
    """Figures of both sides: value of A, value of B, change."""
    a, b = c.a, c.b
    rows = [
        _count(Text("nodes", "节点"), _nodes(a), _nodes(b), Origin.GE_RULE),
        _count(Text("streams", "流"), _streams(a), _streams(b), Origin.GE_RULE),
        _count(Text("events", "事件"), _events(a), _events(b), Origin.GE_RULE),
    ]
    peaks = [s.state.memory.plan.peak if s.state.memory else None for s in (a, b)]
    rows.append(_amount(Text("peak memory", "内存峰值"), peaks, size, lambda n: size(n, signed=True)))
    spans = [s.timeline.makespan_ns if s.timeline is not None else None for s in (a, b)]
    rows.append(_amount(Text("makespan", "总时长"), spans, us, lambda n: us(n, signed=True)))
    busy = [None if s.timeline is None else int((s.timeline.end_ns - s.timeline.start_ns).sum()) for s in (a, b)]
    rows.append(_amount(Text("busy, all streams", "各流忙碌合计"), busy, us, lambda n: us(n, signed=True)))
    if a.overlap or b.overlap:
        none = Text("not applicable", "不适用")
        said = [none if s.overlap is None else _overlap(*s.overlap) for s in (a, b)]
        step = _NONE if not (a.overlap and b.overlap) else Text(ratio(b.overlap[0] - a.overlap[0], sign=True))
        rows.append(_row(Text("overlap", "重叠率"), said[0], said[1], step, Origin.MODEL))
    columns = (
        Column(Text("")), Column(Text(f"A: {plain(a.title.en, 60)}", f"A：{plain(a.title.get('zh'), 60)}"), "right"),
        Column(Text(f"B: {plain(b.title.en, 60)}", f"B：{plain(b.title.get('zh'), 60)}"), "right"),
        Column(Text("B against A", "B 相对 A"), "right"),
    )  # fmt: skip
    return Table(Text("figures", "数字"), columns, tuple(rows))


def notes(c: Comparison) -> tuple[Text, ...]:
    """What must be said beside the figures: simulated times, what is not compared, numbering, versions."""
    out = []
    if c.a.timeline is not None or c.b.timeline is not None:
        out.append(Text("Times are simulated, not measured.", "时间为仿真结果，非实测。"))
    for letter, side in (("A", c.a), ("B", c.b)):
        if side.origin is Origin.MEASURED:
            out.append(Text(f"{letter} is what GE wrote into the dump.", f"{letter} 为 GE 写入转储的内容。"))
        elif side.timeline is None:
            out.append(Text(f"{letter} has no timeline.", f"{letter} 没有时间线。"))
    out += compare_files.diff_notes(c.diff)
    rules = Text(f"Rules of GE's sources of {GE_RULES_VERSION}.", f"规则依据 {GE_RULES_VERSION} 的 GE 源码。")
    if not any(GE_RULES_VERSION in n.en for n in out):
        out.append(rules)
    return tuple(out)


def differences(c: Comparison, kind: str = "", query: str = "", limit: int = LIMIT) -> TablePicture:
    """Rows of one ``kind`` ("" all) whose text holds ``query``; counts of every kind are in the figures."""
    letters = [{s: x.letter for s, x in c.identities(n).items()} for n in (0, 1)]
    found = compare_files.diff_rows(c.diff, lambda i: c.bound + i, (letters[0], letters[1]))
    low = query.strip().lower()
    rows = [r for k, r in found if (not kind or k == kind) and (not low or low in _text(r))]
    shown, left = cut(rows, limit)
    columns = (
        Column(Text("")),
        Column(Text("what", "内容"), nowrap=True),
        Column(Text("change from A to B", "从 A 到 B 的变化")),
    )
    narrowed = bool(kind or low)
    empty = (
        Text("No difference matches the filter.", "没有差别符合筛选条件。")
        if narrowed and found
        else Text("Nothing differs between A and B.", "A 与 B 没有差别。")
    )
    title = Text("differences", "差别")
    figs = compare_files.diff_figures(c.diff)
    return TablePicture("compare", tuple(figs), (Table(title, columns, shown, left, empty),), sentence(c))


def agreement(c: Comparison) -> TablePicture | None:
    """Our compilation against the dump's own record, node by node."""
    return None if c.agreement is None else compare_files.build_agreement(c.agreement)


def _text(r: Row) -> str:
    return " ".join(p.text.get(lang) for cell in r.cells for p in cell for lang in ("en", "zh")).lower()


def _nodes(s: CompareSide) -> int:
    return sum(n.op not in SYNC_OPS for n in s.state.graph)


def _streams(s: CompareSide) -> int | None:
    return None if s.state.streams is None else s.state.streams.count


def _events(s: CompareSide) -> int | None:
    return None if s.state.sync is None else len(s.state.sync.events)


def _count(label: Text, a: int | None, b: int | None, origin: Origin) -> Row:
    told = [_NONE if x is None else Text(number(x)) for x in (a, b)]
    step = _NONE if a is None or b is None else Text(number(b - a, signed=True))
    return _row(label, told[0], told[1], step, origin)


def _overlap(value: float, verdict: str) -> Text:
    word = VERDICTS.get(verdict, Text(verdict))
    return Text(f"{ratio(value)} {word.en}", f"{ratio(value)} {word.get('zh')}")


def _amount(
    label: Text, both: Sequence[int | None], write: Callable[[int], str], write_change: Callable[[int], str]
) -> Row:
    """An amount with a unit; the change also as a share of A."""
    a, b = both
    told = [_NONE if x is None else Text(write(x)) for x in both]
    step = _NONE
    if a is not None and b is not None:
        step = Text(write_change(b - a) + (f" ({percent((b - a) / a, sign=True)})" if a else ""))
    return _row(label, told[0], told[1], step, Origin.MODEL)


def _row(label: Text, a: Text, b: Text, step: Text, origin: Origin) -> Row:
    return Row(((Part(label, origin=origin),), (Part(a),), (Part(b),), (words(step.en, step.zh, tone="strong"),)))

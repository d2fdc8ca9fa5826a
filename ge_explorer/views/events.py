"""Events picture: inserted → removed (by which rule) → kept, then every event with its cause and its waiting time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import replace

from ge_explorer.ids import event as event_ref
from ge_explorer.ids import node as node_ref
from ge_explorer.provenance import Origin
from ge_explorer.simulator.timeline import Timeline
from ge_explorer.text import Text
from ge_explorer.trace.passes import Rule
from ge_explorer.trace.state import Event, Snapshot
from ge_explorer.trace.trace import Trace
from ge_explorer.views.event_economy_panel import chain_rows
from ge_explorer.views.marks import NO_MARK, Mark, node_name, number, stream_marks, us
from ge_explorer.views.palette import StreamIdentity
from ge_explorer.views.rule_text import cause_text, rule_of
from ge_explorer.views.stream_budget import logical_of
from ge_explorer.views.table import Column, Figure, Part, Row, Table, TablePicture, thing, words
from ge_explorer.views.wording import MINUS, source_file

LIMIT = 200
_SPARE = Part(
    Text("GE keeps it, though other events imply it", "GE 保留，但其他事件已蕴含"),
    origin=Origin.MODEL,
    tone="muted",
    new_line=True,
)


def build(
    s: Snapshot,
    identities: Mapping[int, StreamIdentity],
    *,
    trace: Trace | None = None,
    timeline: Timeline | None = None,
    minimum: int | None = None,
    spare: Collection[int] = (),
    limit: int = LIMIT,
) -> TablePicture:
    """Picture of the sync plan of ``s``. ``trace`` explains the rules, ``timeline`` gives waiting times, ``minimum`` is the
    provable least number of events where a checker computed it, ``spare`` uids of events that others imply. Totals always
    satisfy inserted − removed = kept.
    """
    sync = s.sync
    if sync is None:
        alt = Text("No event exists yet: events come after memory planning.", "还没有事件：事件在内存规划之后插入。")
        return TablePicture("events", (), (), alt, (alt,))
    kept, removed = len(sync.events), len(sync.removed)
    figures = [Figure(Text(number(kept + removed)), Text("inserted", "插入"), Origin.GE_RULE)]
    for (step, rule), n in Counter((r.step, r.rule) for r in sync.removed).most_common():
        text = rule_of(trace, step, rule).text
        figures.append(
            Figure(Text(f"{MINUS}{n}"), Text(f"removed: {text.en}", f"已删：{text.get('zh')}"), Origin.GE_RULE, "→")
        )
    figures.append(Figure(Text(number(kept)), Text("kept", "保留"), Origin.GE_RULE, "→"))
    if minimum is not None:
        link = "=" if minimum == kept else ">" if minimum < kept else "<"
        figures.append(
            Figure(
                Text(number(minimum)),
                Text("provable minimum for the same order", "同样顺序下可证明的最少"),
                Origin.MODEL,
                link,
            )
        )
    more = chain_rows(s)
    if more:
        added = Text("made by the split", "切分时新增")
        figures.append(Figure(Text(f"+{len(more)}"), added, Origin.GE_RULE))
    if sync.notify_num:
        figures.append(Figure(Text(number(sync.notify_num)), Text("of them notifies", "其中 notify"), Origin.GE_RULE))
    marks = stream_marks(s, identities, [x for e in sync.events for x in (e.send_stream, e.recv_stream)])
    waits = _waits(timeline)
    rows = [_row(s, e, marks, waits, e.uid in spare) for e in sync.events[:limit]]
    for e in more[: limit - len(rows)]:
        logical = replace(e, send_stream=logical_of(s, e.send_stream), recv_stream=logical_of(s, e.recv_stream))
        rows.append(_row(s, logical, marks, {(-1, -1): 0}))
    alive = {x.uid: x.id for x in sync.events}
    room = max(0, limit - len(rows))
    rows += [_gone(s, r.event, rule_of(trace, r.step, r.rule), r.step, r.by, marks, alive) for r in sync.removed[:room]]
    columns = (
        Column(Text("#"), nowrap=True), Column(Text("record", "记录"), nowrap=True), Column(Text("wait", "等待"), nowrap=True),
        Column(Text("why", "原因")), Column(Text("wait time", "等待时长"), "right", True),
    )  # fmt: skip
    left = kept + len(more) + removed - len(rows)
    table = Table(Text("Events", "事件"), columns, tuple(rows), left, Text("No event is needed.", "不需要事件。"))
    en = f"{kept + removed} event{'s' * (kept + removed != 1)} inserted, {removed} removed by rules, {kept} kept."
    zh = f"插入 {kept + removed} 个事件，规则删除 {removed} 个，保留 {kept} 个。"
    return TablePicture(
        "events",
        tuple(figures),
        (table,),
        Text(en, zh),
    )


def _waits(t: Timeline | None) -> dict[tuple[int, int], int]:
    """(sender, receiver) -> time waited in ns, from the recorded gaps."""
    out: dict[tuple[int, int], int] = {}
    for g in t.gaps if t is not None else ():
        if g.reason == "event" and t is not None and 0 <= g.task < len(t.node):
            key = (g.waits_for, int(t.node[g.task]))
            out[key] = out.get(key, 0) + g.end_ns - g.start_ns
    return out if t is not None else {(-1, -1): 0}


def _row(
    s: Snapshot, e: Event, marks: Mapping[int, Mark], waits: Mapping[tuple[int, int], int], spare: bool = False
) -> Row:
    known = (-1, -1) not in waits
    wait = waits.get((e.send, e.recv), 0)
    kind = (words("notify", code=True),) if e.kind == "notify" else ()
    return Row(
        (
            (words(str(e.id)), *kind),
            (thing(node_name(s, e.send, 60), node_ref(e.send), marks.get(e.send_stream, NO_MARK)),),
            (thing(node_name(s, e.recv, 60), node_ref(e.recv), marks.get(e.recv_stream, NO_MARK)),),
            (Part(cause_text(e.cause)), *((_SPARE,) if spare else ())),
            (Part(Text(us(wait)), origin=Origin.MODEL),) if known else (words("–", tone="muted"),),
        ),
        event_ref(e.uid), (event_ref(e.uid), node_ref(e.send), node_ref(e.recv)),
    )  # fmt: skip


def _gone(
    s: Snapshot,
    e: Event,
    rule: Rule,
    step: str,
    by: tuple[int, ...],
    marks: Mapping[int, Mark],
    alive: Mapping[int, int],
) -> Row:
    why = [Part(rule.text)]
    kept = [str(alive[u]) for u in by if u in alive]
    if kept:
        why.append(words(f"covered by event {', '.join(kept)}", f"由事件 {'、'.join(kept)} 覆盖", new_line=True))
    why.append(words(source_file(rule.source) or step, code=True, tone="muted"))
    return Row(
        (
            (words("×"),),
            (thing(node_name(s, e.send, 60), node_ref(e.send), marks.get(e.send_stream, NO_MARK)),),
            (thing(node_name(s, e.recv, 60), node_ref(e.recv), marks.get(e.recv_stream, NO_MARK)),),
            tuple(why),
            (words("–"),),
        ),
        event_ref(e.uid), (event_ref(e.uid),), "muted",
    )  # fmt: skip

"""Event economy: a ledger from what GE inserted, over what its rules removed, to the ids a device needs; the minimum beside it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from ge_explorer.passes.sync.economy import event_economy
from ge_explorer.provenance import Origin
from ge_explorer.text import Text
from ge_explorer.trace.state import Event, Snapshot
from ge_explorer.trace.trace import Trace
from ge_explorer.views.marks import number
from ge_explorer.views.rule_text import cause_text, rule_of
from ge_explorer.views.stream_budget import all_events
from ge_explorer.views.table import Column, Part, Row, Table, TablePicture, Tone, words
from ge_explorer.views.wording import MINUS, source_file


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of the ledger: signed ``amount``, or a ``total`` so far. ``source`` is GE's file and function."""

    amount: int
    text: Text
    origin: Origin
    total: bool = False
    source: str = ""


def ledger(s: Snapshot, trace: Trace | None = None, minimum: int | None = None) -> tuple[Entry, ...]:
    """Entries in GE's order; () before events exist. Amounts between two totals add up to the second one."""
    sync = s.sync
    if sync is None:
        return ()
    ge = Origin.GE_RULE
    out = []
    inserted = [*sync.events, *(r.event for r in sync.removed)]
    for cause, n in Counter(e.cause for e in inserted).most_common():
        out.append(Entry(n, cause_text(cause), ge, source="InsertSyncEvents" if cause in ("data", "control") else ""))
    out.append(Entry(len(inserted), Text("inserted", "插入"), ge, total=True))
    for (step, key), n in Counter((r.step, r.rule) for r in sync.removed).most_common():
        rule = rule_of(trace, step, key)
        out.append(Entry(-n, rule.text, ge, source=source_file(rule.source) if rule.source else step))
    kept = len(sync.events)
    out.append(Entry(kept, Text("kept between logical streams", "逻辑流之间保留"), ge, total=True))
    split = chain_rows(s)
    for cause, n in Counter(e.cause for e in split).most_common():
        out.append(
            Entry(n, cause_text(cause), ge, source="SplitStreams" if cause == "split" else "UpdateActiveStreams")
        )
    owned = sum(map(len, sync.owned.values()))
    if owned:
        out.append(Entry(owned, Text("owned by operators: no Send or Recv node", "算子自有：没有 Send/Recv 节点"), ge))
    plan = s.physical.sync if s.physical is not None else sync
    ids = plan.event_num + plan.notify_num
    if ids:
        rest = ids - kept - owned - len(split)
        if rest:
            text = Text("one id serves several events, or is kept for none", "一个编号用于多个事件，或空置")
            out.append(Entry(rest, text, ge, source="ReuseEvent"))
        named = Text("ids the device must have", "设备需要的编号")
        if plan.notify_num:
            n = plan.notify_num
            named = Text(f"ids the device must have, {n} of them notifies", f"设备需要的编号，其中 notify {n} 个")
        out.append(Entry(ids, named, ge, total=True))
    if minimum is not None:
        text = Text("provable minimum between logical streams for the same order", "同样顺序下逻辑流之间可证明的最少")
        out.append(Entry(minimum, text, Origin.MODEL, total=True))
    return tuple(out)


def build(s: Snapshot, *, trace: Trace | None = None, minimum: int | None = None) -> TablePicture:
    """The ledger as a table picture."""
    rows = []
    for e in ledger(s, trace, minimum):
        tone: Tone = "strong" if e.total else ""
        shown = (
            number(e.amount) if e.total else f"+{number(e.amount)}" if e.amount > 0 else f"{MINUS}{number(-e.amount)}"
        )
        link = words("=" if e.origin is not Origin.MODEL else "≥" if _least(s, e.amount) else "=", tone="muted")
        rows.append(
            Row(
                (
                    (link,) if e.total else (words(""),),
                    (Part(Text(shown), origin=e.origin, tone=tone),),
                    (Part(e.text, tone=tone),),
                    (words(e.source, code=True, tone="muted"),) if e.source else (words(""),),
                )
            )
        )  # fmt: skip
    columns = (
        Column(Text(""), nowrap=True), Column(Text("events", "事件"), "right", True), Column(Text("what for", "用途")),
        Column(Text("source", "来源"), nowrap=True),
    )  # fmt: skip
    empty = Text("No event exists yet: events come after memory planning.", "还没有事件：事件在内存规划之后插入。")
    table = Table(Text("Event balance", "事件账目"), columns, tuple(rows), 0, empty)
    return TablePicture("economy", (), (table,), _alt(s, minimum))


def _least(s: Snapshot, minimum: int) -> bool:
    """GE keeps more than the minimum."""
    return s.sync is not None and len(s.sync.events) > minimum


def spare_events(s: Snapshot) -> frozenset[int]:
    """Uids of kept events that others imply: GE's local rules do not see it. Empty before streams and events exist."""
    found = event_economy(s)
    return frozenset(found.redundant_uids) if found is not None else frozenset()


def chain_rows(s: Snapshot) -> tuple[Event, ...]:
    """Events the physical steps added, in creation order."""
    kept = len(s.sync.events) if s.sync is not None else 0
    return all_events(s)[kept:]


def _alt(s: Snapshot, minimum: int | None) -> Text:
    if s.sync is None:
        return Text("No event exists yet.", "还没有事件。")
    n, gone = len(s.sync.events), len(s.sync.removed)
    more = "" if minimum is None else f", {minimum} would do"
    more_zh = "" if minimum is None else f"，最少需要 {minimum} 个"
    return Text(
        f"{n + gone} inserted, {gone} removed, {n} kept{more}.", f"插入 {n + gone}，删除 {gone}，保留 {n}{more_zh}。"
    )

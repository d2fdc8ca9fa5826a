"""Physical parts picture: a lane per logical stream, a bar per part with its tasks, and the events that chain the parts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ge_explorer.ids import Ref
from ge_explorer.ids import event as event_ref
from ge_explorer.ids import node as node_ref
from ge_explorer.ids import part as part_ref
from ge_explorer.passes.physical.limits import RESERVE
from ge_explorer.provenance import Origin
from ge_explorer.text import Text
from ge_explorer.trace.state import NO_STREAM, SYNC_OPS, Event, Snapshot
from ge_explorer.views.marks import NO_MARK, Mark, node_name, number, stream_marks
from ge_explorer.views.palette import StreamIdentity
from ge_explorer.views.stream_load import PartLoad, StreamLoads, stream_loads
from ge_explorer.views.table import Column, Part, Row, Table, cut, thing, words

LANES, PARTS, ROWS = 60, 24, 100


@dataclass(frozen=True, slots=True)
class PartBar:
    """One physical stream as drawn. ``first`` and ``last`` are names of its end operators ("" when none), ``nodes``
    their number; the event ``chain`` leads in."""

    load: PartLoad
    ref: Ref
    refs: tuple[Ref, ...]
    first: str
    last: str
    nodes: int
    chain: Event | None = None


@dataclass(frozen=True, slots=True)
class Lane:
    """A logical stream with its parts; ``left_out`` parts are not drawn."""

    mark: Mark
    logical: int
    bars: tuple[PartBar, ...]
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class PartsPicture:
    """Lanes in letter order; ``chains`` and ``attached`` as tables. ``origin``: where the numbers of tasks come from."""

    lanes: tuple[Lane, ...]
    chains: Table
    attached: Table
    origin: Origin
    split: bool
    left_out: int
    alt: Text
    notes: tuple[Text, ...] = ()


def build(s: Snapshot, identities: Mapping[int, StreamIdentity]) -> PartsPicture | None:
    """Picture of the parts in state ``s``; None while no task is counted (see ``NOT_YET``)."""
    loads = stream_loads(s)
    if loads is None:
        return None
    marks = stream_marks(s, identities)
    chains = chain_events(s)
    into: dict[int, Event] = {}
    for e in chains:
        into.setdefault(e.recv_stream, e)
    groups: dict[int, list[PartLoad]] = {}
    for p in loads.parts:
        groups.setdefault(p.logical if p.logical >= 0 else -1 - p.physical, []).append(p)
    order = sorted(groups, key=lambda k: (k < 0, marks[k].index if k in marks else 1 << 30, abs(k)))
    lanes = [
        Lane(
            marks.get(k, NO_MARK), groups[k][0].logical if k >= 0 else NO_STREAM,
            tuple(_bar(s, p, into.get(p.physical)) for p in groups[k][:PARTS]), max(0, len(groups[k]) - PARTS),
        )
        for k in order[:LANES]
    ]  # fmt: skip
    notes = [Text(
        f"{RESERVE} tasks of every stream stay free: 7 for profiling, 20 more. A part ends before the node that would overfill it.",
        f"每条流预留 {RESERVE} 个任务：7 个用于性能采集，另 20 个。部分在将要溢出的节点之前结束。",
    )]  # fmt: skip
    if not loads.split:
        notes.insert(0, Text("Not split yet at this step: one part each.", "此步骤尚未切分：每条流一个部分。"))
    return PartsPicture(
        tuple(lanes), _chains(s, chains, loads, marks), _attached(s, loads, marks), loads.origin, loads.split,
        max(0, len(order) - LANES), _alt(loads, len(chains)), tuple(notes),
    )  # fmt: skip


NOT_YET = Text("No task is counted yet: that comes after the events.", "还没有统计任务：任务在事件之后统计。")


def chain_events(s: Snapshot) -> tuple[Event, ...]:
    """Events the split added to keep the order over its cuts."""
    return tuple(e for e in s.physical.sync.events if e.cause == "split") if s.physical is not None else ()


def _bar(s: Snapshot, p: PartLoad, chain: Event | None) -> PartBar:
    own = operators(s, p.nodes) or p.nodes or p.beside
    first, last = (node_name(s, own[0], 40), node_name(s, own[-1], 40)) if own else ("", "")
    refs = (part_ref(p.physical), *map(node_ref, p.nodes[:500] or p.beside[:500]))
    return PartBar(p, part_ref(p.physical), refs, first, last, len(operators(s, p.nodes)), chain)


def operators(s: Snapshot, nodes: tuple[int, ...]) -> tuple[int, ...]:
    """Those that run something: no Send or Recv, nothing that had no stream before GE put it on stream 0 at the end."""
    of = s.streams.node if s.streams is not None else None
    return tuple(
        i for i in nodes
        if s.graph.node(i).op not in SYNC_OPS and not s.graph.node(i).is_source and (of is None or i >= of.size or of[i] >= 0)
    )  # fmt: skip


def part_name(loads: StreamLoads, physical: int) -> Text:
    """``part 2 of 3`` of a physical stream, or its number where it has no parts."""
    p = next((x for x in loads.parts if x.physical == physical), None)
    if p is None or p.logical < 0:
        return Text(f"physical {physical}", f"物理流 {physical}")
    n = len(loads.of(p.logical))
    return Text(f"part {p.ordinal} of {n}", f"第 {p.ordinal} / {n} 部分")


def _chains(s: Snapshot, events: tuple[Event, ...], loads: StreamLoads, marks: Mapping[int, Mark]) -> Table:
    logic_of = s.physical.logic_of if s.physical is not None else ()
    by_part = {p.physical: p for p in loads.parts}
    rows = []
    for e in events:
        mark = marks.get(logic_of[e.recv_stream] if 0 <= e.recv_stream < len(logic_of) else -1, NO_MARK)
        old, new = by_part.get(e.send_stream), by_part.get(e.recv_stream)
        why: list[Part] = []
        if old is not None and old.limit is not None:
            why = [
                words(f"{number(old.tasks)}", tone="strong"),
                Part(Text(f"+ {RESERVE} + the next node > {number(old.limit)}", f"+ {RESERVE} + 下个节点 > {number(old.limit)}"),
                     origin=loads.origin),
            ]  # fmt: skip
        cells = (
            (words(str(e.id)),),
            (thing(node_name(s, e.send, 40), node_ref(e.send), mark),
             Part(Text(f"part {old.ordinal}", f"第 {old.ordinal} 部分") if old else Text("–"), tone="muted"),),
            (thing(node_name(s, e.recv, 40), node_ref(e.recv), mark),
             Part(Text(f"part {new.ordinal}", f"第 {new.ordinal} 部分") if new else Text("–"), tone="muted"),),
            tuple(why) or (words("–", tone="muted"),),
        )  # fmt: skip
        refs = (event_ref(e.uid), node_ref(e.send), node_ref(e.recv))
        rows.append(Row(cells, event_ref(e.uid), refs))
    shown, left = cut(rows, ROWS)
    columns = (
        Column(Text("#"), nowrap=True), Column(Text("end of a part", "部分的末尾")),
        Column(Text("start of the next", "下一部分的开头")), Column(Text("why GE cut here", "切分原因")),
    )  # fmt: skip
    none = Text("No stream is split, so no event chains parts.", "没有流被切分，因此没有串接部分的事件。")
    return Table(Text("Chain events", "串接事件"), columns, shown, left, none)


def _attached(s: Snapshot, loads: StreamLoads, marks: Mapping[int, Mark]) -> Table:
    assert s.streams is not None
    logical = s.streams.attached
    physical = s.physical.attached if s.physical is not None else logical
    of = s.streams.node
    rows = []
    for i in sorted(set(logical) | set(physical)):
        ids = [x for x in logical.get(i, ()) if x >= 0]
        if not ids and not any(x >= 0 for x in physical.get(i, ())):
            continue
        own = int(of[i]) if i < of.size else NO_STREAM
        now = [x for x in physical.get(i, ()) if x >= 0]
        cells = (
            (thing(node_name(s, i, 40), node_ref(i), marks.get(own, NO_MARK)),),
            tuple(Part(Text(f"GE id {x}", f"GE 编号 {x}"), Ref("stream", x), marks.get(x)) for x in ids) or (words("–"),),
            tuple(Part(part_name(loads, x), part_ref(x), origin=Origin.GE_RULE) for x in now) if loads.split
            else (words("–", tone="muted"),),
        )  # fmt: skip
        rows.append(Row(cells, node_ref(i), (node_ref(i), *(Ref("stream", x) for x in ids))))
    shown, left = cut(rows, ROWS)
    columns = (
        Column(Text("node", "节点")), Column(Text("attached streams", "附属流")),
        Column(Text("where they run", "所在物理流")),
    )  # fmt: skip
    return Table(
        Text("Attached streams", "附属流"),
        columns,
        shown,
        left,
        Text("No node has an attached stream.", "没有节点带附属流。"),
    )


def _alt(loads: StreamLoads, chains: int) -> Text:
    logical = len({p.logical for p in loads.parts if p.logical >= 0})
    n = len(loads.parts)
    if not loads.split:
        return Text(f"{n} streams, not split yet.", f"{n} 条流，尚未切分。")
    if n == logical:
        return Text(f"No stream is split: {n} logical = {n} physical.", f"没有流被切分：{n} 条逻辑流 = {n} 条物理流。")
    return Text(
        f"{logical} logical streams become {n} physical ones, chained by {chains} event{'s' * (chains != 1)}.",
        f"{logical} 条逻辑流成为 {n} 条物理流，由 {chains} 个事件串接。",
    )

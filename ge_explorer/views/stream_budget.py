"""Budget gauges: streams, tasks per stream, events and notifies against what the chip takes, naming the biggest consumer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from ge_explorer.device.chips import Chip
from ge_explorer.ids import Ref
from ge_explorer.ids import stream as stream_ref
from ge_explorer.passes.physical.limits import RESERVE
from ge_explorer.passes.physical.post_process import MAX_NOTIFIES
from ge_explorer.provenance import Origin
from ge_explorer.text import Text
from ge_explorer.trace.state import Event, Snapshot
from ge_explorer.views.marks import NO_MARK, Mark, number, stream_marks
from ge_explorer.views.palette import StreamIdentity
from ge_explorer.views.stream_load import StreamLoads, stream_loads


@dataclass(frozen=True, slots=True)
class Gauge:
    """``used`` (+ ``reserve`` kept free) of ``limit``; None: no limit is stated. ``biggest`` names who takes most of it.

    ``share`` is what the bar shows, 0 to 1; ``over`` True: more than there is.
    """

    key: str
    title: Text
    used: int
    origin: Origin
    limit: int | None
    limit_origin: Origin = Origin.GE_RULE
    reserve: int = 0
    biggest: Text | None = None
    mark: Mark = NO_MARK
    ref: Ref | None = None
    note: Text | None = None

    @property
    def over(self) -> bool:
        """Used and reserve together exceed the limit."""
        return self.limit is not None and self.used + self.reserve > self.limit

    @property
    def share(self) -> float:
        """Part of the limit in use."""
        return min(1.0, self.used / self.limit) if self.limit else 0.0


def build(s: Snapshot, identities: Mapping[int, StreamIdentity], chip: Chip) -> tuple[Gauge, ...]:
    """Gauges of a state: whatever is known at its step. () before there are streams."""
    if s.streams is None:
        return ()
    loads = stream_loads(s)
    marks = stream_marks(s, identities)
    out = [_streams(s, loads, marks, chip)]
    if loads is not None and loads.parts:
        out.append(_tasks(loads, marks))
    if s.sync is not None:
        out += [_syncs(s, marks, chip, "event"), _syncs(s, marks, chip, "notify")]
    return tuple(out)


def _streams(s: Snapshot, loads: StreamLoads | None, marks: Mapping[int, Mark], chip: Chip) -> Gauge:
    assert s.streams is not None
    physical = s.physical is not None
    used = s.physical.count if s.physical is not None else s.streams.count
    parts = (
        Counter(p.logical for p in loads.parts if p.logical >= 0) if loads is not None and loads.split else Counter()
    )
    biggest, mark, ref = None, NO_MARK, None
    if parts and max(parts.values()) > 1:
        k, n = parts.most_common(1)[0]
        mark, ref = marks.get(k, NO_MARK), stream_ref(k)
        biggest = Text(f"most parts: {n}", f"部分最多：{n}")
    elif used > 1:
        engines = Counter(m.engine or "?" for m in marks.values())
        engine, n = engines.most_common(1)[0] if engines else ("", 0)
        if engine not in ("", "?"):
            biggest = Text(f"most: {n} on {engine}", f"最多：{engine} {n} 条")
    note = None
    if chip.streams_code is not None and chip.streams_code != chip.streams:
        note = Text(
            f"documented limit; the runtime's code has {number(chip.streams_code)}; shared by all processes",
            f"文档上限；运行时代码为 {number(chip.streams_code)}；所有进程共享",
        )
    title = Text("physical streams", "物理流") if physical else Text("logical streams", "逻辑流")
    return Gauge("streams", title, used, Origin.GE_RULE, chip.streams, Origin.GE_RULE, 0, biggest, mark, ref, note)


def _tasks(loads: StreamLoads, marks: Mapping[int, Mark]) -> Gauge:
    part = loads.fullest
    assert part is not None
    mark = marks.get(part.logical, NO_MARK)
    several = len(loads.of(part.logical)) > 1
    who = Text(
        f"fullest: part {part.ordinal}" if several else "fullest stream",
        f"最满：第 {part.ordinal} 部分" if several else "最满的流",
    )
    note = Text(
        f"{RESERVE} of every stream are kept free; past the limit GE splits the stream",
        f"每条流预留 {RESERVE} 个；超过上限时 GE 切分该流",
    )
    if part.over and loads.split:
        note = Text(
            "GE cannot cut here: the first node of a part, the head of a body, a label node or an owner of subgraphs",
            "GE 无法在此切分：部分的首节点、子图首节点、标签节点或带子图的节点",
        )
    if part.limit is None:
        note = Text("this device takes streams of any length", "该设备支持任意长度的流")
    ref = Ref("part", part.physical) if loads.split else stream_ref(part.logical)
    title = Text("tasks on one stream", "单流任务")
    return Gauge("tasks", title, part.tasks, loads.origin, part.limit, Origin.GE_RULE, RESERVE, who, mark, ref, note)


def _syncs(s: Snapshot, marks: Mapping[int, Mark], chip: Chip, kind: str) -> Gauge:
    plan = s.physical.sync if s.physical is not None else s.sync
    assert plan is not None
    assert s.sync is not None
    events = [e for e in all_events(s) if e.kind == kind]
    counted = plan.event_num if kind == "event" else plan.notify_num
    used = counted if counted or not events else len({e.id for e in events})
    by = Counter(logical_of(s, e.recv_stream) for e in events if e.recv_stream >= 0)
    biggest, mark, ref = None, NO_MARK, None
    if by:
        k, n = by.most_common(1)[0]
        mark, ref = marks.get(k, NO_MARK), stream_ref(k)
        biggest = Text(f"waits for most: {n}", f"等待最多：{n}")
    if kind == "event":
        limit, note = chip.events, None
        if limit is None:
            note = Text(f"no limit is documented for {chip.name}", f"{chip.name} 没有文档上限")
        return Gauge(
            "events", Text("events", "事件"), used, Origin.GE_RULE, limit, Origin.GE_RULE, 0, biggest, mark, ref, note
        )
    note = None
    if chip.notifies is not None and chip.notifies != MAX_NOTIFIES:
        note = Text(
            f"GE refuses more; the chip has {number(chip.notifies)}",
            f"超过则 GE 报错；芯片有 {number(chip.notifies)} 个",
        )
    title = Text("notifies", "notify")
    return Gauge("notifies", title, used, Origin.GE_RULE, MAX_NOTIFIES, Origin.GE_RULE, 0, biggest, mark, ref, note)


def all_events(s: Snapshot) -> tuple[Event, ...]:
    """Events of the logical plan, then those the split added."""
    first = s.sync.events if s.sync is not None else ()
    known = {e.uid for e in first}
    more = s.physical.sync.events if s.physical is not None else ()
    return (*first, *(e for e in more if e.uid not in known))


def logical_of(s: Snapshot, stream: int) -> int:
    """Logical stream of a physical one; the same number where nothing was split."""
    if s.physical is None or not 0 <= stream < s.physical.count:
        return stream
    logical = s.physical.logic_of[stream]
    return logical if logical >= 0 else stream

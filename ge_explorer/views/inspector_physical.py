"""What the inspector says about physical streams: part and tasks of a node, parts of a stream, and a part on its own."""

from __future__ import annotations

from typing import Any

from ge_explorer.ids import Ref
from ge_explorer.passes.physical.limits import RESERVE
from ge_explorer.provenance import Origin
from ge_explorer.text import Text
from ge_explorer.trace.state import Event, Snapshot
from ge_explorer.views.activation_graph import KINDS, mechanism
from ge_explorer.views.ge_stream_dot import active_lists
from ge_explorer.views.physical_parts import operators
from ge_explorer.views.stream_budget import all_events
from ge_explorer.views.stream_load import PartLoad, StreamLoads, stream_loads, task_counts
from ge_explorer.views.wording import both, count, name_of

SHOWN = 20
Json = dict[str, Any]


class PhysicalFacts:
    """Physical facts of one trace's snapshots. Loads are computed once per snapshot, when first asked for."""

    def __init__(self) -> None:
        self._loads: tuple[Snapshot, StreamLoads | None] | None = None

    def loads(self, s: Snapshot) -> StreamLoads | None:
        """Loads of a state; None while no task is counted."""
        if self._loads is None or self._loads[0] is not s:
            self._loads = (s, stream_loads(s))
        return self._loads[1]

    def node_facts(self, s: Snapshot, i: int) -> list[Json]:
        """Physical stream (part x of n) and tasks."""
        out = []
        loads = self.loads(s)
        if loads is None:
            return []
        if loads.split and s.physical is not None and i < s.physical.node.size and s.physical.node[i] >= 0:
            out.append(fact(Text("Physical", "物理流"), self.part_text(loads, int(s.physical.node[i])), Origin.GE_RULE))
        found = task_counts(s, i)
        if found is not None:
            (tasks, entries), origin = found
            more = "" if entries == tasks else f"{count(entries)} SQE"
            out.append(fact(Text("Tasks", "任务"), count(tasks), origin, more))
        return out

    def part_text(self, loads: StreamLoads, physical: int) -> Text:
        """``id 4, part 2 of 3``."""
        p = next((x for x in loads.parts if x.physical == physical), None)
        if p is None or p.logical < 0 or len(loads.of(p.logical)) < 2:
            return Text(f"id {physical}, not split", f"编号 {physical}，未切分")
        n = len(loads.of(p.logical))
        return Text(f"id {physical}, part {p.ordinal} of {n}", f"编号 {physical}，第 {p.ordinal} / {n} 部分")

    def part_section(self, s: Snapshot, logical: int, here: int, mark: Json | None) -> Json | None:
        """The parts of a logical stream, each with its tasks; the one with id ``here`` is said to be this one."""
        loads = self.loads(s)
        parts = loads.of(logical) if loads is not None else ()
        if loads is None or not parts or not loads.split:
            return None
        rows = []
        for p in parts[:SHOWN]:
            name = f"{'▸ ' if p.physical == here else ''}{p.ordinal}: id {p.physical}"
            rows.append(row(name, _room(p), Ref("part", p.physical), mark, loads.origin))
        return {"title": both(Text("Physical parts", "物理部分")), "note": both(count(len(parts))), "rows": rows}

    def starter_section(self, s: Snapshot, physical: set[int]) -> Json:
        """Who starts these physical streams."""
        rows = []
        for i, targets in sorted(active_lists(s).items()):
            if physical & set(targets) and s.graph.nodes[i] is not None:
                kind, detail = mechanism(s, i)
                text = Text(f"{KINDS[kind].en} {detail}".strip(), f"{KINDS[kind].get('zh')} {detail}".strip())
                rows.append(row(name_of(s, Ref("node", i)), text, Ref("node", i), None, Origin.GE_RULE))
        note = Text("" if rows else "the model itself", "" if rows else "模型启动时")
        return {"title": both(Text("Started by", "启动者")), "note": both(note), "rows": rows[:SHOWN]}

    def part_page(
        self, s: Snapshot, physical: int, mark: Json | None, stream_name: Text
    ) -> tuple[str, list[Json], list[Json]] | None:
        """(title, facts, sections) of a physical stream; None where it does not exist in this state."""
        loads = self.loads(s)
        p = next((x for x in loads.parts if x.physical == physical), None) if loads is not None else None
        if loads is None or p is None or not loads.split:
            return None
        n = len(loads.of(p.logical)) if p.logical >= 0 else 1
        facts = [
            fact(Text("GE id", "GE 编号"), str(physical), Origin.GE_RULE),
            fact(Text("Stream", "流"), stream_name, Origin.GE_RULE),
            fact(Text("Part", "部分"), Text(f"{p.ordinal} of {n}", f"{p.ordinal} / {n}"), Origin.GE_RULE),
            fact(Text("Tasks", "任务"), count(p.tasks), loads.origin),
            fact(Text("Limit", "上限"), _limit(p), Origin.GE_RULE),
        ]
        sections = []
        parts = self.part_section(s, p.logical, physical, mark) if p.logical >= 0 else None
        if parts is not None:
            sections.append(parts)
        sections.append(self.starter_section(s, {physical}))
        sections.append(_chain(s, physical))
        own = operators(s, p.nodes)
        rows = [row(name_of(s, Ref("node", i)), Text(s.graph.node(i).op), Ref("node", i), mark) for i in own[:SHOWN]]
        sections.append({"title": both(Text("Operators", "算子")), "note": both(count(len(own))), "rows": rows})
        return f"stream {physical}", facts, sections


def event_in(s: Snapshot, uid: int) -> Event | None:
    """Event of the logical plan or of the split."""
    return next((e for e in all_events(s) if e.uid == uid), None)


def _chain(s: Snapshot, physical: int) -> Json:
    rows = []
    for e in s.physical.sync.events if s.physical is not None else ():
        if e.cause == "split" and physical in (e.send_stream, e.recv_stream):
            leads = e.recv_stream == physical
            text = Text("leads in" if leads else "leads on", "进入" if leads else "继续")
            ends = f"{e.id}: {name_of(s, Ref('node', e.send))} → {name_of(s, Ref('node', e.recv))}"
            rows.append(row(ends, text, Ref("event", e.uid), None, Origin.GE_RULE))
    note = count(len(rows)) if rows else Text("none", "无")
    return {"title": both(Text("Chain events", "串接事件")), "note": both(note), "rows": rows}


def _limit(p: PartLoad) -> Text:
    if p.limit is None:
        return Text("none", "无")
    return Text(f"{count(p.limit)}, {RESERVE} kept free", f"{count(p.limit)}，预留 {RESERVE}")


def _room(p: PartLoad) -> Text:
    limit = f" + {RESERVE} / {count(p.limit)}" if p.limit is not None else ""
    return Text(f"{count(p.tasks)}{limit} tasks", f"{count(p.tasks)}{limit} 任务")


def fact(label: Text, value: Text | str, origin: Origin | None = None, note: str = "") -> Json:
    """One line of facts."""
    return {"label": both(label), "value": both(value), "origin": origin.value if origin else "", "note": note}


def row(text: str, note: Text, ref: Ref, mark: Json | None = None, origin: Origin | None = None) -> Json:
    """One line of a list."""
    return {"text": text, "note": both(note), "ref": str(ref), "mark": mark, "origin": origin.value if origin else ""}

"""split-streams: a stream with more tasks than the device takes becomes several, chained by events."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import MappingProxyType

from ge_explorer.ids import Ref, node, stream
from ge_explorer.passes.physical.accounting import all_entries
from ge_explorer.passes.physical.limits import RESERVE
from ge_explorer.passes.physical.state import SA, begin, failed, tasks_of
from ge_explorer.passes.sync.event_table import append_events, label, record
from ge_explorer.text import Text
from ge_explorer.trace.passes import Pass, PassContext, Rule
from ge_explorer.trace.state import Event, PhysicalStreams, Snapshot, TaskGroup, int_array

CONTINUOUS = "_continuous_stream_label"
FIRST_ACTIVE = "subgraph_first_active"
_NEVER_FIRST = frozenset({"LabelSet", "LabelGotoEx", "LabelSwitchByIndex"})
_SOURCE = f"{SA}: StreamAllocator::SplitStreams"


@dataclass(frozen=True)
class SplitStreams(Pass):
    """Walk every stream and open a new one before the node that would overfill it.

    Rule:
    1. Tasks on the part with this node, plus 27, above the limit → a new part starts here, unless the node is the stream's
       first, holds subgraphs, is the head of a body or a label node.
    2. Parts get the next free ids in the order they are met; an event joins the end of a part to the start of the next.
    3. Nodes with one ``_continuous_stream_label`` stay together: the whole group moves.
    4. Attached streams are split in the same way.

    GE source: stream_allocator.cc (SplitStreams, SplitStreamForOneNode, SplitNodesToNewStream), exact. After a group moved, GE
    counts the node that overflowed twice; so does this.
    Example: 345 nodes of 3 tasks, limit 1024 → nodes 0..331 on stream 0, the rest on stream 1, one event.
    """

    name = "split-streams"
    title = Text("Split", "切分流")
    summary = Text("Cuts streams that are too long for the device.", "切开超过设备长度限制的流。")
    chapter = "physical"
    reads = frozenset({"graph", "streams", "sync", "sequence", "tasks"})
    writes = frozenset({"physical"})
    ge_name = "SplitStreams"
    source = _SOURCE
    rules = MappingProxyType(
        {
            "split": Rule(
                Text("Its tasks and a reserve of 27 no longer fit on the stream.", "其任务加上 27 的预留超过流的上限。"), _SOURCE
            ),
            "after-split": Rule(Text("Follows an earlier node onto the new part.", "随前面的节点进入新的部分。"), _SOURCE),
            "group": Rule(
                Text("Its continuous group moves as a whole.", "连续组整体移动。"), f"{SA}: SplitNodesToNewStream"
            ),
        }
    )  # fmt: skip

    def skip_reason(self, s: Snapshot, ctx: PassContext) -> Text | None:
        """Nothing to split where streams are unlimited."""
        if tasks_of(s).unlimited:
            return Text("the device takes streams of any length", "设备支持任意长度的流")
        return None

    def run(self, s: Snapshot, ctx: PassContext) -> Snapshot:
        """Snapshot with the ``physical`` facet: parts, chain events, tasks per stream. Status SUCCESS."""
        ctx.status = "SUCCESS"
        return s.evolve(physical=_Split(s, ctx, begin(s)).run())


class _Split:
    """Counters per logical stream while the nodes are walked."""

    def __init__(self, s: Snapshot, ctx: PassContext, physical: PhysicalStreams) -> None:
        self.s, self.graph, self.ctx, self.before = s, s.graph, ctx, physical
        self.main: dict[int, int] = dict(enumerate(physical.node.tolist()))
        self.attached = {i: list(v) for i, v in physical.attached.items()}
        table = tasks_of(s)
        self.limit = table.huge_limit if physical.huge and table.huge_limit is not None else table.limit
        self.groups_of = dict(table.of)
        self.count: dict[int, int] = {}
        self.current: dict[int, int] = {}
        self.previous: dict[int, int] = {}
        self.members: dict[int, list[int]] = {}
        self.together: dict[str, list[int]] = {}
        self.parts: dict[int, list[int]] = {}
        self.logic_of = list(physical.logic_of)
        self.heads: dict[int, int] = {}
        self.made: list[Event] = []

    def run(self) -> PhysicalStreams:
        """Walk all nodes, then write the result."""
        s, table = self.s, tasks_of(self.s)
        order = list(s.sequence or ())
        active = self.before.sync.active_streams
        info = all_entries(self.graph, order, self.main, self.attached, table.of, active, self.limit)
        known = len(self.logic_of)
        for i in order:
            label_ = str(self.graph.node(i).attrs.get(CONTINUOUS, ""))
            for logical, tasks in sorted(info[i].items()):
                if logical >= known:
                    raise failed("a node runs on a stream that does not exist", self.graph.unique_names[i], logical)
                self.node_on(i, logical, tasks, label_)
        totals = [0] * len(self.logic_of)
        for i in order:
            for logical, tasks in info[i].items():
                totals[self._part_of(i, logical)] += tasks
        return replace(
            self.before,
            node=int_array([self.main[i] for i in range(self.graph.id_bound)]),
            logic_of=tuple(self.logic_of),
            tasks=tuple(totals),
            attached=MappingProxyType({i: tuple(v) for i, v in self.attached.items()}),
            heads=MappingProxyType(dict(self.heads)),
            parts=MappingProxyType({k: tuple(v) for k, v in sorted(self.parts.items())}),
            sync=append_events(self.before.sync, self.made),
            task_table=replace(table, of=MappingProxyType(self.groups_of)),
        )

    def node_on(self, i: int, logical: int, tasks: int, label_: str) -> None:
        """One node on one of its streams, in GE's order of steps."""
        beside = self.main[i] != logical
        first = self.count.get(logical, 0) == 0
        self.count[logical] = self.count.get(logical, 0) + tasks
        self.members.setdefault(logical, []).append(i)
        if label_:
            self.together.setdefault(label_, []).append(i)
        if self._overfull(i, logical, first):
            self._split_before(i, logical, tasks, label_, beside)
        now = self.current.get(logical, logical)
        if logical in self.parts:
            self._move(i, logical, now, beside, "split" if i in self.heads else "after-split")
        self._rewrite_tasks(i, logical, now)
        self.previous[logical] = i

    def _overfull(self, i: int, logical: int, first: bool) -> bool:
        n = self.graph.node(i)
        too_many = self.count[logical] + RESERVE > self.limit
        held = bool(n.subgraphs) or n.attrs.get(FIRST_ACTIVE) is True or n.op in _NEVER_FIRST
        return not first and too_many and not held

    def _split_before(self, i: int, logical: int, tasks: int, label_: str, beside: bool) -> None:
        part = len(self.logic_of)
        self.logic_of.append(logical)
        names = self.graph.unique_names
        full = self.count[logical]
        self.count[logical] = tasks
        src, dst = self.previous.get(logical, -1), i
        if label_:
            group = self.together[label_]
            for g in group:
                self.count[logical] += tasks
                self._move(g, logical, part, beside, "group")
            dst = group[0]
            members = self.members[logical]
            place = members.index(dst) if dst in members else 0
            if place == 0:
                raise failed(
                    "a group that must stay together starts its stream and does not fit on it", f"node {names[dst]}",
                    label_, "Shorten the continuous group.",
                )  # fmt: skip
            src = members[place - 1]
        old_part = self.current.get(logical, logical)
        self.current[logical] = part
        self.parts.setdefault(logical, []).append(part)
        self.heads[i] = part
        note = Text(f"{full} + {RESERVE} > {self.limit}", f"{full} + {RESERVE} > {self.limit}")
        self.ctx.decide(Ref("stream", logical), "parts", old_part, part, "split", [node(i)], note)
        if src >= 0:
            self._chain(src, dst, old_part, part, beside)

    def _chain(self, src: int, dst: int, old: int, new: int, beside: bool) -> None:
        """The event that keeps the order over the cut."""
        plan, k = self.before.sync, len(self.made)
        place = "by-stream" if beside else "main"
        e = Event(plan.next_uid + k, plan.event_num + k, src, dst, old, new, "event", "split", place, place)  # type: ignore[arg-type]
        self.made.append(e)
        record(self.ctx, self.s, e, None, label(self.s, e), "split", [stream(old), stream(new)])

    def _move(self, i: int, logical: int, now: int, beside: bool, rule: str) -> None:
        """Put a node on part ``now``, with its main stream or with the attached one that belongs to ``logical``."""
        if beside:
            ids = self.attached.get(i, [])
            self.attached[i] = [now if x >= 0 and self.logic_of[x] == logical else x for x in ids]
        elif self.main[i] != now:
            self.ctx.decide(node(i), "physical stream", self.main[i], now, rule)
            self.main[i] = now

    def _rewrite_tasks(self, i: int, logical: int, now: int) -> None:
        """Task definitions carry stream ids of their own (RefreshTaskDefStreamId)."""
        groups = self.groups_of.get(i, ())
        if groups and any(g.stream != now for g in groups):
            several = bool(self.attached.get(i)) or self.graph.node(i).op == "SuperKernel"
            self.groups_of[i] = moved_groups(groups, logical, now, several=several)

    def _part_of(self, i: int, logical: int) -> int:
        """Physical stream that carries the tasks of node ``i`` on a logical stream."""
        for x in (self.main[i], *self.attached.get(i, ())):
            if x >= 0 and self.logic_of[x] == logical:
                return int(x)
        return logical


def moved_groups(groups: tuple[TaskGroup, ...], old: int, new: int, *, several: bool) -> tuple[TaskGroup, ...]:
    """Tasks after their node moved from stream ``old`` to ``new``: all of them, or with ``several`` streams only those of ``old``.

    Source: stream_allocator.cc, RefreshTaskDefStreamId.
    """
    return tuple(TaskGroup(new, g.count, g.sqe, g.wait) if not several or g.stream == old else g for g in groups)

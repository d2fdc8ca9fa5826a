"""update-activation: whoever starts a stream must start its new parts too."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import MappingProxyType

from ge_explorer.ids import node, stream
from ge_explorer.passes.physical.state import SA, begin, failed, tasks_of
from ge_explorer.passes.sync.activate_by_switch import SWITCH_RULES
from ge_explorer.passes.sync.activate_loop import LOOP_RULES, no_switch
from ge_explorer.passes.sync.event_table import STREAM_LABEL, append_events, label, record
from ge_explorer.passes.sync.loop_activation import find_loop
from ge_explorer.passes.sync.new_nodes import GROWN, grown
from ge_explorer.passes.sync.switch_activation import SWITCH, SwitchActivation, frozen
from ge_explorer.text import Text
from ge_explorer.trace.passes import Pass, PassContext, Rule
from ge_explorer.trace.state import NO_STREAM, Event, PhysicalStreams, Snapshot

_SOURCE = f"{SA}: StreamAllocator::UpdateActiveStreams"
FIRST_ACTIVE = "subgraph_first_active"


@dataclass(frozen=True)
class UpdateActivation(Pass):
    """Bring the activation lists up to the physical streams.

    Rule:
    1. The parts of an activated stream count as activated; they join the first label (by name) that owns the stream.
    2. A StreamSwitch is handled again: a label that now owns several streams gets its StreamActive.
    3. Any other activator also starts the parts of its streams whose first node is in its own graph.
    4. A part that starts inside a subgraph without a label is started by that subgraph's head.
    5. The loop's list is made anew; new parts and split streams send their last node's event to its switch.
    6. Nobody may start the stream it runs on.

    GE source: stream_allocator.cc (UpdateActiveStreams and the functions it calls), exact.
    Example: B starts stream 2, stream 2 is split into 2 and 3 → B starts 2 and 3.
    """

    name = "update-activation"
    title = Text("Activate parts", "激活更新")
    summary = Text("Makes activators start the new parts of their streams.", "让激活节点同时启动切分出的新流。")
    chapter = "activation"
    reads = frozenset({"graph", "streams", "sync", "sequence", "tasks", "physical"})
    writes = GROWN | {"physical"}
    ge_name = "UpdateActiveStreams"
    source = _SOURCE
    rules = MappingProxyType(
        {
            **SWITCH_RULES,
            **LOOP_RULES,
            "parts": Rule(Text("Starts the new parts of its streams.", "同时启动其流切分出的新部分。"), _SOURCE),
            "subgraph-head": Rule(
                Text("Starts the part that begins inside its subgraph.", "启动在其子图内开始的新部分。"), _SOURCE
            ),
        }
    )  # fmt: skip

    def skip_reason(self, s: Snapshot, ctx: PassContext) -> Text | None:
        """Nothing was split."""
        return Text("the device takes streams of any length", "设备支持任意长度的流") if tasks_of(s).unlimited else None

    def run(self, s: Snapshot, ctx: PassContext) -> Snapshot:
        """Snapshot with the lists in ``physical.sync``. Status SUCCESS."""
        ctx.status = "SUCCESS"
        return ActivationUpdate(s, ctx, begin(s)).run()


class ActivationUpdate:
    """The parts of the step, one GE function each, on one working copy of the lists."""

    def __init__(self, s: Snapshot, ctx: PassContext, physical: PhysicalStreams) -> None:
        self.s, self.ctx, self.physical = s, ctx, physical
        plan = physical.sync
        self.main = dict(enumerate(physical.node.tolist()))
        self.active = dict(plan.active_streams)
        self.activated = set(plan.activated)
        self.labels = {k: list(v) for k, v in plan.label_streams.items()}
        self.logical = sum(x == i for i, x in enumerate(physical.logic_of))

    def run(self) -> Snapshot:
        """All of them in GE's order."""
        self.label_streams()
        after = self.activators()
        self.subgraph_heads()
        made = self.loop(after)
        self.check(after)
        plan = replace(
            append_events(self.plan, made), active_streams=frozen(self.active), activated=frozenset(self.activated),
            label_streams=MappingProxyType({k: tuple(sorted(set(v))) for k, v in self.labels.items()}),
        )  # fmt: skip
        array = grown(self.physical.node, [self.main[i] for i in range(self.s.graph.id_bound, after.graph.id_bound)])
        extra = self.streams - len(self.physical.logic_of)
        physical = replace(
            self.physical, node=array, sync=plan,
            logic_of=(*self.physical.logic_of, *(NO_STREAM,) * extra), tasks=(*self.physical.tasks, *(0,) * extra),
        )  # fmt: skip
        return after.evolve(physical=physical)

    def label_streams(self) -> None:
        """UpdateLabelStreams."""
        for logical, parts in self.physical.parts.items():
            if logical in self.activated:
                self.activated.update(parts)
            owner = next((k for k in sorted(self.labels) if logical in self.labels[k]), None)
            if owner is not None:
                self.labels[owner].extend(parts)

    def activators(self) -> Snapshot:
        """UpdateActiveStreamsForSwitchNode / UpdateActiveStreamsForActiveNode, node by node."""
        s, graph, heads = self.s, self.s.graph, self.physical.heads
        plan = self.physical.sync
        work = SwitchActivation(
            s, self.ctx, {k: tuple(v) for k, v in self.labels.items()}, self.active, self.activated,
            dict(plan.switch_labels), self.physical.count, self.main.__setitem__,
        )  # fmt: skip
        first = {part: i for i, part in heads.items()}
        for i in s.sequence or ():
            if graph.node(i).op == SWITCH:
                work.switch(i)
                continue
            started = self.active.get(i, ())
            more: list[int] = []
            for x in started:
                if x >= self.logical:
                    raise failed("a node starts a stream that does not exist", f"node {graph.unique_names[i]}", x)
                parts = self.physical.parts.get(x, ())
                more += [p for p in parts if p in first and graph.node(first[p]).scope == graph.node(i).scope]
            if more:
                self.active[i] = (*started, *more)
                self.ctx.decide(node(i), "active_stream_list", started, self.active[i], "parts", map(stream, more))
        self.streams = work.next_stream
        self.plan = replace(plan, switch_labels=MappingProxyType(dict(work.handled)))
        added = bool(work.nodes.stream)
        after = work.nodes.result() if added else self._labels_only(work)
        if added and after.streams is not None:
            logical = after.streams.node.copy()
            logical[list(work.nodes.stream)] = NO_STREAM
            logical.setflags(write=False)
            after = after.evolve(streams=replace(after.streams, node=logical))
        return after

    def _labels_only(self, work: SwitchActivation) -> Snapshot:
        graph = work.nodes.editor.freeze()
        changed = {n.id: dict(n.attrs) for n in graph if n.op == SWITCH}
        return self.s.evolve(graph=self.s.graph.with_attrs(changed)) if changed else self.s

    def subgraph_heads(self) -> None:
        """UpdateActiveStreamsForSubgraphs."""
        graph = self.s.graph
        for i, part in sorted(self.physical.heads.items(), key=lambda x: x[1]):
            n = graph.node(i)
            if not n.scope or n.attrs.get(STREAM_LABEL):
                continue
            head = next(
                (j for j in reversed(graph.scope(n.scope).nodes) if graph.node(j).attrs.get(FIRST_ACTIVE) is True), -1
            )
            if head < 0 or any(part in started for started in self.active.values()):
                continue
            self.activated.add(part)
            if part == self.main[head]:
                continue
            started = self.active.get(head, ())
            self.active[head] = tuple(sorted({*started, part}))
            self.ctx.decide(
                node(head), "active_stream_list", started, self.active[head], "subgraph-head", [stream(part)]
            )

    def loop(self, after: Snapshot) -> list[Event]:
        """SetActiveStreamsForLoop after the split."""
        graph = after.graph
        loop = find_loop(graph, after.sequence or (), self.main, self.streams, self.activated)
        if loop is None:
            return []
        self.active[loop.active] = loop.streams
        self.ctx.decide(node(loop.active), "active_stream_list", None, loop.streams, "loop", map(stream, loop.streams))
        if loop.switch < 0:
            self.ctx.report(no_switch(after, loop.active))
            return []
        made: list[Event] = []
        for i in loop.waits:
            mine = self.main[i]
            if mine < self.logical and mine not in self.physical.parts:
                continue
            k = len(made)
            e = Event(
                self.plan.next_uid + k, self.plan.event_num + k, i, loop.switch, mine, self.main[loop.switch], "event",
                "loop-end",
            )  # fmt: skip
            made.append(e)
            record(self.ctx, after, e, None, label(after, e), "loop-end")
        return made

    def check(self, after: Snapshot) -> None:
        """CheckStreamActived."""
        for i, started in self.active.items():
            if self.main.get(i, NO_STREAM) in started:
                raise failed(
                    f"{after.graph.unique_names[i]} starts the stream it runs on", f"node {after.graph.unique_names[i]}",
                    self.main[i], "Take its own stream off the active stream list.",
                )  # fmt: skip

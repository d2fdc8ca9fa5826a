"""activate-loop: the loop's active node starts every free stream again, once all of them are done."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import MappingProxyType

from ge_explorer.ids import node, stream
from ge_explorer.issue import Issue
from ge_explorer.passes.sync.event_table import append_events, label, record
from ge_explorer.passes.sync.loop_activation import LOOP_ACTIVE, SOURCE, find_loop
from ge_explorer.text import Text
from ge_explorer.trace.passes import Pass, PassContext, Rule
from ge_explorer.trace.state import Event, Snapshot, SyncPlan

LOOP_RULES = {
    "loop": Rule(
        Text("The loop starts every stream that nobody else starts.", "循环重新启动所有无人激活的流。"), SOURCE
    ),
    "loop-end": Rule(
        Text(
            "The loop's switch waits for the end of this stream, so that it is not running when it is started again.",
            "循环的 Switch 等待该流结束，避免流仍在运行时被再次启动。",
        ),
        SOURCE,
    ),
}


@dataclass(frozen=True)
class ActivateLoop(Pass):
    """The node marked ``is_loop_active`` without labels starts all streams nobody else starts.

    Rule: the last node of each such stream sends an event to the loop's StreamSwitch, except streams that contain a
    StreamSwitch and last nodes inside a subgraph. Only the first such node counts.

    GE source: stream_allocator.cc (SetActiveStreamsForLoop before the split), exact. Without a StreamSwitch before the active
    node GE logs an error and goes on with an event to nobody; here the events are left out and an issue says so.
    """

    name = "activate-loop"
    title = Text("Activate loop", "循环激活")
    summary = Text("Lets a loop start its streams again, safely.", "让循环安全地再次启动各流。")
    chapter = "events"
    reads = frozenset({"graph", "streams", "sync", "sequence"})
    writes = frozenset({"sync"})
    ge_name = "SetActiveStreamsForLoop"
    source = SOURCE
    rules = MappingProxyType(LOOP_RULES)

    def skip_reason(self, s: Snapshot, ctx: PassContext) -> Text | None:
        """No loop."""
        return None if any(LOOP_ACTIVE in n.attrs for n in s.graph) else Text("no loop", "没有循环")

    def run(self, s: Snapshot, ctx: PassContext) -> Snapshot:
        """Snapshot with the loop's active list and the events to its switch. Status SUCCESS."""
        assert s.streams is not None
        plan = s.sync or SyncPlan()
        of = dict(enumerate(s.streams.node.tolist()))
        ctx.status = "SUCCESS"
        loop = find_loop(s.graph, s.sequence or (), of, s.streams.next_stream, plan.activated)
        if loop is None:
            return s
        ctx.decide(node(loop.active), "active_stream_list", plan.active_streams.get(loop.active), loop.streams, "loop",
                   map(stream, loop.streams))  # fmt: skip
        made: list[Event] = []
        if loop.switch < 0:
            ctx.report(no_switch(s, loop.active))
        else:
            for i in loop.waits:
                k = len(made)
                e = Event(
                    plan.next_uid + k, plan.event_num + k, i, loop.switch, of[i], of[loop.switch], "event", "loop-end"
                )
                made.append(e)
                record(ctx, s, e, None, label(s, e), "loop-end")
        active = MappingProxyType({**plan.active_streams, loop.active: loop.streams})
        return s.evolve(sync=append_events(replace(plan, active_streams=active), made))


def no_switch(s: Snapshot, active: int) -> Issue:
    """GX130: the loop has no StreamSwitch, so nothing waits for its streams."""
    name = s.graph.unique_names[active]
    return Issue(
        "GX130", "warning",
        Text(
            f"no StreamSwitch before the loop's active node {name}: nothing waits until its streams are done",
            f"循环激活节点 {name} 之前没有 StreamSwitch：没有节点等待各流结束",
        ),
        (node(active),),
        Text("Put the StreamSwitch of the loop in front of it.", "请在其前面放置循环的 StreamSwitch。"), "sync.md 9.2",
    )  # fmt: skip

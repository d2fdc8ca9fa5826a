"""activate-by-switch: a StreamSwitch starts one stream; a label with several streams gets a StreamActive between them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import MappingProxyType

from ge_explorer.passes.sync.new_nodes import GROWN
from ge_explorer.passes.sync.switch_activation import SOURCE, SWITCH, SwitchActivation, frozen
from ge_explorer.text import Text
from ge_explorer.trace.passes import Pass, PassContext, Rule
from ge_explorer.trace.state import Snapshot, SyncPlan

SWITCH_RULES = {
    "switch": Rule(
        Text("A switch starts the streams of the StreamActive nodes behind it.", "Switch 启动其后 StreamActive 所在的流。"),
        SOURCE,
    ),
    "switch-active": Rule(
        Text(
            "The label has several streams but a switch starts only one: this node, on a stream of its own, starts them all.",
            "该标签对应多条流，而 Switch 只能启动一条：此节点独占一条流并启动它们。",
        ),
        SOURCE,
    ),
}  # fmt: skip


@dataclass(frozen=True)
class ActivateBySwitch(Pass):
    """Insert ``<switch>_StreamActive_<i>`` where a switch's label owns more than one stream.

    Rule, per label of a StreamSwitch: no or one stream → nothing; several → a StreamActive on a NEW stream starts them, the
    control successors with that label hang on it, and the switch starts the new stream.

    GE source: stream_allocator.cc (UpdateStreamSwitchByLogicStream, InsertActiveNodesAfterSwitch, AddActiveNodes), exact. The
    new node stands at the end of the node list, after what it starts.
    Example: switch with label L on streams 2, 3, 4 of 5 → switch_StreamActive_0 on stream 5 starts 2, 3, 4.
    """

    name = "activate-by-switch"
    title = Text("Activate by switch", "Switch 激活")
    summary = Text(
        "Lets a StreamSwitch start labels that own several streams.", "让 StreamSwitch 能启动拥有多条流的标签。"
    )
    chapter = "events"
    reads = frozenset({"graph", "streams", "sync", "sequence"})
    writes = GROWN | {"sync"}
    ge_name = "UpdateStreamSwitchByLogicStream"
    source = SOURCE
    rules = MappingProxyType(SWITCH_RULES)

    def skip_reason(self, s: Snapshot, ctx: PassContext) -> Text | None:
        """No switch."""
        return None if any(n.op == SWITCH for n in s.graph) else Text("no StreamSwitch", "没有 StreamSwitch")

    def run(self, s: Snapshot, ctx: PassContext) -> Snapshot:
        """Snapshot with the StreamActive nodes and one more stream each. Status SUCCESS."""
        assert s.streams is not None
        plan = s.sync or SyncPlan()
        work = SwitchActivation(
            s, ctx, plan.label_streams, dict(plan.active_streams), set(plan.activated), dict(plan.switch_labels),
            s.streams.next_stream,
        )  # fmt: skip
        for i in s.sequence or ():
            if s.graph.node(i).op == SWITCH:
                work.switch(i)
        ctx.status = "SUCCESS"
        after = work.nodes.result()
        assert after.streams is not None
        sync = replace(
            plan, active_streams=frozen(work.active), activated=frozenset(work.activated),
            switch_labels=MappingProxyType(dict(work.handled)),
        )  # fmt: skip
        return after.evolve(streams=replace(after.streams, next_stream=work.next_stream), sync=sync)

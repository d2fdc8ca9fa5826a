"""assign-single-stream: does everything fit on one stream, or does it need a huge one?"""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import MappingProxyType

from ge_explorer.ids import stream
from ge_explorer.passes.physical.accounting import node_entries
from ge_explorer.passes.physical.limits import RESERVE
from ge_explorer.passes.physical.state import SA, begin, failed, tasks_of
from ge_explorer.text import Text
from ge_explorer.trace.passes import Pass, PassContext, Rule
from ge_explorer.trace.state import Snapshot

SINGLE = "ge.enableSingleStream"
_SOURCE = f"{SA}: StreamAllocator::AssignSingleStream"


@dataclass(frozen=True)
class AssignSingleStream(Pass):
    """In single-stream mode: all tasks and a reserve of 27 above the limit make stream 0 a huge stream.

    Where the chip has no huge streams GE only warns and splits as usual. More than one main stream is an error.

    GE source: stream_allocator.cc (AssignSingleStream), exact.
    Example: 1228 tasks, limit 1024, huge limit 8192 → stream 0 is huge.
    """

    name = "assign-single-stream"
    title = Text("Huge stream", "超长流")
    summary = Text("Decides whether the single stream must be a huge one.", "判断单流是否需要超长流。")
    chapter = "physical"
    reads = frozenset({"graph", "streams", "sync", "sequence", "tasks"})
    writes = frozenset({"physical"})
    option_keys = frozenset({SINGLE})
    ge_name = "AssignSingleStream"
    source = _SOURCE
    rules = MappingProxyType(
        {
            "huge": Rule(Text("More tasks than fit on a normal stream.", "任务数超过普通流的容量。"), _SOURCE),
            "fits": Rule(Text("All tasks fit on a normal stream.", "所有任务可放入普通流。"), _SOURCE),
            "no-huge": Rule(
                Text("The chip has no huge streams; it is split.", "芯片不支持超长流，按常规切分。"), _SOURCE
            ),
        }
    )

    def skip_reason(self, s: Snapshot, ctx: PassContext) -> Text | None:
        """Only in single-stream mode, and only where streams have a limit."""
        if ctx.option(SINGLE) != "true":
            return Text("not in single-stream mode", "非单流模式")
        return Text("streams have no depth limit here", "此处流没有深度限制") if tasks_of(s).unlimited else None

    def run(self, s: Snapshot, ctx: PassContext) -> Snapshot:
        """Snapshot whose ``physical.huge`` is (0,) or empty. Status SUCCESS."""
        assert s.streams is not None
        if s.streams.main_count > 1:
            raise failed("single-stream mode with several main streams", s.graph.name, s.streams.main_count,
                         "Run the single-stream pass first, or switch the mode off.")  # fmt: skip
        physical, table = begin(s), tasks_of(s)
        main = physical.node.tolist()
        total = RESERVE + sum(
            sum(node_entries(s.graph.node(i), main[i], physical.attached.get(i, ()), groups).values())
            for i, groups in table.of.items()
        )
        rule = "fits" if total <= table.limit else "no-huge" if table.huge_limit is None else "huge"
        huge = (0,) if rule == "huge" else ()
        note = Text(f"{total} entries, limit {table.limit}", f"共 {total} 个任务，上限 {table.limit}")
        ctx.decide(stream(0), "huge", False, bool(huge), rule, (), note, decisive=bool(huge))
        ctx.status = "SUCCESS"
        return s.evolve(physical=replace(physical, huge=huge))

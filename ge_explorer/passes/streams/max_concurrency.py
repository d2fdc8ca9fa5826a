"""max-concurrency: streams that order nothing the graph does not order, as few of them or as few waits as possible."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from ge_explorer.errors import OptionError
from ge_explorer.graph.chains import chains, cover_by_arcs, cover_by_paths
from ge_explorer.ids import node
from ge_explorer.passes.streams.concurrency import task_graph
from ge_explorer.text import Text
from ge_explorer.trace.passes import Pass, PassContext, Rule
from ge_explorer.trace.state import NO_STREAM, Snapshot, StreamAssignment, int_array

MODE = "gx.streamMode"
FEWEST_STREAMS, FEWEST_WAITS = "fewest-streams", "fewest-waits"
LIST_SCHEDULE = "list-schedule"
SINGLE = "ge.enableSingleStream"
PINNED = ("_stream_label", "_rts_label_node")


@dataclass(frozen=True)
class MaxConcurrency(Pass):
    """Two nodes share a stream only where one needs the other, so every node may start as soon as its inputs are there.

    Rule:
    1. Nodes of the root graph that have a stream are covered by chains. ``fewest-streams``: chains along paths, as many as the
       graph is wide (Dilworth). ``fewest-waits``: chains along arcs of the minimum equivalent graph, a largest matching of them.
    2. One new stream per chain, in order of their first nodes; the renumbering closes the gaps.
    3. Nodes with a stream label, runtime label nodes, nodes without a stream and bodies of subgraphs keep what they have.

    The two wishes contradict each other: the plan with the fewest streams may need more waits, the other one more streams. Waits
    come out as counted with ``gx.eventMode`` = minimal; GE's own clean-up may leave more.

    Ours; GE's automatic modes bound the number of streams and give up parallelism for it.
    Options: ``gx.streamMode`` = fewest-streams or fewest-waits switches it on. Not run in single-stream mode.
    Example: A → {B, C, D} → E: three streams; A, B, E on one, C and D on one each.
    """

    name: ClassVar[str] = "max-concurrency"
    title: ClassVar[Text] = Text("All parallelism", "保留全部并行")
    summary: ClassVar[Text] = Text(
        "Streams that order nothing the graph does not order.", "流内顺序不引入图中没有的先后关系。"
    )
    chapter = "streams"
    reads: ClassVar[frozenset[str]] = frozenset({"graph", "streams", "sequence"})
    writes: ClassVar[frozenset[str]] = frozenset({"streams"})
    option_keys: ClassVar[frozenset[str]] = frozenset({MODE, SINGLE})
    source: ClassVar[str] = "ours"
    fidelity = "ours"
    rules = MappingProxyType(
        {
            FEWEST_STREAMS: Rule(
                Text("Next on a chain of the fewest chains that cover the graph.", "属于覆盖全图的最少链之一。"), "ours"
            ),
            FEWEST_WAITS: Rule(Text("Next on a chain that saves the most waits.", "属于节省等待最多的链。"), "ours"),
        }
    )

    def skip_reason(self, s: Snapshot, ctx: PassContext) -> Text | None:
        """Off unless the option asks for it, and in single-stream mode; OptionError for another value."""
        mode = ctx.option(MODE)
        if mode.split(":")[0] == LIST_SCHEDULE:
            return Text("the next step schedules the streams", "由下一步调度各条流")
        if mode not in ("", "ge", FEWEST_STREAMS, FEWEST_WAITS):
            known = f"ge, {FEWEST_STREAMS}, {FEWEST_WAITS} or {LIST_SCHEDULE}"
            raise OptionError(f"{MODE} has no value {mode!r}", todo=f"Use {known}.")
        if mode in ("", "ge"):
            return Text(f"{MODE} is not set: GE's streams stay", f"未设置 {MODE}，保留 GE 的流分配")
        if ctx.option(SINGLE) == "true":
            return Text("single-stream mode keeps one stream", "单流模式只用一条流")
        return None

    def run(self, s: Snapshot, ctx: PassContext) -> Snapshot:
        """Snapshot with one new stream per chain. Status SUCCESS."""
        assert s.streams is not None
        old = s.streams
        stream = old.node.tolist()
        free = frozenset(
            i for i in s.graph.root.nodes
            if stream[i] != NO_STREAM and not any(s.graph.node(i).attrs.get(k) for k in PINNED)
        )  # fmt: skip
        g = task_graph(s, free)
        mode = ctx.option(MODE)
        after = (
            cover_by_arcs(g.succ) if mode == FEWEST_WAITS else cover_by_paths(g.succ, cover_by_arcs(g.succ).after)
        ).after
        made = chains(after)
        for k, chain in enumerate(made, start=old.next_stream):
            for v, follows in zip(chain, [(), *((node(g.nodes[u]),) for u in chain)], strict=False):
                i = g.nodes[v]
                ctx.decide(node(i), "stream", stream[i], k, mode, follows)
                stream[i] = k
        ctx.status = "SUCCESS"
        return s.evolve(
            streams=StreamAssignment(
                int_array(stream), old.cluster, old.next_stream + len(made), old.main_count, old.attached, old.custom
            )
        )

"""mini-dag: automatic multi-stream (LoadBalance:N, MainStream:N, WeightedLoadBalance:N)."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType

from ge_explorer.errors import OptionError
from ge_explorer.passes.streams.dag.adapter import NO_PROFILE, from_scope
from ge_explorer.passes.streams.dag.allocator import by_path_cover
from ge_explorer.passes.streams.dag.findings import forced_weighted, load_profile, nothing_assigned, report_rows
from ge_explorer.passes.streams.dag.mode import KEY, Mode, Strategy, mode_text, parse_mode
from ge_explorer.passes.streams.dag.profiling import KEY as PROFILE_KEY
from ge_explorer.passes.streams.dag.writer import Writer
from ge_explorer.text import Text
from ge_explorer.trace.passes import Pass, PassContext, Rule
from ge_explorer.trace.state import NO_STREAM, Snapshot, StreamAssignment, int_array

SINGLE = "ge.enableSingleStream"
MAX_REPAIRS = 1000
_GE = "compiler/graph/build/dag/dag_stream_merger.cc"
_WEIGHTED = "compiler/graph/build/dag/dag_weighted_stream_merger.cc"


@dataclass(frozen=True)
class MiniDag(Pass):
    """Spread every graph over at most N streams, whatever engine-based streams it had.

    Rule:
    1. Per graph (root first), nodes with a stream label get one stream per label, not counted against N.
    2. Nodes without a stream keep none. The rest is covered by the fewest paths along edges (units).
    3. Units are placed level by level; the candidate stream with the lowest score wins.
    4. Nodes marked ``_rts_label_node`` and nodes without a stream are not touched.
    5. A profiling file (``MINIDAG_PROFILING_PATH``) gives nodes their times; a graph with a profiled node is always merged by
       WeightedLoadBalance, and a node that took 0 µs keeps its stream. A file GE cannot read changes nothing.

    GE source: dag_stream_allocator_pass.cc (RunMiniDAGStreamPass), dag/dag_stream_allocator.cc, dag/dag_stream_merger.cc.
    Options: ``ge.autoMultistreamParallelMode``; a root graph attribute of the same name wins. ``repair_moves`` (0 in GE, which
    switches the step off) lets units move once more after their level is placed.
    Example: 1→2→3→4→8 beside 1→5→6→7→8 with LoadBalance:2: 5, 6, 7 go to a second stream (28 against 36);
    the diamond 1→{2,3}→4 stays on one (16 against 18) until a profile says 10, 60, 20, 10 µs (5000 against 48).
    """

    repair_moves: int = 0

    name = "mini-dag"
    title = Text("Automatic streams", "自动多流")
    summary = Text(
        "Covers the graph by paths and balances them over at most N streams.",
        "用最少路径覆盖图，再把路径分配到至多 N 条流上。",
    )
    chapter = "streams"
    reads = frozenset({"graph", "streams", "scope_order"})
    writes = frozenset({"streams"})
    option_keys = frozenset({KEY, SINGLE, PROFILE_KEY})
    ge_name = "MiniDAGStreamPass"
    source = "compiler/graph/build/stream/dag_stream_allocator_pass.cc"
    fidelity = "exact"
    rules = MappingProxyType(
        {
            "label": Rule(
                Text(
                    "All nodes of a stream label share one stream, outside the limit.",
                    "同一流标签的节点共用一条流，不计入上限。",
                ),
                "dag_stream_allocator.cc: ByPathCover",
            ),
            "load-balance": Rule(
                Text(
                    "Lowest of 3·events + 4·(largest load + variance in the next 6 levels) + stream size + 2 if new.",
                    "取最低分：3×事件 + 4×（后 6 层最大负载 + 方差）+ 流大小 + 新流加 2。",
                ),
                _GE,
            ),
            "main-stream": Rule(
                Text(
                    "Lowest of 3·events + 4·overlap in the next 6 levels + 2 if new − 4·solo nodes on the main stream.",
                    "取最低分：3×事件 + 4×后 6 层并行冲突 + 新流加 2 − 4×主流上的独占节点数。",
                ),
                _GE,
            ),
            "main-forced": Rule(
                Text(
                    "A unit that starts on a level of its own, or is alone on all its levels, stays on the main stream.",
                    "起始层只有自己、或各层都独占的单元固定在主流上。",
                ),
                _GE,
            ),
            "weighted": Rule(
                Text(
                    "Lowest of 3·events + 4·overlapping time products + 2·time on the stream + 2 if new.",
                    "取最低分：3×事件 + 4×重叠时间乘积 + 2×流上时间 + 新流加 2。",
                ),
                _WEIGHTED,
            ),
            "repair": Rule(
                Text(
                    "After its level was placed, the unit that gains most moves once more (off in GE).",
                    "本层放置完后，收益最大的单元再移动一次（GE 默认关闭）。",
                ),
                _GE,
            ),
            "path-cover": Rule(
                Text(
                    "The fewest paths along edges that hold every node once: nodes minus a largest matching of edges.",
                    "沿边覆盖每个节点一次的最少路径数：节点数减去最大匹配的边数。",
                ),
                "compiler/graph/build/dag/dag_stream_divide.h: HopcroftKarp",
            ),
            "no-time": Rule(
                Text("A node that takes no time keeps its stream.", "耗时为零的节点保持原有流。"),
                "dag_stream_allocator.cc: SplitSerialGraph",
            ),
            "rts-label": Rule(
                Text("Runtime label nodes keep their stream.", "运行时标签节点保持原有流。"),
                "dag_stream_allocator_pass.cc",
            ),
        }
    )

    def skip_reason(self, s: Snapshot, ctx: PassContext) -> Text | None:
        """Not run without a DAG mode, and never in single-stream mode. PassFailed (E10001) for an illegal mode."""
        if ctx.option(SINGLE) == "true":
            return Text("single-stream mode runs no custom stream passes", "单流模式不运行自定义流 Pass")
        mode = _mode(s, ctx)
        if mode.kind == "unset":
            return Text(f"{KEY} is not set", f"未设置 {KEY}")
        if mode.kind == "default":
            return Text("the graph attribute says default, which switches it off", "图属性为 default，已关闭自动多流")
        if mode.kind == "cv":
            return Text("mode cv works in the partition, not here", "cv 模式在切分阶段生效，不在此处")
        return None

    def __post_init__(self) -> None:
        if not 0 <= self.repair_moves <= MAX_REPAIRS:
            raise OptionError("repair-moves is out of range", where=self.name, got=self.repair_moves,
                              todo=f"Use 0 (GE's value) to {MAX_REPAIRS}.")  # fmt: skip

    def run(self, s: Snapshot, ctx: PassContext) -> Snapshot:
        """One cover per graph; ids are allocated as GE does, one more than needed, and closed up by refresh-streams."""
        mode = _mode(s, ctx)
        profile = load_profile(ctx)
        before = s.streams or StreamAssignment(int_array([NO_STREAM] * s.graph.id_bound))
        after = before.node.copy()
        next_stream, custom = before.next_stream, list(before.custom)
        matched = 0
        for scope in (0, *(s.scope_order or ())):
            base = next_stream
            dag = from_scope(s.graph, scope, before.node, profile)
            matched += dag.profiled
            strategy: Strategy = "WeightedLoadBalance" if dag.profiled else mode.strategy
            cover = by_path_cover(dag, strategy, limit=mode.limit, base=base, repair_moves=self.repair_moves)
            next_stream = base + 1 + cover.required
            custom.extend(range(base, next_stream))
            where = s.graph.scope(scope).name
            if dag.profiled:
                ctx.report(forced_weighted(dag, where, mode.strategy))
            if cover.failure:
                ctx.report(nothing_assigned(cover.failure, where))
            Writer(s.graph, ctx, dag, before.node, base, next_stream).write(cover, strategy, after)
        if profile is not NO_PROFILE:
            report_rows(ctx, profile, matched)
        ctx.status = "SUCCESS"
        streams = StreamAssignment(
            int_array(after), before.cluster, next_stream, before.main_count, before.attached, tuple(custom)
        )
        return s.evolve(streams=streams)


def _mode(s: Snapshot, ctx: PassContext) -> Mode:
    text, from_graph = mode_text(s.graph, ctx.option(KEY))
    return parse_mode(text, from_graph=from_graph)

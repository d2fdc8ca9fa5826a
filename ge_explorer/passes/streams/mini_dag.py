"""mini-dag: automatic multi-stream (LoadBalance:N, MainStream:N, WeightedLoadBalance:N)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from ge_explorer.graph.model import IntArray
from ge_explorer.ids import Ref, node, stream
from ge_explorer.passes.streams.dag.adapter import from_scope
from ge_explorer.passes.streams.dag.allocator import Cover, by_path_cover
from ge_explorer.passes.streams.dag.mode import KEY, Mode, mode_text, parse_mode
from ge_explorer.passes.streams.dag.model import Dag
from ge_explorer.passes.streams.dag.units import Candidate, Placement
from ge_explorer.text import Text
from ge_explorer.trace.passes import Pass, PassContext, Rule
from ge_explorer.trace.state import NO_STREAM, Snapshot, StreamAssignment, int_array

SINGLE = "ge.enableSingleStream"
RTS_LABEL = "_rts_label_node"
_GE = "compiler/graph/build/dag/dag_stream_merger.cc"

_TERMS: Mapping[str, Text] = MappingProxyType(
    {
        "events": Text("events {v}", "事件 {v}"),
        "balance": Text("balance {v}", "均衡 {v}"),
        "load": Text("load {v}", "负载 {v}"),
        "conflict": Text("overlap {v}", "并行冲突 {v}"),
        "bonus": Text("main-stream bonus {v}", "主流加分 {v}"),
    }
)


@dataclass(frozen=True)
class MiniDag(Pass):
    """Spread every graph over at most N streams, whatever engine-based streams it had.

    Rule:
    1. Per graph (root first), nodes with a stream label get one stream per label, not counted against N.
    2. Nodes without a stream keep none. The rest is covered by the fewest paths along edges (units).
    3. Units are placed level by level; the candidate stream with the lowest score wins.
    4. Nodes marked ``_rts_label_node`` and nodes without a stream are not touched.

    GE source: dag_stream_allocator_pass.cc (RunMiniDAGStreamPass), dag/dag_stream_allocator.cc, dag/dag_stream_merger.cc.
    Options: ``ge.autoMultistreamParallelMode``; a root graph attribute of the same name wins.
    Example: 1→2→3→4→8 beside 1→5→6→7→8 with LoadBalance:2: 5, 6, 7 go to a second stream (28 against 36);
    the diamond 1→{2,3}→4 stays on one (16 against 18). Profiling times (MINIDAG_PROFILING_PATH) are not read.
    """

    name = "mini-dag"
    title = Text("Automatic streams", "自动多流")
    summary = Text(
        "Covers the graph by paths and balances them over at most N streams.",
        "用最少路径覆盖图，再把路径分配到至多 N 条流上。",
    )
    chapter = "streams"
    reads = frozenset({"graph", "streams", "scope_order"})
    writes = frozenset({"streams"})
    option_keys = frozenset({KEY, SINGLE})
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
                "compiler/graph/build/dag/dag_weighted_stream_merger.cc",
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

    def run(self, s: Snapshot, ctx: PassContext) -> Snapshot:
        """One cover per graph; ids are allocated as GE does, one more than needed, and closed up by refresh-streams."""
        mode = _mode(s, ctx)
        before = s.streams or StreamAssignment(int_array([NO_STREAM] * s.graph.id_bound))
        after = before.node.copy()
        next_stream, custom = before.next_stream, list(before.custom)
        for scope in (0, *(s.scope_order or ())):
            base = next_stream
            dag = from_scope(s.graph, scope, before.node)
            cover = by_path_cover(dag, mode.strategy, limit=mode.limit, base=base)
            next_stream = base + 1 + cover.required
            custom.extend(range(base, next_stream))
            _Writer(s, ctx, before.node, after).write(mode, dag, cover, base)
        ctx.status = "SUCCESS"
        streams = StreamAssignment(
            int_array(after), before.cluster, next_stream, before.main_count, before.attached, tuple(custom)
        )
        return s.evolve(streams=streams)


def _mode(s: Snapshot, ctx: PassContext) -> Mode:
    text, from_graph = mode_text(s.graph, ctx.option(KEY))
    return parse_mode(text, from_graph=from_graph)


@dataclass(frozen=True, slots=True, eq=False)
class _Writer:
    """Writes streams of one scope into the working copy ``after`` and records why."""

    s: Snapshot
    ctx: PassContext
    before: IntArray
    after: IntArray

    def write(self, mode: Mode, dag: Dag, cover: Cover, base: int) -> None:
        """Unit by unit in the order they were placed, then label by label."""
        names = cover.merged.renumbered
        for p in cover.merged.placements:
            rule, note = _explain(mode, p, cover, base)
            looked_at = [stream(base + names.get(c.stream, c.stream)) for c in p.candidates]
            members = [dag.nodes[i].node_id for i in cover.routes[p.unit]]
            ends = [node(i) for i in dict.fromkeys((members[0], members[-1]))]
            for i in members:
                self.put(i, base + names[p.stream], rule, [*ends, *looked_at], note)
        for label, places in cover.residual.labels.items():
            note = Text(f"label {label}", f"标签 {label}")
            first = [node(dag.nodes[places[0]].node_id)]
            for k in places:
                self.put(dag.nodes[k].node_id, cover.label_streams[label], "label", first, note)

    def put(self, i: int, target: int, rule: str, evidence: list[Ref], note: Text) -> None:
        """Set one node, unless it has no stream or is a runtime label node."""
        old = int(self.before[i])
        if old == NO_STREAM:
            return
        if self.s.graph.node(i).attrs.get(RTS_LABEL) is True:
            self.ctx.decide(node(i), "stream", old, old, "rts-label", decisive=False)
            return
        self.after[i] = target
        self.ctx.decide(node(i), "stream", old, target, rule, evidence, note)


def _explain(mode: Mode, p: Placement, cover: Cover, base: int) -> tuple[str, Text]:
    if p.forced:
        words = {"only node of its level": "该层只有它", "alone on all its levels": "各层均独占"}
        return "main-forced", Text(f"level {p.level}: {p.forced}", f"第 {p.level} 层：{words[p.forced]}")
    rule = {"LoadBalance": "load-balance", "MainStream": "main-stream", "WeightedLoadBalance": "weighted"}[
        mode.strategy
    ]
    ranked = sorted(p.candidates, key=lambda c: (c.stream == p.stream, c.total))
    parts = [_score(c, base + cover.merged.renumbered.get(c.stream, c.stream)) for c in ranked]
    en = ", ".join(t.en for t in parts)
    zh = "，".join(t.zh for t in parts)
    end = (": lower wins", "：低者胜") if len(parts) > 1 else (": the only candidate", "：唯一候选")
    return rule, Text(f"level {p.level}: {en}{end[0]}", f"第 {p.level} 层：{zh}{end[1]}")


def _score(c: Candidate, number: int) -> Text:
    terms = [_TERMS[k].format(v=f"{v:g}") for k, v in c.terms.items() if k in _TERMS and not (k == "bonus" and v == 0)]
    name = Text(f"new stream {number}", f"新流 {number}") if c.is_new else Text(f"stream {number}", f"流 {number}")
    return Text(
        f"{name.en} scores {c.total:g} ({', '.join(t.en for t in terms)})",
        f"{name.zh} 得分 {c.total:g}（{'，'.join(t.zh for t in terms)}）",
    )

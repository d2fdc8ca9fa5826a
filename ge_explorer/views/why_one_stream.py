"""Why GE gives this graph one stream, how much several could give at most, and what each option would give."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from ge_explorer.errors import GxError
from ge_explorer.pipelines import mode_options
from ge_explorer.provenance import Origin
from ge_explorer.simulator.metrics import Ceiling, ceiling
from ge_explorer.simulator.timeline import Timeline
from ge_explorer.text import Text
from ge_explorer.trace.state import SYNC_OPS
from ge_explorer.trace.trace import Trace
from ge_explorer.views.figures import StrengthFigures
from ge_explorer.views.unknown_shapes import ALLOCATOR, unknown_shapes
from ge_explorer.views.wording import both, count, mib, ratio, source_file, us

R = TypeVar("R")

OFFERED = ("cv", "LoadBalance:2", "LoadBalance:4")
"""Modes tried on every model; labels come from the user's plan."""


def reason(trace: Trace) -> tuple[Text, str]:
    """Why there is one stream, and the GE source of the rule. Read from the final state, not assumed."""
    s = trace.final
    if s.options.get("ge.enableSingleStream") == "true":
        return (
            Text("Option ge.enableSingleStream is on, so every operator goes to stream 0.",
                 "选项 ge.enableSingleStream 已开启，所有算子都放在流 0。"),
            "compiler/graph/build/stream/logical_stream_allocator.cc SingleStreamPass",
        )  # fmt: skip
    unknown = unknown_shapes(s)
    if unknown is not None and s.options.get(ALLOCATOR) != "1":
        return unknown, "compiler/graph/partition/dynamic_shape_partition.cc IsGraphNeedUnknownShapePartition"
    partition = "compiler/graph/partition/engine_partitioner.cc"
    running = [n.id for n in s.graph if not n.is_source and n.op not in SYNC_OPS]
    engines = {s.placement.engine[i] for i in running} - {""} if s.placement is not None else set()
    clusters = len(s.clusters.items) if s.clusters is not None else 0
    labels = sum(1 for i in running if "_user_stream_label" in s.graph.node(i).attrs)
    n = count(len(running))
    tail, tail_zh = ("", "") if labels else (" No operator carries a stream label.", "没有算子带流标签。")
    if len(engines) <= 1:
        name = next(iter(engines), "one engine")
        made = made_zh = ""
        if clusters:
            made = f"the second partition makes {clusters} cluster{'' if clusters == 1 else 's'} of them, and "
            made_zh = f"二次切分得到 {clusters} 个簇，而"
        return (
            Text(f"All {n} operators run on {name}: {made}an engine gets one stream by default.{tail}",
                 f"{n} 个算子都在引擎 {name} 上：{made_zh}每个引擎默认只有一条流。{tail_zh}"),
            partition,
        )  # fmt: skip
    names = ", ".join(sorted(engines))
    return (
        Text(f"Operators run on {len(engines)} engines ({names}), but none of their clusters may leave the main stream: they "
             f"reuse the stream of their predecessor or belong to an engine without streams of its own.{tail}",
             f"算子分布在 {len(engines)} 个引擎（{names}），但没有簇可以离开主流："
             f"它们复用前驱的流，或所属引擎没有独立的流。{tail_zh}"),
        "compiler/graph/build/stream/logical_stream_allocator.cc AssignByDependencyPass",
    )  # fmt: skip


def why_one_stream(
    trace: Trace,
    timeline: Timeline | None,
    predictions: Mapping[str, StrengthFigures | None],
    labels: StrengthFigures | None = None,
) -> dict[str, Any] | None:
    """JSON-able model of the state, or None when the trace failed or has not exactly one stream.

    ``predictions``: mode -> predicted result (None: GE refuses it); modes of ``OFFERED`` left out are not computed yet.
    They are shown as "…". ``labels`` is the result
    of the user's plan where there is one. Rows ``{label, us, streams, events, mib, gain, action, key…}``; ``action`` "mode" sets
    the mode, "strength" the plan; a row that gives one stream again has no action.
    """
    s = trace.final
    if trace.failed is not None or s.streams is None or s.streams.count != 1:
        return None
    text, source = reason(trace)
    facts: list[dict[str, Any]] = []
    top: Ceiling | None = None
    if timeline is not None and timeline.node.size:
        top = ceiling(s.graph, _durations(timeline))
        label = Text("operators side by side at most", "最多可并排的算子")
        facts.append({"value": count(top.width), "label": both(label), "origin": Origin.MODEL.value})
        if top.speedup is not None:
            label = Text(
                f"ceiling: work {us(top.work_ns)} ÷ critical path {us(top.path_ns)} us, cores not limited",
                f"上限：总工作量 {us(top.work_ns)} ÷ 关键路径 {us(top.path_ns)} us，不限核",
            )
            facts.append({"value": f"{ratio(top.speedup)}×", "label": both(label), "origin": Origin.MODEL.value})
    now = timeline.makespan_ns if timeline is not None else 0
    rows = []
    if labels is not None:
        rows.append(_row(Text("Stream labels of the plan", "方案的流标签"), labels, now, "strength", "C1", Text("…")))
    for mode in dict.fromkeys([*predictions, *OFFERED]):
        missing = Text("fails", "失败") if mode in predictions else Text("…")
        rows.append(_row(Text(mode), predictions.get(mode), now, "mode", mode, missing))
    useful = any(r["action"] for r in rows)
    verdict = None
    if top is not None and top.speedup is not None and top.speedup < 1.005:
        verdict = Text("One chain: no second stream can make this graph faster.", "这是一条链：再多的流也不会更快。")
    elif not useful and set(OFFERED) <= set(predictions):
        verdict = Text("None of these options gives a second stream here.", "以上选项在此图上都得不到第二条流。")
    return {
        "title": both(Text("GE gives this graph one stream", "GE 只给这张图一条流")),
        "text": both(text),
        "source": source_file(source),
        "path": source,
        "facts": facts,
        "rows": rows,
        "verdict": both(verdict) if verdict else None,
    }


def _durations(timeline: Timeline) -> dict[int, int]:
    """Node id -> time of its tasks in ns."""
    out: dict[int, int] = {}
    for i, ns in zip(timeline.node.tolist(), (timeline.end_ns - timeline.start_ns).tolist(), strict=True):
        out[i] = out.get(i, 0) + ns
    return out


def _row(label: Text, r: StrengthFigures | None, now: int, action: str, key: str, missing: Text) -> dict[str, Any]:
    if r is None:
        return {
            "label": both(label),
            "us": both(missing),
            "streams": "–",
            "events": "–",
            "mib": "–",
            "action": "",
            "key": key,
        }
    same = r.streams <= 1
    shown = Text("no change", "无变化") if same and r.makespan_ns == now else Text(us(r.makespan_ns))
    return {
        "label": both(label), "us": both(shown), "streams": count(r.streams), "events": count(r.events),
        "mib": "–" if r.peak is None else mib(r.peak), "action": "" if same else action, "key": key,
    }  # fmt: skip


def predict(mode: str, run: Callable[[dict[str, str]], R]) -> R | None:
    """Result of one mode: ``run`` compiles and simulates with these options. None where GE refuses the combination."""
    try:
        return run(mode_options(mode))
    except GxError:
        return None

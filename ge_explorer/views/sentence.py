"""One generated sentence about what is on screen: status line, alt text of the pictures, text form of the widget."""

from __future__ import annotations

from ge_explorer.simulator.timeline import Timeline
from ge_explorer.text import Text
from ge_explorer.trace.state import SYNC_OPS
from ge_explorer.trace.trace import Trace
from ge_explorer.views.palette import Identities
from ge_explorer.views.unknown_shapes import unknown_shapes
from ge_explorer.views.wording import count, mib, size, us

SIMULATED = Text("Simulated, not measured", "仿真结果，非实测")
MEASURED = Text("Measured", "实测结果")


def sentence(trace: Trace, timeline: Timeline | None = None, identities: Identities | None = None) -> Text:
    """What came out: nodes, streams, events, makespan, busiest side stream, peak; or which step failed and why."""
    failed = trace.failed
    if failed is not None:
        why = str(failed.error) if failed.error else ""
        told = f"Step {failed.index + 1}, {failed.title.en or failed.pass_.name}, failed: {why}"
        return Text(told, f"第 {failed.index + 1} 步“{failed.title.get('zh') or failed.pass_.name}”失败：{why}")
    s = trace.final
    nodes = count(sum(1 for n in s.graph if not n.is_source and n.op not in SYNC_OPS))
    en, zh = [f"{nodes} operators"], [f"{nodes} 个算子"]
    if s.streams is not None:
        n = s.streams.count
        en.append(f"{n} stream{'s' if n != 1 else ''}")
        zh.append(f"{n} 条流")
    if s.sync is not None:
        n = len(s.sync.events)
        en.append(f"{n} event{'s' if n != 1 else ''}")
        zh.append(f"{n} 个事件")
    parts_en, parts_zh = [", ".join(en) + "."], ["，".join(zh) + "。"]
    if timeline is not None and timeline.node.size:
        parts_en.append(f"Makespan {us(timeline.makespan_ns)} us.")
        parts_zh.append(f"总时长 {us(timeline.makespan_ns)} us。")
        parts_en.append(_busy(timeline, trace, identities).en)
        parts_zh.append(_busy(timeline, trace, identities).get("zh"))
    if s.memory is not None:
        n = s.memory.plan.peak
        peak = f"{mib(n)} MiB" if n >= 2**20 else " ".join(size(n))
        parts_en.append(f"Peak {peak}.")
        parts_zh.append(f"内存峰值 {peak}。")
    unknown = unknown_shapes(s)
    if unknown is not None:
        parts_en.append(unknown.en)
        parts_zh.append(unknown.get("zh"))
    return Text(" ".join(p for p in parts_en if p), "".join(p for p in parts_zh if p))


def _busy(timeline: Timeline, trace: Trace, identities: Identities | None) -> Text:
    """Share of the makespan each of the two busiest streams works."""
    total = timeline.makespan_ns
    streams = sorted({int(i) for i in timeline.stream}, key=lambda i: -timeline.busy_ns(i))
    if total == 0 or len(streams) < 2:
        return Text("")
    en: list[str] = []
    zh: list[str] = []
    for i in streams[:3]:
        who = identities.of(len(trace.steps) - 1, i) if identities is not None else None
        name = who.letter if who else f"#{i}"
        share = f"{timeline.busy_ns(i) / total * 100:.0f} %"
        en.append(f"{name} works {share}")
        zh.append(f"{name} 忙 {share}")
    return Text(", ".join(en) + " of it.", "，".join(zh) + "。")

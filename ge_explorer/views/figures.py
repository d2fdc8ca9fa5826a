"""The figures row: strength switch with one makespan each, and six figures with their change against one stream."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from ge_explorer.provenance import Origin
from ge_explorer.simulator.timeline import Timeline
from ge_explorer.text import Text
from ge_explorer.views.wording import both, count, mib, percent, ratio, signed, size, us

BASELINE = "single"


class StrengthFigures(Protocol):
    """What is read of a strength's result: ns, ratio 0..1 or None when nothing can overlap, counts, bytes."""

    @property
    def makespan_ns(self) -> int: ...  # noqa: D102
    @property
    def overlap_pct(self) -> float | None: ...  # noqa: D102
    @property
    def verdict(self) -> str: ...  # noqa: D102
    @property
    def streams(self) -> int: ...  # noqa: D102
    @property
    def events(self) -> int: ...  # noqa: D102
    @property
    def peak(self) -> int | None: ...  # noqa: D102


_STRENGTH = {
    "single": (Text("Single", "单流"), Text("One stream, no plan", "单流，无方案")),
    "": (Text("As is", "原图"), Text("The graph as it is, no plan applied", "原图，未应用方案")),
    "C1": (Text("C1"), Text("Split streams", "分流")),
    "C2": (Text("C2"), Text("Split streams and limit cores", "分流并限核")),
    "C3": (Text("C3"), Text("Split, limit cores, add manual sync points", "分流、限核、手工同步点")),
}
VERDICTS = {
    "real": Text("real", "真并行"),
    "partial": Text("partial", "部分并行"),
    "fake": Text("fake", "假并行"),
}
NOT_APPLICABLE = Text("not applicable", "不适用")
PENDING = Text("…")
UNKNOWN = Text("–")


def figures_model(
    results: Mapping[str, StrengthFigures | None],
    strength: str,
    timeline: Timeline | None = None,
    *,
    failed: bool = False,
    issues: int | None = None,
    minimum: int | None = None,
) -> dict[str, Any]:
    """JSON-able model of the row.

    ``results``: strength -> its result, None while not computed (shown as "…"). ``timeline`` is the current one (None: the
    trace failed), ``minimum`` the fewest events that give the same order (None: not shown). Returns ``{strengths: [{key,
    digit, label, value, tip, on}], figures: [{key, label, value, unit, notes, origin, bad, tip}], issues}``; every figure
    has an origin or says in words that it does not apply.
    """
    now = None if failed else results.get(strength)
    base = results.get(BASELINE)
    compare = base if strength != BASELINE else None
    return {
        "strengths": [_strength(k, i, r, k == strength) for i, (k, r) in enumerate(results.items())],
        "figures": [
            _makespan(now, compare, failed),
            _overlap(now, failed),
            _counted(
                "streams",
                Text("Streams", "流"),
                now.streams if now else None,
                compare.streams if compare else None,
                failed,
            ),
            _events(now, compare, failed, minimum),
            _peak(now, compare, failed),
            _cores(timeline),
        ],
        "issues": issues,
    }


def _strength(key: str, digit: int, r: StrengthFigures | None, on: bool) -> dict[str, Any]:
    label, tip = _STRENGTH.get(key, (Text(key), Text(key)))
    value = PENDING if r is None else Text(f"{us(r.makespan_ns)} us") if r.makespan_ns else UNKNOWN
    return {"key": key, "digit": digit, "label": both(label), "value": both(value), "tip": both(tip), "on": on}


def _figure(key: str, label: Text, value: Text | str, unit: str = "", notes: tuple[Text | str, ...] = (),
            origin: Origin | None = None, tip: Text | str = "", plain: bool = False,
            bad: bool = False) -> dict[str, Any]:  # fmt: skip
    return {
        "key": key, "label": both(label), "value": both(value), "unit": unit, "notes": [both(n) for n in notes if str(n)],
        "origin": origin.value if origin else "", "tip": both(tip), "plain": plain, "bad": bad,
    }  # fmt: skip


def _missing(key: str, label: Text, failed: bool) -> dict[str, Any]:
    return _figure(key, label, UNKNOWN if failed else PENDING, plain=True)


def _makespan(now: StrengthFigures | None, base: StrengthFigures | None, failed: bool) -> dict[str, Any]:
    label = Text("Makespan", "总时长")
    if now is None:
        return _missing("makespan", label, failed)
    tip = Text("Simulated end of the last task", "最后一个任务的仿真结束时间")
    if base is None or not base.makespan_ns:
        return _figure("makespan", label, us(now.makespan_ns), "us", origin=Origin.MODEL, tip=tip)
    delta = now.makespan_ns - base.makespan_ns
    return _figure(
        "makespan", Text("vs single stream", "相对单流"), us(delta, sign=True), "us",
        (percent(delta / base.makespan_ns, sign=True),), Origin.MODEL,
        Text(f"{us(now.makespan_ns)} us instead of {us(base.makespan_ns)} us, simulated",
             f"{us(now.makespan_ns)} us，单流为 {us(base.makespan_ns)} us，仿真"),
    )  # fmt: skip


def _overlap(now: StrengthFigures | None, failed: bool) -> dict[str, Any]:
    label = Text("Overlap", "重叠率")
    if now is None:
        return _missing("overlap", label, failed)
    if now.overlap_pct is None:
        tip = Text("No side stream, so nothing can overlap", "没有旁路流，不存在重叠")
        return _figure("overlap", label, NOT_APPLICABLE, tip=tip, plain=True)
    word = VERDICTS.get(now.verdict, Text(now.verdict))
    tip = Text("Side window hidden behind the longest main operator", "旁路窗口被主流最长算子掩盖的比例")
    return _figure("overlap", label, ratio(now.overlap_pct), "", (word,), Origin.MODEL, tip)


def _counted(key: str, label: Text, n: int | None, base: int | None, failed: bool) -> dict[str, Any]:
    if n is None:
        return _missing(key, label, failed)
    notes = () if base is None or base == n else (signed(n - base),)
    return _figure(key, label, count(n), "", notes, Origin.GE_RULE, Text("Change against one stream", "相对单流的变化"))


def _events(
    now: StrengthFigures | None, base: StrengthFigures | None, failed: bool, minimum: int | None
) -> dict[str, Any]:
    label = Text("Events", "事件")
    found = _counted("events", label, now.events if now else None, base.events if base else None, failed)
    if now is None or minimum is None:
        return found
    tip = Text(
        f"GE keeps {count(now.events)}; {count(minimum)} is the fewest that give the same order, by our own proof",
        f"GE 保留 {count(now.events)} 个；给出同样顺序最少需要 {count(minimum)} 个，由本工具证明",
    )
    notes = [*found["notes"], both(Text(f"minimum {count(minimum)}", f"最少 {count(minimum)}"))]
    return {**found, "notes": notes, "tip": both(tip)}


def _peak(now: StrengthFigures | None, base: StrengthFigures | None, failed: bool) -> dict[str, Any]:
    label = Text("Peak memory", "内存峰值")
    if now is None:
        return _missing("peak", label, failed)
    if now.peak is None:
        return _figure("peak", label, UNKNOWN, tip=Text("Memory was not planned", "未做内存规划"), plain=True)
    value, unit = size(now.peak) if now.peak < 2**20 else (mib(now.peak), "MiB")
    notes: tuple[str, ...] = ()
    if base is not None and base.peak is not None and base.peak != now.peak:
        more, more_unit = size(now.peak - base.peak, sign=True)
        notes = (more if more_unit == unit else f"{more} {more_unit}",)
    tip = Text(
        "Feature map with GE's sizes and alignment, our planner", "特征内存，GE 的大小与对齐规则，本工具的规划器"
    )
    return _figure("peak", label, value, unit, notes, Origin.MODEL, tip)


def _cores(timeline: Timeline | None) -> dict[str, Any]:
    label = Text("Cores at most", "最多同时用核")
    if timeline is None or not timeline.node.size:
        return _figure("cores", label, UNKNOWN, plain=True)
    aic, aiv = most_cores(timeline)
    value = Text(
        f"{aic} / {timeline.total_aic} cube  {aiv} / {timeline.total_aiv} vector",
        f"{aic} / {timeline.total_aic} Cube  {aiv} / {timeline.total_aiv} Vector",
    )
    tip = Text("Cores held at the same time, of those the chip has", "同时占用的核数与芯片核数")
    bad = aic > timeline.total_aic or aiv > timeline.total_aiv
    return _figure("cores", label, value, origin=Origin.ASSUMED, tip=tip, bad=bad)


def most_cores(timeline: Timeline) -> tuple[int, int]:
    """Most cube and vector cores held at one moment (a task that ends frees its cores before another starts)."""
    times = np.concatenate([timeline.start_ns, timeline.end_ns])
    sign = np.concatenate([np.ones_like(timeline.start_ns), -np.ones_like(timeline.end_ns)])
    order = np.lexsort((sign, times))
    out = []
    for held in (timeline.aic, timeline.aiv):
        steps = (np.concatenate([held, held]) * sign)[order]
        out.append(int(np.cumsum(steps).max(initial=0)))
    return out[0], out[1]

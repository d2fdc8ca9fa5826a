"""Hints and health of memory: what each of the four hints would do per operator type, and how scattered the free bytes are.

Hints are a teaching model (GE has no such call): each is put on all nodes of one type and the buffers are placed by first fit,
once with and once without it, so the change is the hint's and not another planner's. Health is the fragmentation of the plan
shown against the thresholds of the monitor; GE never moves a buffer of a static plan, so it says how the holes lie, no more.
"""

from __future__ import annotations

from collections import Counter

from ge_explorer.memory.teaching.fragmentation import PRESETS, State
from ge_explorer.memory.teaching.hint_plan import plan_hinted
from ge_explorer.memory.teaching.hints import Hint, Wish, apply_hints
from ge_explorer.provenance import Origin
from ge_explorer.text import Text
from ge_explorer.views.marks import number, plain, size
from ge_explorer.views.memory_curve import Curve
from ge_explorer.views.memory_plans import PlanBook
from ge_explorer.views.table import Column, Figure, Part, Row, Table, TablePicture, words

TYPES = 8
"""Operator types tried: those that write the most bytes."""
_STATES: dict[State, Text] = {
    "ok": Text("below the warning threshold", "低于告警阈值"),
    "warn": Text("above the warning threshold", "高于告警阈值"),
    "defrag": Text("above the compaction threshold", "高于整理阈值"),
}


def build(book: PlanBook, curve: Curve) -> TablePicture:
    """Table of types and hints. Cost: four first-fit placements per type."""
    s, problem = book.planned, book.memory.problem
    weight: Counter[str] = Counter()
    for b in problem.buffers:
        if b.kind == "feature":
            for op in {s.graph.node(i).op for i in b.producers}:
                weight[op] += b.size
    base = plan_hinted(apply_hints(s.graph, problem, book.hb, book.order, {})).peak
    rows, best = [], (0, "", "")
    for op, nbytes in weight.most_common(TYPES):
        cells: list[tuple[Part, ...]] = [(words(plain(op, 40)),), (words(size(nbytes)),)]
        for h in Hint:
            found = apply_hints(s.graph, problem, book.hb, book.order, {op: Wish(h)})
            change = plan_hinted(found).peak - base
            best = min(best, (change, op, h.value))
            n = len(found.refused)
            refused = words(f"({number(n)} not safe)", f"（{number(n)} 处不安全）", tone="muted") if n else words("")
            cells.append((words("±0" if change == 0 else size(change, signed=True)), refused))
        rows.append(Row(tuple(cells)))
    worst = float(curve.fragmentation.max(initial=0.0))
    state = PRESETS["monitor"].state(worst)
    columns = (
        Column(Text("operator type", "算子类型"), nowrap=True), Column(Text("bytes written", "写出字节"), "right", True),
        *(Column(Text(h.value), "right", True) for h in Hint),
    )  # fmt: skip
    figures = (
        Figure(Text(f"{number(100 * worst)} %"), Text(f"fragmentation at most, {_STATES[state].en}",
               f"最高碎片率，{_STATES[state].get('zh')}"), Origin.MODEL),
        Figure(Text(size(base)), Text("first fit without hints", "无提示的首次适应"), Origin.MODEL),
        Figure(Text(size(best[0], signed=True)) if best[0] else Text("±0"), _best(best), Origin.MODEL),
    )  # fmt: skip
    limit = PRESETS["monitor"]
    notes = (
        Text("Change of the peak against first fit without hints; GE has no such call, this is our teaching model.",
             "峰值相对无提示首次适应的变化；GE 没有此类接口，这是我们的教学模型。"),
        Text(f"Thresholds of the monitor: warn above {100 * limit.warn:.0f} %, compact above {100 * limit.defrag:.0f} %. "
             "GE never moves buffers of a static plan.",
             f"监控阈值：高于 {100 * limit.warn:.0f} % 告警，高于 {100 * limit.defrag:.0f} % 整理。GE 不会移动静态规划的缓冲区。"),
    )  # fmt: skip
    alt = Text(f"Hints for {len(rows)} operator types; {figures[2].value.en}: {figures[2].label.en}.",
               f"{len(rows)} 种算子类型的提示；{figures[2].value.en}：{figures[2].label.get('zh')}。")  # fmt: skip
    left = max(0, len(weight) - TYPES)
    return TablePicture(
        "memory-hints", figures, (Table(Text("hints", "提示"), columns, tuple(rows), left),), alt, notes
    )


def _best(best: tuple[int, str, str]) -> Text:
    if not best[0]:
        return Text("no single hint lowers the peak", "没有单个提示能降低峰值")
    return Text(
        f"best single hint: {best[2]} on {plain(best[1], 30)}", f"最佳单个提示：{best[2]} 用于 {plain(best[1], 30)}"
    )

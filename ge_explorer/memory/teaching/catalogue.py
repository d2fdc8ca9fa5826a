"""Where every planner comes from, and whether it knows about streams."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from ge_explorer.memory.teaching.claims import Origin
from ge_explorer.text import Text


@dataclass(frozen=True, slots=True)
class PlannerNote:
    """``origin``: whose idea; ``by_lifetime``: plans by ticks alone, so it may race on several streams (the verifier shows it)."""

    title: Text
    idea: Text
    origin: Origin
    by_lifetime: bool = False


def _note(en: str, zh: str, idea: str, idea_zh: str, origin: Origin, by_lifetime: bool = False) -> PlannerNote:
    return PlannerNote(Text(en, zh), Text(idea, idea_zh), origin, by_lifetime)


NOTES: Mapping[str, PlannerNote] = MappingProxyType(
    {
        "ge": _note("GE", "GE", "free lists, then nesting by lifetime; smallest candidate wins",
                    "空闲链表，再按生命周期嵌套；取最小候选", "GE"),
        "hb": _note("greedy portfolio", "贪心组合", "several orders, holes left by happens-before",
                    "多种次序，按先后关系找空洞", "ours"),
        "search": _note("search", "搜索", "greedy portfolio, then search with a proof",
                        "贪心组合后搜索并给出证明", "ours"),
        "none": _note("no reuse", "不复用", "every buffer has bytes of its own", "每个缓冲区独占字节", "GE"),
        "arena": _note("arena", "区域分配", "replay the order against one range with a free list",
                       "按次序在一段内存上重放分配与释放", "article", True),
        "interval": _note("interval greedy", "区间贪心", "lowest hole among intervals that overlap",
                          "在重叠区间之间取最低空洞", "article", True),
        "colouring": _note("colouring", "图着色", "most conflicts first, first free colour is the slot",
                           "冲突最多者先选，首个可用颜色即槽位", "article"),
        "size-slots": _note("size-ordered slots", "按大小排序的槽", "largest first, first slot without a conflict",
                            "由大到小，取首个无冲突的槽", "article"),
        "first-fit": _note("first fit", "首次适配", "lowest hole, in producer order", "按生产次序取最低空洞", "article"),
        "best-fit": _note("best fit", "最佳适配", "tightest hole, in producer order", "按生产次序取最紧空洞", "article"),
        "pools": _note("pools", "内存池", "persistent, temporary and gradient memory apart",
                       "持久、临时、梯度内存分开", "article"),
        "partition": _note("per-stream partitions", "按流分区", "every stream has a range of its own",
                           "每条流独占一段内存", "article"),
    }
)  # fmt: skip
"""Notes by planner name. The ideas marked "article" are the article's; the conflict test by happens-before is ours."""
TEACHING = tuple(n for n, note in NOTES.items() if note.origin == "article")


def plans_by_lifetime(planner: str) -> bool:
    """True if plans of this planner rest on lifetimes alone."""
    return planner in NOTES and NOTES[planner].by_lifetime

"""Plan as a table: one line per buffer, for spreadsheets."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping

from ge_explorer.errors import OptionError
from ge_explorer.memory.formats.minimalloc_csv import write
from ge_explorer.memory.model import FOREVER, MemoryPlan, MemoryProblem
from ge_explorer.memory.reuse import takeovers
from ge_explorer.memory.teaching.intervals import stream_blind

COLUMNS = (
    "id",
    "name",
    "kind",
    "stream",
    "size_bytes",
    "offset",
    "end_offset",
    "begin",
    "end",
    "producer",
    "readers",
    "takes_over",
)
"""``begin`` and ``end`` are topological ids, end inclusive and empty when never released; lists are separated by spaces."""


def plan_csv(problem: MemoryProblem, plan: MemoryPlan, names: Mapping[int, str] | None = None) -> str:
    """CSV text with a header. ``names``: node id -> name. A cell that a spreadsheet would run as a formula is quoted by '."""
    names = names or {}

    def name(v: int) -> str:
        return names.get(v, f"#{v}")

    out = io.StringIO()
    lines = csv.writer(out, lineterminator="\n")
    lines.writerow(COLUMNS)
    for b, life, at, before in zip(
        problem.buffers, problem.lifetimes, plan.offsets, takeovers(problem, plan), strict=True
    ):
        row = (
            b.id, _cell(b.name), b.kind, b.stream, b.size, at, at + b.size, life.begin, "" if life.end >= FOREVER else life.end,
            _cell(" ".join(name(d) for d in b.producers)), _cell(" ".join(name(r) for r in b.readers)),
            _cell(" ".join(problem.buffers[x].name for x in before)),
        )  # fmt: skip
        lines.writerow(row)
    return out.getvalue()


def minimalloc_text(problem: MemoryProblem, plan: MemoryPlan) -> str:
    """minimalloc's CSV of a plan. OptionError when lifetimes alone do not say who may share: that form has no streams."""
    if stream_blind(problem).before != problem.before:
        raise OptionError(
            "minimalloc's CSV has lifetimes only, but the sharing in this plan depends on several streams or on flags",
            todo="Write the plan as JSON, or plan the graph on one stream.",
        )
    return write(problem, plan)


def _cell(text: str) -> str:
    return f"'{text}" if text[:1] in ("=", "+", "-", "@") else text

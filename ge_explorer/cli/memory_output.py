"""Where ``ge-explorer memory`` writes a plan, and in which form; and the memory files it only describes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ge_explorer.errors import InputError, OptionError
from ge_explorer.graph.happens_before import HappensBefore
from ge_explorer.memory.model import MemoryPlan, MemoryProblem

FORMATS = ("json", "article", "csv", "minimalloc")


def write_plan(
    output: str | None,
    form: str | None,
    problem: MemoryProblem,
    plan: MemoryPlan,
    hb: HappensBefore | None = None,
    names: Mapping[int, str] | None = None,
    lower_bound: int | None = None,
) -> None:
    """Write the plan, if asked to. The form follows the file's ending (.csv: table, else our JSON) unless given."""
    if not output:
        if form:
            raise OptionError("--format needs -o FILE")
        return
    form = form or ("csv" if output.lower().endswith(".csv") else "json")
    if form == "json":
        from ge_explorer.memory.formats.plan_json import plan_record

        text = _json(plan_record(problem, plan, hb, names, lower_bound))
    elif form == "article":
        from ge_explorer.memory.formats.article_json import article_record

        text = _json(article_record(problem, plan, names))
    elif form == "csv":
        from ge_explorer.memory.formats.plan_csv import plan_csv

        text = plan_csv(problem, plan, names)
    else:
        from ge_explorer.memory.formats.plan_csv import minimalloc_text

        text = minimalloc_text(problem, plan)
    try:
        Path(output).write_text(text, encoding="utf-8")
    except OSError as e:
        raise InputError("the plan cannot be written", where=output, got=e.strerror) from e


def _json(record: dict[str, Any]) -> str:
    return json.dumps(record, indent=1, ensure_ascii=False)


def snapshot_answer(path: Path) -> dict[str, Any]:
    """Figures of an allocator snapshot, in bytes."""
    from ge_explorer.memory.formats.torch_snapshot import read_snapshot

    s = read_snapshot(path)
    return {
        "format": "memory snapshot", "segments": s.segments, "reserved": s.reserved, "allocated": s.allocated,
        "devices": [
            {"device": d.device, "events": d.events, "peak": d.live.peak, "peak_at_event": d.live.peak_at,
             "peak_reserved": d.reserved.peak, "allocated_before": d.allocated_before, "blocks_at_end": d.blocks_at_end}
            for d in s.devices
        ],
    }  # fmt: skip

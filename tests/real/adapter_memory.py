"""Adapter of kind ``memory``: placement problems, GE's static memory table, allocator snapshots."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ge_explorer.memory.bounds import is_certificate, serial_live
from ge_explorer.memory.formats.minimalloc_csv import is_minimalloc_csv, read_file
from ge_explorer.memory.formats.static_op_mem import COLUMNS, read_static_op_mem
from ge_explorer.memory.formats.torch_snapshot import read_snapshot
from ge_explorer.memory.planner import plan_hb
from tests.memory.search.problems import is_safe
from tests.real.adapters import adapter


@adapter("memory")
def memory(path: Path, expected: dict[str, Any]) -> dict[str, Any]:
    if path.suffix == ".json":
        return _snapshot(path)
    return _placement(path) if is_minimalloc_csv(path) else _static(path)


def _placement(path: Path) -> dict[str, Any]:
    problem, _ = read_file(path)
    bound = serial_live(problem)
    assert is_certificate(problem, bound)
    plan = plan_hb(problem)
    assert plan.peak >= bound.bytes
    if len(problem.buffers) <= 400:
        assert is_safe(problem, plan.offsets)
    sizes = [b.size for b in problem.buffers]
    return {
        "format": "minimalloc csv", "buffers": len(sizes), "lower_bound_bytes": bound.bytes, "sum_sizes": sum(sizes),
        "max_size": max(sizes), "time_min": min(x.begin for x in problem.lifetimes),
        "time_max": max(x.end + 1 for x in problem.lifetimes), "zero_sizes": sizes.count(0),
        "empty_lifetimes": sum(x.end < x.begin for x in problem.lifetimes),
    }  # fmt: skip


def _static(path: Path) -> dict[str, Any]:
    found = read_static_op_mem(path)
    graphs = {}
    for g, rows in found.graphs.items():
        problem = found.problem(g)
        bound = serial_live(problem).bytes
        assert bound == found.curve(g).peak <= plan_hb(problem).peak
        graphs[g] = {
            "rows": len(rows), "sum_kb": str(found.sum_kb(g)), "peak_kb_half_open": str(found.peak_kb(g, inclusive=False)),
            "peak_kb_end_inclusive": str(found.peak_kb(g)), "last_index": max(r.end for r in rows),
        }  # fmt: skip
    return {"format": "static_op_mem", "rows": found.rows, "columns": list(COLUMNS), "graphs": graphs}


def _snapshot(path: Path) -> dict[str, Any]:
    s = read_snapshot(path)
    return {
        "format": "torch memory snapshot", "segments": s.segments, "reserved": s.reserved, "allocated": s.allocated,
        "active": s.active, "blocks": s.blocks, "streams": list(s.streams), "expandable": s.expandable,
        "devices": [
            {
                "allocated_before_trace_began": d.allocated_before, "reserved_before_trace_began": d.reserved_before,
                "device": d.device, "events": d.events, "actions": dict(d.actions), "peak_live_bytes_from_zero": d.live.peak,
                "peak_at_event_index": d.live.peak_at, "live_at_end": d.live.points[-1][1], "blocks_live_at_end": d.blocks_at_end,
                "frees_without_alloc": d.lost_frees, "peak_reserved_from_trace": d.reserved.peak,
                "reserved_at_end_from_trace": d.reserved.points[-1][1],
            }
            for d in s.devices
        ],
    }  # fmt: skip

"""Plan JSON with the article's fields and no others (memory.md B15), for tools that know that dump.

The article's code fails where a tensor has no producer and writes the utilisation once as a number, once as text. Here a missing
producer is "N/A", the utilisation is a number with its text beside it, and ``used_bytes`` is the highest byte in use, not a sum.
Our own form (``plan_json``) has these fields too, and those a check needs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ge_explorer.memory.formats.plan_json import NONE
from ge_explorer.memory.model import MemoryPlan, MemoryProblem
from ge_explorer.memory.reuse import takeovers
from ge_explorer.memory.teaching.intervals import requests_of
from ge_explorer.memory.teaching.pools import POOLS, pool_of


def article_record(
    problem: MemoryProblem, plan: MemoryPlan, names: Mapping[int, str] | None = None, capacity: int | None = None
) -> dict[str, Any]:
    """JSON-able form. ``names``: node id -> name; ``capacity``: bytes of the device (default: the peak).

    Offsets are those of one address range, so the pools of planner ``pools`` are its parts and every other plan is one
    ``temporary`` pool. "Never released" ends at the tick after the last one.
    """
    apart = plan.planner == "pools"
    pool = [pool_of(b) if apart else "temporary" for b in problem.buffers]
    used = dict.fromkeys(POOLS, 0)
    for b, at, p in zip(problem.buffers, plan.offsets, pool, strict=True):
        used[p] = max(used[p], at + b.size)
    total = plan.peak if capacity is None else capacity
    info = {
        p: {
            "capacity_bytes": total,
            "used_bytes": used[p],
            "utilization": used[p] / total if total else 0.0,
            "utilization_text": f"{used[p] / total if total else 0.0:.1%}",
        }
        for p in POOLS
        if used[p]
    }
    tensors = [
        {
            "name": b.name, "size_bytes": b.size, "pool": p, "offset": at, "lifetime": f"[{r.start}, {r.end})",
            "producer_op": _name(b.producers[:1], names), "consumer_ops": [_name((x,), names) for x in b.readers],
            "inplace_source": b.name if any("in-place" in rule for rule in b.alias_rules) else NONE,
            "shared_with": ", ".join(problem.buffers[x].name for x in before) or NONE,
        }
        for b, at, p, r, before in zip(
            problem.buffers, plan.offsets, pool, requests_of(problem), takeovers(problem, plan), strict=True
        )
    ]  # fmt: skip
    return {"summary": {"total_tensors": len(tensors), "memory_pool_info": info}, "tensor_allocations": tensors}


def _name(nodes: tuple[int, ...], names: Mapping[int, str] | None) -> str:
    return (names or {}).get(nodes[0], f"#{nodes[0]}") if nodes else NONE

"""Memory plan as JSON: the field names of the well-known memory dump, and what a reader needs to check it without the graph.

Known names are ``summary`` and ``tensor_allocations`` with ``name``, ``size_bytes``, ``pool``, ``offset``, ``lifetime`` "[a, b)" …
Ours on top: ``format``, ``planner``, ``peak_bytes``, bounds, alignment, and per tensor two rows of numbers over ``streams``:
``starts_after`` (tasks of each stream that are surely done when it is first written) and ``free_after`` (tasks of each stream
that must be done before its bytes are free), with the names of those last tasks in ``last_users``. X may hand bytes to Y when
free_after(X) <= starts_after(Y) on every stream.
A file without these rows is judged by its lifetimes, as if everything ran on one stream.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ge_explorer.errors import InputError
from ge_explorer.graph.happens_before import HappensBefore
from ge_explorer.memory.formats.text_file import read_text
from ge_explorer.memory.lifetimes import NEVER, spans
from ge_explorer.memory.model import FOREVER, MemoryPlan, MemoryProblem
from ge_explorer.memory.reuse import takeovers

FORMAT = "ge_explorer.memory_plan/1"
POOL = "feature_map"
NONE = "N/A"
MAX_BYTES = 256 << 20
MAX_TENSORS = 200_000
LARGEST = 1 << 60
_LIFETIME = re.compile(r"\[\s*(\d{1,18})\s*,\s*(\d{1,18}|end)\s*\)")


@dataclass(frozen=True, slots=True)
class Allocation:
    """One tensor of a plan file. ``begin``/``end`` half-open (end None: to the end); rows of the streams or None.

    ``last_users``: the last task per stream that touches it ("N/A": none there), empty when the file does not say.
    """

    name: str
    size: int
    pool: str
    offset: int
    begin: int
    end: int | None
    starts_after: tuple[int, ...] | None
    free_after: tuple[int, ...] | None
    producer: str = NONE
    last_users: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PlanFile:
    """What a plan file says. ``capacity`` per pool in bytes; ``peak`` and ``alignment`` None when not stated."""

    tensors: tuple[Allocation, ...]
    capacity: Mapping[str, int]
    streams: tuple[int, ...]
    peak: int | None
    alignment: int | None
    planner: str

    @property
    def ordered_by_streams(self) -> bool:
        """True if every tensor carries its rows, so that sharing is judged by happens-before."""
        return all(t.starts_after is not None and t.free_after is not None for t in self.tensors)


def plan_record(
    problem: MemoryProblem,
    plan: MemoryPlan,
    hb: HappensBefore | None = None,
    names: Mapping[int, str] | None = None,
    lower_bound: int | None = None,
) -> dict[str, Any]:
    """JSON-able form of a plan. ``hb``: the order it was made for (None: lifetimes alone, one stream); ``names``: node id -> name;
    ``lower_bound`` in bytes.
    """
    names = names or {}
    rows = None
    if hb is not None:
        rows = spans(hb, [b.producers for b in problem.buffers], [b.accessors for b in problem.buffers])
    tensors = []
    for b, life, at, previous in zip(
        problem.buffers, problem.lifetimes, plan.offsets, takeovers(problem, plan), strict=True
    ):
        end = None if life.end >= FOREVER else life.end + 1
        one: dict[str, Any] = {
            "name": b.name, "size_bytes": b.size, "pool": POOL, "offset": at,
            "lifetime": f"[{life.begin}, {'end' if end is None else end})",
            "producer_op": names.get(b.producers[0], NONE) if b.producers else NONE,
            "consumer_ops": [names.get(r, f"#{r}") for r in b.readers],
            "inplace_source": NONE, "shared_with": NONE,
            "lifetime_start": life.begin, "lifetime_end": end, "stream": b.stream, "size_real": b.raw_size,
            "reuse_of": [problem.buffers[p].name for p in previous],
        }  # fmt: skip
        if rows is not None:
            one["starts_after"], one["free_after"] = rows.start[b.id].tolist(), rows.need[b.id].tolist()
            last = {s: names.get(v, f"#{v}") for s, v in life.last_use.items()}
            one["last_users"] = [last.get(s, NONE) for s in hb.streams] if hb is not None else []
        tensors.append(one)
    return {
        "format": FORMAT,
        "planner": plan.planner,
        "origin": plan.origin,
        "peak_bytes": plan.peak,
        "lower_bound_bytes": lower_bound,
        "alignment_bytes": problem.alignment,
        "streams": list(hb.streams) if hb is not None else [],
        "summary": {
            "total_tensors": len(tensors),
            "memory_pool_info": {
                POOL: {
                    "capacity_bytes": plan.peak,
                    "used_bytes": plan.peak,
                    "utilization": 1.0 if plan.peak else 0.0,
                    "utilization_text": "100.0%" if plan.peak else "0.0%",
                }
            },
        },
        "tensor_allocations": tensors,
    }


def is_plan_json(path: Path) -> bool:
    """True if a ``.json`` file looks like a memory plan."""
    if path.suffix.lower() != ".json" or not path.is_file() or path.stat().st_size > MAX_BYTES:
        return False
    return '"tensor_allocations"' in path.read_text(encoding="utf-8-sig", errors="replace")


def read_plan(path: str | Path) -> PlanFile:
    """Plan of a file. Raises InputError with the place of the first problem."""
    path = Path(path)
    text = read_text(path, MAX_BYTES, "JSON")
    return parse_plan(text, str(path))


def parse_plan(text: str, where: str = "plan") -> PlanFile:
    """Plan from JSON text. Raises InputError."""
    try:
        record = json.loads(text)
    except (ValueError, RecursionError) as e:
        raise InputError("the plan is no valid JSON", where=where, got=str(e)[:80]) from e
    if not isinstance(record, dict) or not isinstance(record.get("tensor_allocations"), list):
        raise InputError(
            "a memory plan needs a list tensor_allocations", where=where,
            todo="Write one with: ge-explorer memory FILE -o plan.json",
        )  # fmt: skip
    listed = record["tensor_allocations"]
    if len(listed) > MAX_TENSORS:
        raise InputError(f"more than {MAX_TENSORS} tensors", where=where, got=len(listed))
    streams = _row(record.get("streams", []), f"{where}, streams")
    tensors = tuple(_allocation(t, f"{where}, tensor {k}", len(streams)) for k, t in enumerate(listed))
    summary = record.get("summary")
    pools = summary.get("memory_pool_info") if isinstance(summary, dict) else None
    capacity = {
        str(name): _whole(pool["capacity_bytes"], "capacity_bytes", f"{where}, pool {name}")
        for name, pool in (pools.items() if isinstance(pools, dict) else ())
        if isinstance(pool, dict) and "capacity_bytes" in pool
    }
    peak, alignment = (
        None if record.get(key) is None else _whole(record[key], key, where)
        for key in ("peak_bytes", "alignment_bytes")
    )
    return PlanFile(tensors, capacity, streams, peak, alignment or None, str(record.get("planner", "unknown")))


def _allocation(t: Any, where: str, width: int) -> Allocation:
    if not isinstance(t, dict):
        raise InputError("a tensor must be an object", where=where, got=t)
    for key in ("name", "size_bytes", "offset", "lifetime"):
        if key not in t:
            raise InputError(f"field {key!r} is missing", where=where)
    found = _LIFETIME.fullmatch(t["lifetime"]) if isinstance(t["lifetime"], str) else None
    if found is None:
        raise InputError("lifetime must be text such as [10, 45)", where=where, got=t["lifetime"])
    begin, end = int(found[1]), None if found[2] == "end" else int(found[2])
    if end is not None and end <= begin:
        raise InputError("the lifetime is empty", where=where, got=t["lifetime"])
    rows = []
    for key in ("starts_after", "free_after"):
        row = None if t.get(key) is None else _row(t[key], f"{where}, {key}")
        if row is not None and len(row) != max(width, 1):
            raise InputError(f"{key} needs one number per stream", where=where, got=len(row))
        rows.append(row)
    return Allocation(
        str(t["name"]), _whole(t["size_bytes"], "size_bytes", where), str(t.get("pool", POOL)),
        _whole(t["offset"], "offset", where), begin, end, rows[0], rows[1], str(t.get("producer_op", NONE)),
        _users(t.get("last_users"), max(width, 1), f"{where}, last_users"),
    )  # fmt: skip


def _row(value: Any, where: str) -> tuple[int, ...]:
    if not isinstance(value, list) or not all(type(x) is int and -1 <= x <= NEVER for x in value):
        raise InputError("a list of whole numbers is needed", where=where, got=value)
    return tuple(value)


def _users(value: Any, width: int, where: str) -> tuple[str, ...]:
    if value is None:
        return ()
    if not isinstance(value, list) or len(value) not in (0, width) or not all(isinstance(x, str) for x in value):
        raise InputError("a list with one name per stream is needed", where=where, got=value)
    return tuple(value)


def _whole(value: Any, name: str, where: str) -> int:
    if type(value) is not int or not 0 <= value < LARGEST:
        raise InputError(f"{name} must be a whole number from 0 to 2^60", where=where, got=value)
    return value

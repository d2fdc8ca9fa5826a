"""Memory snapshot of torch_npu (and PyTorch), as JSON: segments of the allocator and the trace of what it did, read as curves.

Actions: ``segment_alloc`` / ``segment_free`` take and return device memory; ``alloc`` gives a block; ``free_requested`` is the
user's call, ``free_completed`` the moment when the block can be used again (later, if another stream still reads it). A trace may
begin after the program: what was there before appears in the segments only. Pickles are refused: opening one can run code.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ge_explorer.errors import InputError
from ge_explorer.memory.formats.curves import Curve, running_sum

MAX_BYTES = 512 << 20
LARGEST = 1 << 60
TAKES, RETURNS = "segment_alloc", "segment_free"
MAPS, UNMAPS = "segment_map", "segment_unmap"
TODO = "Convert it where it was made: json.dump(torch_npu.npu.memory._snapshot(), file)."


@dataclass(frozen=True, slots=True)
class DeviceTrace:
    """What one device's allocator did. ``live``: bytes handed out, ``reserved``: bytes taken from the device, both over events and
    starting from zero; ``blocks_at_end``: handed out and not returned; ``lost_frees``: frees of blocks older than the trace.
    """

    device: int
    events: int
    actions: Mapping[str, int]
    live: Curve
    reserved: Curve
    blocks_at_end: int
    lost_frees: int
    allocated_before: int
    reserved_before: int


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Segments at the end (sums in bytes) and one trace per device that did anything."""

    segments: int
    reserved: int
    allocated: int
    active: int
    blocks: int
    streams: tuple[int, ...]
    expandable: int
    devices: tuple[DeviceTrace, ...]


def is_torch_snapshot(path: Path) -> bool:
    """True if a ``.json`` file starts like a snapshot."""
    if path.suffix.lower() != ".json" or not path.is_file():
        return False
    with path.open(encoding="utf-8-sig", errors="replace") as f:
        head = f.read(4000)
    return '"segments"' in head or '"device_traces"' in head


def read_snapshot(path: str | Path) -> Snapshot:
    """Snapshot of a JSON file. InputError for anything else; a pickle is named and not opened."""
    path = Path(path)
    try:
        if path.stat().st_size > MAX_BYTES:
            raise InputError("the file is too large", where=str(path), todo=f"At most {MAX_BYTES} bytes are read.")
        data = path.read_bytes()
    except OSError as e:
        raise InputError("the file cannot be read", where=str(path), got=e.strerror) from e
    if data[:1] == b"\x80":
        raise InputError("a pickled snapshot is not opened: loading it could run code", where=str(path), todo=TODO)
    try:
        record = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as e:
        raise InputError("the snapshot is no valid JSON", where=str(path), got=str(e)[:80], todo=TODO) from e
    return parse_snapshot(record, str(path))


def parse_snapshot(record: Any, where: str = "snapshot") -> Snapshot:
    """Snapshot of parsed JSON. InputError with the place of the first problem."""
    if not isinstance(record, dict) or not isinstance(record.get("segments"), list):
        raise InputError("a memory snapshot needs a list segments", where=where, todo=TODO)
    segments = record["segments"]
    traces = record.get("device_traces", [])
    if not isinstance(traces, list) or not all(isinstance(t, list) for t in traces):
        raise InputError("device_traces must be a list of lists", where=where)
    total: Counter[str] = Counter()
    held: dict[int, Counter[str]] = {}
    streams: dict[int, None] = {}
    for k, s in enumerate(segments):
        here = f"{where}, segment {k}"
        if not isinstance(s, dict) or not isinstance(s.get("blocks", []), list):
            raise InputError("a segment must be an object with a list of blocks", where=here)
        mine = held.setdefault(_whole(s, "device", here, 0), Counter())
        for key in ("total_size", "allocated_size", "active_size"):
            mine[key] += _whole(s, key, here, 0)
        total["blocks"] += len(s.get("blocks", []))
        total["expandable"] += bool(s.get("is_expandable"))
        streams[_whole(s, "stream", here, 0)] = None
    for mine in held.values():
        total.update(mine)
    devices = tuple(
        _device(d, t, held.get(d, Counter()), f"{where}, device {d}") for d, t in enumerate(traces) if t or d in held
    )
    return Snapshot(
        len(segments), total["total_size"], total["allocated_size"], total["active_size"], total["blocks"],
        tuple(sorted(streams)), total["expandable"], devices,
    )  # fmt: skip


def _device(device: int, trace: list[Any], held: Counter[str], where: str) -> DeviceTrace:
    actions: Counter[str] = Counter()
    live: dict[int, int] = {}
    used: list[tuple[int, int]] = []
    taken: list[tuple[int, int]] = []
    lost = 0
    for k, e in enumerate(trace):
        here = f"{where}, event {k}"
        if not isinstance(e, dict) or not isinstance(e.get("action"), str):
            raise InputError("an event must be an object with an action", where=here, got=e)
        action = e["action"]
        actions[action] += 1
        if action == "alloc":
            at, size = _whole(e, "addr", here), _whole(e, "size", here)
            live[at] = size
            used.append((k, size))
        elif action == "free_completed":
            freed = live.pop(_whole(e, "addr", here), None)
            if freed is None:
                lost += 1
            else:
                used.append((k, -freed))
        elif action in (TAKES, MAPS):
            taken.append((k, _whole(e, "size", here)))
        elif action in (RETURNS, UNMAPS):
            taken.append((k, -_whole(e, "size", here)))
    before = held["allocated_size"] - sum(live.values())
    reserved_before = held["total_size"] - sum(c for _, c in taken)
    return DeviceTrace(
        device, len(trace), MappingProxyType(dict(actions)), running_sum("live", "event", used),
        running_sum("reserved", "event", taken), len(live), lost, before, reserved_before,
    )  # fmt: skip


def _whole(record: Mapping[str, Any], key: str, where: str, default: int | None = None) -> int:
    value = record.get(key, default)
    if type(value) is not int or not -LARGEST < value < LARGEST * 16:
        raise InputError(f"{key} must be a whole number", where=where, got=value)
    return value

"""Allocator snapshots: curves, blocks older than the trace, late frees, and what is refused."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest

from ge_explorer.errors import InputError
from ge_explorer.memory.formats.curves import Curve, running_sum
from ge_explorer.memory.formats.torch_snapshot import is_torch_snapshot, parse_snapshot, read_snapshot


def segment(total: int, allocated: int, device: int = 0) -> dict[str, Any]:
    return {
        "device": device,
        "total_size": total,
        "allocated_size": allocated,
        "active_size": allocated,
        "stream": 5,
        "blocks": [{}, {}],
    }


def event(action: str, addr: int = 0, size: int = 0) -> dict[str, Any]:
    return {"action": action, "addr": addr, "size": size, "stream": 5}


def test_live_and_reserved_over_events() -> None:
    trace = [
        event("segment_alloc", 0, 100), event("alloc", 0, 30), event("alloc", 40, 50), event("free_requested", 0, 30),
        event("free_completed", 0, 30), event("alloc", 0, 10), event("free_completed", 77, 5), event("segment_free", 0, 60),
    ]  # fmt: skip
    (d,) = parse_snapshot({"segments": [segment(90, 60)], "device_traces": [trace]}).devices
    assert d.live.points == ((1, 30), (2, 80), (4, 50), (5, 60))
    assert (d.live.peak, d.live.peak_at) == (80, 2), "a requested free does not free yet"
    assert (d.reserved.peak, d.reserved.points[-1]) == (100, (7, 40))
    assert (d.blocks_at_end, d.lost_frees) == (2, 1)
    assert (d.allocated_before, d.reserved_before) == (0, 50)


def test_several_devices_and_no_trace() -> None:
    s = parse_snapshot({"segments": [segment(90, 60, 1), segment(10, 5, 1)], "device_traces": [[], [], []]})
    assert (s.segments, s.reserved, s.blocks, s.streams) == (2, 100, 4, (5,))
    assert [(d.device, d.live.peak, d.live.peak_at, d.allocated_before) for d in s.devices] == [(1, 0, -1, 65)]


@pytest.mark.parametrize(
    ("record", "words"),
    [
        ([], "list segments"),
        ({"segments": {}}, "list segments"),
        ({"segments": [3]}, "segment 0"),
        ({"segments": [{"total_size": "9"}]}, "total_size must be a whole number.*segment 0"),
        ({"segments": [], "device_traces": [3]}, "list of lists"),
        (
            {"segments": [], "device_traces": [[{"action": "alloc", "addr": 1.5, "size": 1}]]},
            "addr must be.*device 0, event 0",
        ),
        ({"segments": [], "device_traces": [[{}]]}, "an object with an action"),
    ],
)
def test_bad_records(record: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        parse_snapshot(record)


def test_pickles_are_not_opened(tmp_path: Path) -> None:
    class Bomb:
        def __reduce__(self) -> tuple[Any, ...]:
            return (Path(tmp_path / "ran").touch, ())

    f = tmp_path / "snapshot.json"
    f.write_bytes(pickle.dumps({"segments": [Bomb()]}))
    with pytest.raises(InputError, match="could run code.*json.dump"):
        read_snapshot(f)
    assert not (tmp_path / "ran").exists()
    f.write_bytes(b'{"segments": [' + b"[" * 100_000)
    with pytest.raises(InputError, match="no valid JSON"):
        read_snapshot(f)
    f.write_text(json.dumps({"segments": [], "device_traces": []}))
    assert is_torch_snapshot(f)
    assert read_snapshot(f).devices == ()


def test_curve() -> None:
    c = running_sum("x", "event", [(3, 5), (1, 2), (3, -1), (9, -6)])
    assert c.points == ((1, 2), (3, 6), (9, 0))
    assert (c.peak, c.peak_at) == (6, 3)
    assert (Curve("x", "event", ()).peak, Curve("x", "event", ()).peak_at) == (0, -1)

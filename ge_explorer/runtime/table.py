"""Who holds which device stream: one row a device stream and model, as plain values."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from ge_explorer.runtime.device import DeviceStream
from ge_explorer.runtime.flags import Bind, stream_flag_names
from ge_explorer.runtime.state import Binding, LoadedModel, RuntimeState
from ge_explorer.text import Text

COLUMNS: tuple[tuple[str, Text], ...] = (
    ("device_stream", Text("device stream", "设备流")),
    ("model", Text("model", "模型")),
    ("role", Text("role", "用途")),
    ("physical", Text("physical stream", "物理流")),
    ("logical", Text("logical stream", "逻辑流")),
    ("flags", Text("flags", "标志")),
    ("bind", Text("bound as", "绑定")),
    ("tasks", Text("tasks", "任务")),
    ("priority", Text("priority", "优先级")),
    ("alive", Text("alive", "存活")),
)
"""Field of a row -> heading, in the order to show them."""


@dataclass(frozen=True, slots=True)
class StreamRow:
    """``physical`` is the model's own number on V1, the slot on V2; ``model`` "" is nobody's (default, caller's, kept by the
    shared allocator). ``serial`` tells two streams apart that had the same device id one after the other.
    """

    device_stream: int
    serial: int
    model: str
    role: str
    physical: int | None
    logical: int | None
    flags: str
    flag_bits: int
    bind: Bind
    tasks: int | None
    priority: int
    alive: bool

    def as_dict(self) -> dict[str, Any]:
        """Plain values, JSON-able."""
        return asdict(self)


def stream_rows(state: RuntimeState, *, dead: bool = False) -> tuple[StreamRow, ...]:
    """Rows by device stream id, then model. A stream shared by V2 models has one row for each; ``dead`` adds destroyed streams."""
    rows: list[StreamRow] = []
    seen: set[int] = set()
    streams = state.device.streams
    for model in state.models:
        if model.status == "failed" or (model.status == "unloaded" and not dead):
            continue
        for b in model.bindings:
            if b.serial is None:
                continue
            s = streams[b.serial]
            if model.status == "unloaded" and s.alive:
                continue  # a shared stream the model used once
            seen.add(b.serial)
            rows.append(_bound(s, model, b))
    for s in streams:
        if s.serial not in seen and (s.alive or dead):
            name = "" if s.role == "caller" else s.owner
            role = f"caller: {s.owner}" if s.role == "caller" else s.role
            names = stream_flag_names(s.flags)
            rows.append(
                StreamRow(s.id, s.serial, name, role, None, None, names, s.flags, "", None, s.priority, s.alive)
            )
    return tuple(sorted(rows, key=lambda r: (not r.alive, r.device_stream, r.serial, r.model, r.physical or 0)))


def _bound(s: DeviceStream, model: LoadedModel, b: Binding) -> StreamRow:
    name = f"{model.name}/{b.part}" if b.part else model.name
    physical = b.index if b.role != "execute" else None
    names = stream_flag_names(s.flags)
    return StreamRow(
        s.id, s.serial, name, b.role, physical, b.logical, names, s.flags, b.bind, b.tasks, s.priority, s.alive
    )

"""The V2 allocators: vectors that grow when a model asks for more and never shrink.

Source: base/common/allocator/{stream,event,notify}_allocator.cc. Not safe for several threads (inferred).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ge_explorer.runtime.device import Device, StreamRequest
from ge_explorer.runtime.flags import V2_EVENT_CAPACITY, V2_NOTIFY_CAPACITY, V2_STREAM_CAPACITY
from ge_explorer.text import Text

STREAMS = "base/common/allocator/stream_allocator.cc AcquireStreams"
EVENTS = "base/common/allocator/event_allocator.cc AcquireEvents"
NOTIFIES = "base/common/allocator/notify_allocator.cc AcquireNotifies"


@dataclass(frozen=True, slots=True)
class Acquired:
    """Answer of an allocator: what it looks like now, ``created`` serials or counts, and why it gave null (None: it did not)."""

    device: Device
    allocators: V2Allocators
    created: tuple[int, ...] = ()
    count: int = 0
    refused: Text | None = None

    @property
    def ok(self) -> bool:
        """False for a null pointer."""
        return self.refused is None


@dataclass(frozen=True, slots=True)
class V2Allocators:
    """The three vectors. ``slots`` are device streams by serial; slot 0 is the caller's stream, put in anew by each model.

    ``owner`` is the model whose executor owns them, "" for allocators shared by models.
    """

    owner: str = ""
    slots: tuple[int | None, ...] = (None,)
    events: int = 0
    notifies: int = 0

    @property
    def size(self) -> int:
        """Length of the stream vector, the caller's slot included."""
        return len(self.slots)

    def acquire_streams(self, device: Device, n: int) -> Acquired:
        """``AcquireStreams(n)``: streams for slots size .. n - 1, so the first call creates n - 1. Created ones stay on failure."""
        if n >= V2_STREAM_CAPACITY:
            text = Text(
                f"{n} streams asked for; the allocator gives at most {V2_STREAM_CAPACITY - 1}",
                f"申请 {n} 条流；分配器最多给 {V2_STREAM_CAPACITY - 1} 条",
            )
            return Acquired(device, self, refused=text)
        wanted = max(0, n - self.size)
        device, made = device.create([StreamRequest("allocator", self.owner)] * wanted)
        serials = tuple(s.serial for s in made)
        grown = replace(self, slots=self.slots + serials)
        if len(made) == wanted:
            return Acquired(device, grown, serials, len(serials))
        text = Text(
            f"the device gave {len(made)} of {wanted} streams; these stay with the allocator",
            f"设备只给出 {wanted} 条中的 {len(made)} 条；已创建的留在分配器中",
        )
        return Acquired(device, grown, serials, len(serials), text)

    def acquire_events(self, device: Device, n: int) -> Acquired:
        """``AcquireEvents(n)``: no bound check; the vector refuses to grow past its capacity."""
        wanted = max(0, n - self.events)
        room = min(wanted, V2_EVENT_CAPACITY - self.events)
        device, got = device.take_events(room)
        grown = replace(self, events=self.events + got)
        if got == wanted:
            return Acquired(device, grown, count=got)
        full = got == room
        text = Text(
            f"{n} events asked for; the vector holds {V2_EVENT_CAPACITY}"
            if full
            else f"the device gave {got} of {wanted} events",
            f"申请 {n} 个事件；向量容量为 {V2_EVENT_CAPACITY}" if full else f"设备只给出 {wanted} 个事件中的 {got} 个",
        )
        return Acquired(device, grown, count=got, refused=text)

    def acquire_notifies(self, device: Device, n: int) -> Acquired:
        """``AcquireNotifies(n)``: n must be below the capacity (the compiler lets one more through)."""
        if n >= V2_NOTIFY_CAPACITY:
            text = Text(
                f"{n} notifies asked for; the allocator gives at most {V2_NOTIFY_CAPACITY - 1}",
                f"申请 {n} 个 notify；分配器最多给 {V2_NOTIFY_CAPACITY - 1} 个",
            )
            return Acquired(device, self, refused=text)
        wanted = max(0, n - self.notifies)
        device, got = device.take_notifies(wanted)
        grown = replace(self, notifies=self.notifies + got)
        if got == wanted:
            return Acquired(device, grown, count=got)
        text = Text(f"the device gave {got} of {wanted} notifies", f"设备只给出 {wanted} 个 notify 中的 {got} 个")
        return Acquired(device, grown, count=got, refused=text)

    def with_caller(self, serial: int | None) -> V2Allocators:
        """Slot 0 filled with the caller's stream."""
        return replace(self, slots=(serial, *self.slots[1:]))

    def release(self, device: Device) -> Device:
        """The destructor: streams 1 .. size - 1, events and notifies go; the caller's stream is not touched."""
        device = device.destroy([s for s in self.slots[1:] if s is not None])
        return device.give_back(events=self.events, notifies=self.notifies)

"""The V1 stream pool, ge::ReusableStreamAllocator.

It keeps everything that reuse would need (streams by priority and flags, ordered by number of tasks, with the models that use
them) but nothing ever looks a stream up: every request creates one. Documents that describe reuse describe an older source.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from ge_explorer.runtime.device import Device, StreamRequest
from ge_explorer.runtime.steps import RuntimeStep, failure
from ge_explorer.text import Text

POOL = "runtime/v1/graph/load/model_manager/reusable_stream_allocator.cc"


@dataclass(frozen=True, slots=True)
class StreamStatus:
    """Entry of the pool. ``handle`` is the device stream's serial number. Entries are kept after destruction, as invalid."""

    handle: int
    rt_stream_id: int
    models: frozenset[int]
    task_num: int
    priority: int
    flags: int
    valid: bool = True


@dataclass(frozen=True, slots=True)
class ReusablePool:
    """All entries in order of creation."""

    entries: tuple[StreamStatus, ...] = ()

    def by_key(self) -> Mapping[tuple[int, int], tuple[StreamStatus, ...]]:
        """(priority, flags) -> entries by (task number, handle): GE's ``rt_stream_list_``, written but never searched."""
        out: dict[tuple[int, int], list[StreamStatus]] = {}
        for e in self.entries:
            out.setdefault((e.priority, e.flags), []).append(e)
        return {k: tuple(sorted(v, key=lambda e: (e.task_num, e.handle))) for k, v in sorted(out.items())}

    def status(self, handle: int) -> StreamStatus | None:
        """Entry of a handle: GE's ``stream_ref_``."""
        return next((e for e in self.entries if e.handle == handle), None)

    def create(
        self, device: Device, model_id: int, requests: Sequence[tuple[StreamRequest, int]]
    ) -> tuple[Device, ReusablePool, tuple[StreamStatus, ...]]:
        """``GetOrCreateRtStream`` per (request, number of tasks): always new streams; fewer than asked if the device ran out."""
        device, made = device.create([r for r, _ in requests])
        new = tuple(
            StreamStatus(s.serial, s.id, frozenset({model_id}), tasks, s.priority, s.flags)
            for s, (_, tasks) in zip(made, requests, strict=False)
        )
        return device, ReusablePool(self.entries + new), new

    def destroy(
        self, device: Device, handle: int | None, *, force: bool = False
    ) -> tuple[Device, ReusablePool, RuntimeStep]:
        """``DestroyStream``: a null or unknown handle fails, an already destroyed stream is success without effect."""
        where = f"{POOL} DestroyStream"
        entry = None if handle is None else self.status(handle)
        if entry is None:
            word = ("null handle", "空句柄") if handle is None else (f"handle {handle}", f"句柄 {handle}")
            text = Text(f"{word[0]} is not a stream of this pool", f"{word[1]}不是该流池中的流")
            return device, self, failure(text, where)
        if not entry.valid:
            text = Text(
                f"stream {entry.rt_stream_id} was destroyed before: nothing to do",
                f"流 {entry.rt_stream_id} 已销毁：无需处理",
            )
            return device, self, RuntimeStep("destroy", text, where, (entry.handle,))
        kept = tuple(replace(e, valid=False) if e.handle == entry.handle else e for e in self.entries)
        how = ("by force", "强制") if force else ("normally", "正常")
        text = Text(
            f"stream {entry.rt_stream_id} destroyed {how[0]}; its entry stays, marked invalid",
            f"流 {entry.rt_stream_id} 已{how[1]}销毁；条目保留并标为无效",
        )
        return device.destroy([entry.handle]), ReusablePool(kept), RuntimeStep("destroy", text, where, (entry.handle,))

    def destroy_many(
        self, device: Device, handles: Collection[int] | None = None
    ) -> tuple[Device, ReusablePool, tuple[int, ...]]:
        """Valid streams among ``handles`` (None: all) destroyed, as a model's destructor does; the handles that went."""
        gone = {e.handle for e in self.entries if e.valid and (handles is None or e.handle in handles)}
        kept = tuple(replace(e, valid=False) if e.handle in gone else e for e in self.entries)
        return device.destroy(gone), ReusablePool(kept), tuple(sorted(gone))

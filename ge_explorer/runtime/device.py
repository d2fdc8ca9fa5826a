"""The device as the loaders see it: streams handed out one by one, and counts of events and notifies.

Ids are *assumed* to be the lowest free ones (the driver's own order is not published); ``serial`` is our identity and is never
used twice. The first stream is the default stream, which the documented limit includes (runtime.md section 2).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Literal

from ge_explorer.device.chips import Chip
from ge_explorer.errors import OptionError
from ge_explorer.runtime.flags import RT_DEFAULT

Role = Literal["default", "caller", "model", "follow", "execute", "allocator"]
Basis = Literal["documented", "code"]


@dataclass(frozen=True, slots=True)
class StreamRequest:
    """A stream somebody asks the device for. ``owner`` is a model's name, or "" for the context and the shared allocator."""

    role: Role
    owner: str = ""
    flags: int = RT_DEFAULT
    priority: int = 0


@dataclass(frozen=True, slots=True)
class DeviceStream:
    """A stream the device handed out. ``id`` is what the device calls it while it lives; ``serial`` counts creations."""

    serial: int
    id: int
    role: Role
    owner: str
    flags: int
    priority: int
    alive: bool = True


@dataclass(frozen=True, slots=True)
class Device:
    """``limit`` streams in all, ``other`` of them taken by other processes; ``streams`` everything ever created here, by serial.

    ``events`` and ``notifies`` are counts in use; their limits are None where no number is documented for the chip.
    """

    chip: str
    limit: int
    other: int = 0
    streams: tuple[DeviceStream, ...] = ()
    events: int = 0
    event_limit: int | None = None
    notifies: int = 0
    notify_limit: int | None = None

    @staticmethod
    def of(chip: Chip, *, limit: int | None = None, other: int = 0, basis: Basis = "documented") -> Device:
        """A fresh device whose default stream exists. OptionError if the limit or ``other`` leave no room for it.

        ``basis`` "code" takes what the runtime's code has instead of the documented number (both are shared by all processes).
        """
        if basis not in ("documented", "code"):
            raise OptionError("unknown basis of the stream limit", got=basis, todo="Use 'documented' or 'code'.")
        known = chip.streams if basis == "documented" else (chip.streams_code or chip.streams)
        top = known if limit is None else limit
        if other < 0 or top - other < 1:
            raise OptionError(
                "no stream is left for this process",
                where=chip.name,
                got=(top, other),
                todo="Raise limit or lower other.",
            )
        device = Device(chip.name, top, other, event_limit=chip.events, notify_limit=chip.notifies)
        return device.create([StreamRequest("default")])[0]

    @property
    def live(self) -> int:
        """Streams of this process."""
        return sum(s.alive for s in self.streams)

    @property
    def available(self) -> int:
        """Streams the device can still hand out (``rtGetAvailStreamNum``); ordinary and huge ones are counted together."""
        return self.limit - self.other - self.live

    @property
    def events_left(self) -> int | None:
        """Events the device can still hand out, None where no limit is documented."""
        return None if self.event_limit is None else self.event_limit - self.events

    def create(self, requests: Sequence[StreamRequest]) -> tuple[Device, tuple[DeviceStream, ...]]:
        """Hand out streams until the device has none left: fewer made than asked for means that creation failed there."""
        granted = requests[: max(0, self.available)]
        used = {s.id for s in self.streams if s.alive}
        free = (i for i in count() if i not in used)
        first = len(self.streams)
        made = tuple(
            DeviceStream(first + k, next(free), r.role, r.owner, r.flags, r.priority) for k, r in enumerate(granted)
        )
        return replace(self, streams=self.streams + made), made

    def destroy(self, serials: Collection[int]) -> Device:
        """Streams given back. Dead and unknown serials change nothing."""
        gone = set(serials)
        if not gone:
            return self
        return replace(self, streams=tuple(replace(s, alive=False) if s.serial in gone else s for s in self.streams))

    def take_events(self, n: int) -> tuple[Device, int]:
        """Create up to ``n`` events; how many the device had."""
        got = n if self.event_limit is None else min(n, self.event_limit - self.events)
        return replace(self, events=self.events + got), got

    def take_notifies(self, n: int) -> tuple[Device, int]:
        """Create up to ``n`` notifies; how many the device had."""
        got = n if self.notify_limit is None else min(n, self.notify_limit - self.notifies)
        return replace(self, notifies=self.notifies + got), got

    def give_back(self, *, events: int = 0, notifies: int = 0) -> Device:
        """Events and notifies destroyed."""
        return replace(self, events=self.events - events, notifies=self.notifies - notifies)

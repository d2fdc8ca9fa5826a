"""Timeline: one row per task in integer nanoseconds, with the reason of every gap. Says whether simulated or measured."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

GapReason = Literal["event", "cores", "start", "issue", "host", "no_work"]


T = TypeVar("T")


class Late(Sequence[T]):
    """A tuple that is made when first looked at. Equal to any sequence with the same members."""

    __slots__ = ("_made", "_make")

    def __init__(self, make: Callable[[], Sequence[T]]) -> None:
        self._make, self._made = make, None  # type: tuple[Callable[[], Sequence[T]], Sequence[T] | None]

    def _get(self) -> Sequence[T]:
        if self._made is None:
            self._made = tuple(self._make())
        return self._made

    def __len__(self) -> int:
        return len(self._get())

    @overload
    def __getitem__(self, i: int) -> T: ...
    @overload
    def __getitem__(self, i: slice) -> Sequence[T]: ...
    def __getitem__(self, i: int | slice) -> T | Sequence[T]:
        return self._get()[i]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(self._get())


@dataclass(frozen=True, slots=True)
class Gap:
    """Idle time ``start_ns..end_ns`` on a stream before ``task`` (-1: after the last one).

    ``event``: waited for event ``event`` recorded by node ``waits_for``; ``cores``: the core pool was taken by
    ``waits_for``; ``start``: nothing was issued yet; ``issue``: dispatch gap of the device model; ``no_work``: stream is done.
    """

    stream: int
    start_ns: int
    end_ns: int
    reason: GapReason
    task: int = -1
    waits_for: int = -1
    event: int = -1


@dataclass(frozen=True, slots=True, eq=False)
class Timeline:
    """Columns, one entry per task (index = task id); ``node`` is the graph node, ``stream`` the logical stream.

    ``aic``/``aiv`` are the cores a task held (0: none of that kind). ``critical`` lists task ids of the critical path in
    time order; it and ``gaps`` of a simulated timeline are worked out when first read. ``cost_origin`` per task: ge, measured,
    model or assumed. ``origin``: simulated or measured.
    """

    node: NDArray[np.int32]
    stream: NDArray[np.int32]
    start_ns: NDArray[np.int64]
    end_ns: NDArray[np.int64]
    aic: NDArray[np.int32]
    aiv: NDArray[np.int32]
    cost_origin: tuple[str, ...]
    gaps: Sequence[Gap]
    critical: Sequence[int]
    chip: str
    total_aic: int
    total_aiv: int
    origin: Literal["simulated", "measured"] = "simulated"
    notes: tuple[str, ...] = ()

    @property
    def makespan_ns(self) -> int:
        """End of the last task; 0 for an empty timeline."""
        return int(self.end_ns.max()) if self.end_ns.size else 0

    def busy_ns(self, stream: int) -> int:
        """Sum of task durations on one stream."""
        m = self.stream == stream
        return int((self.end_ns[m] - self.start_ns[m]).sum())

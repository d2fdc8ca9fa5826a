"""Load models one after the other and see which device streams they get.

>>> from ge_explorer.runtime import DeviceSession
>>> s = DeviceSession("A2").load("A", streams=2).load("B", streams=1)
>>> [(r.device_stream, r.model, r.role) for r in s.rows()]
[(0, '', 'default'), (1, 'A', 'model'), (2, 'A', 'model'), (3, 'A', 'execute'), (4, 'B', 'model'), (5, 'B', 'execute')]
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ge_explorer.device.chips import chip_named
from ge_explorer.errors import OptionError
from ge_explorer.runtime.device import Basis, Device
from ge_explorer.runtime.model import (
    ALL_ALLOCATORS,
    Activator,
    AllocatorName,
    DynamicModel,
    DynamicNode,
    StaticModel,
    follow_of,
)
from ge_explorer.runtime.operations import close, load, unload
from ge_explorer.runtime.state import Outcome, RuntimeState
from ge_explorer.runtime.steps import RuntimeStep
from ge_explorer.runtime.table import StreamRow, stream_rows
from ge_explorer.text import Text


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation of the session with what it did."""

    title: Text
    outcome: Outcome


class DeviceSession:
    """A device and everything done on it so far. Never changes: each operation returns the next session.

    ``limit`` overrides the chip's number of streams, ``other_streams`` are taken by other processes, ``basis`` chooses the
    documented number or the one in the runtime's code. A refused load does not raise: see ``ok``, ``status`` and ``steps``.
    """

    def __init__(
        self, chip: str = "", *, limit: int | None = None, other_streams: int = 0, basis: Basis = "documented"
    ) -> None:
        self._begin = RuntimeState(Device.of(chip_named(chip), limit=limit, other=other_streams, basis=basis))
        self.history: tuple[Operation, ...] = ()

    # ---------------------------------------------------------------- operations
    def load(
        self,
        name: str,
        *,
        streams: int = 1,
        events: int = 0,
        notifies: int = 0,
        notify_types: Sequence[int] = (),
        huge: Iterable[int] = (),
        hcom: Iterable[int] = (),
        follow: Mapping[int, Sequence[int]] | None = None,
        activators: Sequence[Activator] = (),
        task_order: Sequence[int] | None = None,
        tasks: Mapping[int, int] | None = None,
        logic_of: Sequence[int] = (),
        priority: int = 0,
        overflow: bool = False,
        caller_stream: bool = False,
        blocking_events: int = 0,
    ) -> DeviceSession:
        """Load a static model (V1); see ``StaticModel`` for the arguments."""
        return self.load_model(
            StaticModel(
                name, streams, events, notifies, tuple(notify_types), tuple(huge), tuple(hcom), follow_of(follow or {}),
                tuple(activators), None if task_order is None else tuple(task_order), dict(tasks or {}), tuple(logic_of), priority,
                overflow, caller_stream, blocking_events,
            )
        )  # fmt: skip

    def load_dynamic(
        self,
        name: str,
        *,
        streams: int = 1,
        attached: int = 0,
        events: int = 0,
        notifies: int = 0,
        parts: Sequence[StaticModel] = (),
        external: bool | Sequence[AllocatorName] = False,
        nodes: Sequence[DynamicNode] | None = None,
        caller: str = "user stream",
        query_fails: bool = False,
    ) -> DeviceSession:
        """Load a dynamic model (V2); see ``DynamicModel``. ``external`` True: the allocators shared by this session."""
        given = (ALL_ALLOCATORS if external else ()) if isinstance(external, bool) else tuple(external)
        listed = None if nodes is None else tuple(nodes)
        return self.load_model(
            DynamicModel(name, streams, attached, events, notifies, tuple(parts), given, listed, caller, query_fails)
        )

    def load_model(self, model: StaticModel | DynamicModel) -> DeviceSession:
        """Load a model given as a value."""
        return self._after(Text(f"load {model.name}", f"加载 {model.name}"), load(self.state, model))

    def unload(self, name: str) -> DeviceSession:
        """Unload a model by name."""
        return self._after(Text(f"unload {name}", f"卸载 {name}"), unload(self.state, name))

    def close(self) -> DeviceSession:
        """Unload everything and destroy the shared allocators."""
        return self._after(Text("close", "关闭"), close(self.state))

    # ---------------------------------------------------------------- looking
    @property
    def state(self) -> RuntimeState:
        """State after the last operation."""
        return self.history[-1].outcome.state if self.history else self._begin

    @property
    def steps(self) -> tuple[RuntimeStep, ...]:
        """Steps of the last operation."""
        return self.history[-1].outcome.steps if self.history else ()

    @property
    def ok(self) -> bool:
        """True if the last operation succeeded."""
        return not self.history or self.history[-1].outcome.ok

    @property
    def status(self) -> str:
        """GE's status name of the last operation."""
        return self.history[-1].outcome.status if self.history else "SUCCESS"

    @property
    def available(self) -> int:
        """Streams the device can still hand out."""
        return self.state.device.available

    def at(self, operation: int) -> DeviceSession:
        """The session after ``operation`` operations (0: the fresh device)."""
        if not 0 <= operation <= len(self.history):
            raise OptionError("no such operation", got=operation, todo=f"0 to {len(self.history)}.")
        return self._with(self.history[:operation])

    def rows(self, *, dead: bool = False) -> tuple[StreamRow, ...]:
        """Table of device streams; ``dead`` adds destroyed ones."""
        return stream_rows(self.state, dead=dead)

    # ---------------------------------------------------------------- inside
    def _after(self, title: Text, outcome: Outcome) -> DeviceSession:
        return self._with((*self.history, Operation(title, outcome)))

    def _with(self, history: tuple[Operation, ...]) -> DeviceSession:
        out = object.__new__(DeviceSession)
        out._begin, out.history = self._begin, history
        return out

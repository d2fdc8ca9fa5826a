"""The state of a session: the device and what is loaded on it. Immutable; every operation returns the next one."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

from ge_explorer.runtime.device import Device
from ge_explorer.runtime.events import ExtraEvent
from ge_explorer.runtime.flags import Bind, Status
from ge_explorer.runtime.model import DynamicModel, StaticModel
from ge_explorer.runtime.pool import ReusablePool
from ge_explorer.runtime.steps import RuntimeStep
from ge_explorer.runtime.v2_allocators import V2Allocators

Loaded = Literal["loaded", "unloaded", "failed"]


@dataclass(frozen=True, slots=True)
class Binding:
    """A model's stream on a device stream. ``index`` is the model's own number (physical for V1, slot for V2).

    ``serial`` None: a slot nobody filled. ``part`` names the static sub-model of a dynamic one.
    """

    index: int
    serial: int | None
    role: str
    logical: int | None = None
    bind: Bind = ""
    tasks: int | None = None
    part: str = ""


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """A model the session has seen. ``id`` counts loads (GE's runtime model id); ``released`` are its given-back streams.

    ``pools`` are the stream pools it owns (a static model has one, all static parts of a dynamic model share one); ``builtin`` the
    V2 allocators it owns, None when it uses the shared ones. ``events`` and ``notifies`` are those it owns itself.
    """

    id: int
    name: str
    spec: StaticModel | DynamicModel
    status: Loaded
    bindings: tuple[Binding, ...] = ()
    pool: ReusablePool | None = None
    builtin: V2Allocators | None = None
    events: int = 0
    notifies: int = 0
    rolled_back: bool = False
    extra_events: tuple[ExtraEvent, ...] = ()

    @property
    def static(self) -> bool:
        """True for a model of known shape."""
        return isinstance(self.spec, StaticModel)


@dataclass(frozen=True, slots=True)
class RuntimeState:
    """Device, models in load order (all ever loaded), the shared V2 allocators, and the callers' own streams by name."""

    device: Device
    models: tuple[LoadedModel, ...] = ()
    shared: V2Allocators = field(default_factory=V2Allocators)
    callers: tuple[tuple[str, int], ...] = ()

    def loaded(self) -> tuple[LoadedModel, ...]:
        """Models loaded now, in graph id order (here: load order)."""
        return tuple(m for m in self.models if m.status == "loaded")

    def find(self, name: str) -> LoadedModel | None:
        """The loaded model of that name."""
        return next((m for m in self.models if m.status == "loaded" and m.name == name), None)

    def with_model(self, model: LoadedModel) -> RuntimeState:
        """Replace the entry of the same id, or append it."""
        kept = tuple(model if m.id == model.id else m for m in self.models)
        return replace(self, models=kept if model.id < len(self.models) else (*self.models, model))


@dataclass(frozen=True, slots=True)
class Outcome:
    """Result of one operation: the next state and how it came about. A failed operation has a state too: what was left behind."""

    state: RuntimeState
    steps: tuple[RuntimeStep, ...]

    @property
    def failed(self) -> RuntimeStep | None:
        """The step that ended the operation, None if it succeeded."""
        return next((s for s in self.steps if not s.ok), None)

    @property
    def ok(self) -> bool:
        """True if the operation succeeded."""
        return self.failed is None

    @property
    def status(self) -> Status:
        """GE's status name."""
        return "SUCCESS" if self.failed is None else self.failed.status

"""What a panel is given on every update: the session, the view state, and the colours of the page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ge_explorer.ids import Ref
from ge_explorer.simulator.timeline import Timeline
from ge_explorer.trace.state import Snapshot
from ge_explorer.views.palette import StreamIdentity
from ge_explorer.views.selection_state import SelectionState
from ge_explorer.views.session_like import SessionLike
from ge_explorer.views.theme import Theme

if TYPE_CHECKING:
    pass

OnSelect = Callable[[tuple[Ref, ...]], None]


@dataclass(frozen=True)
class PanelContext:
    """One update. ``theme`` None: the panel follows the page it is shown in."""

    session: SessionLike
    state: SelectionState = field(default_factory=SelectionState)
    theme: Theme | None = None

    @property
    def step(self) -> int:
        """Step shown, kept inside the trace."""
        return max(-1, min(self.state.step, len(self.session.trace) - 1))

    @property
    def snapshot(self) -> Snapshot:
        """State at the step shown."""
        return self.session.trace.snapshot(self.step)

    @property
    def lang(self) -> str:
        """Language of all texts."""
        return self.state.lang

    @property
    def selected(self) -> tuple[Ref, ...]:
        """Selected references."""
        return self.state.selected

    def identities_at(self, step: int) -> dict[int, StreamIdentity]:
        """GE stream number -> identity after ``step``."""
        known = self.session.identities
        table = known.by_step[step + 1] if step + 1 < len(known.by_step) else {}
        return {stream: known.items[index] for stream, index in table.items()}

    @property
    def final_step(self) -> int:
        """Index of the last step."""
        return len(self.session.trace) - 1

    @property
    def timeline(self) -> Timeline | None:
        """Timeline of the final state; None when a step failed."""
        return self.session.timeline if self.session.trace.failed is None else None

    def single(self, what: str) -> int | None:
        """A figure of the single-stream result ("makespan_ns", "peak"); None when it is what is shown or unknown."""
        if self.session.strength == "single":
            return None
        found = getattr(self.session.strengths.get("single"), what, None)
        return found if isinstance(found, int) else None

"""The one observable of the explorer, and redrawing at most once per event-loop turn."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from traitlets import HasTraits, Instance

from ge_explorer.views.selection_state import SelectionState


class Selection(HasTraits):
    """Holds ``state``, a frozen ``SelectionState``. Panels observe it and read ``selection.state``, never ``change.new``.

    Write it only on a user gesture.

    >>> s = Selection()
    >>> s.set(step=3).step
    3
    """

    state = Instance(SelectionState, args=())

    def set(self, **changes: Any) -> SelectionState:
        """Replace some fields; nobody is told when nothing differs. Returns the state that now holds."""
        new = self.state.but(**changes)
        if new != self.state:
            self.state = new
        held: SelectionState = self.state
        return held

    def follow(self, redraw: Callable[[], None]) -> OncePerTurn:
        """Call ``redraw`` after changes of ``state``, once per event-loop turn. Returns the handle; ``stop()`` ends it."""
        once = OncePerTurn(redraw)
        self.observe(once.observer, "state")
        once.on_stop = lambda: self.unobserve(once.observer, "state")
        return once


class OncePerTurn:
    """Runs ``call`` at most once per event-loop turn however often it is asked; at once where no loop runs (scripts)."""

    def __init__(self, call: Callable[[], None]) -> None:
        self.call = call
        self.on_stop: Callable[[], None] = lambda: None
        self._pending = False
        self._stopped = False

    def observer(self, _change: object) -> None:
        """Form of ``__call__`` for traitlets."""
        self()

    def __call__(self) -> None:
        """Ask for one run."""
        if self._pending or self._stopped:
            return
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            self.call()
            return
        self._pending = True
        loop.call_soon(self._run)

    def _run(self) -> None:
        self._pending = False
        if not self._stopped:
            self.call()

    def stop(self) -> None:
        """Never run again."""
        self._stopped = True
        self.on_stop()

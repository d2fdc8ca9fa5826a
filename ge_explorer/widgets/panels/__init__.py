"""One panel, one file. Each also works alone: ``show_timeline(session)`` and friends return something to display."""

from __future__ import annotations

from typing import Any

from ge_explorer.trace.trace import Trace
from ge_explorer.views.session_like import SessionLike
from ge_explorer.widgets.panels.context import PanelContext

__all__ = [
    "PanelContext",
    "show_diff",
    "show_events",
    "show_graph",
    "show_issues",
    "show_memory",
    "show_mermaid",
    "show_runtime",
    "show_streams",
    "show_timeline",
]


def _session(source: SessionLike | Trace) -> SessionLike:
    """A trace gets a session of its own, so that letters, timeline and comparisons work."""
    if isinstance(source, Trace):
        from ge_explorer.session import Session

        return Session.from_trace(source)
    return source


def _show(
    panel: Any, source: SessionLike | Trace, lang: str, step: int | None = None, compare: int | None = None
) -> Any:
    """Panel alone in a cell: a click selects inside this panel."""
    from ge_explorer.views.selection_state import SelectionState

    session = _session(source)
    last = len(session.trace) - 1
    state = SelectionState(step=last if step is None else step, lang=lang)
    if compare is not None:
        state = state.but(compare=compare)
    held = [state]

    def select(refs: tuple[Any, ...]) -> None:
        held[0] = held[0].but(selected=refs)
        panel.update(PanelContext(session, held[0]))

    panel.on_select = select
    panel.update(PanelContext(session, state))
    panel.widget.add_class("gx-alone")
    return panel.widget


def show_graph(session: SessionLike | Trace, step: int | None = None, lang: str = "en", **look: Any) -> Any:
    """Graph canvas; ``look``: compare, layout, selected, height of ``widgets.canvas.graph``."""
    from ge_explorer.widgets.canvas import graph

    held = _session(session)
    return graph(held.trace, step=step, lang=lang, identities=held.identities, **look)


def show_timeline(session: SessionLike | Trace, lang: str = "en") -> Any:
    """Timeline of the session's final state."""
    from ge_explorer.widgets.panels.timeline import TimelinePanel

    return _show(TimelinePanel(), session, lang)


def show_memory(
    session: SessionLike | Trace, step: int | None = None, lang: str = "en", view: str = "map", **choice: Any
) -> Any:
    """Memory after ``step`` (None: the last one), opened on ``view``: map, lifetimes, curve, reuse, ab, planners, steps or hints.

    ``choice``: fields of ``MemoryChoice``, such as ``a="ge", b="hb"`` for A/B. OptionError for an unknown view.
    """
    from ge_explorer.errors import OptionError, did_you_mean
    from ge_explorer.views.memory_page import VIEWS
    from ge_explorer.widgets.panels.memory import MemoryPanel

    if view not in VIEWS:
        raise OptionError("no such memory view", got=view, todo=did_you_mean(view, list(VIEWS)))
    panel = MemoryPanel(view=view, alone=True)
    panel.choice = panel.choice.but(**choice)
    return _show(panel, session, lang, step)


def show_events(session: SessionLike | Trace, step: int | None = None, lang: str = "en") -> Any:
    """Events after ``step``."""
    from ge_explorer.widgets.panels.events import EventsPanel

    return _show(EventsPanel(), session, lang, step)


def show_streams(session: SessionLike | Trace, step: int | None = None, lang: str = "en", view: str = "table") -> Any:
    """Streams after ``step``. ``view``: table (budget), parts (physical), activation, summary (GE's own)."""
    from ge_explorer.widgets.panels.streams import StreamsPanel

    return _show(StreamsPanel(view=view), session, lang, step)


def show_runtime(session: SessionLike | Trace, lang: str = "en") -> Any:
    """Load the session's model, then another: who holds which device stream."""
    from ge_explorer.widgets.panels.runtime import RuntimePanel

    return _show(RuntimePanel(), session, lang)


def show_diff(session: SessionLike | Trace, i: int, j: int, lang: str = "en") -> Any:
    """Difference between the states after steps ``i`` and ``j`` (-1: before the first step)."""
    from ge_explorer.widgets.panels.diff import DiffPanel

    return _show(DiffPanel(), session, lang, j, i)


def show_mermaid(session: SessionLike | Trace, step: int | None = None, lang: str = "en") -> Any:
    """Mermaid text after ``step``; JupyterLab draws it. Plain text elsewhere."""
    from ge_explorer.views import mermaid
    from ge_explorer.views.selection_state import SelectionState

    held = _session(session)
    last = len(held.trace) - 1
    ctx = PanelContext(held, SelectionState(step=last if step is None else step, lang=lang))
    return mermaid.build(ctx.snapshot, ctx.identities_at(ctx.step))


def show_issues(session: SessionLike | Trace, lang: str = "en") -> Any:
    """Findings."""
    from ge_explorer.widgets.panels.issues import IssuesPanel

    return _show(IssuesPanel(), session, lang)

"""The panel area: one panel per tab, built when its tab is first opened; states (failed, one stream) stand in its place."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, Protocol

import ipywidgets as w

from ge_explorer.text import Text
from ge_explorer.views.selection_state import TABS
from ge_explorer.widgets.panels.context import OnSelect, PanelContext
from ge_explorer.widgets.shell import ShellPart

TITLES = {
    "timeline": Text("Timeline", "时间线"), "memory": Text("Memory", "内存"), "events": Text("Events", "事件"),
    "streams": Text("Streams", "流"), "diff": Text("Diff", "差异"), "compare": Text("A/B"), "mermaid": Text("Mermaid"),
    "runtime": Text("Runtime", "运行时"), "issues": Text("Issues", "问题"),
}  # fmt: skip
NEEDS_RESULT = frozenset({"timeline"})
"""Tabs that show nothing while a step has failed."""


class Panel(Protocol):
    """What a panel offers."""

    widget: Any

    def update(self, ctx: PanelContext) -> None:
        """Show the state of ``ctx``."""


def make_panel(tab: str, on_select: OnSelect) -> Panel:
    """Panel of a tab. Its module (and Bokeh with it) is imported now and not before."""
    if tab not in TABS:
        raise KeyError(tab)
    module = importlib.import_module(f"ge_explorer.widgets.panels.{tab}")
    panel: Panel = getattr(module, f"{tab.capitalize()}Panel")(on_select=on_select)
    return panel


class PanelArea:
    """``widget`` shows a state when there is one, then the panel of the open tab."""

    def __init__(
        self,
        state: ShellPart,
        on_select: OnSelect,
        on_view: Callable[[str, str], None] | None = None,
        on_keep: Callable[[str], None] | None = None,
    ) -> None:
        self.state, self.on_select, self.on_view, self.on_keep = state, on_select, on_view, on_keep
        self.panels: dict[str, Panel] = {}
        self.widget = w.Box()

    def show(self, tab: str, ctx: PanelContext, state: dict[str, Any] | None) -> None:
        """Show ``tab``; ``state`` is drawn above it, or instead of it where the panel has nothing to say."""
        if self.state.data != (state or {}):
            self.state.data = state or {}
        children: list[Any] = [self.state] if state else []
        if not (state and state.get("kind") == "failed" and tab in NEEDS_RESULT):
            if tab not in self.panels:
                self.panels[tab] = self._make(tab)
            self.panels[tab].update(ctx)
            children.append(self.panels[tab].widget)
        if self.widget.children != tuple(children):
            self.widget.children = tuple(children)

    def _make(self, tab: str) -> Panel:
        """A panel with sub-views tells which one was opened; the A/B panel also what was kept."""
        panel: Any = make_panel(tab, self.on_select)
        on_view = self.on_view
        if on_view is not None and hasattr(panel, "on_view"):
            panel.on_view = lambda view: on_view(tab, view)
        if hasattr(panel, "on_keep"):
            panel.on_keep = self.on_keep
        made: Panel = panel
        return made

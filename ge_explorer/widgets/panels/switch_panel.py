"""Base of panels with several views: a switch on top, one view built at a time, models kept while the state is the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from ge_explorer.text import Text
from ge_explorer.views.switcher import switch_html
from ge_explorer.widgets.panels.context import OnSelect, PanelContext
from ge_explorer.widgets.panels.table_panel import TablePanel


class SwitchPanel(TablePanel):
    """Subclasses give ``views`` (key -> name) and ``body(ctx)``, the HTML of ``self.view``."""

    views: ClassVar[Mapping[str, Text]] = {}

    def __init__(self, on_select: OnSelect | None = None, view: str = "") -> None:
        super().__init__(on_select)
        self.view = view if view in self.views else next(iter(self.views), "")
        self.on_view: Callable[[str], None] | None = None
        self._ctx: PanelContext | None = None

    def body(self, ctx: PanelContext) -> str:
        """HTML of the open view."""
        raise NotImplementedError(type(self).__name__)

    def beside(self, ctx: PanelContext) -> str:
        """HTML at the right of the switch."""
        return ""

    def update(self, ctx: PanelContext) -> None:
        """Show the state of ``ctx`` in the view that is open."""
        self._ctx = ctx
        if self.on_view is not None and self.views:  # in the explorer the open view is part of the state
            asked = ctx.state.views.get(self.name, "")
            self.view = asked if asked in self.views else next(iter(self.views))
        with self.widget.hold_sync():
            self.widget.lang = ctx.lang
            head = switch_html(self.views, self.view, ctx.lang, self.beside(ctx)) if self.views else ""
            self.widget.html = head + self.body(ctx)

    def act(self, do: str, value: str) -> bool:
        """A button or select other than the switch; True when something changed."""
        return False

    def _clicked(self, change: dict[str, Any]) -> None:
        do, value = str(change["new"].get("do", "")), str(change["new"].get("value", ""))
        if not do:
            super()._clicked(change)
            return
        if do == "view" and value in self.views:
            self.view = value
            if self.on_view is not None:
                self.on_view(value)
                return
        elif not self.act(do, value):
            return
        if self._ctx is not None:
            self.update(self._ctx)

"""A/B panel: settings kept as A, or a dump's own record, against the current settings. Final states are compared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import ipywidgets as w

from ge_explorer.comparing import own_agreement, recorded_side, session_side
from ge_explorer.errors import GxError
from ge_explorer.ids import Ref
from ge_explorer.loaders import LoadResult
from ge_explorer.session import Session
from ge_explorer.text import Text
from ge_explorer.views.comparison import CompareSide, Comparison, settings_title
from ge_explorer.views.selection_state import SelectionState
from ge_explorer.views.switcher import button_html, select_html
from ge_explorer.views.table_html import text
from ge_explorer.widgets.bokeh_host import PanelHtml
from ge_explorer.widgets.compare_view import VIEWS, CompareView
from ge_explorer.widgets.panels.context import OnSelect, PanelContext

DUMP = "dump"
"""``kept`` when A is what GE wrote into the dump."""
_KEEP = Text("Keep the current settings as A", "将当前设置保存为 A")
_AGAIN = Text("Keep current as A", "当前设为 A")
_DROP = Text("Drop A", "移除 A")
_CHOOSE = Text("A is", "A 为")
_NONE = Text("choose …", "请选择 …")
_RECORD = Text("the dump's own record", "转储自身的记录")
_INTRO = Text(
    "Keep settings as A, then change strength, options, chip or passes: both final states stand side by side here.",
    "先将设置保存为 A，再修改强度、选项、芯片或 Pass：两个最终状态会在此并排显示。",
)
_EQUAL = Text(
    "A has the current settings. Change strength, options, chip or passes to see what that does.",
    "A 与当前设置相同。修改强度、选项、芯片或 Pass 即可看到影响。",
)


def kept_text(s: Session) -> str:
    """The settings of a session as they stand in the view state.

    >>> from ge_explorer import examples
    >>> kept_text(Session(examples.fork_join()))
    '{"chip":"Ascend910B1"}'
    """
    return SelectionState(strength=s.strength, options=s.options, chip=s.chip, disabled=s.disabled).to_json()


class ComparePanel:
    """``on_keep`` is told the new text of ``kept``; alone in a cell the panel keeps it itself."""

    name = "compare"

    def __init__(self, on_select: OnSelect | None = None, view: str = "") -> None:
        self.on_select = on_select
        self.on_view: Callable[[str], None] | None = None
        self.on_keep: Callable[[str], None] | None = None
        self.bar = PanelHtml(name="compare-bar")
        self.shown = CompareView(self._select, view=view, on_view=self._viewed, short=True)
        self.widget = w.VBox([self.bar], layout=w.Layout(width="100%", overflow="hidden"))
        self.widget.add_class("gx-memory-panel")
        self.bar.observe(self._clicked, "clicked")
        self._own_kept = ""
        self._ctx: PanelContext | None = None
        self._key: tuple[Any, ...] = ()

    # ---------------------------------------------------------------- showing
    def update(self, ctx: PanelContext) -> None:
        """Show the comparison of what is kept with the settings of ``ctx``."""
        self._ctx = ctx
        session = _session(ctx)
        lang = self.bar.lang = self.shown.lang = ctx.lang
        if self.on_view is not None:
            self.shown.view = ctx.state.views.get(self.name) or next(iter(VIEWS))
        kept = self._kept(ctx)
        problem = ""
        if kept:
            try:
                self._compare(session, kept)
            except GxError as e:
                problem = str(e)
        self.bar.html = self._bar_html(session, kept, lang, problem)
        children: tuple[Any, ...] = (self.bar, self.shown.widget) if kept and not problem else (self.bar,)
        if self.widget.children != children:
            self.widget.children = children
        if len(children) > 1:
            self.shown.selected = tuple(r for r in ctx.selected if r.kind in ("node", "event", "stream"))
            self.shown.update()

    def _compare(self, session: Session, kept: str) -> None:
        key = (id(session), kept, session.settings.key())
        if key == self._key and self.shown.comparison is not None:
            return
        a, agreement = self._side(session, kept)
        self.shown.comparison = Comparison(a, session_side(session), agreement)
        self._key = key

    @staticmethod
    def _side(session: Session, kept: str) -> tuple[CompareSide, Any]:
        if kept == DUMP and isinstance(session.loaded, LoadResult):
            return recorded_side(session.loaded), own_agreement(session)
        held = SelectionState.from_json(kept)
        probe = Session(
            session.graph, options=held.options, chip=held.chip or session.chip, plan=session.plan, strength=held.strength,
            pipeline=session.base_pipeline.with_disabled(held.disabled),
        )  # fmt: skip
        probe.cache = session.cache
        title = settings_title(held.strength, held.options, held.disabled, held.chip)
        # letters of A come from B, which has those of the whole explorer
        return replace(session_side(probe, title), identities=None), None

    def _bar_html(self, session: Session, kept: str, lang: str, problem: str) -> str:
        choices = [("", _NONE)]
        for name in session.strength_names:
            choices.append((f"strength {name}", settings_title(name, {}, frozenset(), "")))
        if isinstance(session.loaded, LoadResult) and session.loaded.recorded is not None:
            choices.append((DUMP, _RECORD))
        pick = select_html("pick", _CHOOSE, choices, DUMP if kept == DUMP else "", lang)
        if not kept:
            head = f'<div class="gxp-seg">{button_html("keep", _KEEP, lang)}{pick}</div>'
            return head + f'<p class="gxp-note">{text(_INTRO, lang)}</p>'
        note = f'<p class="gxp-banner" role="alert">{text(Text(problem), lang)}</p>' if problem else ""
        if kept == kept_text(session):
            note = f'<p class="gxp-note">{text(_EQUAL, lang)}</p>'
        return f'<div class="gxp-seg">{button_html("keep", _AGAIN, lang)}{button_html("drop", _DROP, lang)}{pick}</div>{note}'

    # ---------------------------------------------------------------- gestures
    def _kept(self, ctx: PanelContext) -> str:
        return ctx.state.kept if self.on_keep is not None else self._own_kept

    def keep(self, kept: str) -> None:
        """Set what A is: ``kept_text`` of settings, ``DUMP``, or "" for nothing."""
        if self.on_keep is not None:
            self.on_keep(kept)
        self._own_kept = kept
        if self._ctx is not None and self.on_keep is None:
            self.update(self._ctx)

    def _clicked(self, change: Any) -> None:
        do, value = str(change["new"].get("do", "")), str(change["new"].get("value", ""))
        if self._ctx is None:
            return
        session = _session(self._ctx)
        if do == "keep":
            self.keep(kept_text(session))
        elif do == "drop":
            self.keep("")
        elif do == "pick" and value == DUMP:
            self.keep(DUMP)
        elif do == "pick" and value.startswith("strength "):
            name = value.removeprefix("strength ")
            if name in session.strength_names:
                held = SelectionState(
                    strength=name, options=session.options, chip=session.chip, disabled=session.disabled
                )
                self.keep(held.to_json())

    def _select(self, refs: tuple[Ref, ...]) -> None:
        if self.on_select is not None:
            self.on_select(refs)

    def _viewed(self, view: str) -> None:
        if self.on_view is not None:
            self.on_view(view)


def _session(ctx: PanelContext) -> Session:
    held: Any = getattr(ctx.session, "session", ctx.session)
    assert isinstance(held, Session)
    return held

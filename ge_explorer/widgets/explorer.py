"""The explorer: shell, graph canvas and panels around one session and one selection."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from html import escape
from os import PathLike
from typing import Any

import ipywidgets as w

from ge_explorer import examples
from ge_explorer.api import open_session
from ge_explorer.device.profile import ProfileSource
from ge_explorer.errors import GxError
from ge_explorer.ids import Ref
from ge_explorer.plan.model import Plan
from ge_explorer.provenance import GE_RULES_VERSION
from ge_explorer.session import DEFAULT_CHIP, Session
from ge_explorer.views import graph
from ge_explorer.views.figures import figures_model
from ge_explorer.views.find import find
from ge_explorer.views.fold_instances import Folding
from ge_explorer.views.inspector import Inspector
from ge_explorer.views.picture import LayoutName
from ge_explorer.views.related import part_nodes
from ge_explorer.views.selection_state import NO_COMPARE, SelectionState
from ge_explorer.views.sentence import SIMULATED, sentence
from ge_explorer.views.strip import strip_model
from ge_explorer.views.toolbar import toolbar_model
from ge_explorer.views.why_one_stream import OFFERED, why_one_stream
from ge_explorer.views.wording import both
from ge_explorer.widgets.canvas import GraphCanvas
from ge_explorer.widgets.exports import export_text
from ge_explorer.widgets.panels.context import PanelContext
from ge_explorer.widgets.selection import OncePerTurn, Selection
from ge_explorer.widgets.session_view import SessionView
from ge_explorer.widgets.shell import ShellPart
from ge_explorer.widgets.tabs import TITLES, PanelArea

VIEW_TRAITS = ("step", "compare", "lang", "tab", "layout_mode", "query")
LINKED = {
    "inspector": ("step", "selected", "lang"),
    "tabs": ("tab", "lang"),
    "state": ("selected", "lang"),
    "status": ("lang",),
}
SELECTED_NODES = 500
"""Nodes of a physical stream that are selected with it."""
PREDICT_UP_TO = 4000
"""Nodes up to which the options of "why one stream?" are computed unasked."""


class Explorer:
    """The whole screen on one session. Display it, or use ``widget``.

    ``selection.state`` is what is shown; assign it, or ``selection.set(step=3)``, to move the screen. In the browser the top part
    of the shell is linked to the canvas and the inspector, so stepping repaints at once and Python follows.
    """

    def __init__(self, session: Session, *, lang: str = "en", state: SelectionState | None = None) -> None:
        self.selection = Selection()
        self.top = ShellPart(part="top")
        self.tabs = ShellPart(part="tabs")
        self.inspector = ShellPart(part="inspector")
        self.state = ShellPart(part="state")
        self.status = ShellPart(part="status")
        self.canvas = GraphCanvas(foldable=True)
        self.area = PanelArea(self.state, self._select, self._viewed, self._kept)
        self._hits: list[Ref] = []
        self._at = -1
        self._notice = ""
        self._predictions: dict[str, Any] = {}
        self._before_failure: str | None = None
        self._drawn_names: list[str] = []
        self._strip: dict[str, Any] = {}
        self._folding = Folding()
        self._later = OncePerTurn(self.redraw)
        self._open(session, state.but() if state else SelectionState(lang=lang))
        self.selection.observe(self._state_set, "state")
        for name in (*VIEW_TRAITS, "selected"):
            self.top.observe(self._from_browser, name)
        self.canvas.observe(self._folded, ["fold", "flipped"])
        for part in (self.top, self.state):
            part.observe(self._intents, "intents")
        self.widget = self._assemble()
        self.redraw()

    # ---------------------------------------------------------------- assembly
    def _assemble(self) -> Any:
        parts = {"inspector": self.inspector, "tabs": self.tabs, "state": self.state, "status": self.status}
        self._links = [w.jslink((self.top, n), (parts[p], n)) for p, names in LINKED.items() for n in names]
        self._links += [
            w.jslink((self.top, n), (self.canvas, n)) for n in ("step", "compare", "selected", "lang", "layout_mode")
        ]
        areas = (
            (self.top, "top"), (self.canvas, "canvas"), (self.inspector, "ins"), (self.tabs, "tabs"),
            (self.area.widget, "panel"), (self.status, "foot"),
        )  # fmt: skip
        for widget, area in areas:
            widget.add_class(f"gx-a-{area}")
        grid = w.GridBox([widget for widget, _ in areas])
        grid.add_class("gx-explorer")
        host = w.Box([grid])
        for c in ("gx", "gx-host"):
            host.add_class(c)
        return host

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        bundle = self.widget._repr_mimebundle_(**kwargs)
        data, extra = bundle if isinstance(bundle, tuple) else (bundle, {})
        text = sentence(self.view.trace, self.view.timeline_or_none, self.view.identities).get(
            self.selection.state.lang
        )
        data = {**data, "text/plain": text, "text/html": f"<p>{escape(text)}</p>"}
        return (data, extra) if isinstance(bundle, tuple) else data

    # ---------------------------------------------------------------- session and state
    def _open(self, session: Session, state: SelectionState) -> None:
        self.session = session
        self.view = SessionView(session)
        self._predictions = {}
        self._hits, self._at = [], -1
        last = len(session.trace) - 1
        if session.trace.failed is not None:
            last = session.trace.failed.index
        self.selection.state = self._mirror(
            state.but(step=last if state.step < 0 else min(state.step, last), compare=NO_COMPARE)
        )

    def _mirror(self, state: SelectionState) -> SelectionState:
        """The state with the session's settings in it."""
        s = self.session
        return state.but(strength=s.strength, disabled=s.disabled, options=s.options, chip=s.chip)

    def _state_set(self, _change: object) -> None:
        """Somebody set the state: settings in it that differ go to the session first."""
        state, s = self.selection.state, self.session
        try:
            if dict(state.options) != s.options:
                gone = {k: "" for k in s.options if k not in state.options}
                s.set_options({**gone, **state.options})
            if state.chip and state.chip != s.chip:
                s.set_chip(state.chip)
            if state.strength != s.strength:
                s.set_strength(state.strength)
            for key in state.disabled ^ s.disabled:
                s.toggle(key, key not in state.disabled)
        except GxError as e:
            self._notice = str(e)
            self.selection.state = self._mirror(state)
        self._later()

    def _from_browser(self, change: Any) -> None:
        """The user stepped, compared, selected, or changed tab or language: the browser has drawn it already."""
        name, value = change["name"], change["new"]
        state = self.selection.state
        if name == "selected":
            value = self._with_nodes(tuple(r for r in (_ref(x) for x in value) if r is not None))
        field = {"layout_mode": "layout"}.get(name, name)
        if getattr(state, field) == value:
            return
        try:
            self.selection.set(**{field: value})
        except GxError as e:
            self._notice = str(e)
            self._later()

    def _select(self, refs: tuple[Ref, ...]) -> None:
        self.selection.set(selected=self._with_nodes(refs))

    def _folded(self, _change: object) -> None:
        """The browser folded or unfolded functions or modules."""
        self.selection.set(fold=self.canvas.fold, flipped=frozenset(self.canvas.flipped))

    def _viewed(self, tab: str, view: str) -> None:
        """A panel opened one of its views: part of the state that is copied."""
        self.selection.set(views={**self.selection.state.views, tab: view})

    def _kept(self, kept: str) -> None:
        self.selection.set(kept=kept)

    def _with_nodes(self, refs: tuple[Ref, ...]) -> tuple[Ref, ...]:
        """A physical stream alone is selected together with its nodes: that is what the other views know."""
        if len(refs) != 1 or refs[0].kind != "part":
            return refs
        s = self.view.trace.snapshot(self.selection.state.step)
        return (refs[0], *(Ref("node", i) for i in part_nodes(s, refs[0].id)[:SELECTED_NODES]))

    # ---------------------------------------------------------------- gestures
    def _intents(self, change: Any) -> None:
        part: ShellPart = change["owner"]
        self._notice = ""
        for intent in part.take_intents():
            try:
                self._do(intent)
            except GxError as e:
                self._notice = str(e)
        self._later()

    def _do(self, intent: Mapping[str, Any]) -> None:
        kind, s = intent["kind"], self.session
        if kind == "toggle":
            s.toggle(str(intent["key"]), bool(intent["on"]))
        elif kind == "strength":
            s.set_strength(str(intent["key"]))
        elif kind == "option":
            s.set_option(str(intent["key"]), str(intent.get("value") or ""))
        elif kind == "mode":
            s.set_mode(str(intent["name"]))
        elif kind == "chip":
            s.set_chip(str(intent["name"]))
        elif kind == "undo":
            s.undo()
        elif kind == "redo":
            s.redo()
        elif kind == "reset":
            s.reset()
        elif kind == "open":
            self._open(open_session(str(intent["name"]), chip=s.chip), SelectionState(lang=self.selection.state.lang))
        elif kind == "search":
            self._search(str(intent.get("query", "")))
        elif kind == "find":
            if str(intent.get("query", "")) != self.selection.state.query:
                self._search(str(intent.get("query", "")))
            self._next(int(intent.get("dir", 1)))
        elif kind == "export":
            name, mime, text = export_text(str(intent["format"]), self.session, self.view, self.selection.state)
            self.top.download = {"n": int(intent["n"]), "name": name, "mime": mime, "text": text}
        if kind in _COMPUTES:
            self.selection.state = self._mirror(self._keep_step(self.selection.state))

    def _keep_step(self, state: SelectionState) -> SelectionState:
        """Same step by name after the pipeline was run again (scopes may have come or gone); a failed step is shown."""
        trace = self.session.trace
        if trace.failed is not None:
            if self._before_failure is None:
                self._before_failure = self._drawn_names[state.step] if state.step >= 0 else ""
            return state.but(step=trace.failed.index, compare=NO_COMPARE)
        names = {x.name: x.index for x in trace.steps}
        old = self._drawn_names
        last = len(trace) - 1

        def same(i: int) -> int:
            return names.get(old[i], min(i, last)) if 0 <= i < len(old) else min(i, last)

        if self._before_failure is not None:  # repaired: back to where the user was
            state = state.but(step=names.get(self._before_failure, last) if self._before_failure else -1)
            self._before_failure = None
            return state
        compare = state.compare if state.compare < 0 else same(state.compare)
        return state.but(step=same(state.step), compare=compare)

    def _search(self, query: str) -> None:
        state = self.selection.state
        self._hits = find(self.view.trace, state.step, query, self.view.identities)
        self._at = -1
        self.selection.set(query=query)
        if self._hits:
            self._next(1)

    def _next(self, direction: int) -> None:
        if self._hits:
            self._at = (self._at + direction) % len(self._hits)
            self._select((self._hits[self._at],))

    # ---------------------------------------------------------------- drawing
    def redraw(self) -> None:
        """Bring every part up to date with session and selection; what did not change sends nothing."""
        changed = self.view.refresh()
        view, trace = self.view, self.view.trace
        current = self.session.strength
        if trace.failed is None and current in view.results and view.results[current] is None:
            view.compute(current)
        if changed:
            self._drawn_names = [s.name for s in trace.steps]
            self._strip = strip_model(trace, view.identities)
            self._inspect = Inspector(trace, view.identities, view.timeline_or_none)
            self._predictions = {}
        state = self.selection.state
        if state.step >= len(trace):
            self.selection.state = state = state.but(step=len(trace) - 1)
        folding = Folding(state.fold, state.flipped)
        if changed or folding != self._folding:
            self._folding = folding
            self.canvas.fold, self.canvas.flipped = state.fold, sorted(state.flipped)
            compare = None if state.compare < -1 else state.compare
            layout: LayoutName = "lanes" if state.layout == "lanes" else "layered"
            self.canvas.show_picture(graph.build(trace, state.step, compare, layout, view.identities, folding=folding))
        self._draw_top(state)
        _set(self.inspector, data=self._inspect.model(state.selected, state.step))
        counts = {"issues": len(view.issues)}
        tabs = [{"key": k, "label": both(t), "count": counts.get(k)} for k, t in TITLES.items()]
        _set(self.tabs, data={"tabs": tabs, "version": self.session.version})
        told = sentence(trace, view.timeline_or_none, view.identities)
        label = {"en": self._notice, "zh": self._notice} if self._notice else both(SIMULATED)
        _set(self.status, data={"label": label, "sentence": both(told), "rules": GE_RULES_VERSION})
        self.area.show(state.tab, PanelContext(view, state), self._state_model(state))
        for part in (self.top, self.state):
            part.ack = part.taken
        if self._missing() is not None:
            self._compute_later()

    def _draw_top(self, state: SelectionState) -> None:
        s, view = self.session, self.view
        failed = view.trace.failed is not None
        titles = [(x.name, x.title) for x in examples.lessons()]
        toolbar = toolbar_model(
            graph=s.graph.name,
            graphs=titles,
            options=s.options,
            option_keys={k for x in view.trace.steps for k in x.pass_.option_keys},
            chip=s.chip,
            undo=view.can_undo,
            redo=view.can_redo,
            search={"query": state.query, "hits": len(self._hits), "at": max(0, self._at)},
            failed=failed,
        )
        figures = figures_model(
            view.results,
            s.strength,
            view.timeline_or_none,
            failed=failed,
            issues=len(view.issues),
            minimum=view.minimum_events(view.trace.final),
        )
        data = {
            "toolbar": toolbar,
            "figures": figures,
            "strip": self._strip,
            "share": state.to_share(),
            "version": s.version,
        }
        _set(
            self.top,
            data=data,
            step=state.step,
            compare=state.compare,
            selected=[str(r) for r in state.selected],
            strength=s.strength,
            lang=state.lang,
            tab=state.tab,
            layout_mode=state.layout,
            query=state.query,
        )

    def _state_model(self, state: SelectionState) -> dict[str, Any] | None:
        if self._strip["failed"] is not None:
            return {"kind": "failed", **self._strip["failed"]}
        if state.tab != "streams":
            return None
        labels = self.view.results.get("C1") if self.session.plan is not None else None
        model = why_one_stream(self.view.trace, self.view.timeline_or_none, self._predictions, labels)
        return None if model is None else {"kind": "one_stream", **model}

    # ---------------------------------------------------------------- work left for later turns
    def _missing(self) -> str | None:
        """Next thing to compute in a turn of its own: a strength, or a mode of "why one stream?" while that is shown."""
        if self.view.trace.failed is not None:
            return None
        name = self.view.missing()
        if name is not None:
            return name
        shown = self.state.data.get("kind") == "one_stream" and len(self.session.graph) <= PREDICT_UP_TO
        return next((f"mode {m}" for m in OFFERED if m not in self._predictions), None) if shown else None

    def _compute_later(self) -> None:
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return
        loop.call_later(0.05, self._compute_one)

    def _compute_one(self) -> None:
        self.view.refresh()
        what = self._missing()
        if what is None:
            return
        if what.startswith("mode "):
            mode = what.removeprefix("mode ")
            self._predictions[mode] = self.view.predict(mode)
        else:
            self.view.compute(what)
        self.redraw()


_COMPUTES = frozenset({"toggle", "strength", "option", "mode", "chip", "undo", "redo", "reset"})


def _set(part: ShellPart, **values: Any) -> None:
    """Set what differs, in one message."""
    with part.hold_sync():
        for name, value in values.items():
            if getattr(part, name) != value:
                setattr(part, name, value)


def _ref(text: str) -> Ref | None:
    try:
        return Ref.parse(text)
    except ValueError:
        return None


def explore(
    source: Any,
    *,
    plan: Plan | str | None = None,
    strength: str | None = None,
    mode: str | None = None,
    options: Mapping[str, str] | None = None,
    chip: str = DEFAULT_CHIP,
    lang: str = "en",
    state: SelectionState | str | None = None,
    pipeline: str = "static",
    profile: ProfileSource | None = None,
    placement: Mapping[str, Any] | str | PathLike[str] | None = None,
) -> Explorer:
    """Explorer on an example name, a file, a Graph, a Session.

    Settings as in ``open_session``; ``state`` is a SelectionState or the text of "Copy state", whose settings win. Errors:
    InputError for an unusable file, OptionError for a wrong name.
    """
    session = open_session(
        source, plan=plan, strength=strength, mode=mode, options=options, chip=chip, pipeline=pipeline, profile=profile,
        placement=placement,
    )  # fmt: skip
    if isinstance(state, str):
        state = SelectionState.from_json(state) if state.lstrip().startswith("{") else SelectionState.from_share(state)
    explorer = Explorer(session, lang=lang)
    if state is not None:
        explorer.selection.state = state
    return explorer

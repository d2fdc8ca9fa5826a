"""Text files the toolbar's export menu hands to the browser."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from ge_explorer.errors import OptionError, did_you_mean
from ge_explorer.report import trace_report
from ge_explorer.session import Session
from ge_explorer.views import chrome_trace, mermaid
from ge_explorer.views.fold_instances import Folding
from ge_explorer.views.palette import StreamIdentity
from ge_explorer.views.selection_state import SelectionState
from ge_explorer.views.toolbar import EXPORTS
from ge_explorer.widgets.session_view import SessionView


def export_text(form: str, session: Session, view: SessionView, state: SelectionState) -> tuple[str, str, str]:
    """(file name, MIME type, text) of an export; OptionError for an unknown form."""
    base = "".join(c if c.isalnum() or c in "-_" else "_" for c in session.graph.name)[:60] or "graph"
    if form == "json":
        return f"{base}.json", "application/json", json.dumps(trace_report(session), ensure_ascii=False, indent=1)
    if form == "state":
        return f"{base}.state.json", "application/json", json.dumps(state.to_dict(), ensure_ascii=False, indent=1)
    if form == "mermaid":
        folding = Folding(state.fold, state.flipped)
        drawn = mermaid.build(
            view.trace.snapshot(state.step), _at(view, state.step), selected=state.selected, folding=folding
        )
        return f"{base}.mmd", "text/plain", drawn.text
    if form == "perfetto":
        final = len(view.trace) - 1
        return (
            f"{base}.trace.json",
            "application/json",
            chrome_trace.to_text(view.trace.final, view.timeline, _at(view, final)),
        )
    if form == "html":
        from ge_explorer.views.export_html import export_html

        with tempfile.TemporaryDirectory() as folder:
            path = Path(export_html(session, Path(folder) / f"{base}.html"))
            return path.name, "text/html", path.read_text(encoding="utf-8")
    raise OptionError(f"no export {form!r}", todo=did_you_mean(form, EXPORTS))


def _at(view: SessionView, step: int) -> dict[int, StreamIdentity]:
    table = view.identities.by_step[step + 1]
    return {stream: view.identities.items[i] for stream, i in table.items()}

"""Dominator and side window for the timeline, read from a strength's result where a plan exists."""

from __future__ import annotations

from typing import Any

from ge_explorer.text import Text
from ge_explorer.views.marks import node_name
from ge_explorer.views.timeline import Window, Windows
from ge_explorer.widgets.panels.context import PanelContext


def windows_of(ctx: PanelContext) -> Windows | None:
    """Windows of the current strength; None without a plan or on a single stream."""
    result: Any = ctx.session.strengths.get(ctx.session.strength)
    if result is None or getattr(result, "overlap_pct", None) is None:
        return None
    main, side = getattr(result, "main_window", None), getattr(result, "side_window", None)
    dominator = getattr(result, "dominator", None)
    name = node_name(ctx.session.trace.final, dominator, 30) if isinstance(dominator, int) and dominator >= 0 else ""
    notes = getattr(result, "notes", ())
    return Windows(
        Window(main[0], main[1], Text(f"dominator window {name}".strip(), f"主导算子窗口 {name}".strip()))
        if main
        else None,
        Window(side[0], side[1], Text("side window", "旁路窗口")) if side else None,
        result.overlap_pct,
        result.verdict,
        getattr(result, "busy_overlap", None),
        tuple(n for n in notes if isinstance(n, Text)),
    )

"""Coded findings about the user's graph, trace or plan. Findings are values, not exceptions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ge_explorer.ids import Ref
from ge_explorer.text import Text

Severity = Literal["error", "warning", "note"]


@dataclass(frozen=True, slots=True)
class Issue:
    """One finding. ``code`` is stable (``GX101``); ``fix`` says what would resolve it; ``refs`` select it in every view.

    Code ranges: GX1xx order, streams and deadlock; GX2xx memory; GX3xx load and conversion; GX4xx plan; GX5xx cost and simulation.
    """

    code: str
    severity: Severity
    message: Text
    refs: tuple[Ref, ...] = ()
    fix: Text | None = None
    source: str = ""


def has_errors(issues: tuple[Issue, ...] | list[Issue]) -> bool:
    """True if any issue is of level error (the command line then exits with 1)."""
    return any(i.severity == "error" for i in issues)

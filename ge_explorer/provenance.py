"""Where a shown number comes from. Every result a user sees carries one of these marks."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from ge_explorer.text import Text


class Origin(StrEnum):
    """Source of a number. Solid marks are facts, hollow marks are estimates."""

    GE_RULE = "ge"
    MEASURED = "measured"
    MODEL = "model"
    ASSUMED = "assumed"

    @property
    def mark(self) -> str:
        """One-character mark shown after the number."""
        return {"ge": "■", "measured": "●", "model": "◇", "assumed": "○"}[self.value]

    @property
    def text(self) -> Text:
        """Word for the mark."""
        return _WORDS[self]


_WORDS = {
    Origin.GE_RULE: Text("GE rule", "GE 规则"),
    Origin.MEASURED: Text("measured", "实测"),
    Origin.MODEL: Text("our model", "模型估算"),
    Origin.ASSUMED: Text("assumed", "假设"),
}

GE_RULES_VERSION = "Aug 2026"
"""Snapshot of the GE sources the rules follow; shown in the status line and in exports."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number with its unit and origin. ``value`` None means *unknown* and is shown so, never as 0."""

    value: float | int | None
    unit: str
    origin: Origin
    source: str = ""

"""The 14 invariants as lines and as JSON: part of ``ge-explorer check``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any
from unicodedata import east_asian_width

from ge_explorer.checks import STATUS, InvariantResult
from ge_explorer.cli import printable


def invariant_lines(found: Sequence[InvariantResult], lang: str) -> list[str]:
    """One line an invariant: number, status, title, and how often which code was found or why it does not apply."""
    width = max(_cells(STATUS[r.status].get(lang)) for r in found)
    lines = ["invariants:" if lang == "en" else "不变式："]
    for r in found:
        codes = Counter(i.code for i in r.issues)
        more = ", ".join(f"{k} x{n}" if n > 1 else k for k, n in codes.items()) or (
            r.reason.get(lang) if r.reason else ""
        )
        status = STATUS[r.status].get(lang)
        status += " " * (width - _cells(status))
        lines.append(printable(f"{r.number:>4}  {status}  {r.title.get(lang)}{f'  ({more})' if more else ''}"))
    return lines


def _cells(text: str) -> int:
    """Columns of a terminal: Chinese characters take two."""
    return sum(2 if east_asian_width(c) in "WF" else 1 for c in text)


def invariant_report(found: Sequence[InvariantResult]) -> list[dict[str, Any]]:
    """The same as JSON-able rows."""
    return [
        {
            "number": r.number, "title": r.title.en, "title_zh": r.title.get("zh"), "status": r.status,
            "codes": dict(Counter(i.code for i in r.issues)), "reason": r.reason.en if r.reason else None,
        }
        for r in found
    ]  # fmt: skip

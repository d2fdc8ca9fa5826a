"""One test per case. A failure shows the case, what it is about, and the first mismatches."""

from __future__ import annotations

from collections import Counter

import pytest

from conformance.registry import Case, Unsupported, check


def test_case(case: Case, tally: dict[str, Counter[str]]) -> None:
    row = tally.setdefault(case.row, Counter())
    try:
        report = check(case)
    except Unsupported as e:
        row["unsupported"] += 1
        row[f"why:{e}"] += 1
        pytest.skip(f"unsupported: {e}")
    except BaseException:
        row["failed"] += 1
        raise
    row["failed" if report.mismatches else "passed"] += 1
    row["hints"] += len(report.hints)
    relaxed = ""
    if case.order_dependent:
        row["order_dependent"] += 1
        row["order_strict"] += not report.mismatches
        row["order_relaxed"] += not report.relaxed_mismatches
        relaxed = f"\n  relaxed: {report.relaxed_mismatches[0] if report.relaxed_mismatches else 'holds'}"
    if report.mismatches:
        shown = "\n  ".join(report.mismatches[:3])
        pytest.fail(f"{case.id} ({case.file}): {case.raw.get('about', '')}\n  {shown}{relaxed}", pytrace=False)

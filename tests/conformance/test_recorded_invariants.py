"""The independent checker on what GE itself produced: every recorded synchronisation and split.

Our result of a recording equals GE's (test_conformance.py), so the checker judges GE's own graphs here. GE's habits must come out
as warnings. An error is right only where the recording feeds GE streams that cannot work, which GE does not notice:

* GX111: the streams given make an activator wait for what it starts, or put the loop's switch in front of its loop;
* GX119: a switch on the stream of its own label. GE looks only when it splits.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from conformance.conftest import HERE, SHARED
from conformance.registry import Case, read_cases
from conformance.stage_split import PHYSICAL, SPLIT, GivenTasks, main_streams
from conformance.stage_sync import CHAIN, REST, STATED, WHOLE, run_case, state_of
from ge_explorer.checks import InvariantResult, check_invariants
from ge_explorer.issue import Issue
from ge_explorer.trace.state import Snapshot

FILES = ("oracle_sync.json", "oracle_split.json")
EVERY = 12
"""Default run: one recording in twelve."""


def recordings() -> Iterator[Case]:
    seen: set[str] = set()
    for folder in (HERE / "cases", SHARED):
        for case in read_cases(folder) if folder.is_dir() else ():
            if case.file in FILES and case.id not in seen and case.run in (WHOLE, f"{WHOLE} + {SPLIT}"):
                seen.add(case.id)
                yield case


def final(case: Case) -> Snapshot | None:
    """The recorded result; None where GE fails."""
    passes = [p() for p in (*CHAIN, *REST)]
    state = state_of(case)
    if case.run != WHOLE:
        state = main_streams(state)
        passes += [GivenTasks(case.raw.get("tasks", {}), case.context), *(p() for p in PHYSICAL)]
    trace = run_case(state, STATED, passes)
    return None if trace.failed is not None else trace.final


def impossible(s: Snapshot, issue: Issue) -> bool:
    """True for an error that the given streams and labels cause."""
    if issue.code == "GX119":
        return s.physical is None or (s.tasks is not None and s.tasks.unlimited)
    if issue.code != "GX111":
        return False
    loops = {
        e.uid for plan in (s.sync, s.physical and s.physical.sync) if plan for e in plan.events if e.cause == "loop-end"
    }
    return "(activation)" in issue.message.en or any(r.kind == "event" and r.id in loops for r in issue.refs)


def judge(case: Case) -> tuple[InvariantResult, ...]:
    """Results of one recording; fails on an error nobody has explained."""
    s = final(case)
    if s is None:
        return ()
    found = check_invariants(s)
    assert [r.number for r in found] == list(range(1, 15))
    errors = [i for r in found for i in r.issues if i.severity == "error" and not impossible(s, i)]
    assert not errors, f"{case.id}: {[(i.code, i.message.en) for i in errors]}"
    return found


def test_recorded_results_have_no_unexplained_error() -> None:
    cases = list(recordings())[::EVERY]
    assert len(cases) > (50 if SHARED.is_dir() else 3)
    assert sum(bool(judge(c)) for c in cases) > len(cases) // 2


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_every_recorded_result_has_no_unexplained_error() -> None:
    if not SHARED.is_dir():
        pytest.skip(f"the full set of recordings is not here ({os.fspath(SHARED)})")
    results = [judge(c) for c in recordings()]
    codes = {i.code for found in results for r in found for i in r.issues}
    # GE's habits really occur in its own results, and the checker sees them.
    assert codes >= {"GX110", "GX117", "GX125", "GX135", "GX139", "GX144", "GX146", "GX152"}

"""Random programs: every timeline passes the independent check, both methods agree, bounds hold, results repeat."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ge_explorer.simulator import IDEAL, LaunchModel, Program, Task, program_of, simulate_program
from ge_explorer.simulator.verify import verify

LAUNCH = LaunchModel(dispatch_ns=5, dispatch_other_ns=2, record_ns=1, signal_ns=3, wait_ns=2)


@st.composite
def programs(draw: st.DrawFn, most_cores: int = 24) -> Program:
    """Up to 60 tasks on up to 5 streams; waits only look back in issue order, so no deadlock is possible."""
    count = draw(st.integers(0, 60))
    rows: list[Task] = []
    key = 0
    for i in range(count):
        waits: list[int] = []
        for _ in range(draw(st.integers(0, 2)) if i else 0):
            j = draw(st.integers(max(0, i - 10), i - 1))
            rows[j] = Task(**{**_fields(rows[j]), "records": (*rows[j].records, key)})
            waits.append(key)
            key += 1
        aic = draw(st.sampled_from([0, 0, most_cores // 2, most_cores]))
        aiv = draw(st.sampled_from([0, 0, most_cores, 2 * most_cores]))
        ns = draw(st.sampled_from([0, 1, 5, 10, 10, 40]))
        rows.append(
            Task(i, draw(st.integers(0, 4)), ns, aic if ns else 0, aiv if ns else 0, tuple(waits), (), 5 if ns else 0)
        )
    return program_of(rows, launch=draw(st.sampled_from([IDEAL, LAUNCH])))


def _fields(t: Task) -> dict[str, object]:
    return {k: getattr(t, k) for k in Task.__dataclass_fields__}


@settings(max_examples=150, derandomize=True, deadline=None)
@given(programs())
def test_timeline_respects_its_program(program: Program) -> None:
    t = simulate_program(program)
    assert verify(program, t) == []
    again = simulate_program(program)
    assert np.array_equal(t.start_ns, again.start_ns)
    assert t.gaps == again.gaps
    # No better than the cores allow, no worse than one after the other with every launch cost on top.
    work = max(int(sum((t.end_ns - t.start_ns) * t.aic)) / 24, int(sum((t.end_ns - t.start_ns) * t.aiv)) / 48)
    launch = program.launch
    extra = sum(
        task.dispatch_ns + len(task.waits) * (launch.signal_ns + launch.wait_ns) + len(task.records) * launch.record_ns
        for task in program.tasks
    )
    assert work <= t.makespan_ns <= sum(task.ns for task in program.tasks) + extra


@settings(max_examples=100, derandomize=True, deadline=None)
@given(programs(most_cores=4))
def test_both_methods_agree_without_contention(program: Program) -> None:
    a = simulate_program(program, method="recurrence")
    b = simulate_program(program, method="queue")
    assert np.array_equal(a.start_ns, b.start_ns)
    assert a.gaps == b.gaps
    assert a.critical == b.critical


@settings(max_examples=100, derandomize=True, deadline=None)
@given(programs())
def test_critical_path_is_a_chain_that_reaches_the_end(program: Program) -> None:
    t = simulate_program(program)
    if not program.tasks:
        return
    path = t.critical
    assert t.end_ns[path[-1]] == t.makespan_ns
    assert all(t.start_ns[b] >= t.end_ns[a] for a, b in pairwise(path))

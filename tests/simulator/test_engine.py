"""Small timelines computed by hand: fork-join, core contention, ties, launch costs, gaps, deadlock."""

from __future__ import annotations

import pytest

from ge_explorer.errors import OptionError
from ge_explorer.simulator import LaunchModel, Program, SimulationDeadlock, Task, Timeline, program_of, simulate_program
from ge_explorer.simulator.verify import verify


def run(*rows: Task, launch: LaunchModel | None = None, method: str = "auto") -> Timeline:
    program = program_of(rows, launch=launch) if launch else program_of(rows)
    timeline = simulate_program(program, "Ascend910B1", method=method)
    assert verify(program, timeline) == []
    return timeline


def cube(stream: int, ns: int, *, waits: tuple[int, ...] = (), records: tuple[int, ...] = ()) -> Task:
    return Task(0, stream, ns, aic=24, waits=waits, records=records)


def vector(stream: int, ns: int, *, waits: tuple[int, ...] = (), records: tuple[int, ...] = ()) -> Task:
    return Task(0, stream, ns, aiv=48, waits=waits, records=records)


def spans(t: Timeline) -> list[tuple[int, int]]:
    return list(zip(t.start_ns.tolist(), t.end_ns.tolist(), strict=True))


@pytest.mark.parametrize("method", ["recurrence", "queue"])
def test_fork_join(method: str) -> None:
    t = run(
        Task(0, 0, 10, records=(0,)), Task(1, 1, 30, waits=(0,), records=(1,)), Task(2, 0, 5), Task(3, 0, 7, waits=(1,)),
        method=method,
    )  # fmt: skip
    assert spans(t) == [(0, 10), (10, 40), (10, 15), (40, 47)]
    assert t.critical == (0, 1, 3)
    gaps = [(g.stream, g.start_ns, g.end_ns, g.reason, g.task, g.waits_for, g.event) for g in t.gaps]
    assert gaps == [
        (0, 15, 40, "event", 3, 1, 1),
        (1, 0, 10, "event", 1, 0, 0),
        (1, 40, 47, "no_work", -1, -1, -1),
    ]


def test_exclusive_units_without_and_with_an_event_110_and_100() -> None:
    # Two streams on one cube and one vector unit; the stream that is first at time 0 has the lower id.
    a, b = [(20, "V"), (40, "C"), (20, "V")], [(30, "V"), (20, "C"), (20, "V")]
    make = {"V": vector, "C": cube}
    t = run(*[make[k](1, ns) for ns, k in a], *[make[k](0, ns) for ns, k in b])
    assert t.end_ns.tolist() == [50, 90, 110, 30, 50, 70]
    t = run(
        vector(1, 20, records=(0,)), cube(1, 40), vector(1, 20), vector(0, 30, waits=(0,)), cube(0, 20), vector(0, 20)
    )
    assert t.end_ns.tolist() == [20, 60, 80, 50, 80, 100]


def test_two_full_cube_kernels_run_one_after_the_other_halves_overlap() -> None:
    assert spans(run(cube(0, 20), cube(1, 20))) == [(0, 20), (20, 40)]
    assert spans(run(Task(0, 0, 30, aic=12), Task(1, 1, 30, aic=12))) == [(0, 30), (0, 30)]  # 2T becomes 1.5T


def test_waiting_for_cores_is_told_and_is_on_the_critical_path() -> None:
    t = run(Task(7, 0, 20, aic=24), Task(8, 1, 10, aic=1))
    gap = next(g for g in t.gaps if g.reason == "cores")
    assert (gap.stream, gap.start_ns, gap.end_ns, gap.task, gap.waits_for) == (1, 0, 20, 1, 7)
    assert t.critical == (0, 1)


def test_finish_before_start_at_one_time() -> None:
    # At 10 the cube cores come back and three tasks are ready; stream 1 gets them first, stream 3 has to wait.
    t = run(cube(0, 10), Task(1, 1, 10), cube(1, 5), Task(3, 3, 10), cube(3, 5), Task(5, 2, 10), cube(2, 5))
    assert spans(t)[2] == (10, 15)
    assert spans(t)[6] == (15, 20)
    assert spans(t)[4] == (20, 25)


def test_all_finishes_of_one_time_come_before_any_start() -> None:
    # Both halves come back at 10; the wide task has waited longer than the narrow one and gets all cores.
    t = run(
        Task(0, 0, 10, aic=12), Task(1, 1, 10, aic=12), Task(2, 2, 2), cube(2, 5), Task(4, 3, 3), Task(5, 3, 5, aic=12)
    )
    assert spans(t)[3] == (10, 15)
    assert spans(t)[5] == (15, 20)


def test_longer_waiting_comes_before_lower_stream_id() -> None:
    t = run(cube(2, 10), Task(1, 1, 3), cube(1, 5), Task(3, 0, 6), cube(0, 5))
    assert spans(t)[2] == (10, 15)  # ready at 3
    assert spans(t)[4] == (15, 20)  # ready at 6


def test_a_small_task_may_pass_a_waiting_wide_one() -> None:
    t = run(Task(0, 0, 20, aic=16), Task(1, 1, 2), cube(1, 5), Task(3, 2, 4), Task(4, 2, 5, aic=8))
    assert spans(t)[4] == (4, 9)
    assert spans(t)[2] == (20, 25)


def test_mixed_task_needs_both_pools() -> None:
    t = run(Task(0, 0, 10, aic=20), Task(1, 1, 15, aiv=40), Task(2, 2, 5, aic=8, aiv=16))
    assert spans(t)[2] == (15, 20)
    assert next(g for g in t.gaps if g.reason == "cores").waits_for == 1


def test_zero_duration_markers_pass_events_on() -> None:
    t = run(cube(0, 10), Task(1, 0, 0, records=(0,), real=False), vector(1, 5, waits=(0,)), cube(1, 3))
    assert spans(t) == [(0, 10), (10, 10), (10, 15), (15, 18)]


def test_what_needs_no_cores_never_waits_behind_a_start_of_the_same_time() -> None:
    # The marker on stream 0 is over at 10 like the cube task before it, so its successor competes at 10 with stream 1.
    t = run(cube(0, 10), Task(1, 0, 0, real=False), cube(0, 5), Task(3, 1, 10), cube(1, 5))
    assert spans(t)[2] == (10, 15)
    assert spans(t)[4] == (15, 20)


def test_launch_costs_are_gaps_with_a_reason() -> None:
    launch = LaunchModel(dispatch_ns=1250, dispatch_other_ns=700, record_ns=100, signal_ns=1000, wait_ns=500)
    t = run(
        Task(0, 0, 5000, aic=1, records=(0,), dispatch_ns=1250), Task(1, 0, 5000, aic=1, dispatch_ns=1250),
        Task(2, 1, 5000, aiv=1, waits=(0,), dispatch_ns=1250), launch=launch,
    )  # fmt: skip
    # The record takes 100 ns of stream 0, then dispatch; the waiter sees it 1000 ns later, leaves after 500, then dispatch.
    assert spans(t) == [(0, 5000), (6350, 11350), (7850, 12850)]
    assert [(g.start_ns, g.end_ns, g.reason) for g in t.gaps if g.stream == 1] == [
        (0, 6100, "event"), (6100, 6600, "issue"), (6600, 7850, "issue"),
    ]  # fmt: skip


def test_stream_starts_when_it_is_activated() -> None:
    program = Program((Task(0, 0, 10), Task(1, 1, 5), Task(2, 0, 4)), (), {1: 0})
    t = simulate_program(program)
    assert spans(t) == [(0, 10), (10, 15), (10, 14)]
    assert [(g.reason, g.waits_for) for g in t.gaps if g.stream == 1] == [("start", 0)]
    assert verify(program, t) == []


@pytest.mark.parametrize("method", ["recurrence", "queue"])
def test_deadlock_names_the_ring(method: str) -> None:
    rows = (
        Task(10, 1, 5, waits=(1,), records=(0,)), Task(11, 2, 5, waits=(0,), records=(1,)), Task(12, 3, 5, waits=(0,)),
    )  # fmt: skip
    with pytest.raises(SimulationDeadlock) as caught:
        simulate_program(program_of(rows), method=method)
    error = caught.value
    assert error.cycle
    assert sorted(error.chain) == [0, 1]
    assert (error.issue.code, error.issue.severity, error.exit_code) == ("GX151", "error", 1)
    assert "stream 1 stands at node 10 waiting for event 1" in error.issue.message.en
    assert "死锁" in error.issue.message.zh
    assert {str(r) for r in error.issue.refs} >= {"node:10", "node:11", "event:0", "event:1"}


def test_record_behind_a_wait_that_never_fires() -> None:
    # Stream 1 waits for event 0, recorded on stream 2 behind a wait for event 1, which nobody records.
    rows = (Task(1, 1, 5, waits=(0,)), Task(2, 2, 5, waits=(1,)), Task(3, 2, 5, records=(0,)))
    with pytest.raises(SimulationDeadlock) as caught:
        simulate_program(program_of(rows))
    assert not caught.value.cycle
    assert caught.value.chain == (0, 1)
    assert "nobody records" in caught.value.issue.message.en


def test_record_behind_its_own_wait_on_one_stream() -> None:
    with pytest.raises(SimulationDeadlock) as caught:
        simulate_program(program_of((Task(0, 0, 1, waits=(0,)), Task(1, 0, 1, records=(0,)))))
    assert caught.value.chain == (0,)


def test_task_wider_than_the_chip() -> None:
    with pytest.raises(OptionError, match="25 AIC"):
        simulate_program(program_of((Task(0, 0, 1, aic=25),)))


def test_recurrence_refuses_contention() -> None:
    with pytest.raises(OptionError, match="recurrence"):
        simulate_program(program_of((cube(0, 1), cube(1, 1))), method="recurrence")


def test_empty_program() -> None:
    t = simulate_program(program_of(()))
    assert (t.makespan_ns, t.critical, t.gaps) == (0, (), ())


@pytest.mark.parametrize("aic", [0, 12])
def test_ten_thousand_tasks_finish(aic: int) -> None:
    rows = [
        Task(i, i % 4, 1000 + i * 7919 % 9000, aic=aic, waits=(i - 4,) if i >= 7 and i % 3 == 0 else (), records=(i,))
        for i in range(10_000)
    ]
    program = program_of(rows)
    found = simulate_program(program)
    assert len(found.end_ns) == len(rows)
    assert verify(program, found) == []

"""The timeline check fires on every kind of damage, each made to a correct timeline."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ge_explorer.simulator import Task, Timeline, program_of, simulate_program
from ge_explorer.simulator.verify import verify

PROGRAM = program_of(
    (Task(0, 0, 10, aic=20, records=(0,)), Task(1, 0, 10, aic=4), Task(2, 1, 10, aic=20, waits=(0,)), Task(3, 1, 5))
)


def moved(column: str, task: int, value: int) -> Timeline:
    good = simulate_program(PROGRAM)
    array = np.array(getattr(good, column))
    array[task] = value
    return replace(good, **{column: array})


def shifted(task: int, start: int) -> Timeline:
    good = simulate_program(PROGRAM)
    starts, ends = np.array(good.start_ns), np.array(good.end_ns)
    ends[task] += start - starts[task]
    starts[task] = start
    return replace(good, start_ns=starts, end_ns=ends)


def test_the_undamaged_timeline_passes() -> None:
    good = simulate_program(PROGRAM)
    assert good.end_ns.tolist() == [10, 20, 20, 25]
    assert verify(PROGRAM, good) == []


@pytest.mark.parametrize(
    ("timeline", "word"),
    [
        (moved("end_ns", 3, 99), "does not last"),
        (moved("node", 1, 9), "another node"),
        (moved("aic", 1, 3), "another node"),
        (shifted(1, 5), "overtakes"),
        (shifted(2, 5), "before event"),
        (replace(simulate_program(PROGRAM), total_aic=23), "cores in use"),
        (replace(simulate_program(PROGRAM), gaps=()), "not explained"),
    ],
)
def test_damage_is_found(timeline: Timeline, word: str) -> None:
    found = verify(PROGRAM, timeline)
    assert any(word in i.message.en for i in found), [i.message.en for i in found]
    assert {i.code for i in found} == {"GX501"}


def test_other_number_of_tasks() -> None:
    assert "4 tasks" in verify(PROGRAM, simulate_program(program_of((Task(0, 0, 1),))))[0].message.en


def test_wait_without_record() -> None:
    bad = program_of((Task(0, 0, 1, waits=(0,)),))
    fine = simulate_program(program_of((Task(0, 0, 1),)))
    assert any("nobody records" in i.message.en for i in verify(bad, fine))


def test_activation_is_checked() -> None:
    good: Any = simulate_program(program_of((Task(0, 0, 5), Task(1, 1, 5))))
    program = replace(program_of((Task(0, 0, 5), Task(1, 1, 5))), starts={1: 0})
    assert any("activation" in i.message.en for i in verify(program, good))

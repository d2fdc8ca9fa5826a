"""End times of a generated plan equal SimPy's, task by task (SimPy is a bench extra; skipped without it)."""

from __future__ import annotations

import pytest

from ge_explorer.simulator import IDEAL, LaunchModel, simulate_program
from tests.bench.simulation import CHIP, program, simpy_ends

pytest.importorskip("simpy")


@pytest.mark.parametrize("launch", [IDEAL, None])
@pytest.mark.parametrize("cores", [False, True])
def test_same_end_times(cores: bool, launch: LaunchModel | None) -> None:
    p = program(1500, cores=cores, launch=launch)
    assert simulate_program(p, CHIP).end_ns.tolist() == simpy_ends(p, CHIP)

"""The fuzz run with its budget: no failure, no input slower than 5 s, no more than 1 GiB of memory, measured from outside."""

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("onnx")

SECONDS = 5.0
MEMORY_MIB = 1024.0
ROOT = Path(__file__).resolve().parents[2]


def fuzz(count: int, seed: int, limit: float) -> dict[str, Any]:
    """Run in a second process, so that its peak memory is that of the mutations alone."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.loaders.fuzzing", str(count), str(seed)],
        capture_output=True, text=True, timeout=limit, check=False, cwd=ROOT,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def judge(found: dict[str, Any]) -> None:
    assert not found["failures"], "\n".join(found["failures"][:5])
    assert found["slowest"][0] < SECONDS, found["slowest"]
    assert found["peak_mib"] < MEMORY_MIB, found["peak_mib"]
    assert found["load"] > 0 and found["load refused"] > 0, "the mutations test both ways out"


def test_a_few_mutations_stay_within_the_budget() -> None:
    judge(fuzz(240, 7, 250))


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_twenty_thousand_mutations_stay_within_the_budget() -> None:
    seed = random.randrange(2**31)
    print("seed", seed)  # shown when the test fails
    found = fuzz(20_000, seed, 7000)
    print({k: v for k, v in found.items() if k != "failures"})
    judge(found)

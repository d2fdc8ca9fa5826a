"""Both ways of building neighbour lists give the definition: i and j conflict when neither is before the other."""

from __future__ import annotations

import random

import pytest

import ge_explorer.memory.conflicts as module
from ge_explorer.memory.conflicts import Conflicts


def masks(seed: int, n: int, shuffled: bool) -> list[int]:
    """Order of random intervals; ids by begin, or in any order."""
    rng = random.Random(seed)
    spans = sorted((b := rng.randrange(40), b + rng.randrange(1, 12)) for _ in range(n))
    if shuffled:
        rng.shuffle(spans)
    return [sum(1 << x for x in range(n) if spans[x][1] < spans[y][0]) for y in range(n)]


@pytest.mark.parametrize("n", [1, 7, 8, 9, 40, 129])
@pytest.mark.parametrize("shuffled", [False, True])
@pytest.mark.parametrize("limit", [0, 10**6])
def test_neighbours_are_the_incomparable_ones(
    n: int, shuffled: bool, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LIST_LIMIT", limit)
    monkeypatch.setattr(module, "DENSE", 0 if limit else module.DENSE)  # lists even where most pairs conflict
    for seed in range(5):
        before = masks(seed, n, shuffled)
        c = Conflicts(before)
        for y in range(n):
            expected = [x for x in range(n) if x != y and not before[y] >> x & 1 and not before[x] >> y & 1]
            assert c.of(y).tolist() == expected
            assert c.degree[y] == len(expected)


def test_no_buffers() -> None:
    assert Conflicts([]).count == 0

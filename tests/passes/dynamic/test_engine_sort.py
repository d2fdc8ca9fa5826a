"""The order GE means and the one its own container ends in. Figures: gcc 12, C++17, all subsets of GE's engine table."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ge_explorer.device.engines import GE_ENGINES, Engine
from ge_explorer.passes.dynamic.engine_sort import device_order, intended_order
from tests.passes.dynamic.dynamic_cases import AI, CPU, DSA, HCCL, VEC, graph_of, run


def ids(engines: list[Engine]) -> list[str]:
    return [e.id for e in engines]


@pytest.mark.parametrize(
    ("size", "sets", "wrong", "lost"),
    [(1, 15, 0, 0), (2, 105, 0, 0), (3, 455, 184, 97), (4, 1365, 859, 197), (5, 3003, 2783, 1826)],
)
def test_as_many_sets_come_out_wrong_as_with_the_real_container(size: int, sets: int, wrong: int, lost: int) -> None:
    seen: Counter[str] = Counter()
    for row in combinations(GE_ENGINES.values(), size):
        real = device_order(row)
        seen["sets"] += 1
        seen["wrong"] += real != intended_order(row)
        seen["lost"] += len(real) < size
    assert (seen["sets"], seen["wrong"], seen["lost"]) == (sets, wrong, lost)


@pytest.mark.parametrize(
    ("names", "real"),
    [
        ([AI, "DNN_VM_AICPU_ASCEND", "DNN_VM_DVPP", DSA], [AI, "DNN_VM_AICPU_ASCEND", DSA, "DNN_VM_DVPP"]),
        ([AI, HCCL, CPU, DSA, VEC], [AI, HCCL, VEC, CPU]),
        ([AI, HCCL, CPU, VEC], [AI, HCCL, VEC, CPU]),
        ([CPU, "DNN_VM_AICPU_ASCEND", "DNN_VM_AICPU_ASCEND_FFTS_PLUS"], ["DNN_VM_AICPU_ASCEND", CPU]),
    ],
)
def test_single_sets(names: list[str], real: list[str]) -> None:
    assert ids(device_order([GE_ENGINES[n] for n in names])) == real


ENGINES = st.lists(st.integers(0, 6), max_size=24).map(lambda c: [Engine(f"e{i:02d}", cost=x) for i, x in enumerate(c)])


@given(ENGINES)
@settings(max_examples=300, deadline=None, derandomize=True)
def test_any_table_ends_and_gives_each_engine_once(engines: list[Engine]) -> None:
    real = device_order(engines)
    assert len(real) == len({e.id for e in real}) <= len(engines)


@given(ENGINES)
@settings(max_examples=200, deadline=None, derandomize=True)
def test_a_comparator_that_agrees_with_the_alphabet_is_harmless(engines: list[Engine]) -> None:
    tame = [Engine(e.id, cost=c) for e, c in zip(engines, sorted(e.cost for e in engines), strict=True)]
    assert device_order(tame) == intended_order(tame) == tame


def test_the_pass_warns_with_the_engine_that_gets_lost() -> None:
    rows = [("data", "", []), ("ar", HCCL, ["data"]), ("cpu", CPU, ["ar"])]
    rows += [("a", AI, ["data"]), ("d", DSA, ["data"]), ("v", VEC, ["data"])]
    t = run(graph_of(rows))
    assert t.failed is None
    found = [i for i in t.issues if i.code == "GX330"]
    assert len(found) == 1
    assert f"loses {DSA}" in found[0].message.en
    assert found[0].message.zh and found[0].fix is not None
    assert len(found[0].refs) == 5


def test_no_warning_for_many_engines_whose_costs_follow_the_alphabet() -> None:
    rows = [("data", "", []), ("a", AI, ["data"]), ("ar", HCCL, ["data"]), ("d", DSA, ["data"]), ("v", VEC, ["data"])]
    rows += [("r", "DNN_VM_RTS", [])]
    t = run(graph_of(rows))
    assert t.final.streams is not None
    assert t.final.streams.main_count == 5
    assert not [i for i in t.issues if i.code == "GX330"]

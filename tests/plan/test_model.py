"""Plan values: JSON round trip, strengths, errors."""

from __future__ import annotations

import json

import pytest

from ge_explorer.errors import InputError, OptionError
from ge_explorer.plan.builtin import plans
from ge_explorer.plan.model import CoreLimit, Plan, StreamSpec, SyncPoint

FULL = Plan(
    "p",
    "g",
    (StreamSpec("s", "7", ("a", "名字/b")),),
    (CoreLimit(("a",), 8, 16),),
    (SyncPoint("b", "a", "why"),),
    ("j",),
    "src",
    ("d",),
)


@pytest.mark.parametrize("plan", [FULL, Plan("p", "g", ()), *plans().values()])
def test_json_round_trip(plan: Plan) -> None:
    assert Plan.from_json(plan.to_json()) == plan


def test_levels_are_two_independent_switches() -> None:
    shown = {k: (FULL.level(k).cores, FULL.level(k).syncs) for k in ("C1", "C2", "C3", "C1+sync")}
    assert shown == {"C1": (False, False), "C2": (True, False), "C3": (True, True), "C1+sync": (False, True)}
    assert FULL.strengths == ("single", "C1", "C2", "C3")
    assert Plan("p", "g", FULL.streams).strengths == ("single", "C1")
    assert Plan("p", "g", FULL.streams, syncs=FULL.syncs).strengths == ("single", "C1", "C1+sync")
    with pytest.raises(OptionError, match="Did you mean 'C1'"):
        FULL.level("C11")


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", json.dumps({"format": "other/1"}), FULL.to_json().replace('"aic": 8', '"aic": "8"'),
     FULL.to_json().replace('"aic": 8', '"aic": -8'), FULL.to_json().replace('"tag"', '"tags"'),
     FULL.to_json().replace('"model"', '"modell"')],
)  # fmt: skip
def test_unusable_text_is_an_input_error(text: str) -> None:
    with pytest.raises(InputError):
        Plan.from_json(text)

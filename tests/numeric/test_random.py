"""Random graphs compute the same after every step, at every level and with every fusion rule, judged by onnxruntime."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.numeric.judge import (
    EVERYTHING,
    KEEP_CASTS,
    O1,
    after_all,
    by_ort,
    by_reference,
    feeds_of,
    ge_changes,
    optimised,
)

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

from tests.numeric.random_models import Seeded, random_model  # noqa: E402

OPTIONS: tuple[dict[str, str], ...] = ({}, EVERYTHING, O1, {"gx.fusion": "off"}, {"gx.heavyFormat": "1"})
LONG = 3000


class Drawn:
    """Decisions of hypothesis, so that a failure shrinks to a small graph."""

    def __init__(self, draw: Any) -> None:
        self.draw = draw

    def pick(self, items: Sequence[Any]) -> Any:
        return items[self.draw(st.integers(0, len(items) - 1))]

    def seed(self) -> int:
        return int(self.draw(st.integers(0, 2**16)))


@st.composite
def models(draw: Any) -> Any:
    return random_model(Drawn(draw), size=6)


def judge(model: Any, seed: int, options: dict[str, str], run: Any = by_ort) -> str:
    """ "" or what differs; where a rule of GE changes values, the same without the rules that do."""
    feeds = feeds_of(model, seed)
    try:
        want = run(model, feeds)
    except Exception:
        return "original"
    trace = optimised(model, options)
    if ge_changes(trace):
        trace = optimised(model, {**options, **KEEP_CASTS})
    return after_all(trace, model, feeds, run, want).text


@settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(models(), st.sampled_from(OPTIONS))
def test_small_graphs(model: Any, options: dict[str, str]) -> None:
    onnx.checker.check_model(model)
    assert judge(model, 0, options) in ("", "original")


@pytest.mark.parametrize("seed", range(8))
def test_small_graphs_by_the_reference_evaluator(seed: int) -> None:
    assert judge(random_model(Seeded(seed), 5), seed, OPTIONS[seed % 5], by_reference) in ("", "original")


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_thousands_of_graphs() -> None:
    wrong = []
    unusable = 0
    for seed in range(LONG):
        found = judge(random_model(Seeded(seed), 6 + seed % 9), seed, OPTIONS[seed % 5])
        unusable += found == "original"
        if found not in ("", "original"):
            wrong.append(f"seed {seed}: {found}")
    assert unusable < LONG / 50
    assert not wrong, "\n".join(wrong)


def test_ge_takes_out_casts_that_round_and_says_so() -> None:
    """float → float16 → float: GE's table calls it no loss, so the result differs from the model's."""
    h = onnx.helper
    nodes = [
        h.make_node("Neg", ["x"], ["a"]), h.make_node("Cast", ["a"], ["b"], to=10), h.make_node("Cast", ["b"], ["c"], to=1),
        h.make_node("Neg", ["c"], ["y"]),
    ]  # fmt: skip
    info = [h.make_tensor_value_info(n, 1, [4]) for n in "xy"]
    model = h.make_model(
        h.make_graph(nodes, "g", info[:1], info[1:]), opset_imports=[h.make_opsetid("", 17)], ir_version=8
    )
    feeds = {"x": np.array([0.1, 1.0, 2.5, 1000.3], np.float32)}
    trace = optimised(model)
    found = [i for s in trace for i in s.issues if i.code == "GX347"]
    assert len(found) == 1 and len(found[0].refs) == 2
    assert after_all(trace, model, feeds).text.startswith("optimise-stage1")
    assert not after_all(optimised(model, KEEP_CASTS), model, feeds).text
    assert not ge_changes(optimised(model, KEEP_CASTS))

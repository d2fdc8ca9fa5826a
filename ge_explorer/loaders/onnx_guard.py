"""ONNX shape inference that cannot take the process down.

Inference is native code and crashes on some models that ONNX's checker rejects, and on a few operators of the ``ai.onnx.ml``
domain whose input type is unknown. Such models go to a second Python process with a time limit; all others are inferred
here, which is faster.

ONNX's data propagation (``data_prop``) stays off: it writes every vector out element by element, a gigabyte for ten million
elements. ``onnx_values.py`` follows the short vectors that decide shapes, and finds at least as much.
"""

from __future__ import annotations

import subprocess
import sys

from ge_explorer.loaders.onnx_records import Proto

TIME_LIMIT = 30.0
"""Seconds the second process may take for the largest models; ``_time_limit`` gives a small one less."""
SAFE_DOMAINS = frozenset({"", "ai.onnx"})

_CHILD = """
import sys, onnx
from onnx import shape_inference
try:
    out = shape_inference.infer_shapes(sys.stdin.buffer.read())
except (shape_inference.InferenceError, RuntimeError, ValueError, TypeError) as e:
    sys.stderr.write(str(e)[:2000]); sys.exit(3)
sys.stdout.buffer.write(out.SerializeToString())
"""


class InferenceFailed(Exception):
    """Shape inference gave no result; the text is one line for the report."""


def infer_safely(skeleton: Proto) -> Proto:
    """Model with inferred types; InferenceFailed with the reason otherwise."""
    from onnx import shape_inference

    if not is_trusted(skeleton):
        return _elsewhere(skeleton)
    try:
        return shape_inference.infer_shapes(skeleton)
    except (shape_inference.InferenceError, RuntimeError, ValueError, TypeError) as e:
        raise InferenceFailed(_line(str(e)) or type(e).__name__) from e


def is_trusted(model: Proto) -> bool:
    """True when the checker accepts the model and every operator domain with native inference is the standard one."""
    import onnx

    if any(o.domain not in SAFE_DOMAINS and o.domain.startswith("ai.onnx") for o in model.opset_import):
        return False
    try:
        onnx.checker.check_model(model)
    except (onnx.checker.ValidationError, ValueError, RuntimeError, TypeError):
        return False
    return True


def _elsewhere(model: Proto) -> Proto:
    import onnx
    from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

    content = model.SerializeToString()
    limit = _time_limit(len(content))
    try:
        done = subprocess.run(
            [sys.executable, "-c", _CHILD],
            input=content,
            capture_output=True,
            timeout=limit,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise InferenceFailed(f"it took more than {limit:.0f} s") from None
    except (OSError, ValueError) as e:
        raise InferenceFailed(f"no second process for a model the checker rejects ({_line(str(e))})") from e
    if done.returncode == 3:
        raise InferenceFailed(_line(done.stderr.decode("utf-8", errors="replace")))
    if done.returncode != 0:
        raise InferenceFailed("ONNX's inference crashed on this model")
    out = onnx.ModelProto()
    try:
        out.ParseFromString(done.stdout)
    except DecodeError as e:
        raise InferenceFailed("its result could not be read") from e
    return out


def _time_limit(size: int) -> float:
    """Seconds for a model of ``size`` bytes: 10 (a busy machine starts Python slowly), and one more per 256 KiB."""
    return min(TIME_LIMIT, 10.0 + size / 2**18)


def _line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[0][:200] if lines else ""

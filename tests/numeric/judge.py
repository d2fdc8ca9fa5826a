"""Original against optimised, judged by onnxruntime and by onnx's reference evaluator."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ge_explorer import pipelines
from ge_explorer.exports.runnable import to_runnable_onnx
from ge_explorer.loaders import load
from ge_explorer.passes.optimize.value_changes import CHANGES
from ge_explorer.trace.pipeline import Pipeline
from ge_explorer.trace.runner import run_trace
from ge_explorer.trace.trace import Trace

O1 = {"ge.oo.level": "O1"}
EVERYTHING = {"gx.fusion": "all"}
"""Fusion rules of ours as well."""
Feeds = Mapping[str, Any]


def optimised(source: Any, options: Mapping[str, str] | None = None, **given: Any) -> Trace:
    """The optimise chapter on a file or model."""
    steps = [i for i in pipelines.static() if i.pass_.chapter == "optimise"]
    trace = run_trace(load(source, **given).graph, Pipeline.from_items(steps), dict(options or {}), strict=True)
    assert trace.failed is None, trace.failed and trace.failed.error
    return trace


def by_ort(model: Any, feeds: Feeds, *, raw: bool = True) -> list[Any]:
    """onnxruntime, without its own optimiser unless ``raw`` is False."""
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    if raw:
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return list(session.run(None, dict(feeds)))


def by_reference(model: Any, feeds: Feeds) -> list[Any]:
    """onnx's reference evaluator."""
    from onnx.reference import ReferenceEvaluator

    return list(ReferenceEvaluator(model).run(None, dict(feeds)))


@dataclass(frozen=True)
class Difference:
    """What differs first between two lists of results ("" nothing), and the largest errors seen."""

    text: str = ""
    absolute: float = 0.0
    relative: float = 0.0


def difference(want: list[Any], got: list[Any], rtol: float = 1e-4, atol: float = 1e-5) -> Difference:
    """Types, shapes and integers exactly; floats within ``atol + rtol * largest value of the tensor``."""
    if len(want) != len(got):
        return Difference(f"{len(want)} results became {len(got)}")
    worst, share = 0.0, 0.0
    for k, (a, b) in enumerate(zip(want, got, strict=True)):
        if isinstance(a, list) or a is None or not hasattr(a, "dtype"):
            inner = (
                difference(list(a), list(b), rtol, atol)
                if isinstance(a, list)
                else Difference("" if a == b else f"result {k}")
            )
            if inner.text:
                return Difference(f"result {k}: {inner.text}")
            continue
        if a.dtype != b.dtype or a.shape != b.shape:
            return Difference(f"result {k}: {a.dtype}{list(a.shape)} became {b.dtype}{list(b.shape)}")
        if a.dtype.kind not in "biufcOSUmM":  # bfloat16 and narrower: eight bits of significand or fewer
            a, b, narrow = a.astype(np.float32), b.astype(np.float32), True
        else:
            narrow = a.dtype == np.float16
        if a.dtype.kind not in "fc" or a.size == 0:
            if not np.array_equal(a, b):
                return Difference(f"result {k}: {int(np.sum(a != b))} of {a.size} values of type {a.dtype} differ")
            continue
        x, y = a.astype(np.float64), b.astype(np.float64)
        odd = ~np.isfinite(x) | ~np.isfinite(y)
        if not np.array_equal(x[odd], y[odd], equal_nan=True):
            return Difference(f"result {k}: infinities or NaN at other places")
        gap = np.abs(x - y)[~odd]
        size = np.abs(x)[~odd]
        if gap.size:
            worst = max(worst, float(gap.max()))
            share = max(share, float(gap.max() / max(float(size.max()), 1e-30)) if size.max() else 0.0)
            unit = (0.004 if a.dtype == np.float16 else 0.03) if narrow else 0.0
            if np.any(gap > atol + max(rtol, unit) * float(size.max())):
                return Difference(
                    f"result {k}: off by {gap.max():.3g} where values reach {size.max():.3g}", worst, share
                )
    return Difference("", worst, share)


def graphs(trace: Trace) -> Iterator[tuple[str, int]]:
    """(name, index) of the steps that changed the graph, the start first."""
    yield "start", -1
    before = trace.initial.graph
    for s in trace:
        if s.after.graph is not before:
            before = s.after.graph
            yield s.name, s.index


def first_break(trace: Trace, original: Any, feeds: Feeds, run: Any = by_ort, want: list[Any] | None = None) -> str:
    """Name of the first step whose model computes something else, and what; "" when all agree."""
    want = run(original, feeds) if want is None else want
    for name, index in graphs(trace):
        model = to_runnable_onnx(trace, name if index < 0 else index, original)
        found = difference(want, run(model, feeds))
        if found.text:
            return f"{name}: {found.text}"
    return ""


KEEP_CASTS = {
    "ge.optimizationSwitch": "CastRemovePass:off;TransOpSymmetryEliminationPass:off",
    "ge.disableOptimizations": "TransOpWithoutReshapeFusionPass",
}
"""Without the three passes that take out casts GE does not call a loss."""


def ge_changes(trace: Trace) -> bool:
    """True if GE's rule changed values: a cast that rounds was taken out, a condition asked for its size (the notes say so)."""
    return any(i.code in CHANGES for s in trace for i in s.issues)


def _has_half(model: Any) -> bool:
    return any(a.name == "to" and a.i == 10 for n in model.graph.node for a in n.attribute)


def after_all(
    trace: Trace, original: Any, feeds: Feeds, run: Any = by_ort, want: list[Any] | None = None
) -> Difference:
    """Difference after the last step; on a difference the text names the first step that breaks."""
    want = run(original, feeds) if want is None else want
    found = difference(want, run(to_runnable_onnx(trace, None, original), feeds))
    if found.text and run is by_ort and _has_half(original):
        # onnxruntime computes float16 operators in float32 and drops the rounding between them: ask the evaluator that does not
        run, want = by_reference, by_reference(original, feeds)
        found = difference(want, run(to_runnable_onnx(trace, None, original), feeds))
    if found.text:
        return Difference(first_break(trace, original, feeds, run, want) or found.text, found.absolute, found.relative)
    return found


NUMBERS = {
    1: np.float32,
    2: np.uint8,
    3: np.int8,
    6: np.int32,
    7: np.int64,
    9: np.bool_,
    10: np.float16,
    11: np.float64,
}


def feeds_of(model: Any, seed: int = 0) -> dict[str, Any]:
    """Fixed random inputs; an open first dimension is 1, an open one of a signal 512, of an image 64."""
    rng = np.random.default_rng(seed)
    weights = {t.name for t in model.graph.initializer}
    out: dict[str, Any] = {}
    for v in (v for v in model.graph.input if v.name not in weights):
        dims = v.type.tensor_type.shape.dim
        shape = [max(d.dim_value, 0) or _size(k, len(dims)) for k, d in enumerate(dims)]
        kind = NUMBERS[v.type.tensor_type.elem_type]
        if np.issubdtype(kind, np.floating):
            out[v.name] = rng.standard_normal(shape).astype(kind)
        else:
            out[v.name] = np.asarray(rng.integers(0, 2 if kind is np.bool_ else 5, shape) if shape else 16000).astype(
                kind
            )
    return out


def _size(k: int, rank: int) -> int:
    return 1 if k == 0 or (rank > 2 and k == 1) else 512 if rank < 3 else 64


def read(path: Path) -> Any:
    """A model file."""
    import onnx

    return onnx.load(path)


def with_random_weights(model: Any, seed: int = 0) -> Any:
    """The light networks fill their weights with one number, so that every result is the same; this gives them random ones.

    Scaled so that values neither vanish nor explode; variances of batch norms stay positive. The last Softmax goes: it would hide
    differences.
    """
    from onnx import numpy_helper

    out = type(model)()
    out.CopyFrom(model)
    shapes = {t.name: numpy_helper.to_array(t) for t in out.graph.initializer}
    variances = {n.input[4] for n in out.graph.node if n.op_type == "BatchNormalization"}
    rng = np.random.default_rng(seed)
    kept = []
    last = out.graph.node[-1]
    if last.op_type == "Softmax":
        out.graph.output[0].name = last.input[0]
        del out.graph.node[-1]
    for n in out.graph.node:
        if n.op_type != "ConstantOfShape" or n.input[0] not in shapes:
            kept.append(n)
            continue
        shape = [int(d) for d in shapes[n.input[0]]]
        values = rng.standard_normal(shape, dtype=np.float32) * np.float32(
            (2 / max(1, int(np.prod(shape[1:])))) ** 0.5 if len(shape) > 1 else 0.3
        )
        if n.output[0] in variances:
            values = np.abs(values) + 0.5
        elif len(shape) == 1:
            values += 0.7
        out.graph.initializer.append(numpy_helper.from_array(values, n.output[0]))
    del out.graph.node[:]
    out.graph.node.extend(kept)
    return out

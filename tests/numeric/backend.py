"""onnx's backend test models: original against optimised, each model's fate told in one word."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ge_explorer.errors import GxError
from tests.numeric.judge import after_all, by_ort, by_reference, ge_changes, optimised

RANDOM = frozenset(
    {"RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Multinomial", "Bernoulli", "Dropout"}
)


def cases() -> Iterator[tuple[str, Any, dict[str, Any]]]:
    """(name, model, inputs): the generated node cases, then the stored models with one data set each."""
    import onnx
    from onnx import numpy_helper
    from onnx.backend.test.case.node import collect_testcases
    from onnx.backend.test.loader import load_model_tests

    def array(x: Any, kind: Any) -> Any:
        return numpy_helper.to_array(x) if isinstance(x, onnx.TensorProto) else x

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for c in collect_testcases(None):
            if c.model is not None and c.data_sets:
                names = [v.name for v in c.model.graph.input]
                yield c.name, c.model, {n: array(v, None) for n, v in zip(names, c.data_sets[0][0], strict=False)}
    for kind in ("simple", "pytorch-converted", "pytorch-operator"):
        for c in load_model_tests(kind=kind):
            folder = Path(c.model_dir)
            model = onnx.load(folder / "model.onnx")
            given = [v for v in model.graph.input if v.name not in {t.name for t in model.graph.initializer}]
            feeds: dict[str, Any] = {}
            for k, v in enumerate(given):
                file = folder / "test_data_set_0" / f"input_{k}.pb"
                feeds[v.name] = _read(file, v.type) if file.exists() else None
            yield f"{kind}/{c.name}", model, feeds


def _read(path: Path, kind: Any) -> Any:
    import onnx
    from onnx import numpy_helper

    word = kind.WhichOneof("value")
    if word == "sequence_type":
        s = onnx.SequenceProto()
        s.ParseFromString(path.read_bytes())
        return numpy_helper.to_list(s)
    if word == "optional_type":
        o = onnx.OptionalProto()
        o.ParseFromString(path.read_bytes())
        return numpy_helper.to_optional(o)
    t = onnx.TensorProto()
    t.ParseFromString(path.read_bytes())
    return numpy_helper.to_array(t)


def judged(model: Any, feeds: dict[str, Any], options: dict[str, str] | None = None) -> tuple[str, str]:
    """(fate, detail): equal, random, "does not run", "not written", "GE changes" or differs."""
    if any(n.op_type in RANDOM for n in model.graph.node):
        return "random", ""
    run: Any = by_ort
    try:
        want = by_ort(model, feeds, raw=False)
    except Exception as e:  # whatever an engine throws: then the other one
        try:
            run, want = by_reference, by_reference(model, feeds)
        except Exception:
            return "does not run", f"{type(e).__name__}: {e}".replace("\n", " ")[:160]
    try:
        trace = optimised(model, options)
        found = after_all(trace, model, feeds, run, want)
    except GxError as e:
        return "not written", str(e)
    if found.text and ge_changes(trace):
        return "GE changes", found.text
    return ("differs", found.text) if found.text else ("equal", "onnxruntime" if run is by_ort else "reference")

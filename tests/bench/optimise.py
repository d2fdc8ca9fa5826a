"""Row 15: compute nodes left by the graph optimiser, beside onnxruntime's basic optimisation of the same file.

Three figures a file: ours with the node-level passes; theirs with its operator fusions switched off (the like-for-like ratio:
folding, duplicates, no-ops), and theirs with everything. Fusing BatchNorm, Mul and Add into Conv is graph fusion in GE, too, and
is counted in the last row with ``fuse-graph`` on.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

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
        return len(onnx.load(options.optimized_model_filepath).graph.node)


def figures() -> list[Figure]:
    """densenet121 and resnet50 of the onnx wheel."""
    import onnx

    folder = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
    rows: list[Figure] = []
    for name in ("densenet121", "resnet50"):
        path = folder / f"light_{name}.onnx"
        rows.append((f"{name}: node-level passes, no fusion", ours(path, False), theirs(path, False), "", "<= 1.10 x"))
        rows.append((f"{name}: with graph fusion", ours(path, True), theirs(path, True), "", "<= 1.10 x"))
    return rows

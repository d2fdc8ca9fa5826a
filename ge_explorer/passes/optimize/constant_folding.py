"""constant-folding: an operator whose inputs are all constant becomes a constant."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

import numpy as np

from ge_explorer.graph.constant import NUMPY_DTYPES, ConstantValue
from ge_explorer.graph.model import Graph, Node, Tensor
from ge_explorer.passes.optimize.base import SHARED_RULES, NodePass
from ge_explorer.passes.optimize.facts import CONST, DO_NOT_FOLD, NO_FOLD, known, sizes
from ge_explorer.passes.optimize.folding import fold, mark
from ge_explorer.passes.optimize.folding_kernels import BUILTIN, HOST, Array, compute
from ge_explorer.passes.optimize.switches import FOLDING
from ge_explorer.passes.optimize.work import Work
from ge_explorer.text import Text
from ge_explorer.trace.passes import Rule

POLICY = "ge.exec.memoryOptimizationPolicy"
SMALL = 8
"""With memory priority, a shared constant of more elements than this is not folded away."""
_P = "compiler/graph/passes/standard_optimize/constant_folding"
_BY_SHAPE = frozenset({"Shape", "ShapeN", "Size", "Rank", "GatherShapes"})
_KINDS = MappingProxyType({np.dtype(k): name for name, k in NUMPY_DTYPES.items()})


@dataclass(frozen=True)
class ConstantFolding(NodePass):
    """Compute on the host what depends on constants only.

    Rule: every input (at least one) is a Const, or a node already marked as constant; a host kernel exists for the type; all
    output shapes are known. ``_do_not_constant_folding`` and ``no_need_constant_folding`` forbid it; with memory priority so
    does a constant of more than 8 elements that others read as well. If an input is only marked, the node is marked too and
    folds after the walk. There is no size limit: a fold may grow the weights. Results of more than 64 KiB keep shape and type.

    GE source: constant_folding_pass.cc, potential_folding_pass.cc, folding_pass.cc. The set of types the operator package
    computes on the host is assumed (``folding_kernels.HOST``). Control edges from *data* producers are not added.
    Options: ``ge.oo.constantFolding``, ``ge.disableOptimizations``, ``ge.exec.memoryOptimizationPolicy``.
    Example: ``Const [64,3,7,7] -> ConstantOfShape -> Conv2D`` becomes ``Const -> Conv2D``.
    """

    name: ClassVar[str] = "constant-folding"
    title: ClassVar[Text] = Text("Fold", "常量折叠")
    summary: ClassVar[Text] = Text("Computes what depends on constants only.", "计算只依赖常量的节点。")
    option_keys: ClassVar[frozenset[str]] = NodePass.option_keys | {POLICY}
    ge_name: ClassVar[str] = "ConstantFoldingPass"
    source: ClassVar[str] = f"{_P}/constant_folding_pass.cc: ConstantFoldingPass::Run"
    level: ClassVar[int] = 1
    bound: ClassVar[str] = FOLDING
    fidelity = "simplified"
    types: ClassVar[frozenset[str] | None] = (frozenset(BUILTIN) | frozenset(HOST) | {"Constant"}) - _BY_SHAPE
    rules = MappingProxyType(
        {
            "constant-node": Rule(
                Text("A constant of the model file.", "模型文件中的常量。"),
                "parser/parser/onnx/onnx_constant_parser.cc",
            ),
            "fill": Rule(
                Text("A fill whose shape is constant.", "形状为常量的填充。"), "compiler/host_kernels: FillKernel"
            ),
            "builtin": Rule(
                Text(
                    "All inputs are constant; GE has a host kernel for this type.",
                    "输入全为常量，且 GE 有该类型的主机核函数。",
                ),
                f"{_P}/constant_folding_pass.cc",
            ),
            "host": Rule(
                Text(
                    "All inputs are constant; the operator package is assumed to compute this type on the host.",
                    "输入全为常量；假设算子包能在主机上计算该类型。",
                ),
                f"{_P}/constant_folding_pass.cc (host kernels assumed)",
            ),
            "shared-constant": Rule(
                Text(
                    "Memory priority: a large constant input has other readers, so folding would keep both.",
                    "内存优先：较大的常量输入还有其他读者，折叠后两份都要保留。",
                ),
                f"{_P}/constant_folding_pass.cc: MemoryPriority",
            ),
            "forbidden": Rule(
                Text("An attribute forbids folding.", "属性禁止折叠。"),
                f"{_P}/folding_pass.cc: IsNoNeedConstantFolding",
            ),
            **SHARED_RULES,
        }
    )

    def wants(self, g: Graph) -> bool:
        """An operator with a kernel and constant inputs."""
        return any(self._may_fold(g, n) for n in g)

    def _may_fold(self, g: Graph, n: Node) -> bool:
        if n.op == "Constant":
            return True
        if self.types is None or n.op not in self.types:
            return False
        ready = [g.node(g.tensor(t).producer).op in CONST for t in n.inputs if t is not None]
        return bool(ready) and all(ready)

    def visit(self, w: Work, n: Node) -> None:
        """Fold or mark one node."""
        if n.op == "Constant":  # GE's ONNX parser makes Const of it while it reads the file
            w.e.change(n.id, op="Const")
            w.changed = True
            w.say(n, "Constant", "Const", "constant-node")
            return
        inputs = [t for t in n.inputs if t is not None]
        if not n.outputs or n.subgraphs or not inputs or not all(w.is_constant(t, marked=True) for t in inputs):
            return
        if n.attrs.get(DO_NOT_FOLD) or NO_FOLD in n.attrs:
            w.keep(n, "forbidden")
            return
        if w.option(POLICY) == "MemoryPriority" and any(_shared(w, t) for t in inputs):
            w.keep(n, "shared-constant")
            return
        values = evaluate(w, n)
        if values is None:
            return
        rule = "fill" if n.op == "Fill" else "builtin" if n.op in BUILTIN else "host"
        if any(w.node(w.e.tensor(t).producer).id in w.potential for t in inputs):
            mark(w, n, values, rule)
        else:
            w.potential.pop(n.id, None)
            fold(w, n, values, rule)


def evaluate(w: Work, n: Node) -> list[ConstantValue | None] | None:
    """Values of the outputs (None: known shape and type only); None when the node cannot be folded."""
    outs = w.outputs(n)
    kernel = BUILTIN[n.op] if n.op in BUILTIN else HOST[n.op]
    results: list[ConstantValue | None] = [None] * len(outs)
    arrays = [v.array() if (v := w.value(t)) is not None else None for t in n.inputs]
    if kernel is not None and len(outs) == 1:
        ready = [a for a in arrays if a is not None]
        got = compute(kernel, n, ready) if len(ready) == len(arrays) else None
        if got is not None:
            results = [_result(outs[0], got[0])]
    for t, value in zip(outs, results, strict=True):
        if value is None and not (known(t.shape) and t.dtype is not None):
            return None
    return None if all(t.elements == 0 for t in outs) else results  # empty results: ReplaceWithEmptyConstPass


def _shared(w: Work, t: int) -> bool:
    return (w.e.tensor(t).elements or 0) > SMALL and len(w.e.readers(t)) > 1


def _result(t: Tensor, array: Array) -> ConstantValue | None:
    """Computed value as the tensor's type; None when it contradicts the recorded shape."""
    dtype = t.dtype if t.dtype in NUMPY_DTYPES else _KINDS.get(array.dtype)
    dims = sizes(t.shape)
    if dtype is None or (dims is not None and dims != array.shape):
        return None
    return ConstantValue.of(array, dtype)

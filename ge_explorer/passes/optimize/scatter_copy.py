"""copy-before-scatter: what the ONNX plug-in of ScatterND makes of it, a copy and an update in place."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from ge_explorer.graph.model import Node
from ge_explorer.passes.optimize.rare import RarePass, insert_before
from ge_explorer.passes.optimize.work import Work
from ge_explorer.text import Text
from ge_explorer.trace.passes import Rule

_SOURCE = "ops plug-in scatter_nd: {TensorMove, ScatterNdUpdate}"
_UPDATES = frozenset({"ScatterNdUpdate", "ScatterNdAdd", "ScatterNdMax", "ScatterNdMin"})


@dataclass(frozen=True)
class CopyBeforeScatter(RarePass):
    """TensorMove in front of an update that ONNX means as a pure function.

    Rule: ONNX ScatterND leaves its input as it was; ScatterNdUpdate overwrites it. So the plug-in copies first, and
    tensor-move-delete removes the copy later where nobody would notice.

    GE source: the ScatterND plug-in of the operator package (parse time). The name of the copy is ours.
    Example: ``x -> ScatterND`` becomes ``x -> TensorMove -> ScatterNdUpdate``.
    """

    name: ClassVar[str] = "copy-before-scatter"
    title: ClassVar[Text] = Text("Scatter copy", "Scatter 拷贝")
    summary: ClassVar[Text] = Text("Copies what ScatterND would overwrite.", "为 ScatterND 的原地更新插入拷贝。")
    source: ClassVar[str] = _SOURCE
    level: ClassVar[int] = 0
    fidelity = "simplified"
    rare: ClassVar[frozenset[str]] = _UPDATES
    rules = MappingProxyType(
        {
            "updates-in-place": Rule(
                Text("The operator overwrites its input, ONNX keeps it.", "算子原地改写输入，而 ONNX 要求保留输入。"),
                _SOURCE,
            )
        }
    )

    def concerns(self, n: Node) -> bool:
        """Only what came out of ONNX ScatterND."""
        return n.op in _UPDATES and n.source_op == "ScatterND"

    def apply(self, w: Work, scope: int) -> None:
        """Copy in one graph."""
        for i in w.e.members(scope):
            n = w.node(i)
            p = w.producer(n)
            if not self.concerns(n) or p is None or p.op == "TensorMove":
                continue
            move = insert_before(w, n, 0, f"{n.name}_TensorMove", "TensorMove", source_op="Identity")
            w.say(move, None, "TensorMove", "updates-in-place")

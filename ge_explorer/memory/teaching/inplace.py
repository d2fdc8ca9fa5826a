"""In-place by operator type: may an output be written over an input?

Idea (article, memory.md B3): a list of element-wise types, same shape and type, one reader. GE decides by the attribute
``_output_inplace_ability`` instead (memory/aliases.py); the list is a fallback for imported models. The check compares the output
with the INPUT it would overwrite, looks at every input, at readers on all streams, at graph results, weights and views, and knows
which values a backward pass still needs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from ge_explorer.graph.happens_before import HappensBefore
from ge_explorer.graph.model import Graph, Node
from ge_explorer.memory.aliases import VIEW_LIKE
from ge_explorer.memory.model import Buffer, MemoryProblem
from ge_explorer.text import Text

INPLACE_TYPES = frozenset(
    {
        "Relu",
        "Relu6",
        "Sigmoid",
        "Tanh",
        "Abs",
        "Sign",
        "Clip",
        "ClipByValue",
        "Floor",
        "Ceil",
        "Round",
        "Rint",
        "Square",
    }
)
"""Types of the article, and GE's names where they differ (ClipByValue, Rint)."""
BACKWARD_NEEDS: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("Relu", "Relu6", "Sigmoid", "Tanh"), "output"),
        **dict.fromkeys(("Abs", "Square", "Clip", "ClipByValue"), "input"),
    }
)
"""What the gradient of a type reads. Those that read the input must not overwrite it while training."""

WHY: Mapping[str, Text] = MappingProxyType(
    {
        "ok": Text("the output may be written over the input", "输出可写在输入之上"),
        "type": Text("this type is not known to work in place", "该类型不支持原地计算"),
        "outputs": Text("the node has more than one output", "节点有多个输出"),
        "shape": Text("output and input differ in shape or data type", "输出与输入的形状或数据类型不同"),
        "no-buffer": Text("the input is a weight, a variable or a graph input", "输入是权重、变量或图输入"),
        "result": Text("the input is also a result of the graph", "输入同时是图的结果"),
        "view": Text("the input is also seen through a view or a reference", "输入还通过视图或引用被使用"),
        "same": Text("input and output are one piece of memory already", "输入和输出已是同一块内存"),
        "readers": Text("another reader is not surely done before this node", "另一个读者不一定先于本节点完成"),
        "training": Text("the backward pass still needs the input", "反向计算仍需要该输入"),
    }
)  # fmt: skip
"""Outcome -> sentence."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """``index`` of the input that may be overwritten (-1 none), buffers of input and output, ``why`` a key of WHY."""

    index: int
    source: int
    target: int
    why: str

    @property
    def ok(self) -> bool:
        """True if the pair may be one buffer."""
        return self.why == "ok"


def check_inplace(
    graph: Graph,
    problem: MemoryProblem,
    hb: HappensBefore,
    node: Node,
    *,
    training: bool = False,
    types: frozenset[str] = INPLACE_TYPES,
) -> Verdict:
    """First input of ``node`` that its output may take over; otherwise the reason of the last input looked at."""
    if node.op not in types:
        return Verdict(-1, -1, -1, "type")
    if len(node.outputs) != 1:
        return Verdict(-1, -1, -1, "outputs")
    of_tensor = {t: b for b in problem.buffers for t in b.tensors}
    target = of_tensor.get(node.outputs[0])
    result = Verdict(-1, -1, -1, "no-buffer")
    for k, t in enumerate(node.inputs):
        source = None if t is None else of_tensor.get(t)
        if t is None or source is None or target is None:
            continue  # no feature buffer: a weight, a variable, a graph input, or a graph result
        why = _why(graph, hb, node, t, source, target, training)
        result = Verdict(k if why == "ok" else -1, source.id, target.id, why)
        if result.ok:
            break
    return result


def _why(
    graph: Graph, hb: HappensBefore, node: Node, tensor: int, source: Buffer, target: Buffer, training: bool
) -> str:
    a, b = graph.tensor(tensor), graph.tensor(node.outputs[0])
    if source.id == target.id:
        return "same"
    if a.shape is None or a.shape != b.shape or a.dtype is None or a.dtype != b.dtype or source.size != target.size:
        return "shape"
    if training and BACKWARD_NEEDS.get(node.op) == "input":
        return "training"
    if any(graph.node(r).op == "NetOutput" and graph.node(r).scope == 0 for r in source.readers):
        return "result"
    if len(source.tensors) > 1 or any(graph.node(r).op in VIEW_LIKE for r in source.readers):
        return "view"
    if any(r != node.id and not hb.ordered(r, node.id) for r in source.accessors):
        return "readers"
    return "ok"

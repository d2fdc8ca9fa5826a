"""Operators whose output *is* one of their inputs: who they are, and the step that marks them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from ge_explorer.graph.model import VARIABLE_LIKE, Node
from ge_explorer.passes.optimize.rare import RarePass
from ge_explorer.passes.optimize.work import Work
from ge_explorer.text import Text
from ge_explorer.trace.passes import Rule

REFERENCE, REUSE, REUSE_INDEX = "reference", "reuse_input", "reuse_input_index"
MUTABLE = "_input_mutable"
_SOURCE = "compiler/graph/manager/graph_manager.cc: IdentifyReference"
_FIRST = ((0, 0),)
SAME_NAME: Mapping[str, tuple[tuple[int, int], ...]] = MappingProxyType(
    dict.fromkeys(
        (
            "ScatterNdUpdate", "ScatterNdAdd", "ScatterNdSub", "ScatterNdMax", "ScatterNdMin", "ScatterUpdate", "ScatterAdd",
            "ScatterSub", "ScatterMul", "ScatterDiv", "ScatterMax", "ScatterMin", "Assign", "AssignAdd",
            "AssignSub", "AssignVariableOp",
        ),
        _FIRST,
    )
)  # fmt: skip
"""Type -> (output, input) pairs with one name in the operator definition (``var``, ``ref``). The list is ours: the definitions
are in the operator package."""
OWNERS = VARIABLE_LIKE | {"RefData"}
"""Types whose memory is meant to be written."""


def references(w: Work, n: Node) -> tuple[tuple[int, int], ...]:
    """(output, input) pairs that are one buffer: by tensor attribute, by ``reference`` (same position), or by type."""
    marked = tuple(
        (k, int(attrs.get(REUSE_INDEX, 0)))
        for k, t in enumerate(n.outputs)
        if (attrs := w.e.tensor(t).attrs).get(REUSE)
    )
    if not marked and n.attrs.get(REFERENCE):
        marked = tuple((k, k) for k in range(min(len(n.outputs), len(n.inputs))))
    pairs = marked or SAME_NAME.get(n.op, ())
    return tuple((o, i) for o, i in pairs if o < len(n.outputs) and i < len(n.inputs) and n.inputs[i] is not None)


def writes(w: Work, n: Node, index: int) -> bool:
    """True if the operator overwrites the memory of an input."""
    return bool(n.attrs.get(MUTABLE)) or any(i == index for _, i in references(w, n))


def may_write(n: Node) -> bool:
    """False for almost every node: asked before ``references``, which costs a look at the tensors."""
    return n.op in SAME_NAME or bool(n.attrs.get(REFERENCE)) or bool(n.attrs.get(MUTABLE))


@dataclass(frozen=True)
class MarkReferences(RarePass):
    """Mark operators with an output named like an input: the two share one buffer.

    Rule: output and input with one name in the operator definition -> node attribute ``reference``, output attribute
    ``reuse_input`` with the input's index. Memory planning then gives both one place.

    GE source: graph_manager.cc IdentifyReference. Which types have such names is our list.
    Example: ScatterNdUpdate ``var -> var``.
    """

    name: ClassVar[str] = "mark-references"
    title: ClassVar[Text] = Text("References", "引用输出")
    summary: ClassVar[Text] = Text("Marks outputs that are an input, changed in place.", "标记与输入同一内存的输出。")
    source: ClassVar[str] = _SOURCE
    level: ClassVar[int] = 0
    fidelity = "simplified"
    rare: ClassVar[frozenset[str]] = frozenset(SAME_NAME)
    rules = MappingProxyType(
        {
            "same-name": Rule(
                Text("Input and output have one name in its definition.", "定义中输入与输出同名。"), _SOURCE
            )
        }
    )

    def apply(self, w: Work, scope: int) -> None:
        """Mark in one graph."""
        for i in w.e.members(scope):
            n = w.node(i)
            if n.op not in SAME_NAME or n.attrs.get(REFERENCE):
                continue
            for o, k in references(w, n):
                t = w.e.tensor(n.outputs[o])
                w.e.set_tensor(t.id, attrs={**t.attrs, REUSE: True, REUSE_INDEX: k})
                w.e.update_attrs(i, {REFERENCE: True})
                w.changed = True
                w.say(n, n.op, n.op, "same-name")

"""split-shape-n and merge-shape-n: one question for many shapes, of which some are known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

from ge_explorer.graph.model import Node
from ge_explorer.ids import Ref
from ge_explorer.passes.optimize.base import NodePass
from ge_explorer.passes.optimize.facts import known
from ge_explorer.passes.optimize.rare import RarePass
from ge_explorer.passes.optimize.work import Work
from ge_explorer.text import Text
from ge_explorer.trace.passes import Rule

SPLIT_FROM = "_gx_split_from"
"""Our attribute on the parts of a ShapeN: its name."""
_P = "compiler/graph/passes/shape_optimize"
_SPLIT, _MERGE = f"{_P}/split_shape_n_pass.cc", f"{_P}/merge_unknown_shape_n_pass.cc"


@dataclass(frozen=True)
class SplitShapeN(NodePass):
    """A ShapeN over known and unknown shapes becomes two, so that the known half can be computed.

    GE source: split_shape_n_pass.cc; the names are ours. Example: ``ShapeN(a [2,3], b [?,3])``: the part of ``a`` folds.
    """

    name: ClassVar[str] = "split-shape-n"
    title: ClassVar[Text] = Text("Split ShapeN", "拆分 ShapeN")
    summary: ClassVar[Text] = Text("Splits ShapeN into known and unknown.", "把 ShapeN 拆成已知与未知两部分。")
    ge_name: ClassVar[str] = "SplitShapeNPass"
    source: ClassVar[str] = _SPLIT
    level: ClassVar[int] = 1
    types: ClassVar[frozenset[str] | None] = frozenset({"ShapeN"})
    rules = MappingProxyType(
        {"known-part": Rule(Text("Some of the shapes are known, others are not.", "部分形状已知，部分未知。"), _SPLIT)}
    )

    def visit(self, w: Work, n: Node) -> None:
        """Split one node."""
        if len(n.inputs) != len(n.outputs) or None in n.inputs:
            return
        ready = [k for k in range(len(n.inputs)) if known(w.shape(n, k))]
        if ready and len(ready) < len(n.inputs):
            rest = [k for k in range(len(n.inputs)) if k not in ready]
            parts = [_part(w, [n], [(n, k) for k in ks], f"{n.name}_{word}", {SPLIT_FROM: n.name})
                     for word, ks in (("known", ready), ("unknown", rest))]  # fmt: skip
            w.delete(n, "known-part", [Ref("node", p) for p in parts])
            for p in parts:
                w.say(w.node(p), None, "ShapeN", "known-part", [Ref("node", n.id)])


@dataclass(frozen=True)
class MergeShapeN(RarePass):
    """What is left of a split ShapeN becomes one node again.

    Rule: parts of one ShapeN that are both still there (folding is off, or both have unknown shapes) are joined.
    GE source: merge_unknown_shape_n_pass.cc; which parts it joins is our reading of one line.
    """

    name: ClassVar[str] = "merge-shape-n"
    title: ClassVar[Text] = Text("Join ShapeN", "合并 ShapeN")
    summary: ClassVar[Text] = Text("Joins the parts of a split ShapeN.", "合并被拆开的 ShapeN。")
    ge_name: ClassVar[str] = "MergeUnknownShapeNPass"
    source: ClassVar[str] = _MERGE
    fidelity = "simplified"
    rare: ClassVar[frozenset[str]] = frozenset({"ShapeN"})
    rules = MappingProxyType(
        {"same-split": Rule(Text("The parts of one node are all still needed.", "同一节点的各部分仍都需要。"), _MERGE)}
    )

    def concerns(self, n: Node) -> bool:
        """Parts of a split."""
        return n.op == "ShapeN" and SPLIT_FROM in n.attrs

    def apply(self, w: Work, scope: int) -> None:
        """Join in one graph."""
        groups: dict[str, list[Node]] = {}
        for i in w.e.members(scope):
            if self.concerns(n := w.node(i)):
                groups.setdefault(str(n.attrs[SPLIT_FROM]), []).append(n)
        for name, parts in groups.items():
            if len(parts) > 1:
                whole = _part(w, parts, [(n, k) for n in parts for k in range(len(n.inputs))], name, {})
                w.say(w.node(whole), None, "ShapeN", "same-split", [Ref("node", n.id) for n in parts])
                for n in parts:
                    w.delete(n, "same-split", [Ref("node", whole)])


def _part(w: Work, old: Sequence[Node], slots: Sequence[tuple[Node, int]], name: str, attrs: dict[str, Any]) -> int:
    """New ShapeN over some (node, slot) pairs of old ones; their readers move to it."""
    first = old[0]
    kept = {k: v for k, v in first.attrs.items() if k != SPLIT_FROM}
    specs = [(w.e.tensor(n.outputs[k]).shape, w.e.tensor(n.outputs[k]).dtype) for n, k in slots]
    made = w.e.add_node(
        w.unique(name), "ShapeN", inputs=[n.inputs[k] for n, k in slots], outputs=specs, attrs={**kept, **attrs},
        scope=first.scope, source_op=first.source_op, origin=tuple(n.id for n in old), after=first.id,
        control=list(dict.fromkeys(c for n in old for c in n.control_in)),
    )  # fmt: skip
    w.changed = True
    w.touch(made)
    for position, (n, k) in enumerate(slots):
        w.move_all(n.outputs[k], w.e.output(made, position))
    for n in old:
        for c in w.e.control_targets(n.id):
            w.order(made, c)
    return made

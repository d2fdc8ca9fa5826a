"""transop-breadth: equal layout operators on one output become one."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from ge_explorer.graph.model import Node
from ge_explorer.ids import Ref
from ge_explorer.passes.optimize.base import GraphPass, ranks
from ge_explorer.passes.optimize.facts import TRANS, layout
from ge_explorer.passes.optimize.work import Work, perm_of
from ge_explorer.text import Text
from ge_explorer.trace.passes import Rule

_SOURCE = "compiler/graph/passes/format_optimize/transop_breadth_fusion_pass.cc"
_POLICY = "ge.exec.memoryOptimizationPolicy"
_TYPES = frozenset({"Cast", "TransData"})
_FORMATS = frozenset({"Transpose", "TransposeD", "TransData", "ReFormat", "ExpandDims"})
_NO_SHAPES = frozenset({"Cast", "ReFormat"})


@dataclass(frozen=True)
class TransOpBreadth(GraphPass):
    """Merge sibling layout operators with the same identity; this is GE's real merging of Cast, TransData and Transpose.

    Rule: on one output, as data input, other inputs constant. Identity: type, stream label, control inputs that are Identity
    nodes (all of them under memory priority), and by type the dtypes (Cast, TransData), formats (Transpose, TransData, ReFormat,
    ExpandDims), shapes (all but Cast and ReFormat) and permutation. The topologically first stays.

    GE source: transop_breadth_fusion_pass.cc. GE leaves shapes out of UnsqueezeV2's identity and could merge different ones; we
    do not. Options: ``ge.exec.memoryOptimizationPolicy``. Example: two branches that cast one tensor to float16.
    """

    name: ClassVar[str] = "transop-breadth"
    title: ClassVar[Text] = Text("Breadth", "同源变换合并")
    summary: ClassVar[Text] = Text("Merges equal layout operators on one output.", "合并同一输出上相同的格式变换。")
    option_keys: ClassVar[frozenset[str]] = GraphPass.option_keys | {_POLICY}
    ge_name: ClassVar[str] = "TransOpBreadthFusionPass"
    source: ClassVar[str] = f"{_SOURCE}: TransOpBreadthFusionPass::Run"
    rules = MappingProxyType(
        {"same-layout": Rule(Text("A sibling makes the same tensor.", "兄弟节点产生相同的张量。"), _SOURCE)}
    )

    def apply(self, w: Work, scope: int) -> None:
        """Merge in one graph."""
        if TRANS.isdisjoint(w.before.ops):
            return
        members = w.e.members(scope)
        if not any(
            sum(w.node(e.dst).op in TRANS for e in w.e.readers(t)) > 1 for i in members for t in w.node(i).outputs
        ):
            return
        order = ranks(w, scope)
        for i in order:
            if not w.e.has(i):
                continue
            for t in w.node(i).outputs:
                groups: dict[object, list[int]] = {}
                for e in w.e.readers(t):
                    n = w.node(e.dst)
                    if (
                        n.op in TRANS
                        and e.dst_in == 0
                        and len(n.outputs) == 1
                        and all(w.is_constant(x) for x in n.inputs[1:])
                    ):
                        groups.setdefault(self._identity(w, n), []).append(n.id)
                for group in groups.values():
                    kept = min(group, key=lambda j: order.get(j, j))
                    for j in group:
                        if j != kept:
                            _merge(w, kept, w.node(j))

    def _identity(self, w: Work, n: Node) -> object:
        a, b = w.inputs(n)[0], w.outputs(n)[0]
        everything = w.option(_POLICY) == "MemoryPriority"
        control = sorted(w.node(c).name for c in n.control_in if everything or w.node(c).op == "Identity")
        shape = w.shape(n, 0)
        perm = (perm_of(w, n, shape) or n.id) if n.op in ("Transpose", "TransposeD") else None
        return (
            n.op, n.attrs.get("_stream_label"), tuple(control),
            (a.dtype if a else None, b.dtype) if n.op in _TYPES else None,
            (layout(a) if a else "", layout(b)) if n.op in _FORMATS else None,
            None if n.op in _NO_SHAPES else (shape, b.shape if b.shape is not None and None not in b.shape else n.id),
            perm,
        )  # fmt: skip


def _merge(w: Work, kept: int, n: Node) -> None:
    for e in w.e.readers(n.outputs[0]):
        for c in n.control_in:
            w.order(c, e.dst)
    w.move_all(n.outputs[0], w.node(kept).outputs[0])
    for c in w.e.control_targets(n.id):
        w.order(kept, c)
    w.merge_origin(kept, n)
    w.delete(n, "same-layout", [Ref("node", kept)])

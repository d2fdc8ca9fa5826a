"""hccl-memcpy: a copy before a collective that would overwrite memory others still need."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from ge_explorer.graph.model import Node
from ge_explorer.graph.order import sort_mode, topological_sort
from ge_explorer.passes.optimize.base import run
from ge_explorer.passes.optimize.hccl_copies import assign_back, copy_before
from ge_explorer.passes.optimize.hccl_prepare import MUTABLE
from ge_explorer.passes.optimize.hccl_scope import KEYS, skip
from ge_explorer.passes.optimize.work import Work
from ge_explorer.text import Text
from ge_explorer.trace.passes import Pass, PassContext, Rule
from ge_explorer.trace.state import Snapshot

SAFE = "_skip_rw_conflict"
"""GE's mark: the read-write conflict of this node was looked at here, the later pass leaves it alone."""
_SOURCE = "compiler/graph/passes/memory_conflict/hccl_memcpy_pass.cc"
_FIXED = frozenset({"Const", "Constant", "Variable", "VariableV2"})
_SHAPE_READERS = frozenset({"Shape", "Rank"})
_MODE, _RUN = "ge.topoSortingMode", "ge.graphRunMode"


@dataclass(frozen=True)
class HcclMemcpy(Pass):
    """Identity before inputs of operators that overwrite them (``_input_mutable``).

    Rule: the producer is a constant or variable; or another reader of the same output comes after the operator in topological
    order and is more than a shape reader (Shape, Rank, or a Reshape that only they read). A Broadcast of a variable gets an
    Assign back.

    GE source: HcclMemcpyPass, which GE runs twice: while preparing and at the end of stage 1. Exact.
    Example: a gradient summed by AllReduce1 and read later by Sub -> ``AllReduce1_HcclMemcpyPass_Identity0``.
    """

    name: ClassVar[str] = "hccl-memcpy"
    title: ClassVar[Text] = Text("Collective copies", "集合通信拷贝")
    summary: ClassVar[Text] = Text("Copies inputs that a collective would spoil.", "为会被集合通信改写的输入插入拷贝。")
    chapter = "optimise"
    reads: ClassVar[frozenset[str]] = frozenset({"graph"})
    writes: ClassVar[frozenset[str]] = frozenset({"graph"})
    option_keys: ClassVar[frozenset[str]] = KEYS | {_MODE, _RUN}
    ge_name: ClassVar[str] = "HcclMemcpyPass"
    source: ClassVar[str] = f"{_SOURCE}: HcclMemcpyPass::Run"
    rules = MappingProxyType(
        {
            "fixed": Rule(Text("The input is a constant or variable and would be overwritten.",
                               "输入是常量或变量，会被改写。"), f"{_SOURCE}: NotAllowedModifyMem"),
            "read-later": Rule(Text("Another node reads the input after the collective.",
                                    "集合通信之后还有节点读取该输入。"), f"{_SOURCE}: NeedInsertIdentity"),
            "read-before": Rule(Text("The other readers come before the collective, or read the shape only.",
                                     "其他读者在集合通信之前，或只读取形状。"), f"{_SOURCE}: NeedInsertIdentity"),
            "assign-back": Rule(Text("The broadcast value goes back to the variable.", "广播结果写回变量。"),
                                f"{_SOURCE}: InsertAssignAfterBroadcastIfNeed"),
        }
    )  # fmt: skip

    def skip_reason(self, s: Snapshot, ctx: PassContext) -> Text | None:
        """Only imported models unless asked."""
        return skip(s, ctx, self.ge_name)

    def run(self, s: Snapshot, ctx: PassContext) -> Snapshot:
        """Graph with one Identity an input that needs it."""
        g = s.graph
        writers = [n for i in g.walk() if (n := g.node(i)).attrs.get(MUTABLE)]
        if not writers:
            ctx.status = "NOT_CHANGED"
            return s
        mode = sort_mode(ctx.option(_MODE), run_mode=ctx.option(_RUN), level=ctx.option("ge.oo.level"))
        place = {i: k for k, i in enumerate(topological_sort(g, mode=mode)[2])}

        def body(w: Work) -> None:
            for n in writers:
                for k in range(len(n.inputs)):
                    _protect(w, w.node(n.id), k, place)

        return run(s, ctx, body)


def _protect(w: Work, n: Node, index: int, place: Mapping[int, int]) -> None:
    tensor = n.inputs[index]
    if tensor is None:
        return
    producer = w.node(w.e.tensor(tensor).producer)
    if producer.op in _FIXED:
        rule = "fixed"
    elif len(w.e.readers(tensor)) == 1:
        return
    elif _read_later(w, n, tensor, place):
        rule = "read-later"
    else:
        if not n.attrs.get(SAFE):
            w.e.update_attrs(n.id, {SAFE: True})
            w.changed = True
            w.keep(n, "read-before")
        return
    copy_before(w, n, index, f"{n.name}_HcclMemcpyPass_Identity{index}", rule)
    assign_back(w, w.node(n.id), index, producer, f"{n.name}_Assign_{index}", "assign-back")


def _read_later(w: Work, n: Node, tensor: int, place: Mapping[int, int]) -> bool:
    # a copy made in this walk stands where its producer stands, so it never counts as later
    others = [w.node(e.dst) for e in w.e.readers(tensor) if e.dst != n.id]
    return any(place.get(o.id, -1) > place[n.id] and not _shape_only(w, o) for o in others)


def _shape_only(w: Work, n: Node) -> bool:
    if n.op in _SHAPE_READERS:
        return True
    return n.op == "Reshape" and all(w.node(e.dst).op in _SHAPE_READERS for e in w.readers(n))

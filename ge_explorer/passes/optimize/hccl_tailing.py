"""hccl-sequence and hccl-tailing: order around the last collectives of a training step."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from ge_explorer.graph.edit import GraphEditor
from ge_explorer.graph.model import Graph
from ge_explorer.ids import node
from ge_explorer.passes.optimize.facts import TRANS
from ge_explorer.passes.optimize.hccl_group import FUSED_GROUP, NOT_TAILING, TAILING
from ge_explorer.passes.optimize.hccl_scope import ALL_REDUCE, KEYS, has_path, reachable, skip
from ge_explorer.text import Text
from ge_explorer.trace.passes import Pass, PassContext, Rule
from ge_explorer.trace.state import Snapshot

TAIL, _RUN = "ge.exec.hccl_tailing_optimize", "ge.graphRunMode"
_SEQUENCE = "compiler/graph/passes/feature/hccl_sequence_adjust_pass.cc"
_TAILING = "compiler/graph/passes/feature/hccl_tailing_optimization_pass.cc"


@dataclass(frozen=True)
class HcclSequence(Pass):
    """Put the AllReduce that stands alone before the tail of the AllReduce chain.

    Rule (root graph, only if a node with subgraphs carries ``_hccl_fused_group``): of the AllReduce without an AllReduce after
    them by control edge, the last one *with* one before it is the tail of the chain, the last one without stands alone. Unless the
    tail already leads to it, a control edge goes from the lone one to the tail.

    GE source: HcclSequenceAdjustPass, exact; GE lists it when ``ge.exec.isTailingOptimization`` is 1.
    Example: control a -> b -> c, lone z -> edge z -> c: c runs last.
    """

    name: ClassVar[str] = "hccl-sequence"
    title: ClassVar[Text] = Text("Last collectives", "末尾集合通信排序")
    summary: ClassVar[Text] = Text("Orders the last AllReduce.", "调整最后几个 AllReduce 的顺序。")
    chapter = "optimise"
    reads: ClassVar[frozenset[str]] = frozenset({"graph"})
    writes: ClassVar[frozenset[str]] = frozenset({"graph"})
    option_keys: ClassVar[frozenset[str]] = KEYS | {TAILING}
    ge_name: ClassVar[str] = "HcclSequenceAdjustPass"
    source: ClassVar[str] = f"{_SEQUENCE}: HcclSequenceAdjustPass::Run"
    rules = MappingProxyType(
        {
            "lone-first": Rule(Text("An AllReduce outside the chain runs before the chain's tail.",
                                    "链外的 AllReduce 先于链尾执行。"), f"{_SEQUENCE}: RebuildHcclControlRelation"),
            "already": Rule(Text("The tail of the chain already comes before it.", "链尾已在其之前。"),
                            f"{_SEQUENCE}: HasRelationPath"),
        }
    )  # fmt: skip

    def skip_reason(self, s: Snapshot, ctx: PassContext) -> Text | None:
        """Needs the option."""
        return skip(s, ctx, self.ge_name, 3) or (None if ctx.option(TAILING) == "1" else NOT_TAILING)

    def run(self, s: Snapshot, ctx: PassContext) -> Snapshot:
        """Graph with at most one more control edge."""
        g = s.graph
        ctx.status = "NOT_CHANGED"
        direct = [g.node(i) for i in g.root.nodes]
        if not any(n.subgraphs and FUSED_GROUP in n.attrs for n in direct):
            return s
        lone = tail = -1
        for n in direct:
            if n.op == ALL_REDUCE and not any(g.node(i).op == ALL_REDUCE for i in g.control_out[n.id]):
                if any(g.node(i).op == ALL_REDUCE for i in n.control_in):
                    tail = n.id
                else:
                    lone = n.id
        if lone < 0 or tail < 0:
            return s
        if has_path(g, tail, lone):
            ctx.decide(node(lone), "control", None, None, "already", [node(tail)], decisive=False)
            return s
        ctx.decide(node(tail), "control", None, g.node(lone).name, "lone-first", [node(lone)])
        ctx.status = "SUCCESS"
        return s.evolve(graph=with_edges(g, [(lone, tail)]))


@dataclass(frozen=True)
class HcclTailing(Pass):
    """Conversions behind an AllReduce wait for what their readers wait for.

    Rule: for a conversion (Cast, TransData, …) that reads an AllReduce: every node with a control edge to a reader of it, or of
    the conversions behind it, also gets a control edge to this first conversion. The conversion then runs with its readers instead
    of as soon as the collective is done.

    GE source: HcclTailingOptimizationPass (training with ``ge.exec.hccl_tailing_optimize`` = 1). Exact, except that an edge that
    would close a loop is left out and said; GE adds it, and its next sort fails.
    Example: ``AllReduce -> TransData -> ApplyMomentum <-ctrl- flag``: also ``flag -ctrl-> TransData``.
    """

    name: ClassVar[str] = "hccl-tailing"
    title: ClassVar[Text] = Text("Collective tail", "集合通信拖尾优化")
    summary: ClassVar[Text] = Text(
        "Delays conversions behind an AllReduce to their readers.", "让 AllReduce 之后的变换与其读者一起等待。"
    )
    chapter = "optimise"
    reads: ClassVar[frozenset[str]] = frozenset({"graph"})
    writes: ClassVar[frozenset[str]] = frozenset({"graph"})
    option_keys: ClassVar[frozenset[str]] = KEYS | {TAIL, _RUN}
    ge_name: ClassVar[str] = "HcclTailingOptimizationPass"
    source: ClassVar[str] = f"{_TAILING}: HcclTailingOptimizationPass::Run"
    rules = MappingProxyType(
        {
            "with-readers": Rule(Text("A reader of this conversion waits for it too.", "该变换的读者也在等待它。"),
                                 f"{_TAILING}: CopyControlEdgesForTransOp"),
            "loop": Rule(Text("The edge would close a loop; GE adds it and its sort fails.",
                              "该边会成环；GE 会加上它并在排序时失败。"), "ours"),
        }
    )  # fmt: skip

    def skip_reason(self, s: Snapshot, ctx: PassContext) -> Text | None:
        """Training with the option only."""
        reason = skip(s, ctx, self.ge_name, 3)
        if reason is None and ctx.option(TAIL) != "1":
            return Text(f"{TAIL} is not 1", f"{TAIL} 不为 1")
        if reason is None and ctx.option(_RUN) != "1":
            return Text(f"not a training graph ({_RUN} is not 1)", f"不是训练图（{_RUN} 不为 1）")
        return reason

    def run(self, s: Snapshot, ctx: PassContext) -> Snapshot:
        """Graph with the copied control edges."""
        g = s.graph
        new: list[tuple[int, int]] = []
        for n in (g.node(i) for i in g.walk()):
            if n.op != ALL_REDUCE:
                continue
            for first in dict.fromkeys(e.dst for e in g.data_out[n.id]):
                if g.node(first).op in TRANS:
                    new += self._copied(with_edges(g, new) if new else g, first, ctx)
        ctx.status = "SUCCESS" if new else "NOT_CHANGED"
        return s.evolve(graph=with_edges(g, new)) if new else s

    @staticmethod
    def _copied(g: Graph, first: int, ctx: PassContext) -> list[tuple[int, int]]:
        found: dict[int, int] = {}
        todo, seen = [first], {first}
        while todo:
            for e in g.data_out[todo.pop()]:
                for source in g.node(e.dst).control_in:
                    found.setdefault(source, e.dst)
                if g.node(e.dst).op in TRANS and e.dst not in seen:
                    seen.add(e.dst)
                    todo.append(e.dst)
        behind = reachable(g, [first])
        out = []
        for source, reader in found.items():
            if source in g.node(first).control_in:
                continue
            loop = source in behind
            rule = "loop" if loop else "with-readers"
            ctx.decide(node(first), "control", None, None if loop else g.node(source).name, rule,
                       [node(source), node(reader)], decisive=not loop)  # fmt: skip
            if not loop:
                out.append((source, first))
        return out


def with_edges(g: Graph, pairs: list[tuple[int, int]]) -> Graph:
    """Graph with more control edges."""
    editor = GraphEditor(g)
    for a, b in pairs:
        editor.add_control(a, b)
    return editor.freeze()

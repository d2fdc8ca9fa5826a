"""hccl-memcpy: a copy before a collective that would overwrite, or need continuous, memory others still use."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from ge_explorer.graph.edit import GraphEditor
from ge_explorer.graph.model import CONST_LIKE, DATA_LIKE, VARIABLE_LIKE, Graph, Node
from ge_explorer.ids import node
from ge_explorer.passes.optimize.fusion_rewrite import free_name
from ge_explorer.passes.optimize.fusion_scope import asked
from ge_explorer.passes.optimize.hccl_prepare import HCCL, MUTABLE, NO_COLLECTIVE, collectives
from ge_explorer.text import Text
from ge_explorer.trace.passes import Pass, PassContext, Rule
from ge_explorer.trace.state import Snapshot

_SOURCE = "compiler/graph/passes/memory_conflict: hccl_memcpy_pass.cc"
_CONTINUOUS_SOURCE = "compiler/graph/passes/memory_conflict: hccl_continuous_memcpy_pass.cc"
_SHAPE_READERS = frozenset({"Shape", "Rank", "Size", "ShapeN"})


@dataclass(frozen=True)
class HcclMemcpy(Pass):
    """Identity before inputs of collectives.

    Rule:
    1. A collective that may overwrite its input (``_input_mutable``) gets a copy of it when the producer is a constant or
       variable, or when another reader (not of the shape only) comes after the collective.
    2. A collective that needs continuous input gets a copy when the producer is data, constant or variable, or when the
       output also feeds another continuous input.

    GE source: HcclMemcpyPass (stage 1) and HcclContinuousMemcpyPass (stage 2), run here at once. Not modelled: the Assign back of
    a broadcast variable, P2P memory.
    Example: a gradient summed by AllReduce1 and read later by Sub -> ``AllReduce1_HcclMemcpyPass_Identity0``.
    """

    name: ClassVar[str] = "hccl-memcpy"
    title: ClassVar[Text] = Text("Collective copies", "集合通信拷贝")
    summary: ClassVar[Text] = Text("Copies inputs that a collective would spoil.", "为会被集合通信改写的输入插入拷贝。")
    chapter = "optimise"
    reads: ClassVar[frozenset[str]] = frozenset({"graph"})
    writes: ClassVar[frozenset[str]] = frozenset({"graph"})
    option_keys: ClassVar[frozenset[str]] = frozenset({HCCL})
    ge_name: ClassVar[str] = "HcclMemcpyPass"
    source: ClassVar[str] = _SOURCE
    fidelity = "simplified"
    rules = MappingProxyType(
        {
            "fixed": Rule(Text("The input is a constant or variable and would be overwritten.",
                               "输入是常量或变量，会被改写。"), _SOURCE),
            "read-later": Rule(Text("Another node reads the input after the collective.",
                                    "集合通信之后还有节点读取该输入。"), _SOURCE),
            "not-continuous": Rule(Text("The input cannot be placed beside the others.", "输入无法与其他输入连续放置。"),
                                   _CONTINUOUS_SOURCE),
        }
    )  # fmt: skip

    def skip_reason(self, s: Snapshot, ctx: PassContext) -> Text | None:
        """Only imported models unless asked."""
        return asked(ctx.option, HCCL, s.graph) or (None if collectives(s.graph) else NO_COLLECTIVE)

    def run(self, s: Snapshot, ctx: PassContext) -> Snapshot:
        """Graph with one Identity an input that needs it."""
        g, editor = s.graph, GraphEditor(s.graph)
        place = {i: k for k, i in enumerate(g.walk())}
        taken = {n.name for n in g}
        made = 0
        for n in collectives(g):
            for k, t in enumerate(n.inputs):
                rule = None if t is None else _reason(g, n, t, place)
                if rule is None or t is None:
                    continue
                word = "HcclContinuousMemcpyPass" if rule == "not-continuous" else "HcclMemcpyPass"
                x = g.tensor(t)
                i = editor.add_node(
                    free_name(f"{n.name}_{word}_Identity{k}", taken), "Identity", inputs=[t], outputs=[(x.shape, x.dtype)],
                    scope=n.scope, attrs={"_is_inserted_by_ge": True, "no_need_constant_folding": False}, origin=(n.id,),
                )  # fmt: skip
                editor.connect(editor.output(i), n.id, k)
                made += 1
                ctx.decide(node(i), "node", None, "Identity", rule, [node(n.id), node(x.producer)])
        ctx.status = "SUCCESS" if made else "NOT_CHANGED"
        return s.evolve(graph=editor.freeze()) if made else s


def _reason(g: Graph, n: Node, tensor: int, place: dict[int, int]) -> str | None:
    t = g.tensor(tensor)
    producer = g.node(t.producer)
    others = [e.dst for e in g.data_out[producer.id] if e.src_out == t.index and e.dst != n.id]
    fixed = producer.op in CONST_LIKE or producer.op in VARIABLE_LIKE
    if producer.op == "Identity" and producer.attrs.get("_is_inserted_by_ge"):
        return None
    if n.attrs.get(MUTABLE):
        if fixed:
            return "fixed"
        if any(g.node(o).op not in _SHAPE_READERS and place[o] > place[n.id] for o in others):
            return "read-later"
    if n.attrs.get("continuous_input") and len(n.inputs) > 1:
        twice = any(g.node(o).attrs.get("continuous_input") for o in others) or n.inputs.count(tensor) > 1
        if fixed or producer.op in DATA_LIKE or twice:
            return "not-continuous"
    return None

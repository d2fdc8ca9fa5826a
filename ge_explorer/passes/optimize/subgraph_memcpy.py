"""subgraph-memcpy: copies at the edges of subgraphs where two values would need the same memory."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from ge_explorer.errors import OptionError
from ge_explorer.graph.builder import PARENT_INDEX
from ge_explorer.graph.edit import GraphEditor
from ge_explorer.graph.model import CONST_LIKE, DATA_LIKE, Graph, Node
from ge_explorer.ids import node
from ge_explorer.passes.optimize.fusion_rewrite import free_name
from ge_explorer.passes.optimize.fusion_scope import asked
from ge_explorer.text import Text
from ge_explorer.trace.passes import Pass, PassContext, Rule
from ge_explorer.trace.state import Snapshot

OPTION = "gx.subgraphMemcpy"
_SOURCE = "compiler/graph/passes/memory_conflict/subgraph_pass.cc: SubgraphPass"
_WHILE = frozenset({"While", "StatelessWhile", "_While"})
_BRANCH = frozenset({"If", "StatelessIf", "_If", "Case", "StatelessCase"})
_CALL = frozenset({"PartitionedCall", "StatefulPartitionedCall"})


@dataclass(frozen=True)
class SubgraphMemcpy(Pass):
    """MemcpyAsync where a subgraph hands something through that memory planning could not place.

    Rule (static graphs):
    1. Before the NetOutput of a subgraph: the producer is a constant; it is Data and the holder is no While; one producer
       feeds two results of an If or Case branch; a While body passes an input through to another position.
    2. Before a While: an input is a constant.
    3. From a Data of a subgraph to a node that needs continuous input.
    No later pass removes these copies: each is a task on its stream.

    GE source: SubgraphPass. Not modelled: atomic and continuous outputs, a While inside a While.
    Example: an If branch that returns its input -> ``<NetOutput>_input_0_Memcpy``.
    """

    name: ClassVar[str] = "subgraph-memcpy"
    title: ClassVar[Text] = Text("Subgraph copies", "子图拷贝")
    summary: ClassVar[Text] = Text("Copies values that cross a subgraph unchanged.", "为原样穿过子图的值插入拷贝。")
    chapter = "optimise"
    reads: ClassVar[frozenset[str]] = frozenset({"graph"})
    writes: ClassVar[frozenset[str]] = frozenset({"graph"})
    option_keys: ClassVar[frozenset[str]] = frozenset({OPTION})
    ge_name: ClassVar[str] = "SubgraphPass"
    source: ClassVar[str] = _SOURCE
    fidelity = "simplified"
    rules = MappingProxyType(
        {
            "constant": Rule(Text("The subgraph returns a constant.", "子图返回常量。"), _SOURCE),
            "input": Rule(Text("The subgraph returns its input.", "子图直接返回输入。"), _SOURCE),
            "twice": Rule(Text("One value is returned twice.", "同一个值返回两次。"), _SOURCE),
            "crossing": Rule(
                Text("The loop body passes an input on to another position.", "循环体把输入传到另一位置。"), _SOURCE
            ),
            "loop-constant": Rule(Text("The loop would overwrite a constant.", "循环会改写常量。"), _SOURCE),
            "continuous": Rule(Text("The reader needs its inputs side by side.", "读取方要求输入连续。"), _SOURCE),
        }
    )

    def skip_reason(self, s: Snapshot, ctx: PassContext) -> Text | None:
        """Only imported models unless asked; needs subgraphs."""
        reason = asked(ctx.option, OPTION, s.graph)
        if reason is None and all(not n.subgraphs for n in s.graph):
            return Text("the graph has no subgraph", "图中没有子图")
        return reason

    def run(self, s: Snapshot, ctx: PassContext) -> Snapshot:
        """Graph with the copies."""
        g, editor, made = s.graph, GraphEditor(s.graph), 0
        taken = {n.name for n in g}
        for target, slot, rule in _places(g):
            t = g.node(target).inputs[slot]
            if t is None:
                raise OptionError("an input without a value cannot be copied", where=g.node(target).name)
            x, n = g.tensor(t), g.node(target)
            name = free_name(f"{n.name}_input_{slot}_Memcpy", taken)
            i = editor.add_node(
                name, "MemcpyAsync", inputs=[t], outputs=[(x.shape, x.dtype)], scope=n.scope, origin=(target,)
            )
            editor.connect(editor.output(i), target, slot)
            made += 1
            ctx.decide(node(i), "node", None, "MemcpyAsync", rule, [node(x.producer), node(target)])
        ctx.status = "SUCCESS" if made else "NOT_CHANGED"
        return s.evolve(graph=editor.freeze()) if made else s


def _places(g: Graph) -> list[tuple[int, int, str]]:
    """(node, input slot, rule) of every copy, in walk order."""
    out: list[tuple[int, int, str]] = []
    for i in g.walk():
        n = g.node(i)
        if n.op in _WHILE and not g.scope(n.scope).dynamic:
            feeds = ((k, t) for k, t in enumerate(n.inputs) if t is not None)
            out += [(i, k, "loop-constant") for k, t in feeds if g.node(g.tensor(t).producer).op in CONST_LIKE]
        scope = g.scope(n.scope)
        if scope.id == 0 or scope.dynamic:
            continue
        if n.op == "NetOutput":
            out += _results(g, n, g.node(scope.parent))
        elif n.attrs.get("continuous_input"):
            feeds = ((k, t) for k, t in enumerate(n.inputs) if t is not None)
            out += [(i, k, "continuous") for k, t in feeds if g.node(g.tensor(t).producer).op in DATA_LIKE]
    return out


def _results(g: Graph, end: Node, holder: Node) -> list[tuple[int, int, str]]:
    out: list[tuple[int, int, str]] = []
    seen: Counter[int] = Counter()
    is_condition = holder.op in _WHILE and len(holder.subgraphs) > 1 and end.scope == holder.subgraphs[0]
    for k, t in enumerate(end.inputs):
        if t is None or is_condition:
            continue
        producer = g.node(g.tensor(t).producer)
        seen[t] += 1
        slot = producer.attrs.get(PARENT_INDEX)
        if producer.op in CONST_LIKE:
            out.append((end.id, k, "constant"))
        elif producer.op in DATA_LIKE and holder.op in _WHILE:
            if slot != k:
                out.append((end.id, k, "crossing"))
        elif producer.op in DATA_LIKE and holder.op in _BRANCH | _CALL:
            out.append((end.id, k, "input"))
        elif seen[t] > 1 and holder.op in _BRANCH:
            out.append((end.id, k, "twice"))
    return out

"""unused-args: inputs of a Case that no branch reads disappear."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from ge_explorer.graph.builder import PARENT_INDEX
from ge_explorer.graph.edit import GraphEditor
from ge_explorer.graph.model import Graph
from ge_explorer.ids import node
from ge_explorer.passes.optimize.base import OptimizePass
from ge_explorer.passes.optimize.subexpression_migration import with_inputs
from ge_explorer.text import Text
from ge_explorer.trace.passes import PassContext, Rule
from ge_explorer.trace.state import Snapshot

_SOURCE = "compiler/graph/passes/standard_optimize/unused_args_clean_pass.cc"


@dataclass(frozen=True)
class UnusedArgs(OptimizePass):
    """Drop what a Case hands to nobody.

    Rule, for every Case of the root graph: an input (not the selector) whose Data has no reader in any branch goes, with its Data
    nodes; later inputs move up. A producer that nobody reads then and that reads nothing itself goes too, even an input of the
    model.

    GE source: UnusedArgsCleanPass, run after subexpression-migration and again after the constants moved out. Exact.
    Example: the weights that moved out of the gears leave no empty input behind.
    """

    name: ClassVar[str] = "unused-args"
    title: ClassVar[Text] = Text("Unused inputs", "清理无用输入")
    summary: ClassVar[Text] = Text("Drops Case inputs that no branch reads.", "去掉没有分支读取的 Case 输入。")
    ge_name: ClassVar[str] = "UnusedArgsCleanPass"
    source: ClassVar[str] = f"{_SOURCE}: UnusedArgsCleanPass::Run"
    level: ClassVar[int] = 1
    rules = MappingProxyType(
        {
            "unused": Rule(Text("No branch reads this input.", "没有分支读取此输入。"), f"{_SOURCE}: UnusedInputTensor"),
            "left-over": Rule(Text("Only the Case read it.", "只有该 Case 读取它。"), f"{_SOURCE}: RemoveInputTensor"),
        }
    )  # fmt: skip

    def skip_reason(self, s: Snapshot, ctx: PassContext) -> Text | None:
        """Needs a Case."""
        if not any(_cases(s.graph)):
            return Text("the graph has no Case", "图中没有 Case")
        return super().skip_reason(s, ctx)

    def run(self, s: Snapshot, ctx: PassContext) -> Snapshot:
        """Graph with shorter input lists."""
        g = s.graph
        for case in list(_cases(g)):
            g = _clean(g, case, ctx)
        ctx.status = "NOT_CHANGED" if g is s.graph else "SUCCESS"
        return s if g is s.graph else s.evolve(graph=g)

    def ensures(self, before: Snapshot, after: Snapshot) -> None:
        """The Case keeps its selector and loses inputs only."""


def _cases(g: Graph) -> Iterator[int]:
    return (i for i in g.root.nodes if g.node(i).op == "Case" and g.node(i).subgraphs)


def _clean(g: Graph, case: int, ctx: PassContext) -> Graph:
    holder = g.node(case)
    inner: dict[int, list[int]] = {}
    used: set[int] = {0}
    for s in holder.subgraphs:
        for n in map(g.node, g.scope(s).nodes):
            slot = n.attrs.get(PARENT_INDEX)
            if n.op == "Data" and isinstance(slot, int):
                inner.setdefault(slot, []).append(n.id)
                if g.data_out[n.id] or g.control_out[n.id]:
                    used.add(slot)
    unused = [k for k in range(1, len(holder.inputs)) if k not in used]
    if not unused:
        return g
    editor = GraphEditor(g)
    for k in unused:
        t = holder.inputs[k]
        ctx.decide(node(case), "input", k, None, "unused", [] if t is None else [node(g.tensor(t).producer)])
    editor.remove_nodes(i for k in unused for i in inner.get(k, []))
    kept = [k for k in range(len(holder.inputs)) if k not in unused]
    for place, k in enumerate(kept):
        for i in inner.get(k, ()):
            if place != k:
                editor.update_attrs(i, {PARENT_INDEX: place})
    after = with_inputs(editor.freeze(), case, kept)
    return _drop_left_over(after, [t for k in unused if (t := holder.inputs[k]) is not None], ctx)


def _drop_left_over(g: Graph, tensors: list[int], ctx: PassContext) -> Graph:
    producers = dict.fromkeys(g.tensor(t).producer for t in tensors)
    gone = [i for i in producers if not g.succ[i] and not any(t is not None for t in g.node(i).inputs)]
    if not gone:
        return g
    for i in gone:
        ctx.decide(node(i), "op", g.node(i).op, "", "left-over")
    editor = GraphEditor(g)
    editor.remove_nodes(gone)
    return editor.freeze()

"""inline-calls: the graph of a PartitionedCall that cond-remove left takes the place of the call."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from ge_explorer.graph.builder import PARENT_INDEX
from ge_explorer.graph.model import DATA_LIKE, Node
from ge_explorer.ids import Ref
from ge_explorer.passes.optimize.base import GraphPass
from ge_explorer.passes.optimize.cond_remove import CALL, CASE_TYPES, IF_TYPES
from ge_explorer.passes.optimize.work import Work
from ge_explorer.text import Text
from ge_explorer.trace.passes import Rule


@dataclass(frozen=True)
class InlineCalls(GraphPass):
    """Open PartitionedCall nodes that were an If or Case of the model.

    Rule: the call has one subgraph with a NetOutput, its ``source_op`` shows that it was an If or Case (calls of the model
    itself stay), and neither side is dynamic. Inner Data and NetOutput vanish, the other nodes move into the outer graph.

    GE source: none, ours. GE opens such calls later, when it partitions and unfolds dynamic graphs; without this step the branch
    would stay a separate stream allocation unit. Example: ``If(Const true)`` with ``then: Relu`` becomes ``Relu``.
    """

    name: ClassVar[str] = "inline-calls"
    title: ClassVar[Text] = Text("Inline", "内联")
    summary: ClassVar[Text] = Text("Opens the branch a constant condition left.", "展开常量条件留下的分支。")
    source: ClassVar[str] = "ours"
    fidelity = "ours"
    level: ClassVar[int] = 1
    rules = MappingProxyType(
        {
            "inlined": Rule(
                Text("The only branch left takes the place of the call.", "唯一剩下的分支取代该调用。"), "ours"
            )
        }
    )

    def apply(self, w: Work, scope: int) -> None:
        """Open the calls of one graph, also those inside an opened one."""
        todo = w.e.members(scope)
        while todo:
            i = todo.pop(0)
            if (
                w.e.has(i)
                and w.node(i).op == CALL
                and w.node(i).source_op in IF_TYPES | CASE_TYPES
                and len(w.node(i).subgraphs) == 1
            ):
                todo = self._open(w, w.node(i)) + todo

    def _open(self, w: Work, n: Node) -> list[int]:
        inner = w.e.members(n.subgraphs[0])
        ends = [i for i in inner if w.node(i).op == "NetOutput"]
        sources = [i for i in inner if w.node(i).op in DATA_LIKE]
        if len(ends) != 1 or w.e.scope(n.subgraphs[0]).dynamic != w.e.scope(n.scope).dynamic:
            return []
        if any(not 0 <= w.node(i).attrs.get(PARENT_INDEX, -1) < len(n.inputs) for i in sources):
            return []
        for i in sources:
            outer = n.inputs[w.node(i).attrs[PARENT_INDEX]]
            if outer is None and w.readers(w.node(i)):
                return []
        for i in sources:
            outer = n.inputs[w.node(i).attrs[PARENT_INDEX]]
            if outer is not None:
                w.move_all(w.node(i).outputs[0], outer)
        end = w.node(ends[0])
        for k, t in enumerate(n.outputs):
            if k < len(end.inputs) and end.inputs[k] is not None:
                w.move_all(t, end.inputs[k] or 0)
        body = [i for i in inner if i not in ends and i not in sources]
        waits, after = n.control_in, w.e.control_targets(n.id)
        for i in body:
            for c in waits:
                w.order(c, i)
            for c in after:
                w.order(i, c)
        scope, holder = n.subgraphs[0], n.id
        w.e.move_nodes(body, n.scope, holder)
        for i in body:
            name = w.node(i).name
            w.merge_origin(i, n)
            w.say(w.node(i), f"{n.name}/", name, "inlined", [Ref("node", holder)])
        w.e.remove_scope(scope)
        w.delete(w.node(holder), "inlined", [Ref("node", i) for i in body[:8]])
        return body

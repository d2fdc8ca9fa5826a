"""label-bodies: labels and jumps that turn If, Case and While into one stream that runs the right branch."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType

from ge_explorer.errors import ContractError
from ge_explorer.graph.edit import GraphEditor
from ge_explorer.graph.model import Node
from ge_explorer.ids import node
from ge_explorer.passes.partition.label_makers import END, FIRST_ACTIVE, MAKERS, Labels, fits
from ge_explorer.text import Text
from ge_explorer.trace.passes import Pass, PassContext, Rule
from ge_explorer.trace.state import Placement, Snapshot

_LABEL = "compiler/graph/label/"
_SOURCE = _LABEL + "label_allocator.cc: AssignFunctionalLabels"
FFTS = ("_ffts_sub_graph", "_ffts_plus_sub_graph")


@dataclass(frozen=True)
class LabelBodies(Pass):
    """Label where branches begin and end, jump between them, and put a StreamActive at the head of every body.

    Rule, for nodes that own subgraphs, in a graph of known shape, whose bodies have no head yet:
    1. PartitionedCall: a StreamActive at the head; NetOutput is the end.
    2. If: LabelSwitchByIndex in front of the then-branch, a LabelSet at the head of both, a LabelGotoEx behind the then-branch, a
       LabelSet behind the else-branch, which is the end.
    3. Case: the same for any number of branches; a single branch needs nothing.
    4. While: a LabelSet at the head of condition and body, a LabelSwitchByIndex behind the condition, a LabelGotoEx back to it
       behind the body, and a LabelSet as the end.
    The new nodes take the holder's stream (``_rts_label_node``). A head comes before the nodes that read only Data, Const or
    Variable, and starts the labelled streams of its body that nothing else starts.

    GE source: label_allocator.cc and the label makers. GE walks the holders in the order of their addresses in memory; we number
    labels in node order. Other holders (Loop and Scan of ONNX) are left alone: GE knows no label maker for them and would fail.
    Example: ``If`` gets labels 0, 1, 2 and ten nodes.
    """

    name = "label-bodies"
    title = Text("Branch labels", "分支标签")
    summary = Text("Lets one stream run the right branch.", "让一条流执行正确的分支。")
    chapter = "partition"
    reads = frozenset({"graph", "placement"})
    writes = frozenset({"graph", "placement"})
    ge_name = "AssignFunctionalLabels"
    source = _SOURCE
    rules = MappingProxyType(
        {
            "head": Rule(
                Text("Head of a body: starts the body's other streams.", "子图头节点：启动子图内其他流。"),
                _LABEL + "label_maker.cc: AddStreamActive",
            ),
            "end": Rule(
                Text("End of a body: what follows the holder waits for it.", "子图结尾：其后的节点等待它。"), _SOURCE
            ),
            "label": Rule(
                Text("Place a jump can go to: the start of a body.", "跳转目标：子图的起点。"),
                _LABEL + "label_maker.cc: AddLabelSetEnter",
            ),
            "leave": Rule(
                Text("Place behind all branches, where the stream goes on.", "所有分支之后、流继续执行之处。"),
                _LABEL + "label_maker.cc: AddLabelSetLeave",
            ),
            "goto": Rule(
                Text("Jump: over the other branches, or back to the condition.", "跳转：越过其他分支或回到条件。"),
                _LABEL + "label_maker.cc: AddLabelGotoLeave",
            ),
            "switch": Rule(
                Text("Jump by a value: this decides which branch runs.", "按数值跳转：由它决定执行哪个分支。"),
                _LABEL + "label_maker.cc: AddLabelSwitchEnter, AddLabelSwitchLeave",
            ),
            "index": Rule(
                Text("The value the jump reads: the holder's first input.", "跳转所读的值：持有节点的第一个输入。"),
                _LABEL + "label_maker.cc: AddLabelSwitchIndex",
            ),
        }
    )

    def skip_reason(self, s: Snapshot, ctx: PassContext) -> Text | None:
        """No body without a head."""
        if s.graph.root.dynamic:
            return Text("the graph is of unknown shape", "图为动态 shape")
        return None if self._holders(s) else Text("no body needs a head", "没有需要头节点的子图")

    @staticmethod
    def _holders(s: Snapshot) -> list[Node]:
        """Nodes GE makes labels for, ascending."""
        graph = s.graph
        return [
            n
            for n in graph
            if n.subgraphs and n.op in MAKERS and not any(k in n.attrs for k in FFTS) and not graph.scope(n.scope).dynamic
            if not any(graph.scope(x).dynamic for x in n.subgraphs)
            if not any(graph.node(i).attrs.get(FIRST_ACTIVE) is True for x in n.subgraphs for i in graph.scope(x).nodes)
        ]  # fmt: skip

    def run(self, s: Snapshot, ctx: PassContext) -> Snapshot:
        """Snapshot with the new nodes, placed on the engines GE gives them."""
        editor = GraphEditor(s.graph)
        m = Labels(editor)
        for n in self._holders(s):
            if not fits(m, n):
                continue
            at, done = len(m.made), len(m.ends)
            MAKERS[n.op](m, n)
            for i, rule in m.made[at:]:
                ctx.decide(node(i), "node", None, editor.node(i).name, rule, [node(n.id)])
            for i in m.ends[done:]:
                ctx.decide(node(i), "body end", None, True, "end", [node(n.id)], decisive=False)
        if not m.made:
            ctx.status = "NOT_CHANGED"
            return s
        if m.count:
            editor.set_graph_attrs({"label_num": m.count})
        facets: dict[str, object] = {"graph": editor.freeze()}
        if s.placement is not None:
            p, extra = s.placement, [editor.node(i).op for i, _ in m.made]
            facets["placement"] = Placement(
                (*p.engine, *("DNN_VM_GE_LOCAL" if op == "Data" else "DNN_VM_RTS" for op in extra)),
                (*p.core, *("NONE",) * len(extra)),
                (*p.reason, *("generated",) * len(extra)) if p.reason else (),
            )
        return s.evolve(**facets)

    def ensures(self, before: Snapshot, after: Snapshot) -> None:
        """What follows a served holder can wait for exactly one end."""
        for n in self._holders(before):
            inside = [after.graph.node(i) for x in n.subgraphs for i in after.graph.scope(x).nodes]
            ends = [x.name for x in inside if END in x.attrs]
            if any(FIRST_ACTIVE in x.attrs for x in inside) and len(ends) != 1:
                raise ContractError("a holder needs exactly one end", where=n.name, got=ends)

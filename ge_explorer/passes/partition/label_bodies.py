"""label-bodies: a StreamActive at the head of every subgraph body, so that the body can start streams of its own."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType

from ge_explorer.graph.edit import GraphEditor
from ge_explorer.ids import node
from ge_explorer.text import Text
from ge_explorer.trace.passes import Pass, PassContext, Rule
from ge_explorer.trace.state import Placement, Snapshot

HOLDERS = frozenset(
    {"PartitionedCall", "StatefulPartitionedCall", "If", "StatelessIf", "Case", "StatelessCase", "While", "StatelessWhile"}
)  # fmt: skip
HELD = frozenset({"Data", "Const", "Constant", "Variable"})
FIRST_ACTIVE, END = "subgraph_first_active", "_subgraph_end_node"
_SOURCE = "compiler/graph/label/label_maker.cc: LabelMaker::AddStreamActive"


@dataclass(frozen=True)
class LabelBodies(Pass):
    """Mark where a body begins and ends, and put a StreamActive at its head.

    Rule: bodies of PartitionedCall, If, Case and While of a known-shape graph that have no head yet. The head takes the stream of
    the holder (``_rts_label_node``), precedes the nodes whose data inputs are all Data, Const or Variable, and later starts every
    other stream of the body; the body's NetOutput is its end.

    GE source: label_maker.cc (AddStreamActive), simplified: the LabelSet, LabelGoto and LabelSwitch nodes of If, Case and While
    are not made, so the end mark sits on the NetOutput instead of the last LabelSet.
    """

    name = "label-bodies"
    title = Text("Body heads", "子图头节点")
    summary = Text("Lets subgraph bodies start streams of their own.", "让子图可以启动自己的流。")
    chapter = "partition"
    reads = frozenset({"graph", "placement"})
    writes = frozenset({"graph", "placement"})
    ge_name = "AssignFunctionalLabels"
    source = _SOURCE
    fidelity = "simplified"
    rules = MappingProxyType(
        {
            "head": Rule(
                Text("Head of a body: starts the body's other streams.", "子图头节点：启动子图内其他流。"), _SOURCE
            ),
            "end": Rule(
                Text("End of a body: what follows the holder waits for it.", "子图结尾：其后的节点等待它。"), _SOURCE
            ),
        }
    )

    def skip_reason(self, s: Snapshot, ctx: PassContext) -> Text | None:
        """No body without a head."""
        if s.graph.root.dynamic:
            return Text("the graph is of unknown shape", "图为动态 shape")
        return None if self._bodies(s) else Text("no body needs a head", "没有需要头节点的子图")

    @staticmethod
    def _bodies(s: Snapshot) -> list[int]:
        graph = s.graph
        return [
            scope
            for n in graph
            if n.op in HOLDERS and not graph.scope(n.scope).dynamic
            for scope in n.subgraphs
            if not graph.scope(scope).dynamic
            and not any(graph.node(i).attrs.get(FIRST_ACTIVE) is True for i in graph.scope(scope).nodes)
        ]

    def run(self, s: Snapshot, ctx: PassContext) -> Snapshot:
        """Snapshot with one StreamActive a body, on engine DNN_VM_RTS."""
        graph, editor = s.graph, GraphEditor(s.graph)
        taken = {n.name for n in graph}
        heads: dict[int, int] = {}
        for scope in self._bodies(s):
            members = graph.scope(scope).nodes
            base = name = f"{graph.node(graph.scope(scope).parent).name}/StreamActive"
            k = 0
            while name in taken:
                k += 1
                name = f"{base}_{k}"
            taken.add(name)
            attrs = {FIRST_ACTIVE: True, "_rts_label_node": True, "_switch_branch_node_label": name}
            i = editor.add_node(name, "StreamActive", attrs=attrs, scope=scope)
            heads[scope] = i
            ctx.decide(node(i), "node", None, name, "head", [node(graph.scope(scope).parent)])
            for j in members:
                n = graph.node(j)
                if n.op == "NetOutput" and END not in n.attrs:
                    editor.update_attrs(j, {END: True})
                    ctx.decide(node(j), "body end", None, True, "end", [node(i)], decisive=False)
                elif (
                    n.op not in HELD
                    and graph.data_in[j]
                    and all(graph.node(e.src).op in HELD for e in graph.data_in[j])
                ):
                    editor.add_control(i, j)
        new = editor.freeze()
        new = new.with_scope_order({x: (i, *(j for j in new.scope(x).nodes if j != i)) for x, i in heads.items()})
        facets: dict[str, object] = {"graph": new}
        if s.placement is not None:
            p, extra = s.placement, len(heads)
            facets["placement"] = Placement(
                (*p.engine, *("DNN_VM_RTS",) * extra), (*p.core, *("NONE",) * extra),
                (*p.reason, *("generated",) * extra) if p.reason else (),
            )  # fmt: skip
        return s.evolve(**facets)

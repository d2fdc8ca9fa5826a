"""attach-stream-labels: branches behind StreamSwitch and StreamMerge get stream labels, so that they can be started alone."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

from ge_explorer.graph.happens_before import ENTER_LIKE
from ge_explorer.graph.model import Graph
from ge_explorer.ids import node
from ge_explorer.text import Text
from ge_explorer.trace.passes import Chapter, Pass, PassContext, Rule
from ge_explorer.trace.state import Snapshot

LABEL, ACTIVE_LABELS = "_stream_label", "_active_label_list"
TRUE_BRANCH, NEXT_ITERATION = "_switch_true_branch_flag", "_next_iteration_node"
_STOPS = frozenset({"StreamSwitch", "StreamMerge", "Merge", "NetOutput"})
_SOURCE = "compiler/graph/passes/control_flow_and_stream/attach_stream_label_pass.cc: AttachStreamLabelPass"


@dataclass(frozen=True)
class AttachStreamLabels(Pass):
    """Label what a switch starts and what follows a merge.

    Rule:
    1. StreamMerge nodes first (not those of a loop): the merge and what it reaches get the merge's name as label.
    2. StreamSwitch nodes with a branch flag: the label is the name of the first data input with ``_t`` or ``_f``; the switch
       activates it, and what it reaches gets it.
    3. Reaching stops at StreamSwitch, StreamMerge, Merge and NetOutput; behind Enter only a StreamActive is followed.
    4. Enter nodes with a control edge to a StreamActive take over its label; nodes behind them without one (the loop's merge and
       switches as well, so that a new round runs all of it) get the label the StreamActive activates.
    5. Cmo nodes get ``<graph>_Cmo``. Inside a subgraph, a label nobody activates there is prefixed by the graph's name.

    GE source: attach_stream_label_pass.cc, written from its description [I]: no recording covers it.
    Example: p → switch(true) → a → merge → labels a ``p_t``; the switch activates ``p_t``.
    """

    name = "attach-stream-labels"
    title = Text("Branch labels", "分支标签")
    summary = Text("Labels the branches behind switches and merges.", "为 Switch 与 Merge 之后的分支打标签。")
    chapter: ClassVar[Chapter] = "partition"
    reads = frozenset({"graph"})
    writes = frozenset({"graph"})
    ge_name = "AttachStreamLabelPass"
    source = _SOURCE
    fidelity = "simplified"
    rules = MappingProxyType(
        {
            "switch": Rule(Text("Reached from a StreamSwitch.", "由 StreamSwitch 到达。"), _SOURCE),
            "merge": Rule(Text("A StreamMerge, or reached from one.", "StreamMerge 或由其到达。"), _SOURCE),
            "loop": Rule(Text("Belongs to the loop that this node starts.", "属于该节点启动的循环。"), _SOURCE),
            "cmo": Rule(Text("Cache operations share a label of their graph.", "Cmo 节点共用所在图的标签。"), _SOURCE),
            "scoped": Rule(Text("Nobody activates this label inside the subgraph.", "子图内无人激活此标签。"), _SOURCE),
        }
    )

    def skip_reason(self, s: Snapshot, ctx: PassContext) -> Text | None:
        """No flow-control node."""
        wanted = {"StreamSwitch", "StreamMerge", "Cmo"}
        if any(n.op in wanted or (n.op == "StreamActive" and n.control_in) for n in s.graph):
            return None
        return Text("no StreamSwitch, StreamMerge or Cmo", "没有 StreamSwitch、StreamMerge 或 Cmo")

    def run(self, s: Snapshot, ctx: PassContext) -> Snapshot:
        """Snapshot whose nodes carry the labels."""
        work = _Labels(s.graph, ctx)
        for n in s.graph:
            if n.op == "StreamMerge" and NEXT_ITERATION not in n.attrs:
                work.give(n.id, n.name, "merge", n.id)
                work.reach(n.id, n.name, "merge")
        for n in s.graph:
            if n.op == "StreamSwitch" and TRUE_BRANCH in n.attrs and s.graph.data_in[n.id]:
                first = s.graph.node(min(s.graph.data_in[n.id], key=lambda e: e.dst_in).src)
                label = f"{first.name}_{'t' if n.attrs[TRUE_BRANCH] is True else 'f'}"
                work.changes.setdefault(n.id, {})[ACTIVE_LABELS] = [label]
                work.reach(n.id, label, "switch")
        work.loops()
        for n in s.graph:
            if n.op == "Cmo":
                work.give(n.id, f"{s.graph.scope(n.scope).name}_Cmo", "cmo", n.id)
        work.prefix()
        return s.evolve(graph=s.graph.with_attrs(work.changes)) if work.changes else s


class _Labels:
    def __init__(self, graph: Graph, ctx: PassContext) -> None:
        self.graph, self.ctx = graph, ctx
        self.changes: dict[int, dict[str, Any]] = {}

    def value(self, i: int, key: str) -> Any:
        """Attribute with the changes of this pass."""
        return self.changes.get(i, {}).get(key, self.graph.node(i).attrs.get(key))

    def give(self, i: int, label: str, rule: str, why: int) -> None:
        """Set the label of a node."""
        before = self.value(i, LABEL)
        if before != label:
            self.changes.setdefault(i, {})[LABEL] = label
            self.ctx.decide(node(i), "label", before, label, rule, [node(why)])

    def reach(self, start: int, label: str, rule: str) -> None:
        """Label everything behind ``start`` up to the stops."""
        todo, seen = list(self.graph.succ[start]), {start}
        while todo:
            i = todo.pop()
            if i in seen or self.graph.node(i).op in _STOPS:
                continue
            seen.add(i)
            self.give(i, label, rule, start)
            enter = self.graph.node(i).op in ENTER_LIKE
            todo += [j for j in self.graph.succ[i] if not enter or self.graph.node(j).op == "StreamActive"]

    def loops(self) -> None:
        """Enter nodes that start a StreamActive, and the body behind them."""
        for n in self.graph:
            if n.op not in ENTER_LIKE:
                continue
            for a in self.graph.control_out[n.id]:
                if self.graph.node(a).op != "StreamActive":
                    continue
                own = self.value(a, LABEL)
                started = list(self.value(a, ACTIVE_LABELS) or ())
                if own:
                    self.give(n.id, str(own), "loop", a)
                if len(started) != 1:
                    continue
                todo, seen = [e.dst for e in self.graph.data_out[n.id]], {n.id}
                while todo:
                    i = todo.pop()
                    if i in seen or self.graph.node(i).op == "NetOutput" or self.value(i, LABEL):
                        continue
                    seen.add(i)
                    self.give(i, str(started[0]), "loop", a)
                    todo += self.graph.succ[i]

    def prefix(self) -> None:
        """Labels of a subgraph that are not activated there."""
        for scope in (x for x in self.graph.scopes if x is not None and x.id):
            mine = [i for i in scope.nodes if i in self.changes and LABEL in self.changes[i]]
            known = {str(x) for i in scope.nodes for x in self.value(i, ACTIVE_LABELS) or ()}
            for i in mine:
                label = str(self.changes[i][LABEL])
                if label not in known and self.graph.node(i).op not in ("Cmo", "StreamMerge"):
                    self.give(i, f"{scope.name}/{label}", "scoped", i)

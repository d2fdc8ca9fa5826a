"""next-iteration: the back edge of a TensorFlow-1 loop becomes two StreamActive nodes."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import ClassVar

from ge_explorer.errors import ContractError
from ge_explorer.graph.happens_before import ENTER_LIKE, NEXT_LIKE
from ge_explorer.graph.model import Node
from ge_explorer.ids import Ref
from ge_explorer.passes.optimize.base import MADE_HERE
from ge_explorer.passes.optimize.facts import MERGE, SWITCH
from ge_explorer.passes.optimize.rare import RarePass
from ge_explorer.passes.optimize.work import Work
from ge_explorer.text import Text
from ge_explorer.trace.passes import Rule
from ge_explorer.trace.state import Snapshot

ACTIVE_LABELS, LABEL, BRANCH_LABEL = "_active_label_list", "_stream_label", "_switch_branch_node_label"
NEXT_NODE = "_next_iteration_node"
"""On a loop's Merge: name of the NextIteration that fed it."""
_SOURCE = "compiler/graph/passes/control_flow_and_stream/next_iteration_pass.cc"


@dataclass
class _Loop:
    enters: list[Node] = field(default_factory=list)
    merges: list[tuple[Node, int, Node]] = field(default_factory=list)


@dataclass(frozen=True)
class NextIteration(RarePass):
    """Cut ``NextIteration -> Merge``; streams are started again instead.

    Rule, per loop (the nodes around one LoopCond ``c``):
    1. The data edge from NextIteration to Merge goes; the Merge remembers the name.
    2. ``c_Enter_StreamActive``: control edges from the Enter nodes to it and from it to the Merge nodes.
    3. ``c_Next_StreamActive``: control edges from the NextIteration nodes to it.
    Both start label ``c``.

    GE source: next_iteration_pass.cc. Assumed: the second one has a stream label of its own, since it must not start the stream it
    is on. A loop whose LoopCond is not found behind a Switch of its Merge nodes stays.
    Example: any ``tf.while_loop`` of a frozen TensorFlow 1 graph.
    """

    name: ClassVar[str] = "next-iteration"
    title: ClassVar[Text] = Text("Loop back", "循环回边")
    summary: ClassVar[Text] = Text("Turns the back edge of a loop into activation.", "把循环回边改为流激活。")
    ge_name: ClassVar[str] = "NextIterationPass"
    source: ClassVar[str] = _SOURCE
    level: ClassVar[int] = 0
    fidelity = "simplified"
    rare: ClassVar[frozenset[str]] = NEXT_LIKE
    rules = MappingProxyType(
        {
            "loop-start": Rule(Text("Starts the loop the first time.", "首次启动循环。"), _SOURCE),
            "loop-again": Rule(Text("Starts the loop again.", "再次启动循环。"), _SOURCE),
            "back-edge": Rule(Text("The next round is started by activation, not by data.",
                                   "下一轮由激活启动，而非数据边。"), _SOURCE),
            "no-condition": Rule(Text("No LoopCond belongs to it.", "找不到所属的 LoopCond。"), _SOURCE),
        }
    )  # fmt: skip

    def apply(self, w: Work, scope: int) -> None:
        """Cut the loops of one graph."""
        loops: dict[int, _Loop] = {}
        for i in w.e.members(scope):
            n = w.node(i)
            for e in w.readers(n) if n.op in NEXT_LIKE else ():
                merge = w.node(e.dst)
                if merge.op not in MERGE:
                    continue
                condition = _condition(w, merge)
                if condition is None:
                    w.keep(n, "no-condition", [Ref("node", merge.id)])
                    continue
                loop = loops.setdefault(condition, _Loop())
                loop.merges.append((merge, e.dst_in, n))
                loop.enters += [p for p in w.producers(merge) if p.op in ENTER_LIKE]
        for condition, loop in loops.items():
            self._cut(w, w.node(condition), loop)

    def ensures(self, before: Snapshot, after: Snapshot) -> None:
        """Only the Merge of a loop loses an input, and only the one of its NextIteration."""
        for n in after.graph:
            old = before.graph.nodes[n.id] if n.id < before.graph.id_bound else None
            lost = [] if old is None else [a for a, b in zip(old.inputs, n.inputs, strict=True) if a != b and b is None]
            for t in lost:
                if t is None or before.graph.node(before.graph.tensor(t).producer).op not in NEXT_LIKE:
                    raise ContractError("a node lost an input", where=n.name)

    def _cut(self, w: Work, condition: Node, loop: _Loop) -> None:
        frames = {n.attrs.get("frame_name") for n in loop.enters} - {None}
        same = (w.node(i) for i in w.e.members(condition.scope) if w.node(i).op in ENTER_LIKE)
        enters = {n.id: n for n in (*loop.enters, *(n for n in same if n.attrs.get("frame_name") in frames))}
        first = _active(w, condition, f"{condition.name}_Enter_StreamActive", {})
        again = _active(
            w, condition, name := w.unique(f"{condition.name}_Next_StreamActive"), {LABEL: name}, named=True
        )
        for i in enters:
            w.order(i, first)
        for merge, slot, following in loop.merges:
            w.e.disconnect(merge.id, slot)
            w.e.update_attrs(merge.id, {NEXT_NODE: following.name})
            w.order(first, merge.id)
            w.order(following.id, again)
            w.say(w.node(merge.id), following.name, None, "back-edge", [Ref("node", following.id), Ref("node", again)])
        w.e.set_graph_attrs({MADE_HERE: True})
        w.changed = True
        w.say(w.node(first), None, "StreamActive", "loop-start", [Ref("node", i) for i in enters])
        w.say(w.node(again), None, "StreamActive", "loop-again", [Ref("node", n.id) for _, _, n in loop.merges])


def _condition(w: Work, merge: Node) -> int | None:
    """LoopCond of the Switch behind a Merge."""
    for e in w.readers(merge):
        s = w.node(e.dst)
        p = w.producer(s, 1) if s.op in SWITCH else None
        while p is not None and p.op != "LoopCond" and len(p.inputs) == 1:
            p = w.producer(p)
        if p is not None and p.op == "LoopCond":
            return p.id
    return None


def _active(w: Work, condition: Node, name: str, attrs: dict[str, object], *, named: bool = False) -> int:
    """StreamActive that starts the label of the loop."""
    own = {ACTIVE_LABELS: [condition.name], BRANCH_LABEL: condition.name, **attrs}
    name = name if named else w.unique(name)
    return w.e.add_node(name, "StreamActive", attrs=own, scope=condition.scope, origin=(condition.id,))

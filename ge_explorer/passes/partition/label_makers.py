"""The nodes GE puts into the subgraphs of If, Case, While and PartitionedCall, so that one stream can jump between them.

A label is a place in a stream. ``LabelSet`` names the place, ``LabelGotoEx`` jumps to one, ``LabelSwitchByIndex`` jumps to one of
several by a number read from memory. GE source: compiler/graph/label (label_maker.cc and one file for each kind of holder).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from ge_explorer.graph.edit import GraphEditor
from ge_explorer.graph.model import Node

HELD = frozenset({"Data", "Const", "Constant", "Variable"})
"""Types that compute nothing (IsCalcType is false)."""
FIRST_ACTIVE, END = "subgraph_first_active", "_subgraph_end_node"
RTS_NODE, INDEX, TARGETS = "_rts_label_node", "_label_switch_index", "_label_switch_list"
STREAM_LABEL, ACTIVE_LABELS = "_stream_label", "_active_label_list"
Made = list[tuple[int, str]]
"""New nodes with the rule that made them."""


class Labels:
    """Makes the nodes of one graph; ``count`` is the number of labels so far."""

    def __init__(self, editor: GraphEditor) -> None:
        self.e, self.count, self.made, self.ends = editor, 0, Made(), list[int]()

    def new(self) -> int:
        """Next label number."""
        self.count += 1
        return self.count - 1

    def _add(
        self, scope: int, name: str, op: str, rule: str, attrs: Mapping[str, Any], *, front: bool, **more: Any
    ) -> int:
        """Node at one end of the list; in front means behind a leading Data node (ComputeGraph::AddNodeFront)."""
        members = self.e.members(scope)
        taken = {self.e.node(i).name for i in members}
        base, k = name, 0
        while name in taken:
            k += 1
            name = f"{base}_{k}"
        behind = members[0] if front and members and self.e.node(members[0]).op == "Data" else None
        i = self.e.add_node(name, op, attrs=attrs, scope=scope, front=front and behind is None, after=behind, **more)
        self.made.append((i, rule))
        return i

    def stream_active(self, scope: int, name: str) -> int:
        """Head of a body: runs before its first computing nodes and starts the streams it lists (AddStreamActive)."""
        attrs: dict[str, Any] = {FIRST_ACTIVE: True, RTS_NODE: True, "_switch_branch_node_label": name}
        wanted = self._labels_to_start(scope)
        if wanted:
            attrs[ACTIVE_LABELS] = wanted
        heads = [
            j
            for j in self.e.members(scope)
            if self.e.node(j).op not in HELD and (before := self._producers(j)) and before <= HELD
        ]
        i = self._add(scope, name, "StreamActive", "head", attrs, front=True)
        for j in heads:
            self.e.add_control(i, j)
        return i

    def _producers(self, j: int) -> set[str]:
        """Types of the nodes a node reads from."""
        return {self.e.node(self.e.tensor(t).producer).op for t in self.e.node(j).inputs if t is not None}

    def _labels_to_start(self, scope: int) -> list[str]:
        """Stream labels of a body that no node of it starts, sorted (GetActiveLabelList)."""
        labels: set[str] = set()
        started: set[str] = set()
        for j in self.e.members(scope):
            attrs = self.e.node(j).attrs
            if STREAM_LABEL in attrs:
                labels.add(str(attrs[STREAM_LABEL]))
            started.update(map(str, attrs.get(ACTIVE_LABELS, ())))
        return sorted(labels - started)

    def label_set(self, scope: int, name: str, label: int, before: int) -> int:
        """LabelSet in front of a body's head (AddLabelSetEnter)."""
        i = self._add(scope, name, "LabelSet", "label", {RTS_NODE: True, INDEX: label}, front=True)
        self.e.add_control(i, before)
        return i

    def leave(self, scope: int, name: str, label: int) -> None:
        """LabelSet behind a body: where every branch continues (AddLabelSetLeave)."""
        i = self._add(scope, name, "LabelSet", "leave", {RTS_NODE: True, INDEX: label, END: True}, front=False)
        self._behind(scope, i)
        self.ends.append(i)

    def goto(self, scope: int, name: str, label: int) -> None:
        """Jump behind a body (AddLabelGotoLeave)."""
        i = self._add(scope, name, "LabelGotoEx", "goto", {RTS_NODE: True, INDEX: label}, front=False)
        self._behind(scope, i)

    def switch_before(self, n: Node, scope: int, labels: list[int], first: int) -> None:
        """Jump in front of the first branch, by the holder's first input (AddLabelSwitchEnter, AddLabelSwitchIndex)."""
        attrs = {RTS_NODE: True, TARGETS: labels}
        t = n.inputs[0] if n.inputs else None
        spec = (None, None) if t is None else (self.e.tensor(t).shape, self.e.tensor(t).dtype)
        i = self._add(scope, f"{n.name}/LabelSwitch", "LabelSwitchByIndex", "switch", attrs, front=True)
        self.e.add_control(i, first)
        where = {"_parent_node_index": 0}
        data = self._add(scope, f"{n.name}/SwitchIndexData", "Data", "index", where, front=True, outputs=[spec])
        self.e.connect(self.e.output(data), i, 0)

    def switch_behind(self, n: Node, scope: int, labels: list[int], predicate: int) -> None:
        """Jump behind a loop's condition, by the value it computed (AddLabelSwitchLeave)."""
        attrs = {RTS_NODE: True, TARGETS: labels}
        i = self._add(scope, f"{n.name}/LabelSwitch", "LabelSwitchByIndex", "switch", attrs, front=False)
        self._behind(scope, i)
        self.e.connect(predicate, i, 0)

    def net_output(self, scope: int) -> int | None:
        """First NetOutput of a body."""
        return next((i for i in self.e.members(scope) if self.e.node(i).op == "NetOutput"), None)

    def _behind(self, scope: int, i: int) -> None:
        """Control edge from the last node of the chain that begins with NetOutput (LinkToGraphTail)."""
        tail = self.net_output(scope)
        while tail is not None and (after := self.e.control_targets(tail)):
            tail = after[0]
        if tail is not None:
            self.e.add_control(tail, i)


def make_call(m: Labels, n: Node) -> None:
    """PartitionedCall: a head, and the end mark on NetOutput (PartitionedCallLabelMaker)."""
    for scope in n.subgraphs[:1]:
        m.stream_active(scope, f"{n.name}/StreamActive")
        for j in m.e.members(scope):
            if m.e.node(j).op == "NetOutput":
                m.e.update_attrs(j, {END: True})
                m.ends.append(j)


def make_if(m: Labels, n: Node) -> None:
    """If: switch, then-branch, jump over the else-branch, else-branch, common end (IfOpLabelMaker)."""
    then, other = n.subgraphs
    enter, enter_other, leave = m.new(), m.new(), m.new()
    active = m.stream_active(then, f"{n.name}/ThenStreamActive")
    first = m.label_set(then, f"{n.name}/ThenLabelSet", enter, active)
    m.goto(then, f"{n.name}/LabelGoto", leave)
    active = m.stream_active(other, f"{n.name}/ElseStreamActive")
    m.label_set(other, f"{n.name}/ElseLabelSet", enter_other, active)
    m.leave(other, f"{n.name}/LeaveLabelSet", leave)
    m.switch_before(n, then, [enter_other, enter], first)  # false is 0, true is 1


def make_case(m: Labels, n: Node) -> None:
    """Case: switch, then one branch after the other, each but the last with a jump to the end (CaseOpLabelMaker)."""
    leave, targets, first = m.new(), list[int](), -1
    for k, scope in enumerate(n.subgraphs):
        active = m.stream_active(scope, f"{n.name}/StreamActive_{k}")
        targets.append(m.new())
        label = m.label_set(scope, f"{n.name}/LabelSet_{k}", targets[-1], active)
        first = label if k == 0 else first
        if k + 1 < len(n.subgraphs):
            m.goto(scope, f"{n.name}/LabelGoto_{k}", leave)
        else:
            m.leave(scope, f"{n.name}/LabelSet_Last", leave)
    m.switch_before(n, n.subgraphs[0], targets, first)


def make_while(m: Labels, n: Node) -> None:
    """While: condition, switch to body or end, body, jump back to the condition, end (WhileOpLabelMaker)."""
    cond, body = n.subgraphs
    enter, enter_body, leave = m.new(), m.new(), m.new()
    active = m.stream_active(cond, f"{n.name}/CondStreamActive")
    m.label_set(cond, f"{n.name}/CondLabelSet", enter, active)
    active = m.stream_active(body, f"{n.name}/EnterStreamActive")
    m.label_set(body, f"{n.name}/EnterLabelSet", enter_body, active)
    m.goto(body, f"{n.name}/LabelGoto", enter)
    m.leave(body, f"{n.name}/LeaveLabelSet", leave)
    predicate = m.e.node(_net_output(m, cond)).inputs[0]
    assert predicate is not None
    m.switch_behind(n, cond, [leave, enter_body], predicate)


def _net_output(m: Labels, scope: int) -> int:
    found = m.net_output(scope)
    assert found is not None
    return found


def fits(m: Labels, n: Node) -> bool:
    """True if a maker can serve a holder: right number of branches, and a loop's condition has one value."""
    maker = MAKERS[n.op]
    if maker is make_call:
        return len(n.subgraphs) >= 1
    if maker is make_case:
        return len(n.subgraphs) >= 2  # a single branch needs no label
    if len(n.subgraphs) != 2:
        return False
    if maker is make_if:
        return True
    end = m.net_output(n.subgraphs[0])
    return end is not None and len(m.e.node(end).inputs) == 1 and m.e.node(end).inputs[0] is not None


MAKERS: Mapping[str, Callable[[Labels, Node], None]] = MappingProxyType({
    "PartitionedCall": make_call, "StatefulPartitionedCall": make_call, "If": make_if, "_If": make_if, "StatelessIf": make_if,
    "Case": make_case, "StatelessCase": make_case, "While": make_while, "_While": make_while, "StatelessWhile": make_while,
})  # fmt: skip
"""Holder type -> maker."""

"""merge-input-memcpy and merge-to-stream-merge: what becomes of the Merge nodes of TensorFlow 1."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from ge_explorer.graph.happens_before import ENTER_LIKE, NEXT_LIKE
from ge_explorer.ids import Ref
from ge_explorer.passes.optimize.base import MADE_HERE
from ge_explorer.passes.optimize.facts import MERGE
from ge_explorer.passes.optimize.loops_v1 import ACTIVE_LABELS, BRANCH_LABEL, NEXT_NODE
from ge_explorer.passes.optimize.rare import RarePass, insert_before
from ge_explorer.passes.optimize.work import Work
from ge_explorer.text import Text
from ge_explorer.trace.passes import Rule

_P = "compiler/graph/passes/control_flow_and_stream"
_COPY, _MERGE = f"{_P}/merge_input_memcpy_pass.cc", f"{_P}/merge_to_stream_merge_pass.cc"


@dataclass(frozen=True)
class MergeInputMemcpy(RarePass):
    """MemcpyAsync before every input of a Merge.

    Rule: whichever branch ran, the Merge finds the value in one place, so each branch ends in a copy. Inputs of a loop (from Enter
    and NextIteration) need none, which is assumed.

    GE source: merge_input_memcpy_pass.cc. The names are ours.
    Example: ``Switch -> Relu -> Merge`` becomes ``Switch -> Relu -> MemcpyAsync -> Merge``.
    """

    name: ClassVar[str] = "merge-input-memcpy"
    title: ClassVar[Text] = Text("Merge copies", "Merge 拷贝")
    summary: ClassVar[Text] = Text("Copies what a Merge reads.", "在 Merge 输入前插入拷贝。")
    ge_name: ClassVar[str] = "MergeInputMemcpyPass"
    source: ClassVar[str] = _COPY
    level: ClassVar[int] = 0
    fidelity = "simplified"
    rare: ClassVar[frozenset[str]] = MERGE
    rules = MappingProxyType(
        {
            "one-place": Rule(
                Text("Both branches must leave the value in one place.", "两个分支须把值放到同一处。"), _COPY
            )
        }
    )

    def apply(self, w: Work, scope: int) -> None:
        """Copy in one graph."""
        for i in w.e.members(scope):
            n = w.node(i)
            for k in range(len(n.inputs)) if n.op in MERGE else ():
                p = w.producer(w.node(i), k)
                if p is None or p.op in ENTER_LIKE | NEXT_LIKE | {"MemcpyAsync"}:
                    continue
                made = insert_before(w, w.node(i), k, f"{n.name}_input_{k}_memcpy", "MemcpyAsync")
                w.say(made, None, "MemcpyAsync", "one-place", [Ref("node", p.id), Ref("node", i)])


@dataclass(frozen=True)
class MergeToStreamMerge(RarePass):
    """Merge becomes StreamMerge; every branch starts its stream.

    Rule: the type changes; before every input a StreamActive that starts the label of the merge (its name), with control edges from
    the producer and to the merge. The Merge of a loop gets none: the loop's own StreamActive starts it.

    GE source: merge_to_stream_merge_pass.cc. The names of the StreamActive nodes are ours.
    Example: two branches, two StreamActive nodes, one StreamMerge.
    """

    name: ClassVar[str] = "merge-to-stream-merge"
    title: ClassVar[Text] = Text("StreamMerge", "StreamMerge")
    summary: ClassVar[Text] = Text("Lets the branch that ran start the merge.", "由执行过的分支启动汇合处。")
    ge_name: ClassVar[str] = "MergeToStreamMergePass"
    source: ClassVar[str] = _MERGE
    level: ClassVar[int] = 0
    fidelity = "simplified"
    rare: ClassVar[frozenset[str]] = MERGE
    rules = MappingProxyType(
        {
            "stream-merge": Rule(Text("Started by the branch that ran.", "由执行过的分支启动。"), _MERGE),
            "branch-end": Rule(Text("The branch ends here and starts the merge.", "分支到此结束并启动汇合。"), _MERGE),
        }
    )

    def apply(self, w: Work, scope: int) -> None:
        """Convert in one graph."""
        for i in w.e.members(scope):
            n = w.node(i)
            if n.op not in MERGE:
                continue
            w.e.change(i, op="StreamMerge")
            w.e.set_graph_attrs({MADE_HERE: True})
            w.changed = True
            w.say(n, n.op, "StreamMerge", "stream-merge")
            for k in range(len(n.inputs)) if NEXT_NODE not in n.attrs else ():
                p = w.producer(n, k)
                if p is None:
                    continue
                attrs = {ACTIVE_LABELS: [n.name], BRANCH_LABEL: n.name}
                name = w.unique(f"{n.name}_input_{k}_StreamActive")
                a = w.e.add_node(
                    name, "StreamActive", control=[p.id], attrs=attrs, scope=n.scope, origin=(i,), after=p.id
                )
                w.order(a, i)
                w.say(w.node(a), None, "StreamActive", "branch-end", [Ref("node", p.id), Ref("node", i)])

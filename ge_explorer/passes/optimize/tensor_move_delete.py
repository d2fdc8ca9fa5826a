"""tensor-move-delete: a device copy goes when no write could be noticed without it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from ge_explorer.graph.builder import PARENT_INDEX
from ge_explorer.graph.model import CONST_LIKE, DATA_LIKE, VARIABLE_LIKE, Edge, Node
from ge_explorer.ids import Ref
from ge_explorer.passes.optimize.facts import NO_FOLD
from ge_explorer.passes.optimize.rare import RarePass, memory_readers, reaches
from ge_explorer.passes.optimize.references import references, writes
from ge_explorer.passes.optimize.work import Work
from ge_explorer.text import Text
from ge_explorer.trace.passes import Rule

OUTPUT_REUSE = "ge.exec.outputReuseInputMemIndexes"
INPUT_REUSE = "ge.exec.inputReuseMemIndexes"
KEEP = "_cannot_be_deleted"
_SOURCE = "compiler/graph/passes/memory_optimize: TensorMoveDeletePass"
_CALLS = frozenset({"PartitionedCall", "StatefulPartitionedCall"})
_STEPS = 100
"""Longest way back that is followed."""


@dataclass(frozen=True)
class TensorMoveDelete(RarePass):
    """Delete a TensorMove whose removal cannot create a write conflict.

    Rule, in this order:
    1. Kept: ``_cannot_be_deleted`` or ``no_need_constant_folding``.
    2. The source is looked up backwards through operators that write in place, PartitionedCall and subgraph boundaries and other
       TensorMoves. An input of the model may be written only if the user allowed it; a constant or variable only stays unwritten:
       the reader must not write, nor be NetOutput or own subgraphs.
    3. Other readers of the same output: one that writes needs a control edge reader -> it already; one that reads while our reader
       writes gets a control edge to our reader, unless that closes a cycle; all reading: nothing.

    GE source: TensorMoveDeletePass (after OptimizeGraphBeforeBuild). Ours: operators that only change the shape are looked
    through. Not modelled: looking into the branches of If and Case; an output that crosses a subgraph boundary and has other
    readers is kept when it would be written.
    Options: ``ge.exec.outputReuseInputMemIndexes``, ``ge.exec.inputReuseMemIndexes``.
    Example: ``Relu -> TensorMove -> ScatterNdUpdate``: the update writes into Relu's buffer, one copy less.
    """

    name: ClassVar[str] = "tensor-move-delete"
    title: ClassVar[Text] = Text("Copies", "去除拷贝")
    summary: ClassVar[Text] = Text("Deletes device copies nobody needs.", "删除不必要的设备内拷贝。")
    option_keys: ClassVar[frozenset[str]] = RarePass.option_keys | {OUTPUT_REUSE, INPUT_REUSE}
    ge_name: ClassVar[str] = "TensorMoveDeletePass"
    source: ClassVar[str] = _SOURCE
    fidelity = "simplified"
    rare: ClassVar[frozenset[str]] = frozenset({"TensorMove"})
    rules = MappingProxyType(
        {
            "no-conflict": Rule(Text("Without the copy nobody reads a changed value.", "去掉拷贝后，没有节点会读到被改写的值。"),
                                _SOURCE),
            "ordered": Rule(Text("It reads what the other will overwrite, so it must run before.",
                                 "它读取的内存将被改写，因此必须先执行。"), _SOURCE),
            "move-forbidden": Rule(Text("An attribute forbids it.", "属性禁止删除。"), _SOURCE),
            "move-from-input": Rule(Text("The memory of a model input may not be changed.", "模型输入的内存不可改写。"), _SOURCE),
            "move-from-constant": Rule(Text("A constant or variable would be written, or leave the graph without a copy.",
                                            "常量或变量会被改写，或未经拷贝直接输出。"), _SOURCE),
            "move-sibling-writes": Rule(Text("Another reader overwrites the value and is not ordered after.",
                                             "另一个读者会改写该值，且没有先后约束。"), _SOURCE),
            "move-cycle": Rule(Text("The other reader comes later, so it needs the old value.", "另一个读者在其后，仍需旧值。"),
                               _SOURCE),
        }
    )  # fmt: skip

    def apply(self, w: Work, scope: int) -> None:
        """Try every TensorMove of one graph."""
        for i in w.e.members(scope):
            if w.e.has(i) and w.node(i).op == "TensorMove":
                self._try(w, w.node(i))

    def _try(self, w: Work, n: Node) -> None:
        t = n.inputs[0] if n.inputs else None
        if t is None or len(n.outputs) != 1:
            return
        if n.attrs.get(KEEP) is True or NO_FOLD in n.attrs:
            w.keep(n, "move-forbidden")
            return
        readers = memory_readers(w, n.outputs[0])
        writers = [e.dst for e in readers if writes(w, w.node(e.dst), e.dst_in)]
        origin, shared = _origin(w, t)
        refused = self._source(w, origin, readers, bool(writers))
        if refused:
            w.keep(n, refused, [Ref("node", origin.id)])
            return
        others = [e for e in memory_readers(w, t) if e.dst != n.id]
        wanted: list[tuple[int, int]] = []
        for o in others:
            if writes(w, w.node(o.dst), o.dst_in):
                if not all(o.dst in w.e.control_targets(e.dst) for e in readers):
                    w.keep(n, "move-sibling-writes", [Ref("node", o.dst)])
                    return
                if not writers:
                    continue
            for x in writers:
                if o.dst == x or reaches(w, x, o.dst):
                    w.keep(n, "move-cycle", [Ref("node", o.dst)])
                    return
                wanted.append((o.dst, x))
        if writers and shared:
            w.keep(n, "move-sibling-writes", [Ref("node", origin.id)])
            return
        for a, b in dict.fromkeys(wanted):
            if b not in w.e.control_targets(a):
                w.order(a, b)
                w.say(w.node(a), None, w.node(b).name, "ordered", [Ref("node", b)])
        w.bypass(n, "no-conflict", evidence=[Ref("node", x) for x in writers])

    def _source(self, w: Work, origin: Node, readers: list[Edge], written: bool) -> str:
        """Rule that forbids writing to, or handing out, the source; "" when it is fine."""
        if origin.op in CONST_LIKE | VARIABLE_LIKE:
            ends = any(w.node(e.dst).op == "NetOutput" or w.node(e.dst).subgraphs for e in readers)
            return "move-from-constant" if written or ends else ""
        if origin.op in DATA_LIKE and origin.scope == 0 and not self._allowed(w, origin):
            return "move-from-input"
        return ""

    def _allowed(self, w: Work, data: Node) -> bool:
        """True if the user gave the memory of this input away: ``in,out|in,out`` or a list of inputs."""
        index = str(data.attrs.get("index", ""))
        pairs = (p.partition(",")[0].strip() for p in w.option(OUTPUT_REUSE).split("|"))
        return bool(index) and (index in pairs or index in (p.strip() for p in w.option(INPUT_REUSE).split(",")))


def _origin(w: Work, t: int) -> tuple[Node, bool]:
    """Node that owns the memory of a tensor; True if the way crosses a boundary where others read it, too."""
    shared = False
    for step in _back(w, t):
        producer = w.node(w.e.tensor(step).producer)
        crossed = producer.scope != w.node(w.e.tensor(t).producer).scope
        shared = shared or (crossed and len(w.e.readers(step)) > 1)
    return producer, shared


def _back(w: Work, t: int) -> Iterator[int]:
    """The tensor and those before it that are the same memory."""
    following: int | None = t
    for _ in range(_STEPS):
        if following is None:
            return
        yield following
        tensor = w.e.tensor(following)
        n = w.node(tensor.producer)
        slot = n.attrs.get(PARENT_INDEX)
        refs = dict(references(w, n))
        following = None
        if n.op == "Data" and n.scope and isinstance(slot, int):
            holder = w.node(w.e.scope(n.scope).parent)
            following = holder.inputs[slot] if slot < len(holder.inputs) else None
        elif n.op == "TensorMove":
            following = n.inputs[0]
        elif tensor.index in refs:
            following = n.inputs[refs[tensor.index]]
        elif n.op in _CALLS and len(n.subgraphs) == 1:
            end = next((w.node(i) for i in w.e.members(n.subgraphs[0]) if w.node(i).op == "NetOutput"), None)
            following = end.inputs[tensor.index] if end is not None and tensor.index < len(end.inputs) else None

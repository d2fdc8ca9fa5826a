"""recompute: forward nodes marked by the user run again beside their backward readers instead of being kept in memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from ge_explorer.graph.model import SOURCE_LIKE, Node
from ge_explorer.ids import node
from ge_explorer.passes.optimize.base import OptimizePass, ranks, run
from ge_explorer.passes.optimize.hccl_scope import reachable
from ge_explorer.passes.optimize.work import Work
from ge_explorer.text import Text
from ge_explorer.trace.passes import PassContext, Rule
from ge_explorer.trace.state import Snapshot

OPTION = "ge.recompute"
MARK, BACKWARD, SUFFIX = "_recompute", "_backward", "_recompute_copy"
_SOURCE = "compiler/graph/passes/feature/recompute_pass.cc"


@dataclass(frozen=True)
class Recompute(OptimizePass):
    """Copy marked forward nodes for the backward pass.

    Rule (``ge.recompute`` = manual, root graph): a node with ``_recompute`` (no source, no resource tensors) gets a copy
    ``<name>_recompute_copy``; copies read copies of marked producers and everything else from the originals; readers with
    ``_backward`` read the copy. The first copy of a chain waits, by a control edge, for the latest backward input of the first
    backward reader of the whole chain.

    GE source: RecomputePass. Simplified: backward readers before the last forward node are not treated apart (GE tries them too
    and takes them back when the graph has a loop then; here such a reader keeps the original).
    Example: ``Gelu`` kept for its gradient -> ``Gelu`` freed at once, ``Gelu_recompute_copy`` before ``GeluGrad``.
    """

    name: ClassVar[str] = "recompute"
    title: ClassVar[Text] = Text("Recompute", "重计算")
    summary: ClassVar[Text] = Text(
        "Computes marked forward nodes again for the backward pass.", "反向阶段重新计算标记的前向节点。"
    )
    ge_name: ClassVar[str] = "RecomputePass"
    source: ClassVar[str] = f"{_SOURCE}: RecomputeRewriting::RewriteGraph"
    option_keys: ClassVar[frozenset[str]] = OptimizePass.option_keys | {OPTION}
    fidelity = "simplified"
    rules = MappingProxyType(
        {
            "copied": Rule(Text("Marked for recomputation.", "标记为重计算。"), f"{_SOURCE}: CopyRecomputeNode"),
            "cannot": Rule(Text("Sources and resource tensors cannot be recomputed.", "源节点与 resource 张量不能重计算。"),
                           f"{_SOURCE}: IsNodeNeedRecomputed"),
            "reads-copy": Rule(Text("A backward node reads the copy.", "反向节点读取副本。"),
                               f"{_SOURCE}: ReplaceBackwardNodeEdge"),
            "waits": Rule(Text("The copy waits for the backward pass.", "副本等待反向阶段。"), f"{_SOURCE}: DfsRecomputeNodes"),
        }
    )  # fmt: skip

    def skip_reason(self, s: Snapshot, ctx: PassContext) -> Text | None:
        """Needs marked nodes and the option."""
        if ctx.option(OPTION) == "auto":
            return Text(
                f"{OPTION} is auto: GE chooses nodes itself, late, in stage 2. Not modelled.",
                f"{OPTION} 为 auto：GE 在阶段 2 自行选择节点。未建模。",
            )
        if not any(n.attrs.get(MARK) for n in s.graph):
            return Text("no node is marked for recomputation", "没有标记重计算的节点")
        if ctx.option(OPTION) != "manual":
            return Text(f"{OPTION} is not manual", f"{OPTION} 不为 manual")
        return super().skip_reason(s, ctx)

    def run(self, s: Snapshot, ctx: PassContext) -> Snapshot:
        """Graph with the copies."""
        return run(s, ctx, _rewrite)


def _rewrite(w: Work) -> None:
    rank = ranks(w, 0)
    copies: dict[int, int] = {}
    for i in sorted(w.e.members(0), key=lambda i: rank.get(i, 0)):
        n = w.node(i)
        if n.attrs.get(MARK) and not n.attrs.get(BACKWARD):
            if _possible(w, n):
                copies[i] = _copy(w, n, copies)
            else:
                w.keep(n, "cannot")
    segments = [(copies[i], _readers_of_segment(w, i, copies)) for i in copies if not _marked_producer(w, i, copies)]
    for i, copy in copies.items():
        for e in [e for e in w.readers(w.node(i)) if w.node(e.dst).attrs.get(BACKWARD)]:
            w.move(e, w.node(copy).outputs[e.src_out])
            w.say(w.node(e.dst), w.node(i).name, w.node(copy).name, "reads-copy", [node(copy)])
    for start, readers in segments:
        first = min(readers, key=lambda x: rank.get(x, 0), default=None)
        late = None if first is None else _latest_backward_input(w, first, rank)
        if late is not None and late not in reachable(w.e.freeze(), [start]):
            w.order(late, start)
            w.say(w.node(start), None, w.node(late).name, "waits", [node(late)])
    for copy in reversed(list(copies.values())):  # a copy that nobody reads would only cost time
        if not w.readers(w.node(copy)):
            w.drop(w.node(copy))


def _marked_producer(w: Work, i: int, copies: Mapping[int, int]) -> bool:
    n = w.node(i)
    before = [*(w.e.tensor(t).producer for t in n.inputs if t is not None), *n.control_in]
    return any(p in copies for p in before)


def _readers_of_segment(w: Work, start: int, copies: Mapping[int, int]) -> set[int]:
    """Backward readers of a marked node and of the marked nodes behind it."""
    found: set[int] = set()
    todo, seen = [start], {start}
    while todo:
        for e in w.readers(w.node(todo.pop())):
            if w.node(e.dst).attrs.get(BACKWARD):
                found.add(e.dst)
            elif e.dst in copies and e.dst not in seen:
                seen.add(e.dst)
                todo.append(e.dst)
    return found


def _possible(w: Work, n: Node) -> bool:
    tensors = [*(t for t in w.inputs(n) if t is not None), *w.outputs(n)]
    return n.op not in SOURCE_LIKE and n.op != "NetOutput" and all(t.dtype != "resource" for t in tensors)


def _copy(w: Work, n: Node, copies: dict[int, int]) -> int:
    inputs: list[int | None] = []
    for t in n.inputs:
        tensor = None if t is None else w.e.tensor(t)
        made = copies.get(tensor.producer) if tensor is not None else None
        inputs.append(t if made is None or tensor is None else w.node(made).outputs[tensor.index])
    attrs = {k: v for k, v in n.attrs.items() if k != MARK}
    new = w.e.add_node(w.unique(n.name + SUFFIX), n.op, inputs=inputs, outputs=[(t.shape, t.dtype) for t in w.outputs(n)],
                       attrs=attrs, scope=n.scope, source_op=n.source_op, origin=(n.id,), after=n.id)  # fmt: skip
    w.changed = True
    w.say(w.node(new), None, n.op, "copied", [node(n.id)])
    return new


def _latest_backward_input(w: Work, reader: int, rank: dict[int, int]) -> int | None:
    n = w.node(reader)
    found = [*(w.e.tensor(t).producer for t in n.inputs if t is not None), *n.control_in]
    rows = [i for i in found if w.node(i).attrs.get(BACKWARD)]
    return max(rows, key=lambda i: rank.get(i, 0)) if rows else None

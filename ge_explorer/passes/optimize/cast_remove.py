"""cast-remove: casts that end where they began are deleted."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from ge_explorer.graph.model import Graph, Node
from ge_explorer.ids import Ref
from ge_explorer.passes.optimize.base import NodePass
from ge_explorer.passes.optimize.facts import TRANS, loses_precision
from ge_explorer.passes.optimize.value_changes import rounds
from ge_explorer.passes.optimize.work import Work
from ge_explorer.text import Text
from ge_explorer.trace.passes import Rule

_SOURCE = "compiler/graph/passes/standard_optimize/cast_remove_pass.cc"


@dataclass(frozen=True)
class CastRemove(NodePass):
    """Delete a Cast to the type its input has, and all casts of a chain that ends in the type it began with.

    Rule: the chain starts at an operator with one output and one reader that is no layout operator itself, and follows layout
    operators with a single reader. A cast to bool, or from a float to int32 or int64, stops it. The other members of the chain
    take the type of the start and are renamed ``<last cast><own name>``. float -> float16 -> float *is* deleted: GE's table does
    not call float16 a loss.

    GE source: cast_remove_pass.cc. Example: ``A(float) -> Cast(float16) -> Cast(float) -> B`` becomes ``A -> B``.
    """

    name: ClassVar[str] = "cast-remove"
    title: ClassVar[Text] = Text("Cast pairs", "Cast 消除")
    summary: ClassVar[Text] = Text("Deletes casts that end where they began.", "去掉首尾类型相同的 Cast。")
    ge_name: ClassVar[str] = "CastRemovePass"
    source: ClassVar[str] = f"{_SOURCE}: CastRemovePass::Run"
    rules = MappingProxyType(
        {
            "same-type": Rule(Text("Input and output have the same type.", "输入与输出类型相同。"), _SOURCE),
            "round-trip": Rule(
                Text("The chain of casts ends in the type it began with.", "Cast 链首尾类型相同。"), _SOURCE
            ),
            "lossy": Rule(
                Text("A cast in the chain loses more than rounding.", "链中有会丢失信息的 Cast。"),
                "base/common/op/transop_util.cc: IsPrecisionLoss",
            ),
            "renamed": Rule(Text("It runs in the type of the chain's start now.", "现在以链首的类型运行。"), _SOURCE),
        }
    )

    def wants(self, g: Graph) -> bool:
        """A Cast."""
        return any(n.op == "Cast" for n in g)

    def visit(self, w: Work, n: Node) -> None:
        """Try one Cast, or one chain start."""
        if n.op == "Cast":
            if n.inputs and n.inputs[0] is not None and len(n.outputs) == 1:
                source, target = w.e.tensor(n.inputs[0]).dtype, w.outputs(n)[0].dtype
                if source is not None and source == target:
                    w.bypass(n, "same-type")
            return
        if n.op in TRANS or len(n.outputs) != 1:
            return
        chain = _chain(w, n)
        casts = [c for c in chain if c.op == "Cast"]
        if not casts:
            return
        start, end = w.outputs(n)[0].dtype, w.outputs(chain[-1])[0].dtype
        if start is None or start != end:
            return
        if any(loses_precision(w.e.tensor(c.inputs[0] or 0).dtype, w.outputs(c)[0].dtype) for c in casts):
            for c in casts:
                w.keep(c, "lossy")
            return
        others = [c for c in chain if c.op != "Cast"]
        if rounds(start, [w.outputs(c)[0].dtype for c in casts]):
            w.rounded += [c.id for c in casts]
        for c in casts:
            w.bypass(w.node(c.id), "round-trip", evidence=[Ref("node", n.id)])
        for c in others:
            w.e.set_tensor(c.outputs[0], dtype=start)
            name = w.unique(f"{casts[-1].name}{c.name}")
            w.e.change(c.id, name=name)
            w.ctx.decide(Ref("node", c.id), "name", c.name, name, "renamed", [Ref("node", x.id) for x in casts])


def _chain(w: Work, start: Node) -> list[Node]:
    """Layout operators behind ``start``, each the only reader of the one before, on its data input."""
    out: list[Node] = []
    n = start
    while True:
        readers = w.readers(n)
        if len(readers) != 1 or readers[0].dst_in != 0:
            return out
        n = w.node(readers[0].dst)
        if n.op not in TRANS or len(n.outputs) != 1:
            return out
        out.append(n)

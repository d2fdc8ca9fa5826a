"""dim1-transpose: a Transpose that moves only dimensions of size 1 moves no data."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from ge_explorer.graph.model import Node
from ge_explorer.passes.optimize.base import SHARED_RULES, NodePass
from ge_explorer.passes.optimize.facts import sizes
from ge_explorer.passes.optimize.work import Work, perm_of
from ge_explorer.text import Text
from ge_explorer.trace.passes import Rule

_SOURCE = "compiler/graph/passes/format_optimize/dim1_transpose_to_squeeze_pass.cc"


@dataclass(frozen=True)
class Dim1Transpose(NodePass):
    """Replace a Transpose by Squeeze and Unsqueeze when the dimensions that are not 1 keep their order.

    Rule: permutation constant, shape known, the node is not one FE inserted. Result ``<name>_replaced_Squeeze`` and
    ``<name>_replaced_Unsqueeze``: two nodes without a kernel instead of one vector kernel. Both are offered to the other
    passes of the stage again, where dimension-adjust usually turns them into one Reshape.

    GE source: dim1_transpose_to_squeeze_pass.cc. The symbolic variant for unknown shapes is not modelled.
    Example: ``[1,8,1,4]`` with perm ``(1,0,3,2)``.
    """

    name: ClassVar[str] = "dim1-transpose"
    title: ClassVar[Text] = Text("Dim-1 transpose", "单维转置")
    summary: ClassVar[Text] = Text(
        "Turns a Transpose of 1-dimensions into Squeeze and Unsqueeze.",
        "把只移动 1 维的转置变成 Squeeze 和 Unsqueeze。",
    )
    ge_name: ClassVar[str] = "Dim1TransposeToSqueezePass"
    source: ClassVar[str] = _SOURCE
    level: ClassVar[int] = 2
    fidelity = "simplified"
    types: ClassVar[frozenset[str] | None] = frozenset({"Transpose", "TransposeD"})
    rules = MappingProxyType(
        {
            "only-ones-move": Rule(
                Text("Only dimensions of size 1 move.", "只移动大小为 1 的维度。"),
                f"{_SOURCE}: IsUselessTransposeByShape",
            ),
            **SHARED_RULES,
        }
    )

    def visit(self, w: Work, n: Node) -> None:
        """Replace one Transpose."""
        if not n.inputs or n.inputs[0] is None or len(n.outputs) != 1 or n.attrs.get("_inserted_by_fe") == 1:
            return
        dims = sizes(w.shape(n, 0))
        perm = perm_of(w, n, dims)
        if dims is None or perm is None or sorted(perm) != list(range(len(dims))):
            return
        rest = [p for p in perm if dims[p] != 1]
        if rest != sorted(rest):
            return
        squeeze = tuple(p for p in perm if dims[p] == 1)
        unsqueeze = tuple(k for k, p in enumerate(perm) if dims[p] == 1)
        out = w.outputs(n)[0]
        inner = tuple(dims[p] for p in rest)
        a = w.add(
            n, w.unique(f"{n.name}_replaced_Squeeze"), "Squeeze", [n.inputs[0]], inner, out.dtype,
            attrs={"axis": squeeze}, origin=(n.id,), after=n.id,
        )  # fmt: skip
        w.expect(a.id, 0, w.shape(n, 0))
        b = w.add(
            n, w.unique(f"{n.name}_replaced_Unsqueeze"), "Unsqueeze", [a.outputs[0]], out.shape, out.dtype,
            attrs={"axes": unsqueeze}, origin=(n.id,), after=a.id, tensor_name=out.name,
        )  # fmt: skip
        w.move_all(n.outputs[0], b.outputs[0])
        for c in n.control_in:
            w.order(c, a.id)
        for c in w.e.control_targets(n.id):
            w.order(b.id, c)
        w.say(a, n.op, "Squeeze", "only-ones-move")
        w.say(b, n.op, "Unsqueeze", "only-ones-move")
        constant = w.producer(n, 1)
        w.delete(n, "only-ones-move")
        w.drop_unused_constant(constant, "unread")

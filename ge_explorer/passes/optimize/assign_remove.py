"""assign-remove: the operator that makes a value writes it straight into the variable."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from ge_explorer.graph.model import SOURCE_LIKE, VARIABLE_LIKE, Node
from ge_explorer.ids import Ref
from ge_explorer.passes.optimize.base import NodePass
from ge_explorer.passes.optimize.references import may_write
from ge_explorer.passes.optimize.work import Work
from ge_explorer.text import Text
from ge_explorer.trace.passes import Rule

ASSIGNED = "_assign_var_name"
"""Output attribute: the name of the variable whose memory the output is."""
_SOURCE = "compiler/graph/passes/variable_optimize/assign_remove_pass.cc"


@dataclass(frozen=True)
class AssignRemove(NodePass):
    """Fold an Assign into the producer of the value.

    Rule: ``Assign(variable, value)`` where the value is made by an ordinary operator, has no other reader and is not itself a
    reference. The output gets ``_assign_var_name``, so it needs no memory of its own; what followed the Assign follows the
    producer.

    GE source: assign_remove_pass.cc; the conditions on the producer are simplified. Other readers of the variable must be ordered
    before the Assign by control edges, which move to the producer; otherwise the Assign stays (ours, cautious).
    Example: ``Mul -> Assign(w)``: Mul writes w.
    """

    name: ClassVar[str] = "assign-remove"
    title: ClassVar[Text] = Text("Assign", "Assign")
    summary: ClassVar[Text] = Text("Lets the producer write the variable.", "让生产者直接写入变量。")
    ge_name: ClassVar[str] = "AssignRemovePass"
    source: ClassVar[str] = _SOURCE
    fidelity = "simplified"
    types: ClassVar[frozenset[str] | None] = frozenset({"Assign"})
    rules = MappingProxyType(
        {
            "direct-write": Rule(Text("Its only purpose is a copy into the variable.", "它只是把值拷贝进变量。"), _SOURCE),
            "assign-needed": Rule(Text("The value has another use, or the variable is read meanwhile.",
                                       "该值另有用途，或变量此间仍被读取。"), _SOURCE),
        }
    )  # fmt: skip

    def visit(self, w: Work, n: Node) -> None:
        """Try one Assign."""
        variable, p = w.producer(n, 0), w.producer(n, 1)
        if variable is None or p is None or len(n.inputs) != 2 or variable.op not in VARIABLE_LIKE:
            return
        t = n.inputs[1]
        assert t is not None
        readers = {e.dst for e in w.readers(variable)} - {n.id}
        if (
            p.op in SOURCE_LIKE or p.subgraphs or may_write(p) or len(w.e.readers(t)) > 1 or p.scope != n.scope
            or readers - set(p.control_in)
        ):  # fmt: skip
            w.keep(n, "assign-needed", [Ref("node", p.id)])
            return
        tensor = w.e.tensor(t)
        w.e.set_tensor(t, attrs={**tensor.attrs, ASSIGNED: variable.name})
        w.say(p, None, variable.name, "direct-write", [Ref("node", variable.id)])
        w.bypass(n, "direct-write", (1,))

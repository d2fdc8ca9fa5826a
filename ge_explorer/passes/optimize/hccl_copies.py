"""A copy in front of a collective, and the Assign that brings a broadcast variable up to date. Shared by both memcpy passes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ge_explorer.graph.model import VARIABLE_LIKE, Node
from ge_explorer.ids import node
from ge_explorer.passes.optimize.facts import NO_FOLD
from ge_explorer.passes.optimize.hccl_scope import BROADCAST
from ge_explorer.passes.optimize.work import Work

VARIABLES = VARIABLE_LIKE | {"RefData"}
"""GE's IsVarLikeNode (op_type_utils.cc)."""


def copy_before(w: Work, n: Node, index: int, name: str, rule: str, attrs: Mapping[str, Any] | None = None) -> None:
    """Put an Identity in front of input ``index`` of ``n``.

    The attribute that only has to be *present* keeps IdentityPass away (hccl_memcpy_pass.cc, CreateIdentityOpDesc).
    """
    tensor = n.inputs[index]
    assert tensor is not None
    t = w.e.tensor(tensor)
    made = w.add(w.node(t.producer), w.unique(name), "Identity", [tensor], t.shape, t.dtype, origin=(n.id,),
                 attrs={NO_FOLD: False, **(attrs or {})}, after=t.producer)  # fmt: skip
    w.e.retarget(made.outputs[0], n.id, index)
    w.say(made, None, "Identity", rule, [node(n.id), node(t.producer)])


def assign_back(w: Work, n: Node, index: int, variable: Node, name: str, rule: str, attrs: Mapping[str, Any] | None = None
                ) -> None:  # fmt: skip
    """After a Broadcast: Assign its result to the variable it came from, before anybody reads either of them.

    Nothing happens for other collectives, other producers, or when the variable is assigned already
    (InsertAssignAfterBroadcastIfNeed).
    """
    if n.op != BROADCAST or variable.op not in VARIABLES or index >= len(n.outputs):
        return
    if any(w.node(e.dst).op == "Assign" for e in w.readers(variable)):
        return
    source, result = variable.outputs[0], n.outputs[index]
    later = [*(e.dst for e in w.e.readers(result)), *w.e.control_targets(n.id)]
    t = w.e.tensor(source)
    made = w.add(
        n, w.unique(name), "Assign", [source, result], t.shape, t.dtype, origin=(n.id,), attrs=dict(attrs or {})
    )
    for i in later:
        w.order(made.id, i)
    w.say(made, None, "Assign", rule, [node(n.id), node(variable.id)])


def counted(w: Work, base: str) -> str:
    """GE's CheckDuplicateName: the name itself, then ``<base>_1``, ``<base>_2``, …"""
    name, k = base, 0
    while w.taken(name):
        k += 1
        name = f"{base}_{k}"
    return name

"""Replace a node by constants: what all folding passes share (FoldingPass::Folding)."""

from __future__ import annotations

from collections.abc import Sequence

from ge_explorer.graph.constant import VALUE, ConstantValue
from ge_explorer.graph.model import DATA_LIKE, Node
from ge_explorer.ids import Ref
from ge_explorer.passes.optimize.facts import BY_GE, CONST, FROM_FOLDING, ORIGIN_SCALAR, ORIGINAL_NAMES, SWITCH
from ge_explorer.passes.optimize.work import Work

Values = Sequence[ConstantValue | None]
"""One per output; None where only shape and type are known."""
_BROADCASTS = {"Expand": 0, "BroadcastTo": 0, "Tile": 0, "Fill": 1}
"""Operators that repeat the value of an input: type -> that input."""


def fold(w: Work, n: Node, values: Values, rule: str) -> None:
    """One new Const per output that is read, in front of the graph; producers that lose their last reader go as well.

    An input from a Switch is replaced by an Identity that keeps the branch condition as a control edge.
    """
    for k, t in enumerate(n.inputs):
        if t is not None and w.node(w.e.tensor(t).producer).op in SWITCH:
            _keep_condition(w, n, k, t)
    n = w.node(n.id)
    sources = [w.node(w.e.tensor(t).producer) for t in dict.fromkeys(n.inputs) if t is not None]
    refs = [Ref("node", p.id) for p in sources]
    made: list[Node] = []
    for k, t in enumerate(n.outputs):
        if not w.e.readers(t):
            continue
        name = w.unique(f"{n.name}_const" if len(n.outputs) == 1 else f"{n.name}_{k}_const")
        c = _constant(w, n, t, values[k], name)
        w.move_all(t, c.outputs[0])
        w.say(c, n.op, "Const", rule, [Ref("node", n.id), *refs])
        made.append(c)
    _carry_control(w, n, made)
    w.delete(n, rule, [Ref("node", c.id) for c in made])
    for p in sources:
        if w.e.has(p.id) and not w.readers(w.node(p.id)) and p.op not in DATA_LIKE and p.op != "Enter":
            w.delete(w.node(p.id), "unread", [Ref("node", n.id)])


def _constant(w: Work, n: Node, t: int, value: ConstantValue | None, name: str) -> Node:
    tensor = w.e.tensor(t)
    attrs: dict[str, object] = {FROM_FOLDING: True, ORIGINAL_NAMES: ()}
    if value is not None:
        attrs[VALUE] = value
    scalar = _broadcast_from(w, n)
    if scalar is not None:
        attrs[ORIGIN_SCALAR] = scalar
    if "_stream_label" in n.attrs:
        attrs["_stream_label"] = n.attrs["_stream_label"]
    shape, dtype = (value.shape, value.dtype) if value is not None else (tensor.shape, tensor.dtype)
    made = w.add(
        n, name, "Const", (), shape, dtype, attrs=attrs, origin=(n.id,), front=True, tensor_name=tensor.name,
        source_op=n.source_op,
    )  # fmt: skip
    if tensor.attrs:
        w.e.set_tensor(made.outputs[0], attrs=tensor.attrs)
    return made


def _broadcast_from(w: Work, n: Node) -> int | None:
    """Id of the one-element Const that a fold only repeats; None for any other operator."""
    slot = _BROADCASTS.get(n.op)
    t = n.inputs[slot] if slot is not None and slot < len(n.inputs) else None
    if t is None:
        return None
    p = w.node(w.e.tensor(t).producer)
    if p.op not in CONST:
        return None
    mark = p.attrs.get(ORIGIN_SCALAR)
    return mark if isinstance(mark, int) else p.id if w.e.tensor(t).elements == 1 else None


def _keep_condition(w: Work, n: Node, index: int, t: int) -> None:
    """``Switch -> node`` becomes ``Switch -> Identity`` and a control edge ``Identity -> node``."""
    tensor = w.e.tensor(t)
    switch = w.node(tensor.producer)
    name = w.unique(f"{n.name}_ctrl_identity_{index}")
    identity = w.add(
        switch, name, "Identity", [t], tensor.shape, tensor.dtype, attrs={BY_GE: True}, after=switch.id, origin=(n.id,)
    )  # fmt: skip
    w.e.disconnect(n.id, index)
    w.e.add_control(identity.id, n.id)


def _carry_control(w: Work, n: Node, made: Sequence[Node]) -> None:
    """What ran before the node runs before its constants, and they before its control successors."""
    for c in n.control_in:
        for m in made:
            w.order(c, m.id)
    for after in w.e.control_targets(n.id):
        for source in [m.id for m in made] or n.control_in:
            w.order(source, after)


def mark(w: Work, n: Node, values: Values, rule: str) -> None:
    """Only remember that a node is a constant (GE's ``_is_potential_const``); takes effect after the walk."""
    if n.id not in w.potential:
        w.potential[n.id] = (rule, list(values))
        for e in w.readers(n):
            w.touch(e.dst)


def take_effect(w: Work) -> None:
    """PotentialConstTakenEffectPass: fold every node still marked. Readers of marked nodes are marked first, so last first."""
    for i, (rule, values) in list(w.potential.items()):
        if w.e.has(i):
            w.potential.pop(i, None)
            fold(w, w.node(i), values, rule)
    w.potential.clear()

"""Values of shape vectors inside a model, and the shapes they decide.

ONNX's own data propagation stops at Div, Where, Equal, Range, Reshape of values and the like, and does not say the rank of a
Reshape whose target it lost. Here vectors of sizes are followed through the whole model (bodies included), as polynomials of
the file's symbols.
"""

from __future__ import annotations

from collections.abc import Mapping

from ge_explorer.loaders.onnx_exprs import Size, plain
from ge_explorer.loaders.onnx_records import GraphRecord, NodeRecord, Proto, topological
from ge_explorer.loaders.onnx_shape_rules import SHAPES
from ge_explorer.loaders.onnx_tensors import INVENTED
from ge_explorer.loaders.onnx_value_base import LIMIT, Args, Dims, Item, Shapes
from ge_explorer.loaders.onnx_value_rules import VALUES, constant


def shapes_of(types: Mapping[str, Proto]) -> dict[str, Dims]:
    """Shapes of all plain tensors of known rank."""
    out: dict[str, Dims] = {}
    for s, message in types.items():
        if message.WhichOneof("value") == "tensor_type" and message.tensor_type.HasField("shape"):
            out[s] = tuple(_dim(d) for d in message.tensor_type.shape.dim)
    return out


def _dim(d: Proto) -> Item:
    kind = d.WhichOneof("value")
    if kind == "dim_value" and d.dim_value >= 0:
        return Size.of(int(d.dim_value))
    return Size.of(str(d.dim_param)) if kind == "dim_param" and d.dim_param else None


def improve(graph: GraphRecord, types: Mapping[str, Proto]) -> dict[str, tuple[int | str | None, ...]]:
    """Shapes that say more than ``types`` does, by symbol. Names ONNX invents stay, so that equal sizes stay equal."""
    before = shapes_of(types)
    known = Shapes(dict(before))
    _graph(graph, known)
    out = {}
    for s, dims in known.better.items():
        new = tuple(plain(d) for d in dims)
        old = before.get(s)
        if old is None or any(says_more(n, plain(o)) for n, o in zip(new, old, strict=False) if len(new) == len(old)):
            out[s] = new
    return out


def says_more(new: int | str | None, old: int | str | None) -> bool:
    """True for a number in place of a symbol, or a symbol of the file in place of an invented or no name."""
    if isinstance(new, int):
        return not isinstance(old, int)
    if new is None or INVENTED in new:
        return False
    return old is None or (isinstance(old, str) and INVENTED in old)


def _graph(g: GraphRecord, k: Shapes) -> None:
    for s, t in g.weights:
        if not hasattr(t, "values"):
            constant(s, t, k)
            k.of.setdefault(s, tuple(Size.of(int(d)) for d in t.dims))
    order, _ = topological(g)
    for i in order:
        n = g.nodes[i]
        if n.domain in ("ai.onnx", ""):
            _node(n, k)
        for _, body in n.bodies:
            _graph(body, k)
        if n.op == "If" and n.domain in ("ai.onnx", ""):
            _branch(n, k)


def _branch(n: NodeRecord, k: Shapes) -> None:
    """An If whose condition is known (exporters write ``x.dim() == 2`` this way) has the shapes of the branch it takes."""
    condition = k.value.get(n.inputs[0] or "") if n.inputs else None
    item = condition.items[0] if condition is not None and len(condition.items) == 1 else None
    if item is None or item.number is None:
        return
    taken = "then_branch" if item.number else "else_branch"
    for name, body in n.bodies:
        for out, inner in zip(n.outputs, body.outputs, strict=False) if name == taken else ():
            if out is None or inner is None:
                continue
            if inner in k.of:
                k.of[out] = k.better[out] = k.of[inner]
            if inner in k.value:
                k.value[out] = k.value[inner]


def _node(n: NodeRecord, k: Shapes) -> None:
    out = n.outputs[0] if n.outputs else None
    if out is None:
        return
    value_rule, shape_rule = VALUES.get(n.op), SHAPES.get(n.op)
    a = Args(n, k)
    if value_rule is not None:
        found = value_rule(a)
        if found is not None and len(found.items) <= LIMIT and any(x is not None for x in found.items):
            k.value[out] = found
    if shape_rule is not None:
        dims = shape_rule(a)
        if dims is not None:
            k.of[out] = k.better[out] = _merged(dims, k.of.get(out))


def _merged(new: Dims, old: Dims | None) -> Dims:
    if old is None or len(old) != len(new):
        return new
    return tuple(n if says_more(plain(n), plain(o)) else o for n, o in zip(new, old, strict=True))

"""Values of shape vectors inside a model, and the shapes they decide.

ONNX's own data propagation stops at Div, Where, Equal, Range, Reshape of values and the like, and does not say the rank of a
Reshape whose target it lost. Here vectors of sizes are followed through the whole model (bodies included), as polynomials of
the file's symbols.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ge_explorer.loaders.onnx_exprs import Size, plain
from ge_explorer.loaders.onnx_records import GraphRecord, NodeRecord, Proto, topological
from ge_explorer.loaders.onnx_tensors import EXTERNAL, INVENTED, small_value

LIMIT = 64
"""Elements of a followed vector: shapes are shorter."""
Item = Size | None
Dims = tuple[Item, ...]


@dataclass(frozen=True, slots=True)
class Value:
    """A scalar (``scalar``) or vector of whole numbers; None where an element is unknown."""

    items: Dims
    scalar: bool = False


@dataclass
class Shapes:
    """What is known: ``of`` the shapes (None: rank unknown), ``value`` followed vectors, ``better`` shapes found here."""

    of: dict[str, Dims]
    value: dict[str, Value] = field(default_factory=dict)
    better: dict[str, Dims] = field(default_factory=dict)


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
            _constant(s, t, k)
            k.of.setdefault(s, tuple(Size.of(int(d)) for d in t.dims))
    order, _ = topological(g)
    for i in order:
        n = g.nodes[i]
        if n.domain in ("ai.onnx", ""):
            _node(n, k)
        for _, body in n.bodies:
            _graph(body, k)


def _constant(s: str, t: Proto, k: Shapes) -> None:
    if t.data_type not in (6, 7, 9) or len(t.dims) > 1 or t.data_location == EXTERNAL or (t.dims and t.dims[0] > LIMIT):
        return
    value = small_value(t)
    array = value.array() if value is not None else None
    if array is not None:
        k.value[s] = Value(tuple(Size.of(int(v)) for v in array.ravel().tolist()), array.ndim == 0)


def _node(n: NodeRecord, k: Shapes) -> None:
    out = n.outputs[0] if n.outputs else None
    if out is None:
        return
    value_rule, shape_rule = VALUES.get(n.op), SHAPES.get(n.op)
    a = _Args(n, k)
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


class _Args:
    """Inputs and attributes of one node."""

    def __init__(self, n: NodeRecord, k: Shapes) -> None:
        self.n, self.k = n, k
        self.attrs = {a.name: a for a in n.attributes}

    def value(self, i: int) -> Value | None:
        s = self.n.inputs[i] if i < len(self.n.inputs) else None
        return self.k.value.get(s) if s is not None else None

    def shape(self, i: int) -> Dims | None:
        s = self.n.inputs[i] if i < len(self.n.inputs) else None
        return self.k.of.get(s) if s is not None else None

    def given(self, i: int) -> bool:
        return i < len(self.n.inputs) and self.n.inputs[i] is not None

    def number(self, name: str, default: int) -> int:
        return int(self.attrs[name].i) if name in self.attrs else default

    def ints(self, name: str, index: int) -> list[int] | None:
        """Whole numbers of an attribute, or of an input in newer versions. None when unknown."""
        if name in self.attrs:
            return [int(v) for v in self.attrs[name].ints]
        v = self.value(index)
        numbers = [x.number if x is not None else None for x in v.items] if v is not None else [None]
        return None if any(x is None for x in numbers) else [x for x in numbers if x is not None]

    def vector(self, i: int) -> Dims | None:
        """Elements of a shape vector; unknown ones where only its length is known."""
        v = self.value(i)
        if v is not None:
            return v.items
        shape = self.shape(i)
        length = shape[0].number if shape is not None and len(shape) == 1 and shape[0] is not None else None
        return (None,) * length if length is not None and length <= LIMIT else None


# ---------------------------------------------------------------- values
def _same(a: _Args) -> Value | None:
    return a.value(0)


def _shape(a: _Args) -> Value | None:
    dims = a.shape(0)
    if dims is None:
        return None
    return Value(
        dims[slice(*_bounds(a.number("start", 0), a.attrs["end"].i if "end" in a.attrs else len(dims), len(dims)))]
    )


def _bounds(start: int, end: int, n: int) -> tuple[int, int]:
    return tuple(max(0, min(n, x + n if x < 0 else x)) for x in (start, end))  # type: ignore[return-value]


def _product(items: Sequence[Item]) -> Item:
    total: Item = Size.of(1)
    for x in items:
        if x is None or total is None:
            return None
        total = total * x
    return total


def _size(a: _Args) -> Value | None:
    dims = a.shape(0)
    return None if dims is None else Value((_product(dims),), True)


def _gather(a: _Args) -> Value | None:
    data, at = a.value(0), a.value(1)
    if data is None or at is None or data.scalar or a.number("axis", 0) not in (0, -1):
        return None
    n, out = len(data.items), []
    for x in at.items:
        k = x.number if x is not None else None
        if k is None or not -n <= k < n:
            return None
        out.append(data.items[k])
    return Value(tuple(out), at.scalar)


def _concat(a: _Args) -> Value | None:
    parts = [a.vector(i) for i in range(len(a.n.inputs))]
    if any(p is None for p in parts) or not any(a.value(i) for i in range(len(parts))):
        return None
    return Value(tuple(x for p in parts if p is not None for x in p))


def _unsqueeze(a: _Args) -> Value | None:
    v = a.value(0)
    return Value(v.items) if v is not None and v.scalar else None


def _squeeze(a: _Args) -> Value | None:
    v = a.value(0)
    return Value(v.items, True) if v is not None and len(v.items) == 1 else None


def _slice(a: _Args) -> Value | None:
    v, starts, ends = a.value(0), a.ints("starts", 1), a.ints("ends", 2)
    steps = a.ints("steps", 4) if a.given(4) else [1]
    if v is None or v.scalar or not starts or not ends or not steps or len(starts) != 1 or steps[0] == 0:
        return None
    return Value(v.items[slice(starts[0], ends[0], steps[0])])


def _reshape(a: _Args) -> Value | None:
    v, target = a.value(0), a.vector(1)
    if v is None or target is None or len(target) > 1:
        return None
    return Value(v.items, not target)


def _elementwise(rule: Callable[[Size, Size], Item]) -> Callable[[_Args], Value | None]:
    def run(a: _Args) -> Value | None:
        x, y = a.value(0), a.value(1)
        if x is None or y is None:
            return None
        n = max(len(x.items), len(y.items))
        if any(len(v.items) not in (1, n) for v in (x, y)):
            return None
        left, right = (v.items * n if len(v.items) == 1 else v.items for v in (x, y))
        items = tuple(None if p is None or q is None else rule(p, q) for p, q in zip(left, right, strict=True))
        return Value(items, x.scalar and y.scalar)

    return run


def _div(x: Size, y: Size) -> Item:
    p, q = x.number, y.number
    if p is not None and q is not None and q:
        return Size.of(abs(p) // abs(q) * (1 if (p < 0) == (q < 0) else -1))  # ONNX truncates towards zero
    return x // y if y.terms else None


def _numbers(rule: Callable[[int, int], int]) -> Callable[[Size, Size], Item]:
    def run(x: Size, y: Size) -> Item:
        p, q = x.number, y.number
        return (
            Size.of(int(rule(p, q))) if p is not None and q is not None else x if x == y and rule(1, 1) == 1 else None
        )

    return run


def _equal(x: Size, y: Size) -> Item:
    if x == y:
        return Size.of(1)
    p, q = x.number, y.number
    if p is not None and q is not None:
        return Size.of(0)
    # a size is never negative: ``shape == -1`` is how exporters ask for "infer this one"
    return Size.of(0) if (p is not None and p < 0) or (q is not None and q < 0) else None


def _where(a: _Args) -> Value | None:
    c, x, y = a.value(0), a.value(1), a.value(2)
    if c is None or x is None or y is None:
        return None
    n = max(len(v.items) for v in (c, x, y))
    if any(len(v.items) not in (1, n) for v in (c, x, y)):
        return None
    rows = zip(*(v.items * n if len(v.items) == 1 else v.items for v in (c, x, y)), strict=True)
    items = []
    for test, left, right in rows:
        known = test.number if test is not None else None
        items.append((left if known else right) if known is not None else left if left == right else None)
    return Value(tuple(items), all(v.scalar for v in (c, x, y)))


def _prod(a: _Args) -> Value | None:
    v = a.value(0)
    return None if v is None or v.scalar else Value((_product(v.items),), not a.number("keepdims", 1))


def _filled(a: _Args) -> Value | None:
    dims = a.vector(0)
    if dims is None or len(dims) > 1:
        return None
    count = 1 if not dims else dims[0].number if dims[0] is not None else None
    if count is None or not 0 <= count <= LIMIT:
        return None
    fill: Any = 0
    if "value" in a.attrs:
        small = small_value(a.attrs["value"].t)
        array = small.array() if small is not None else None
        if array is None or array.size != 1 or array.dtype.kind not in "iub":
            return None
        fill = array.ravel()[0]
    else:
        return None  # the default is a float
    return Value((Size.of(int(fill)),) * count, not dims)


def _expand(a: _Args) -> Value | None:
    v, dims = a.value(0), a.vector(1)
    if v is None or dims is None or len(dims) != 1 or dims[0] is None:
        return None
    n = dims[0].number
    return (
        Value(v.items * n) if n is not None and len(v.items) == 1 and n <= LIMIT else Value(v.items) if n == 1 else None
    )


def _range(a: _Args) -> Value | None:
    numbers = [v.items[0].number if v is not None and v.items and v.items[0] is not None else None
               for v in (a.value(0), a.value(1), a.value(2))]  # fmt: skip
    start, stop, step = numbers
    if start is None or stop is None or not step or len(range(start, stop, step)) > LIMIT:
        return None
    return Value(tuple(Size.of(x) for x in range(start, stop, step)))


def _literal(a: _Args) -> Value | None:
    for name, attr in a.attrs.items():
        if name == "value" and attr.HasField("t") and a.n.outputs[0] is not None:
            _constant(a.n.outputs[0], attr.t, a.k)
            return a.k.value.get(a.n.outputs[0])
        if name == "value_int":
            return Value((Size.of(int(attr.i)),), True)
        if name == "value_ints" and len(attr.ints) <= LIMIT:
            return Value(tuple(Size.of(int(v)) for v in attr.ints))
    return None


VALUES: Mapping[str, Callable[[_Args], Value | None]] = {
    "Constant": _literal, "Identity": _same, "Cast": _same, "Shape": _shape, "Size": _size, "Gather": _gather,
    "Concat": _concat, "Unsqueeze": _unsqueeze, "Squeeze": _squeeze, "Slice": _slice, "Reshape": _reshape,
    "Add": _elementwise(lambda x, y: x + y), "Sub": _elementwise(lambda x, y: x - y), "Mul": _elementwise(lambda x, y: x * y),
    "Div": _elementwise(_div), "Max": _elementwise(_numbers(max)), "Min": _elementwise(_numbers(min)),
    "Mod": _elementwise(_numbers(lambda p, q: p % q if q else 0)), "Equal": _elementwise(_equal), "Where": _where,
    "ReduceProd": _prod, "ConstantOfShape": _filled, "Expand": _expand, "Range": _range,
}  # fmt: skip


# ---------------------------------------------------------------- shapes
def _to_reshape(a: _Args) -> Dims | None:
    target, source = a.vector(1), a.shape(0)
    if target is None:
        return None
    out: list[Item] = []
    open_at = -1
    for k, x in enumerate(target):
        n = x.number if x is not None else None
        if n == 0 and not a.number("allowzero", 0):
            out.append(source[k] if source is not None and k < len(source) else None)
        elif n == -1:
            open_at = k
            out.append(None)
        else:
            out.append(x)
    total = None if source is None else _product(source)
    if open_at >= 0 and total is not None:
        rest = _product([x for k, x in enumerate(out) if k != open_at])
        out[open_at] = total // rest if rest is not None and rest.terms else None
    elif total is not None and sum(x is None for x in out) == 1:  # the one unknown follows from the rest
        k = out.index(None)
        rest = _product([x for x in out if x is not None])
        out[k] = total // rest if rest is not None and rest.terms else None
    return tuple(out)


def _to_expand(a: _Args) -> Dims | None:
    target, source = a.vector(1), a.shape(0)
    if target is None or source is None:
        return None
    n = max(len(target), len(source))
    one = (Size.of(1),)
    rows = zip(one * (n - len(source)) + source, one * (n - len(target)) + target, strict=True)
    return tuple(_broadcast(p, q) for p, q in rows)


def _broadcast(p: Item, q: Item) -> Item:
    if p == q or (q is not None and q.number == 1):
        return p
    if p is not None and p.number == 1:
        return q
    for x in (p, q):  # one side is a number above 1: the other is that number or 1
        if x is not None and (x.number or 0) > 1:
            return x
    return None


def _to_filled(a: _Args) -> Dims | None:
    return a.vector(0)


def _to_tile(a: _Args) -> Dims | None:
    times, source = a.vector(1), a.shape(0)
    if times is None or source is None or len(times) != len(source):
        return None
    return tuple(None if p is None or q is None else p * q for p, q in zip(source, times, strict=True))


def _to_range(a: _Args) -> Dims | None:
    start, stop, step = (
        v.items[0] if v is not None and v.items else None for v in (a.value(0), a.value(1), a.value(2))
    )
    if start is None or stop is None or step is None or step.number is None or not step.number:
        return (None,)
    first, last = start.number, stop.number
    if first is not None and last is not None:
        return (Size.of(len(range(first, last, step.number))),)
    return (stop - start,) if step.number == 1 else (None,)


def _to_concat(a: _Args) -> Dims | None:
    shapes = [a.shape(i) for i in range(len(a.n.inputs))]
    known = [s for s in shapes if s is not None]
    if not known or len(known) != len(shapes) or len({len(s) for s in known}) != 1 or not known[0]:
        return None
    rank = len(known[0])
    axis = a.number("axis", 1 if a.n.version < 4 else 0) % rank
    out: list[Item] = []
    for k in range(rank):
        column = [s[k] for s in known]
        if k == axis:
            total: Item = Size.of(0)
            for x in column:
                total = None if total is None or x is None else total + x
            out.append(total)
        else:
            out.append(next((x for x in column if x is not None and x.number is not None), column[0]))
    return tuple(out)


def _to_elementwise(a: _Args) -> Dims | None:
    shapes = [a.shape(i) for i in range(len(a.n.inputs))]
    known = [s for s in shapes if s is not None]
    if not known or len(known) != len(shapes):
        return None
    n = max(len(s) for s in known)
    out: Dims = (Size.of(1),) * n
    for s in known:
        out = tuple(_broadcast(p, q) for p, q in zip(out, (Size.of(1),) * (n - len(s)) + s, strict=True))
    return out


def _to_matmul(a: _Args) -> Dims | None:
    x, y = a.shape(0), a.shape(1)
    if x is None or y is None or len(x) < 2 or len(y) < 2:
        return None
    n = max(len(x), len(y)) - 2
    one = (Size.of(1),)
    rows = zip(one * (n - len(x) + 2) + x[:-2], one * (n - len(y) + 2) + y[:-2], strict=True)
    return (*(_broadcast(p, q) for p, q in rows), x[-2], y[-1])


def _to_transpose(a: _Args) -> Dims | None:
    x = a.shape(0)
    if x is None:
        return None
    perm = list(a.attrs["perm"].ints) if "perm" in a.attrs else list(range(len(x)))[::-1]
    return tuple(x[p] for p in perm) if sorted(perm) == list(range(len(x))) else None


def _to_same(a: _Args) -> Dims | None:
    return a.shape(0)


SHAPES: Mapping[str, Callable[[_Args], Dims | None]] = {
    "Reshape": _to_reshape, "Expand": _to_expand, "ConstantOfShape": _to_filled, "Tile": _to_tile, "Range": _to_range,
    "Concat": _to_concat, "MatMul": _to_matmul, "Transpose": _to_transpose,
    **dict.fromkeys(("Add", "Sub", "Mul", "Div", "Pow", "Equal", "Greater", "Less", "And", "Or", "Where", "Max", "Min",
                     "GreaterOrEqual", "LessOrEqual", "Mod", "PRelu"), _to_elementwise),
    **dict.fromkeys(("Relu", "Sigmoid", "Tanh", "Erf", "Softmax", "Cast", "Identity", "Sqrt", "Clip", "Neg", "Exp", "Log",
                     "Not", "LayerNormalization", "DequantizeLinear", "QuantizeLinear", "LeakyRelu", "Reciprocal",
                     "HardSigmoid", "HardSwish", "BatchNormalization", "Dropout", "Gelu", "IsNaN", "Floor"), _to_same),
}  # fmt: skip

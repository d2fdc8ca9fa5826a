"""Values of shape vectors behind one operator: what Shape, Gather, Concat, Div, Where and the like make of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ge_explorer.loaders.onnx_exprs import Size
from ge_explorer.loaders.onnx_records import Proto
from ge_explorer.loaders.onnx_tensors import EXTERNAL, small_value
from ge_explorer.loaders.onnx_value_base import LIMIT, Args, Dims, Item, Shapes, Value, product


def constant(s: str, t: Proto, k: Shapes) -> None:
    """Note the value of a small constant of whole numbers under its symbol."""
    if t.data_type not in (6, 7, 9) or len(t.dims) > 1 or t.data_location == EXTERNAL or (t.dims and t.dims[0] > LIMIT):
        return
    value = small_value(t)
    array = value.array() if value is not None else None
    if array is not None:
        k.value[s] = Value(tuple(Size.of(int(v)) for v in array.ravel().tolist()), array.ndim == 0)


def _same(a: Args) -> Value | None:
    return a.any_value(0)


def _of_rows(rows: list[Dims]) -> Value | None:
    return Value(tuple(x for row in rows for x in row), columns=len(rows[0])) if rows and rows[0] else None


def _transpose(a: Args) -> Value | None:
    rows = a.table(0)
    perm = list(a.attrs["perm"].ints) if "perm" in a.attrs else [1, 0]
    return _of_rows(list(zip(*rows, strict=True)) if perm == [1, 0] else rows) if rows is not None else None


def _shape(a: Args) -> Value | None:
    dims = a.shape(0)
    if dims is None:
        return None
    return Value(
        dims[slice(*_bounds(a.number("start", 0), a.attrs["end"].i if "end" in a.attrs else len(dims), len(dims)))]
    )


def _bounds(start: int, end: int, n: int) -> tuple[int, int]:
    return tuple(max(0, min(n, x + n if x < 0 else x)) for x in (start, end))  # type: ignore[return-value]


def _size(a: Args) -> Value | None:
    dims = a.shape(0)
    return None if dims is None else Value((product(dims),), True)


def _gather(a: Args) -> Value | None:
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


def _concat(a: Args) -> Value | None:
    parts = [a.vector(i) for i in range(len(a.n.inputs))]
    if any(p is None for p in parts) or not any(a.value(i) for i in range(len(parts))):
        return None
    return Value(tuple(x for p in parts if p is not None for x in p))


def _unsqueeze(a: Args) -> Value | None:
    v = a.value(0)
    return Value(v.items) if v is not None and v.scalar else None


def _squeeze(a: Args) -> Value | None:
    v = a.value(0)
    return Value(v.items, True) if v is not None and len(v.items) == 1 else None


def _slice(a: Args) -> Value | None:
    v, starts, ends = a.value(0), a.ints("starts", 1), a.ints("ends", 2)
    steps = a.ints("steps", 4) if a.given(4) else [1]
    rows = a.table(0)
    if rows is not None and starts and ends and steps and len(starts) == 1 and steps[0] and a.ints("axes", 3) == [0]:
        return _of_rows(rows[slice(starts[0], ends[0], steps[0])])
    if v is None or v.scalar or not starts or not ends or not steps or len(starts) != 1 or steps[0] == 0:
        return None
    return Value(v.items[slice(starts[0], ends[0], steps[0])])


def _reshape(a: Args) -> Value | None:
    v, target = a.any_value(0), a.vector(1)
    if v is None or target is None or len(target) > 2:
        return None
    if len(target) == 2:
        columns = target[1].number if target[1] is not None else None
        rows, rest = divmod(len(v.items), columns) if columns is not None and columns > 0 else (0, 1)
        fits = not rest and target[0] in (Size.of(-1), Size.of(rows))
        return Value(v.items, columns=columns or 0) if fits else None
    return Value(v.items, not target)


def _elementwise(rule: Callable[[Size, Size], Item]) -> Callable[[Args], Value | None]:
    def run(a: Args) -> Value | None:
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


def _compared(rule: Callable[[int, int], bool]) -> Callable[[Size, Size], Item]:
    def run(x: Size, y: Size) -> Item:
        p, q = x.number, y.number
        return Size.of(int(rule(p, q))) if p is not None and q is not None else None

    return run


def _not(a: Args) -> Value | None:
    v = a.value(0)
    if v is None:
        return None
    return Value(
        tuple(None if x is None or x.number is None else Size.of(int(not x.number)) for x in v.items), v.scalar
    )


def _where(a: Args) -> Value | None:
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


def _prod(a: Args) -> Value | None:
    v = a.value(0)
    return None if v is None or v.scalar else Value((product(v.items),), not a.number("keepdims", 1))


def _filled(a: Args) -> Value | None:
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


def _expand(a: Args) -> Value | None:
    v, dims = a.value(0), a.vector(1)
    if v is None or dims is None or len(dims) != 1 or dims[0] is None:
        return None
    n = dims[0].number
    return (
        Value(v.items * n) if n is not None and len(v.items) == 1 and n <= LIMIT else Value(v.items) if n == 1 else None
    )


def _range(a: Args) -> Value | None:
    numbers = [v.items[0].number if v is not None and v.items and v.items[0] is not None else None
               for v in (a.value(0), a.value(1), a.value(2))]  # fmt: skip
    start, stop, step = numbers
    if start is None or stop is None or not step or len(range(start, stop, step)) > LIMIT:
        return None
    return Value(tuple(Size.of(x) for x in range(start, stop, step)))


def _literal(a: Args) -> Value | None:
    for name, attr in a.attrs.items():
        if name == "value" and attr.HasField("t") and a.n.outputs[0] is not None:
            constant(a.n.outputs[0], attr.t, a.k)
            return a.k.value.get(a.n.outputs[0])
        if name == "value_int":
            return Value((Size.of(int(attr.i)),), True)
        if name == "value_ints" and len(attr.ints) <= LIMIT:
            return Value(tuple(Size.of(int(v)) for v in attr.ints))
    return None


VALUES: Mapping[str, Callable[[Args], Value | None]] = {
    "Constant": _literal, "Identity": _same, "Cast": _same, "Shape": _shape, "Size": _size, "Gather": _gather,
    "Concat": _concat, "Unsqueeze": _unsqueeze, "Squeeze": _squeeze, "Slice": _slice, "Reshape": _reshape,
    "Add": _elementwise(lambda x, y: x + y), "Sub": _elementwise(lambda x, y: x - y), "Mul": _elementwise(lambda x, y: x * y),
    "Div": _elementwise(_div), "Max": _elementwise(_numbers(max)), "Min": _elementwise(_numbers(min)),
    "Mod": _elementwise(_numbers(lambda p, q: p % q if q else 0)), "Equal": _elementwise(_equal), "Where": _where,
    "Transpose": _transpose, "Not": _not, "Greater": _elementwise(_compared(lambda p, q: p > q)),
    "Less": _elementwise(_compared(lambda p, q: p < q)),
    "And": _elementwise(_compared(lambda p, q: bool(p and q))), "Or": _elementwise(_compared(lambda p, q: bool(p or q))),
    "ReduceProd": _prod, "ConstantOfShape": _filled, "Expand": _expand, "Range": _range,
}  # fmt: skip

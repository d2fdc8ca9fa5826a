"""Shapes of results that follow from followed values (Reshape, Expand, Slice …) or from the shapes of the operands."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ge_explorer.loaders.onnx_exprs import Size
from ge_explorer.loaders.onnx_value_base import LIMIT, Args, Dims, Item, product


def _to_reshape(a: Args) -> Dims | None:
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
    total = None if source is None else product(source)
    if open_at >= 0 and total is not None:
        rest = product([x for k, x in enumerate(out) if k != open_at])
        out[open_at] = total // rest if rest is not None and rest.terms else None
    elif total is not None and sum(x is None for x in out) == 1:  # the one unknown follows from the rest
        k = out.index(None)
        rest = product([x for x in out if x is not None])
        out[k] = total // rest if rest is not None and rest.terms else None
    return tuple(out)


def _to_expand(a: Args) -> Dims | None:
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


def _to_filled(a: Args) -> Dims | None:
    return a.vector(0)


def _to_tile(a: Args) -> Dims | None:
    times, source = a.vector(1), a.shape(0)
    if times is None or source is None or len(times) != len(source):
        return None
    return tuple(None if p is None or q is None else p * q for p, q in zip(source, times, strict=True))


def _to_range(a: Args) -> Dims | None:
    start, stop, step = (
        v.items[0] if v is not None and v.items else None for v in (a.value(0), a.value(1), a.value(2))
    )
    if start is None or stop is None or step is None or step.number is None or not step.number:
        return (None,)
    first, last = start.number, stop.number
    if first is not None and last is not None:
        return (Size.of(len(range(first, last, step.number))),)
    return (stop - start,) if step.number == 1 else (None,)


def _to_concat(a: Args) -> Dims | None:
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


def _to_elementwise(a: Args) -> Dims | None:
    shapes = [a.shape(i) for i in range(len(a.n.inputs))]
    known = [s for s in shapes if s is not None]
    if not known or len(known) != len(shapes):
        return None
    n = max(len(s) for s in known)
    out: Dims = (Size.of(1),) * n
    for s in known:
        out = tuple(_broadcast(p, q) for p, q in zip(out, (Size.of(1),) * (n - len(s)) + s, strict=True))
    return out


def _to_matmul(a: Args) -> Dims | None:
    x, y = a.shape(0), a.shape(1)
    if x is None or y is None or len(x) < 2 or len(y) < 2:
        return None
    n = max(len(x), len(y)) - 2
    one = (Size.of(1),)
    rows = zip(one * (n - len(x) + 2) + x[:-2], one * (n - len(y) + 2) + y[:-2], strict=True)
    return (*(_broadcast(p, q) for p, q in rows), x[-2], y[-1])


def _to_transpose(a: Args) -> Dims | None:
    x = a.shape(0)
    if x is None:
        return None
    perm = list(a.attrs["perm"].ints) if "perm" in a.attrs else list(range(len(x)))[::-1]
    return tuple(x[p] for p in perm) if sorted(perm) == list(range(len(x))) else None


def _to_squeeze(a: Args) -> Dims | None:
    x, axes = a.shape(0), a.ints("axes", 1)
    if x is None or axes is None:
        return None
    gone = {k + len(x) if k < 0 else k for k in axes}
    return tuple(d for k, d in enumerate(x) if k not in gone) if gone <= set(range(len(x))) else None


def _to_unsqueeze(a: Args) -> Dims | None:
    x, axes = a.shape(0), a.ints("axes", 1)
    if x is None or axes is None or len(axes) > LIMIT:
        return None
    rank = len(x) + len(axes)
    new = {k + rank if k < 0 else k for k in axes}
    if len(new) != len(axes) or not new <= set(range(rank)):
        return None
    old = iter(x)
    return tuple(Size.of(1) if k in new else next(old) for k in range(rank))


def _to_slice(a: Args) -> Dims | None:
    x, starts, ends = a.shape(0), a.ints("starts", 1), a.ints("ends", 2)
    if x is None or starts is None or ends is None:
        return None
    axes = a.ints("axes", 3) if a.given(3) or "axes" in a.attrs else list(range(len(starts)))
    steps = a.ints("steps", 4) if a.given(4) else [1] * len(starts)
    if axes is None or steps is None or not len(axes) == len(steps) == len(starts) == len(ends):
        return None
    out = list(x)
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        if not -len(x) <= axis < len(x) or not step:
            return None
        size = x[axis]
        n = size.number if size is not None else None
        whole = start == 0 and end >= 2**31 - 1 and step == 1
        out[axis] = size if whole else None if n is None else Size.of(len(range(*slice(start, end, step).indices(n))))
    return tuple(out)


def _to_pad(a: Args) -> Dims | None:
    x, pads = a.shape(0), a.value(1)
    if x is None or pads is None or len(pads.items) != 2 * len(x) or a.given(3):
        return None
    rows = zip(x, pads.items[: len(x)], pads.items[len(x) :], strict=True)
    return tuple(None if d is None or p is None or q is None else d + p + q for d, p, q in rows)


def _to_same(a: Args) -> Dims | None:
    return a.shape(0)


SHAPES: Mapping[str, Callable[[Args], Dims | None]] = {
    "Reshape": _to_reshape, "Expand": _to_expand, "ConstantOfShape": _to_filled, "Tile": _to_tile, "Range": _to_range,
    "Concat": _to_concat, "MatMul": _to_matmul, "Transpose": _to_transpose, "Squeeze": _to_squeeze,
    "Unsqueeze": _to_unsqueeze, "Pad": _to_pad, "Slice": _to_slice,
    **dict.fromkeys(("Add", "Sub", "Mul", "Div", "Pow", "Equal", "Greater", "Less", "And", "Or", "Where", "Max", "Min",
                     "GreaterOrEqual", "LessOrEqual", "Mod", "PRelu"), _to_elementwise),
    **dict.fromkeys(("Relu", "Sigmoid", "Tanh", "Erf", "Softmax", "Cast", "Identity", "Sqrt", "Clip", "Neg", "Exp", "Log",
                     "Not", "LayerNormalization", "DequantizeLinear", "QuantizeLinear", "LeakyRelu", "Reciprocal",
                     "HardSigmoid", "HardSwish", "BatchNormalization", "Dropout", "Gelu", "IsNaN", "Floor"), _to_same),
}  # fmt: skip

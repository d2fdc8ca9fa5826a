"""Shapes of every tensor of a graph for one gear: symbols replaced, unknown dimensions followed through common operators."""

from __future__ import annotations

from collections.abc import Mapping

from ge_explorer.device.work import family_of
from ge_explorer.graph.builder import PARENT_INDEX
from ge_explorer.graph.model import DATA_LIKE, Graph, Node, Shape

_MATMUL = frozenset({"matmul"})
_KEEP = frozenset({"softmax", "norm", "copy", "quant"})


def gear_shapes(g: Graph, shapes: Mapping[str, tuple[int, ...]]) -> tuple[dict[int, Shape | None], int]:
    """(tensor id -> shape, number of tensors that stay partly unknown). ``shapes`` are the root inputs of this gear.

    Dimensions the graph already fixes are kept. A dimension that is unknown follows the operator's inputs where the rule is
    plain (elementwise, matrix product, convolution and pooling, shape-keeping types); others keep being unknown.
    """
    symbols: dict[str, int] = {}
    for n in map(g.node, g.root.nodes):
        if n.op in DATA_LIKE and n.name in shapes:
            for old, new in zip(g.tensor(n.outputs[0]).shape or (), shapes[n.name], strict=False):
                if isinstance(old, str):
                    symbols[old] = new
    out: dict[int, Shape | None] = {}
    rounds = 2 if any(n.subgraphs for n in g) else 1  # results of a holder are known after its bodies
    for i in g.walk() * rounds:
        n = g.node(i)
        for k, t in enumerate(n.outputs):
            given = g.tensor(t).shape
            if n.op in DATA_LIKE and n.scope == 0 and n.name in shapes:
                out[t] = shapes[n.name]
                continue
            shape = None if given is None else tuple(symbols.get(d, d) if isinstance(d, str) else d for d in given)
            if shape is not None and not _known(shape):
                shape = _merged(shape, _handed(g, n, k, out)) if n.subgraphs or n.op in DATA_LIKE else shape
                shape = _followed(g, n, shape, out) if k == 0 and not n.subgraphs and n.op not in DATA_LIKE else shape
            out[t] = shape
    return out, sum(s is None or not _known(s) for s in out.values())


def _handed(g: Graph, n: Node, k: int, done: Mapping[int, Shape | None]) -> Shape | None:
    """Shape a body's input gets from the holder, or a holder's result from its first body."""
    if n.op in DATA_LIKE:
        slot, parent = n.attrs.get(PARENT_INDEX), g.scope(n.scope).parent
        fed = g.node(parent).inputs if parent >= 0 else ()
        t = fed[slot] if isinstance(slot, int) and 0 <= slot < len(fed) else None
    else:
        ends = [g.node(i) for i in g.scope(n.subgraphs[-1]).nodes if g.node(i).op == "NetOutput"]
        t = ends[0].inputs[k] if ends and k < len(ends[0].inputs) else None
    return None if t is None else done.get(t, g.tensor(t).shape)


def _merged(shape: Shape, other: Shape | None) -> Shape:
    if other is None or len(other) != len(shape):
        return shape
    return tuple(d if isinstance(d, int) and d >= 0 else e for d, e in zip(shape, other, strict=True))


def _known(shape: Shape) -> bool:
    return all(isinstance(d, int) and d >= 0 for d in shape)


def _followed(g: Graph, n: Node, shape: Shape, done: Mapping[int, Shape | None]) -> Shape:
    ins = [done.get(t) if t is not None else None for t in n.inputs]
    guess: Shape | None = None
    family = family_of(n.op)
    first = ins[0] if ins else None
    if family in ("elementwise",) or n.op in ("Relu", "SelectV2"):
        guess = _broadcast([s for s in ins if s is not None])
    elif family in _KEEP:
        guess = first
    elif family in _MATMUL and first is not None and len(ins) > 1 and ins[1] is not None:
        a, b = first, ins[1]
        if len(a) > 1 and len(b) > 1:
            ta, tb = (any(n.attrs.get(f"{w}_x{k}") for w in ("adj", "transpose")) for k in (1, 2))
            guess = (*a[:-2], a[-1] if ta else a[-2], b[-2] if tb else b[-1])
    elif family in ("conv", "pool") and first is not None and len(first) == len(shape):
        guess = (first[0], *shape[1:2], *_windowed(g, n, first, shape))
    if guess is None or len(guess) != len(shape):
        guess = (first[0], *shape[1:]) if first and shape and len(first) == len(shape) else shape
    return _merged(shape, guess)


def _windowed(g: Graph, n: Node, x: Shape, shape: Shape) -> Shape:
    """Spatial sizes of a convolution or pooling with explicit pads; unknown where an attribute is missing."""
    count = len(x) - 2
    window = n.attrs.get("kernel_shape")
    if window is None and len(n.inputs) > 1 and n.inputs[1] is not None:
        weight = g.tensor(n.inputs[1]).shape
        window = weight[2:] if weight is not None else None
    strides, dilations = (_numbers(n.attrs.get(k), count, 1) for k in ("strides", "dilations"))
    pads = _numbers(n.attrs.get("pads"), 2 * count, 0)
    if (
        not isinstance(window, list | tuple)
        or len(window) != count
        or str(n.attrs.get("auto_pad", "NOTSET")) != "NOTSET"
    ):
        return shape[2:]
    out: list[int | str | None] = []
    for k in range(count):
        size, w = x[2 + k], window[k]
        if not isinstance(size, int) or not isinstance(w, int):
            out.append(shape[2 + k])
            continue
        out.append((size + pads[k] + pads[k + count] - dilations[k] * (w - 1) - 1) // strides[k] + 1)
    return tuple(out)


def _numbers(value: object, count: int, default: int) -> tuple[int, ...]:
    if isinstance(value, list | tuple) and len(value) >= count and all(isinstance(v, int) and v >= 0 for v in value):
        return tuple(value[-count:])
    return (default,) * count


def _broadcast(shapes: list[Shape]) -> Shape | None:
    rank = max((len(s) for s in shapes), default=-1)
    if rank < 0:
        return None
    out: list[int | str | None] = []
    for k in range(rank):
        dims = [s[len(s) - rank + k] for s in shapes if len(s) - rank + k >= 0]
        large = [d for d in dims if d != 1]
        out.append(large[0] if large else 1)
    return tuple(out)

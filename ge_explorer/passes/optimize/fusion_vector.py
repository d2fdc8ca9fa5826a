"""Rules on vector operators: activations and norms written out in small operators, casts around Relu."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType

from ge_explorer.graph.model import Graph, Node
from ge_explorer.passes.optimize.fusion_match import Either, In, Match, Number, Op, Pattern, integers, is_const, match
from ge_explorer.passes.optimize.fusion_rewrite import Rewrite, in_order

_DIV = ("RealDiv", "Div")
_X = In("x")


def _mul(a: Pattern, b: Pattern, name: str = "") -> Op:
    return Op(("Mul", "Muls"), (a, b), swap=True, name=name)


def _add(a: Pattern, b: Pattern, name: str = "") -> Op:
    return Op(("Add", "Adds"), (a, b), swap=True, name=name)


# ---------------------------------------------------------------- activations
_SWISH = _mul(_X, Op(("Sigmoid",), (_X,)))
_ROOT2 = math.sqrt(2.0)
_ERF_ARG: Pattern = Either((Op(_DIV, (_X, Number(_ROOT2))), _mul(_X, Number(1 / _ROOT2))))
_ERF: Pattern = _add(Op(("Erf",), (_ERF_ARG,)), Number(1.0))
_CUBE: Pattern = Either((Op(("Pow",), (_X, Number(3.0))), _mul(_mul(_X, _X), _X)))
_TANH_ARG: Pattern = _mul(_add(_X, _mul(_CUBE, Number(0.044715))), Number(math.sqrt(2 / math.pi)))
_TANH: Pattern = _add(Op(("Tanh",), (_TANH_ARG,)), Number(1.0))


def _halved(gate: Pattern) -> tuple[Op, ...]:
    """x·½·gate in every order it is written in."""
    half = Number(0.5)
    return (_mul(_mul(_X, gate), half), _mul(_mul(_X, half), gate), _mul(_X, _mul(gate, half)))


def swish(g: Graph, root: int) -> Rewrite | None:
    """x·sigmoid(x) → Swish."""
    return _unary(g, (_SWISH,), root, "Swish")


def gelu(g: Graph, root: int) -> Rewrite | None:
    """x·½·(1+erf(x/√2)) → Gelu; the tanh approximation as well."""
    exact = _unary(g, _halved(_ERF), root, "Gelu", {"approximate": "none"})
    return exact or _unary(g, _halved(_TANH), root, "Gelu", {"approximate": "tanh"})


def _unary(
    g: Graph, patterns: tuple[Op, ...], root: int, op: str, attrs: Mapping[str, str] = MappingProxyType({})
) -> Rewrite | None:
    for pattern in patterns:
        m = match(g, pattern, root)
        if m is not None and not is_const(g, m.tensors["x"]):
            n = g.node(root)
            return Rewrite(in_order(g, m.members), op, n.name, (m.tensors["x"],), n.outputs[:1], attrs)
    return None


# ---------------------------------------------------------------- norms
_MEAN = ("ReduceMean", "ReduceMeanD")
_CENTRED = Op(("Sub",), (_X, Op(_MEAN, (_X,), name="mean", more=True)), name="centred")
_SQUARED: Pattern = Either(
    (
        Op(("Pow",), (_CENTRED, Number(2.0))),
        Op(("Mul",), (_CENTRED, _CENTRED)),
        Op(("Square",), (_CENTRED,)),
        Op(("Pow",), (Op(("Cast",), (_CENTRED,)), Number(2.0))),
    )
)
_VARIANCE = Op(_MEAN, (_SQUARED,), name="variance", more=True)
_DEVIATION = Op(("Sqrt",), (_add(_VARIANCE, Number(name="eps")),))
_NORMAL: Pattern = Either(
    (Op(_DIV, (_CENTRED, _DEVIATION)), _mul(_CENTRED, Op(("Rsqrt",), (_add(_VARIANCE, Number(name="eps")),))))
)
_LAYER_NORM = _add(_mul(_NORMAL, In("gamma")), In("beta"))

_SQUARE: Pattern = Either((Op(("Pow",), (_X, Number(2.0))), Op(("Mul",), (_X, _X)), Op(("Square",), (_X,))))
_MEAN_SQUARE = _add(Op(_MEAN, (_SQUARE,), name="mean", more=True), Number(name="eps"))
_RMS: Pattern = Either(
    (
        _mul(_X, Op(("Rsqrt",), (_MEAN_SQUARE,))),
        Op(_DIV, (_X, Op(("Sqrt",), (_MEAN_SQUARE,)))),
        _mul(_X, Op(("Reciprocal",), (Op(("Sqrt",), (_MEAN_SQUARE,)),))),
        _mul(_X, Op(_DIV, (Number(1.0), Op(("Sqrt",), (_MEAN_SQUARE,))))),
    )
)
_RMS_NORM = _mul(_RMS, In("gamma"))
_ADD_RMS = Op(("RmsNorm",), (Op(("Add",), (In("x1"), In("x2")), name="add"), In("gamma")), name="norm")
_ADD_LAYER = Op(
    ("LayerNorm", "LayerNormV3", "LayerNormV4"),
    (Op(("Add",), (In("x1"), In("x2")), name="add"), In("gamma"), In("beta")), name="norm",
)  # fmt: skip


def layer_norm(g: Graph, root: int) -> Rewrite | None:
    """Mean, centre, variance, divide, scale, shift over the last axes → LayerNorm. eps at most 0.1, as in GE's pass."""
    m = match(g, _LAYER_NORM, root)
    if m is None or not 0 < m.numbers["eps"] <= 0.1:
        return None
    axes = _last_axes(g, m, "mean")
    if axes is None or axes != _last_axes(g, m, "variance") or not _suffix(g, m, "gamma") or not _suffix(g, m, "beta"):
        return None
    n = g.node(root)
    attrs = {"epsilon": m.numbers["eps"], "begin_norm_axis": axes[0], "begin_params_axis": -len(axes)}
    inputs = (m.tensors["x"], m.tensors["gamma"], m.tensors["beta"])
    return Rewrite(in_order(g, m.members), "LayerNorm", n.name, inputs, n.outputs[:1], attrs)


def rms_norm(g: Graph, root: int) -> Rewrite | None:
    """x / √(mean(x²)+ε) · γ over the last axis → RmsNorm."""
    m = match(g, _RMS_NORM, root)
    if m is None or m.numbers["eps"] <= 0 or m.tensors["gamma"] == m.tensors["x"] or not _suffix(g, m, "gamma"):
        return None
    axes = _last_axes(g, m, "mean")
    if axes is None or len(axes) != 1:
        return None
    n = g.node(root)
    inputs = (m.tensors["x"], m.tensors["gamma"])
    return Rewrite(in_order(g, m.members), "RmsNorm", n.name, inputs, n.outputs[:1], {"epsilon": m.numbers["eps"]})


def add_rms_norm(g: Graph, root: int) -> Rewrite | None:
    """Add → RmsNorm → AddRmsNorm; the sum stays available as its third output."""
    return _add_norm(g, root, _ADD_RMS, "AddRmsNorm")


def add_layer_norm(g: Graph, root: int) -> Rewrite | None:
    """Add → LayerNorm → AddLayerNorm; the sum stays available as its last output."""
    return _add_norm(g, root, _ADD_LAYER, "AddLayerNorm")


def _add_norm(g: Graph, root: int, pattern: Op, op: str) -> Rewrite | None:
    norm = g.node(root)
    first = g.node(g.tensor(norm.inputs[0]).producer) if norm.inputs and norm.inputs[0] is not None else None
    if first is None or first.op != "Add" or len(first.inputs) != 2 or len(norm.inputs) < len(pattern.inputs):
        return None
    if any(t is None for t in (*first.inputs, *norm.inputs[: len(pattern.inputs)])):
        return None
    a, b = (g.tensor(t) for t in first.inputs if t is not None)
    if a.shape is None or (a.shape, a.dtype) != (b.shape, b.dtype) or first.scope != norm.scope:
        return None
    outs = (norm.outputs[0], *norm.outputs[1:], first.outputs[0])
    inputs = (a.id, b.id, *norm.inputs[1:])
    return Rewrite((first.id, root), op, norm.name, inputs, outs, norm.attrs)


def _last_axes(g: Graph, m: Match, name: str) -> tuple[int, ...] | None:
    """Reduction axes as non-negative numbers when they are the last ones and dimensions are kept; None otherwise."""
    n: Node = g.node(m.nodes[name])
    rank = len(g.tensor(m.tensors["x"]).shape or ())
    axes = integers(g, n, ("axes", "axis"), 1)
    if not rank or not axes or not n.attrs.get("keepdims", n.attrs.get("keep_dims", 1)):
        return None
    found = tuple(sorted(a % rank for a in axes if -rank <= a < rank))
    return found if found and found == tuple(range(found[0], rank)) and found[0] > 0 else None


def _suffix(g: Graph, m: Match, key: str) -> bool:
    """True if the parameter has the shape of the last axes of x."""
    x, p = g.tensor(m.tensors["x"]).shape, g.tensor(m.tensors[key]).shape
    return bool(x and p) and len(p or ()) < len(x or ()) and tuple(x or ())[-len(p or ()) :] == tuple(p or ())


# ---------------------------------------------------------------- casts
_RELU = ("Relu",)
_CAST_RELU_CAST = Op(("Cast",), (Op(_RELU, (Op(("Cast",), (_X,), name="up"),), name="relu"),), name="down")


def cast_relu_cast(g: Graph, root: int) -> Rewrite | None:
    """float16 → float → Relu → float16: Relu alone gives the same."""
    m = match(g, _CAST_RELU_CAST, root)
    if m is None:
        return None
    x, middle, end = (
        g.tensor(m.tensors["x"]),
        g.tensor(g.node(m.nodes["up"]).outputs[0]),
        g.tensor(g.node(root).outputs[0]),
    )
    if (x.dtype, middle.dtype, end.dtype) != ("float16", "float", "float16"):
        return None
    relu = g.node(m.nodes["relu"])
    return Rewrite(in_order(g, m.members), relu.op, relu.name, (x.id,), g.node(root).outputs[:1], relu.attrs)

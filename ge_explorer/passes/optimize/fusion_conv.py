"""Rules around convolution: batch norm, scale and bias folded into the weights, padding absorbed.

Weights are [out channels, in channels / groups, kernel…]. Where all values are known the new weights are computed; larger
ones keep shape and type only.
"""

from __future__ import annotations

import numpy as np

from ge_explorer.graph.model import Graph, Node
from ge_explorer.passes.optimize.fusion_match import In, Match, Op, integers, is_const, match, number
from ge_explorer.passes.optimize.fusion_recipe import Recipe, compute, constant
from ge_explorer.passes.optimize.fusion_rewrite import NewConst, Rewrite

CONV = ("Conv2D", "Conv3D", "DepthwiseConv2D")
_CONV = Op(CONV, (In("x"), In("w", const=True)), name="conv", more=True)
_BN = Op(("BatchNorm",), (_CONV, *(In(n, const=True) for n in ("gamma", "beta", "mean", "var"))), name="bn")
_SCALE = Op(("Mul",), (_CONV, In("scale", const=True)), name="scale", swap=True)
_BIAS = Op(("Add", "BiasAdd"), (_CONV, In("shift", const=True)), name="shift", swap=True)
_PADS = ("Pad", "PadV3", "PadD", "PadV2")
_MAX_PAD = 255
_FLOATS = {"float", "float16", "bfloat16", "double"}


def batch_norm(g: Graph, root: int) -> Rewrite | None:
    """Conv → BatchNorm(inference, constant parameters) → Conv: W' = W·γ/√(σ²+ε), b' = (b−μ)·γ/√(σ²+ε)+β."""
    m = match(g, _BN, root)
    bn = g.node(root)
    if m is None or not _plain(g, g.node(m.nodes["conv"]), bn) or _training(g, bn):
        return None
    eps = bn.attrs.get("epsilon", 1e-5)
    params = [m.tensors[k] for k in ("gamma", "beta", "mean", "var")]
    channels = _channels(g, m)
    if not isinstance(eps, int | float) or any(g.tensor(t).elements != channels for t in params):
        return None
    gamma, beta, mean, var = (constant(g, t) for t in params)
    variance = compute(var)
    if variance is not None and not bool(np.all(variance.astype(np.float64) + eps > 0)):
        return None
    factor: Recipe = ("bn-factor", gamma, var, float(eps))
    return _fold(g, m, root, factor, ("bn-shift", beta, mean, factor), "bn")


def scale(g: Graph, root: int) -> Rewrite | None:
    """Conv → Mul by a constant per channel (or one number) → Conv with scaled weights and bias."""
    m = match(g, _SCALE, root)
    if (
        m is None
        or not _plain(g, g.node(m.nodes["conv"]), g.node(root))
        or not _per_channel(g, m, "scale")
        or not _bias_const(g, m)
    ):
        return None
    return _fold(g, m, root, constant(g, m.tensors["scale"]), None, "scale")


def bias(g: Graph, root: int) -> Rewrite | None:
    """Conv → Add of a constant per channel → Conv with that bias (added to a constant bias it has)."""
    m = match(g, _BIAS, root)
    if (
        m is None
        or not _plain(g, g.node(m.nodes["conv"]), g.node(root))
        or not _bias_const(g, m)
        or not _per_channel(g, m, "shift", one=False)
    ):
        return None
    conv = g.node(m.nodes["conv"])
    t = g.tensor(m.tensors["shift"])
    value, made_of = constant(g, t.id), [t.producer]
    old = conv.inputs[2] if len(conv.inputs) > 2 else None
    if old is not None:
        value = ("sum", constant(g, old), value)
        made_of.append(g.tensor(old).producer)
    new = NewConst(f"{conv.name}_bias", (_channels(g, m),), t.dtype, value, tuple(made_of))
    outs = (g.node(root).outputs[0],)
    return Rewrite((conv.id, root), conv.op, conv.name, (*conv.inputs[:2], new, *conv.inputs[3:]), outs, conv.attrs)


def pad(g: Graph, root: int) -> Rewrite | None:
    """Zero padding in H and W before a convolution joins its own padding."""
    conv = g.node(root)
    if conv.op not in ("Conv2D", "DepthwiseConv2D") or not conv.inputs or conv.inputs[0] is None:
        return None
    before = g.node(g.tensor(conv.inputs[0]).producer)
    if (
        before.op not in _PADS
        or not _plain(g, conv)
        or len(g.data_out[before.id]) != 1
        or str(conv.attrs.get("auto_pad", "NOTSET")) != "NOTSET"
    ):
        return None
    total = _spatial_pads(g, before)
    own = integers(g, conv, ("pads",)) or (0, 0, 0, 0)
    if total is None or len(own) != 4:
        return None
    new = [a + b for a, b in zip(own, total, strict=True)]
    if max(new) > _MAX_PAD:
        return None
    attrs = {**conv.attrs, "pads": new}
    return Rewrite((before.id, root), conv.op, conv.name, (before.inputs[0], *conv.inputs[1:]), conv.outputs, attrs)


def _spatial_pads(g: Graph, n: Node) -> tuple[int, int, int, int] | None:
    """(top, left, bottom, right) of a constant zero padding of an NCHW tensor; None when it is anything else."""
    pads = integers(g, n, ("pads", "paddings"), 1)
    mode = str(n.attrs.get("mode", "constant"))
    value = n.attrs.get("value", n.attrs.get("constant_values", 0))
    if len(n.inputs) > 2 and n.inputs[2] is not None:
        value = number(g, n.inputs[2])
    if pads is None or len(pads) != 8 or min(pads) < 0 or mode != "constant" or value != 0:
        return None
    if len(n.inputs) > 3 and n.inputs[3] is not None:  # explicit axes: not this simple form
        return None
    begin, end = pads[:4], pads[4:]
    return (begin[2], begin[3], end[2], end[3]) if not any((*begin[:2], *end[:2])) else None


# ---------------------------------------------------------------- inside
def _plain(g: Graph, conv: Node, end: Node | None = None) -> bool:
    """True for x, W and bias in floating point and nothing else in the node: no zero points, no activation, no added tensor.

    ``end`` is the node whose result replaces the convolution's; it must have the same type.
    """
    made = (g.tensor(n.outputs[0]).dtype for n in (conv, end) if n is not None)
    kinds = {*made, *(g.tensor(t).dtype for t in conv.inputs[:2] if t is not None)} - {None}
    return len(conv.inputs) <= 3 and "activation" not in conv.attrs and kinds <= _FLOATS and len(kinds) <= 1


def _fold(g: Graph, m: Match, root: int, factor: Recipe, shift: Recipe | None, word: str) -> Rewrite | None:
    """Convolution with weights scaled by ``factor``; its bias b becomes b·factor + shift (no shift: scaled only)."""
    if not _bias_const(g, m):
        return None
    conv = g.node(m.nodes["conv"])
    w = g.tensor(m.tensors["w"])
    made_of = tuple(dict.fromkeys(g.tensor(t).producer for k, t in m.tensors.items() if k != "x"))
    inputs: list[int | NewConst | None] = [
        conv.inputs[0],
        NewConst(f"{conv.name}_weight_{word}", w.shape, w.dtype, ("rows", constant(g, w.id), factor), made_of),
    ]
    old = conv.inputs[2] if len(conv.inputs) > 2 else None
    value = shift
    if old is not None:
        made_of = (*made_of, g.tensor(old).producer)
        value = ("rows", constant(g, old), factor) if shift is None else ("affine", constant(g, old), factor, shift)
    if value is not None:
        inputs.append(NewConst(f"{conv.name}_bias_{word}", (_channels(g, m),), w.dtype, value, made_of))
    return Rewrite((conv.id, root), conv.op, conv.name, tuple(inputs), (g.node(root).outputs[0],), conv.attrs)


def _channels(g: Graph, m: Match) -> int | None:
    shape = g.tensor(m.tensors["w"]).shape
    return shape[0] if shape and isinstance(shape[0], int) else None


def _has_bias(g: Graph, m: Match) -> bool:
    conv = g.node(m.nodes["conv"])
    return len(conv.inputs) > 2 and conv.inputs[2] is not None


def _bias_const(g: Graph, m: Match) -> bool:
    conv = g.node(m.nodes["conv"])
    return not _has_bias(g, m) or is_const(g, conv.inputs[2])


def _per_channel(g: Graph, m: Match, key: str, *, one: bool = True) -> bool:
    """True for a constant that broadcasts along the channel axis (1) only: [C,1,1], [1,C,1,1], or a single number."""
    shape, channels = g.tensor(m.tensors[key]).shape, _channels(g, m)
    rank = len(g.tensor(g.node(m.nodes["conv"]).outputs[0]).shape or ())
    if shape is None or channels is None or rank < 3 or len(shape) > rank:
        return False
    if all(d == 1 for d in shape):
        return one or (channels == 1 and len(shape) >= rank - 1)
    padded = (1,) * (rank - len(shape)) + tuple(shape)
    return len(padded) == rank and padded[1] == channels and all(d == 1 for k, d in enumerate(padded) if k != 1)


def _training(g: Graph, n: Node) -> bool:
    """True if a batch norm computes its own mean and variance. ONNX before opset 14 says so by more than one output."""
    if n.attrs.get("training_mode") or n.attrs.get("is_training") or any(e.src_out > 0 for e in g.data_out[n.id]):
        return True
    return n.source_op == "BatchNormalization" and any(g.tensor(t).name for t in n.outputs[1:])

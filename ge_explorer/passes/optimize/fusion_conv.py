"""Rules around convolution: batch norm, scale and bias folded into the weights, padding absorbed.

Weights are [out channels, in channels / groups, kernel…]. Where all values are known the new weights are computed; larger
ones keep shape and type only.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ge_explorer.graph.model import Graph, Node
from ge_explorer.passes.optimize.fusion_match import In, Match, Op, integers, is_const, match, number, value_of
from ge_explorer.passes.optimize.fusion_rewrite import NewConst, Rewrite

CONV = ("Conv2D", "Conv3D", "DepthwiseConv2D")
_CONV = Op(CONV, (In("x"), In("w", const=True)), name="conv", more=True)
_BN = Op(("BatchNorm",), (_CONV, *(In(n, const=True) for n in ("gamma", "beta", "mean", "var"))), name="bn")
_SCALE = Op(("Mul",), (_CONV, In("scale", const=True)), name="scale", swap=True)
_BIAS = Op(("Add", "BiasAdd"), (_CONV, In("shift", const=True)), name="shift", swap=True)
_PADS = ("Pad", "PadV3", "PadD", "PadV2")
_MAX_PAD = 255


def batch_norm(g: Graph, root: int) -> Rewrite | None:
    """Conv → BatchNorm(inference, constant parameters) → Conv: W' = W·γ/√(σ²+ε), b' = (b−μ)·γ/√(σ²+ε)+β."""
    m = match(g, _BN, root)
    bn = g.node(root)
    if m is None or bn.attrs.get("training_mode") or bn.attrs.get("is_training") or _later_outputs_read(g, bn):
        return None
    eps = bn.attrs.get("epsilon", 1e-5)
    gamma, beta, mean, var = (value_of(g, m.tensors[k]) for k in ("gamma", "beta", "mean", "var"))
    factor = shift = None
    if isinstance(eps, int | float) and all(v is not None for v in (gamma, beta, mean, var)):
        g64, b64, m64, v64 = (np.asarray(v, np.float64).ravel() for v in (gamma, beta, mean, var))
        if g64.size == b64.size == m64.size == v64.size and bool(np.all(v64 + eps > 0)):
            factor = g64 / np.sqrt(v64 + eps)
            shift = b64 - m64 * factor
    return _fold(g, m, root, factor, shift, "bn")


def scale(g: Graph, root: int) -> Rewrite | None:
    """Conv → Mul by a constant per channel (or one number) → Conv with scaled weights and bias."""
    m = match(g, _SCALE, root)
    if m is None or not _per_channel(g, m, "scale") or not _bias_const(g, m):
        return None
    value = value_of(g, m.tensors["scale"])
    factor = None if value is None else np.asarray(value, np.float64).ravel()
    return _fold(g, m, root, factor, None if factor is None else np.zeros_like(factor), "scale", bias=_has_bias(g, m))


def bias(g: Graph, root: int) -> Rewrite | None:
    """Conv → Add of a constant per channel → Conv with that bias (added to a constant bias it has)."""
    m = match(g, _BIAS, root)
    if m is None or not _bias_const(g, m) or not _per_channel(g, m, "shift", one=False):
        return None
    conv = g.node(m.nodes["conv"])
    t = g.tensor(m.tensors["shift"])
    value: Any = value_of(g, m.tensors["shift"])
    made_of: tuple[int, ...] = (t.producer,)
    if _has_bias(g, m):
        old = value_of(g, conv.inputs[2])
        made_of = (*made_of, g.tensor(conv.inputs[2] or 0).producer)
        value = None if old is None or value is None else old.ravel() + value.ravel()
    new = NewConst(f"{conv.name}_bias", (_channels(g, m),), t.dtype, None if value is None else value.ravel(), made_of)
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
def _fold(g: Graph, m: Match, root: int, factor: Any, shift: Any, word: str, *, bias: bool = True) -> Rewrite | None:
    if not _bias_const(g, m):
        return None
    conv = g.node(m.nodes["conv"])
    w = g.tensor(m.tensors["w"])
    made_of = tuple(dict.fromkeys(g.tensor(t).producer for k, t in m.tensors.items() if k != "x"))
    channels = _channels(g, m)
    weight = value_of(g, w.id)
    folded = None
    if factor is not None and factor.size not in (1, channels):
        return None
    if factor is not None and weight is not None and weight.dtype.kind == "f":
        folded = weight.astype(np.float64) * factor.reshape(-1, *[1] * (weight.ndim - 1))
    inputs: list[int | NewConst | None] = [
        conv.inputs[0],
        NewConst(f"{conv.name}_weight_{word}", w.shape, w.dtype, folded, made_of),
    ]
    if bias:
        inputs.append(_folded_bias(g, conv, channels, factor, shift, word, made_of))
        inputs.extend(conv.inputs[3:])
    return Rewrite((conv.id, root), conv.op, conv.name, tuple(inputs), (g.node(root).outputs[0],), conv.attrs)


def _folded_bias(
    g: Graph, conv: Node, channels: int | None, factor: Any, shift: Any, word: str, made_of: tuple[int, ...]
) -> NewConst:
    old = conv.inputs[2] if len(conv.inputs) > 2 else None
    dtype = g.tensor(old).dtype if old is not None else g.tensor(conv.outputs[0]).dtype
    value = value_of(g, old)
    array = None
    if factor is not None and shift is not None and channels is not None and (old is None or value is not None):
        start = np.zeros(channels) if value is None else value.astype(np.float64).ravel()
        array = start * factor + shift
    return NewConst(f"{conv.name}_bias_{word}", (channels,), dtype, array, made_of)


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
    if shape is None or channels is None or rank < 3:
        return False
    if all(d == 1 for d in shape):
        return one or (channels == 1 and len(shape) >= rank - 1)
    padded = (1,) * (rank - len(shape)) + tuple(shape)
    return len(padded) == rank and padded[1] == channels and all(d == 1 for k, d in enumerate(padded) if k != 1)


def _later_outputs_read(g: Graph, n: Node) -> bool:
    return any(e.src_out > 0 for e in g.data_out[n.id])

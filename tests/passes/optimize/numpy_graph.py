"""A tiny interpreter for float graphs in Ascend types: the independent judge of value-preserving rewrites."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ge_explorer.graph.constant import VALUE, ConstantValue
from ge_explorer.graph.model import CONST_LIKE, Graph, Node
from ge_explorer.graph.order import topological_sort
from tests.passes.optimize.numpy_storage import stored, touches_storage


def evaluate(g: Graph, feeds: Mapping[str, Any]) -> list[Any]:
    """Values the root NetOutput reads, in float64."""
    values: dict[int, Any] = {}
    order = topological_sort(g, mode="DFS")[2]
    for i in order:
        n = g.node(i)
        if n.scope != 0:
            continue
        ins = [None if t is None else values[t] for t in n.inputs]
        if n.op == "NetOutput":
            return ins
        outs = stored(g, n, ins) if touches_storage(g, n) else run(n, ins, feeds)
        values.update(zip(n.outputs, outs, strict=False))
    raise AssertionError("no NetOutput")


def run(n: Node, x: list[Any], feeds: Mapping[str, Any]) -> list[Any]:
    if n.op == "Data":
        return [np.asarray(feeds[n.name], np.float64)]
    if n.op in CONST_LIKE:
        v = n.attrs[VALUE]
        assert isinstance(v, ConstantValue), n.name
        a = v.array()
        assert a is not None
        return [a.astype(np.float64) if a.dtype.kind == "f" else a]
    a = n.attrs
    if n.op in SIMPLE:
        return [SIMPLE[n.op](*x)]
    if n.op in ("Conv2D",):
        return [grouped(x, a)]
    if n.op == "BatchNorm":
        s, b, mean, var = (v.reshape(1, -1, 1, 1) for v in x[1:5])
        return [(x[0] - mean) / np.sqrt(var + a.get("epsilon", 1e-5)) * s + b]
    if n.op in ("MatMulV2", "BatchMatMulV2"):
        p, q = x[0], x[1]
        p = np.swapaxes(p, -1, -2) if a.get("adj_x1") or a.get("transpose_x1") else p
        q = np.swapaxes(q, -1, -2) if a.get("adj_x2") or a.get("transpose_x2") else q
        return [p @ q + (x[2] if len(x) > 2 and x[2] is not None else 0.0)]
    if n.op == "Muls":
        return [x[0] * a["value"]]
    if n.op == "Reshape":
        return [x[0].reshape([int(d) for d in x[1]])]
    if n.op.startswith("Squeeze"):
        return [np.squeeze(x[0], tuple(a["axis"]))]
    if n.op.startswith("Unsqueeze"):
        return [np.expand_dims(x[0], tuple(a["axes"]))]
    if n.op in ("Transpose", "TransposeD"):
        return [np.transpose(x[0], a["perm"])]
    if n.op == "ReduceMean":
        return [x[0].mean(axis=tuple(a["axes"]), keepdims=True)]
    if n.op == "LayerNorm":
        axes = tuple(range(a["begin_norm_axis"], x[0].ndim))
        c = x[0] - x[0].mean(axis=axes, keepdims=True)
        return [c / np.sqrt((c * c).mean(axis=axes, keepdims=True) + a["epsilon"]) * x[1] + x[2]]
    if n.op == "RmsNorm":
        return [rms(x[0], a["epsilon"]) * x[1]]
    if n.op == "AddRmsNorm":
        s = x[0] + x[1]
        out = rms(s, a["epsilon"]) * x[2]
        return [out, *[s] * (len(n.outputs) - 1)]
    if n.op == "PadV3":
        p = a["pads"]
        return [np.pad(x[0], [(p[k], p[k + 4]) for k in range(4)])]
    if n.op == "SoftmaxV2":
        return [softmax(x[0])]
    if n.op == "FusedInferAttentionScore":
        k = np.swapaxes(x[1], -1, -2) if a["_gx_key_transposed"] is False else x[1]
        s = x[0] @ k * a["scale"]
        return [softmax(s + (x[3] if x[3] is not None else 0.0)) @ x[2]]
    if n.op == "StridedSliceV2":
        begin, end, axis = int(x[1].ravel()[0]), int(x[2].ravel()[0]), int(x[3].ravel()[0])
        size = x[0].shape[axis]
        return [np.take(x[0], range(*slice(begin, end).indices(size)), axis=axis)]
    if n.op == "SplitVD":
        cuts = np.cumsum(a["size_splits"])[:-1]
        return list(np.split(x[0], cuts, axis=a["split_dim"]))
    raise AssertionError(f"no numpy rule for {n.op}")


def rms(v: Any, eps: float) -> Any:
    return v / np.sqrt((v * v).mean(-1, keepdims=True) + eps)


def softmax(v: Any) -> Any:
    e = np.exp(v - v.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def grouped(x: list[Any], a: Mapping[str, Any]) -> Any:
    """Convolution, group by group."""
    k = a.get("group", 1)
    rest = (a.get("pads", [0] * 4), a.get("strides", [1, 1])[-2:])
    parts = zip(np.split(x[0], k, axis=1), np.split(x[1], k, axis=0), strict=True)
    y = np.concatenate([conv(p, w, None, *rest) for p, w in parts], axis=1)
    return y if len(x) < 3 else y + x[2].reshape(1, -1, 1, 1)


def conv(x: Any, w: Any, b: Any, pads: Any, strides: Any) -> Any:
    x = np.pad(x, [(0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3])])
    o, _, kh, kw = w.shape
    h, wd = (x.shape[2] - kh) // strides[0] + 1, (x.shape[3] - kw) // strides[1] + 1
    y = np.zeros((x.shape[0], o, h, wd))
    for i in range(h):
        for j in range(wd):
            part = x[:, :, i * strides[0] : i * strides[0] + kh, j * strides[1] : j * strides[1] + kw]
            y[:, :, i, j] = np.einsum("nchw,ochw->no", part, w)
    return y if b is None else y + b.reshape(1, -1, 1, 1)


SIMPLE = {
    "Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "RealDiv": np.divide, "Pow": np.power, "Sqrt": np.sqrt,
    "Rsqrt": lambda v: 1 / np.sqrt(v), "Tanh": np.tanh, "Sigmoid": lambda v: 1 / (1 + np.exp(-v)),
    "Relu": lambda v: np.maximum(v, 0),
    "Erf": np.vectorize(math.erf), "Gelu": np.vectorize(lambda v: 0.5 * v * (1 + math.erf(v / math.sqrt(2)))),
    "Swish": lambda v: v / (1 + np.exp(-v)), "Square": np.square, "Identity": lambda v: v, "Reciprocal": lambda v: 1 / v,
    "AccumulateNV2": lambda *v: sum(v),
    "Exp": np.exp, "Neg": np.negative, "Abs": np.abs, "Maximum": np.maximum, "Cast": lambda v: v,
}  # fmt: skip

"""What constant folding can compute: numpy versions of GE's host kernels, for small tensors only.

A kernel gets the node and the arrays of its inputs and returns the arrays of its outputs, or None when it cannot (an
attribute it does not know, a division by zero). Attribute and input layout are those of the ONNX operator behind the node,
because only loaded models bring values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ge_explorer.graph.constant import NUMPY_DTYPES
from ge_explorer.graph.model import Node
from ge_explorer.passes.optimize.format_kernels import trans_data

Array = NDArray[Any]
Kernel = Callable[[Node, list[Array]], "list[Array] | None"]

ELEMENT_LIMIT = 16_384
"""Largest result that is computed; a larger one becomes a Const with shape and type only."""

_ONNX_TYPES = {
    1: "float", 2: "uint8", 3: "int8", 4: "uint16", 5: "int16", 6: "int32", 7: "int64", 9: "bool", 10: "float16", 11: "double",
    12: "uint32", 13: "uint64",
}  # fmt: skip


def _binary(function: Any) -> Kernel:
    def run(node: Node, a: list[Array]) -> list[Array] | None:
        return [function(a[0], a[1])] if len(a) == 2 and _small(np.broadcast_shapes(a[0].shape, a[1].shape)) else None

    return run


def _unary(function: Any) -> Kernel:
    return lambda node, a: [function(a[0])] if len(a) == 1 else None


def _small(shape: tuple[int, ...]) -> bool:
    return int(np.prod(shape, dtype=np.int64)) <= ELEMENT_LIMIT


def _divide(node: Node, a: list[Array]) -> list[Array] | None:
    if len(a) != 2 or not _small(np.broadcast_shapes(a[0].shape, a[1].shape)):
        return None
    if a[0].dtype.kind in "iu":
        if (a[1] == 0).any():
            return None
        return [np.trunc(a[0] / a[1]).astype(a[0].dtype) if a[0].dtype.kind == "i" else a[0] // a[1]]
    return [a[0] / a[1]]


def _clip(node: Node, a: list[Array]) -> list[Array] | None:
    return [np.clip(a[0], a[1], a[2])] if len(a) == 3 and a[1].size == a[2].size == 1 else None


def _modulo(node: Node, a: list[Array]) -> list[Array] | None:
    if len(a) != 2 or node.attrs.get("fmod") or a[0].dtype.kind not in "iu" or (a[1] == 0).any():
        return None
    return [np.mod(a[0], a[1])]


def _cast(node: Node, a: list[Array]) -> list[Array] | None:
    kind = NUMPY_DTYPES.get(_ONNX_TYPES.get(node.attrs.get("to", 0), ""))
    return [a[0].astype(kind)] if kind is not None and len(a) == 1 else None


def _reshape(node: Node, a: list[Array]) -> list[Array] | None:
    target = a[1].ravel().tolist() if len(a) > 1 else list(node.attrs.get("shape", ()))
    if not target and a[0].size != 1:
        return None
    if not node.attrs.get("allowzero"):
        target = [a[0].shape[i] if d == 0 and i < a[0].ndim else d for i, d in enumerate(target)]
    return [a[0].reshape([int(d) for d in target])]


def _axes(node: Node, a: list[Array]) -> list[int] | None:
    if len(a) > 1:
        return [int(i) for i in a[1].ravel()]
    axes = node.attrs.get("axes")
    return None if axes is None else [int(i) for i in axes]


def _squeeze(node: Node, a: list[Array]) -> list[Array] | None:
    axes = _axes(node, a)
    return [np.squeeze(a[0], axis=None if axes is None else tuple(axes))]


def _unsqueeze(node: Node, a: list[Array]) -> list[Array] | None:
    axes = _axes(node, a)
    return None if axes is None else [np.expand_dims(a[0], tuple(axes))]


def _concat(node: Node, a: list[Array]) -> list[Array] | None:
    axis = node.attrs.get("axis")
    if not isinstance(axis, int) or sum(x.size for x in a) > ELEMENT_LIMIT:
        return None
    return [np.concatenate(a, axis=axis)]


def _gather(node: Node, a: list[Array]) -> list[Array] | None:
    if len(a) != 2 or a[1].ndim > 1:  # GE's host kernel takes indices of at most one dimension
        return None
    return [np.take(a[0], a[1], axis=int(node.attrs.get("axis", 0)))]


def _slice(node: Node, a: list[Array]) -> list[Array] | None:
    if len(a) < 3:
        return None
    starts, ends = a[1].ravel().tolist(), a[2].ravel().tolist()
    axes = a[3].ravel().tolist() if len(a) > 3 else list(range(len(starts)))
    steps = a[4].ravel().tolist() if len(a) > 4 else [1] * len(starts)
    cut = [slice(None)] * a[0].ndim
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        backwards_to_front = step < 0 and end < -a[0].shape[axis]
        cut[axis] = slice(start, None if backwards_to_front else end, step)
    return [a[0][tuple(cut)]]


def _transpose(node: Node, a: list[Array]) -> list[Array] | None:
    return [np.transpose(a[0], node.attrs.get("perm"))] if len(a) == 1 else None


def _range(node: Node, a: list[Array]) -> list[Array] | None:
    if len(a) != 3 or a[2].item() == 0 or abs((a[1].item() - a[0].item()) / a[2].item()) > ELEMENT_LIMIT:
        return None
    return [np.arange(a[0].item(), a[1].item(), a[2].item(), dtype=a[0].dtype)]


def _fill(node: Node, a: list[Array]) -> list[Array] | None:
    shape = tuple(int(d) for d in a[0].ravel())
    if any(d < 0 for d in shape) or not _small(shape):
        return None
    if len(a) > 1:
        return [np.full(shape, a[1].item(), dtype=a[1].dtype)]
    value = node.attrs.get("value")
    array = getattr(value, "array", lambda: None)()
    if array is None:
        return [np.zeros(shape, dtype=np.float32)] if value is None else None
    return [np.full(shape, array.ravel()[0], dtype=array.dtype)] if array.size == 1 else None


def _select(node: Node, a: list[Array]) -> list[Array] | None:
    return [np.where(a[0], a[1], a[2])] if len(a) == 3 and _small(np.broadcast_shapes(*(x.shape for x in a))) else None


def _expand(node: Node, a: list[Array]) -> list[Array] | None:
    shape = np.broadcast_shapes(a[0].shape, tuple(int(d) for d in a[1].ravel()))
    return [np.broadcast_to(a[0], shape)] if _small(shape) else None


def _reduce_prod(node: Node, a: list[Array]) -> list[Array] | None:
    axes = _axes(node, a)
    keep = bool(node.attrs.get("keepdims", 1))
    return [np.prod(a[0], axis=None if axes is None else tuple(axes), keepdims=keep, dtype=a[0].dtype)]


_BUILTIN: dict[str, Kernel | None] = {
    "Add": _binary(np.add), "Sub": _binary(np.subtract), "Mul": _binary(np.multiply), "Maximum": _binary(np.maximum),
    "Greater": _binary(np.greater), "FloorDiv": _binary(np.floor_divide), "FloorMod": _modulo, "Cast": _cast, "Fill": _fill,
    "Range": _range, "Reshape": _reshape, "Squeeze": _squeeze, "SqueezeV2": _squeeze, "SqueezeV3": _squeeze,
    "Unsqueeze": _unsqueeze,
    "UnsqueezeV2": _unsqueeze, "UnsqueezeV3": _unsqueeze, "ExpandDims": _unsqueeze, "Identity": lambda n, a: [a[0]],
    "ConcatD": _concat, "ConcatV2": None, "Pack": None, "Slice": _slice, "StridedSliceV2": _slice, "StridedSlice": None,
    "GatherV2": _gather, "Transpose": _transpose, "TransposeD": _transpose, "Permute": None, "TransData": trans_data,
    "FlattenV2": None, "ReFormat": None, "ReduceProd": _reduce_prod, "Rsqrt": _unary(lambda x: 1 / np.sqrt(x)),
}  # fmt: skip
_HOST: dict[str, Kernel | None] = {
    "RealDiv": _divide, "Div": _divide, "Pow": _binary(np.power), "Sqrt": _unary(np.sqrt), "Exp": _unary(np.exp),
    "Log": _unary(np.log),
    "Neg": _unary(np.negative), "Abs": _unary(np.abs), "Floor": _unary(np.floor), "Ceil": _unary(np.ceil),
    "Equal": _binary(np.equal),
    "Less": _binary(np.less), "GreaterEqual": _binary(np.greater_equal), "LogicalAnd": _binary(np.logical_and),
    "LogicalOr": _binary(np.logical_or), "LogicalNot": _unary(np.logical_not), "SelectV2": _select, "Expand": _expand,
    "BroadcastTo": _expand, "Minimum": _binary(np.minimum), "Tile": None, "SplitV": None, "Split": None, "GatherElements": None,
    "Flatten": None, "ClipByValue": _clip,
}  # fmt: skip

BUILTIN: Mapping[str, Kernel | None] = MappingProxyType(_BUILTIN)
"""Types with a host kernel inside GE (compiler/host_kernels). None: foldable, but we keep shape and type only."""
HOST: Mapping[str, Kernel | None] = MappingProxyType(_HOST)
"""Types the operator package is believed to fold on the host (optimize.md section 3.1, assumed)."""


def compute(kernel: Kernel, node: Node, inputs: list[Array]) -> list[Array] | None:
    """Run a kernel; None when the values do not fit it. Results above ``ELEMENT_LIMIT`` elements are dropped."""
    try:
        with np.errstate(all="ignore"):
            out = kernel(node, inputs)
    except (ValueError, IndexError, TypeError, OverflowError, np.exceptions.AxisError):
        return None
    return None if out is None or any(x.size > ELEMENT_LIMIT for x in out) else out

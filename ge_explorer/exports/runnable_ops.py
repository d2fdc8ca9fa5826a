"""GE's operators in ONNX terms: what optimisation makes itself, and the operators of the model that it extends.

An operator that is still what the model said goes back under its ONNX type (``model_operator``). The table ``MADE`` says what the
others compute; it is written from their meaning, not from the passes, so that it can judge them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from ge_explorer.errors import InputError
from ge_explorer.exports.onnx_attributes import TYPES, attribute
from ge_explorer.exports.runnable_body import Body
from ge_explorer.graph.model import Node, Tensor
from ge_explorer.loaders.ge_types import COLLECTIVES, onnx_type
from ge_explorer.loaders.onnx_convert import DOMAIN
from ge_explorer.passes.optimize.cond_normalise import CONDITION

MATMULS = ("MatMul", "MatMulV2", "MatMulV3", "BatchMatMul", "BatchMatMulV2", "BatchMatMulV3")


@dataclass(frozen=True)
class Call:
    """One operator to be written: its node, names and types of its inputs and outputs, and the node of the model behind it."""

    body: Body
    n: Node
    ins: list[str]
    outs: list[str]
    x: list[Tensor | None]
    y: list[Tensor]
    base: Node | None
    version: Callable[[str], int]
    message: Callable[[str], Any]
    """Attribute of the file that the graph does not keep (a type, a large tensor), by its name."""

    def type_of(self, k: int = 0) -> str:
        """Element type of an input."""
        t = self.x[k] if k < len(self.x) else None
        return (t.dtype if t is not None else None) or "float"

    def rank(self, k: int = 0) -> int:
        """Rank of an input; InputError when it is unknown."""
        t = self.x[k] if k < len(self.x) else None
        if t is None or t.shape is None:
            raise InputError("the rank of an input is not known", where=self.n.name)
        return len(t.shape)

    def flag(self, *names: str) -> bool:
        """True if one of these attributes is set."""
        return any(bool(self.n.attrs.get(k)) for k in names)


def emit(c: Call) -> None:
    """Append the operator to the body. InputError, naming node and reason, when ONNX cannot say it."""
    made = MADE.get(c.n.op)
    if c.n.attrs.get(CONDITION):  # the scalar form of a condition: ONNX asks the condition itself
        c.body.op("Identity", c.ins[:1], c.outs, name=c.n.name)
    elif c.base is not None and (made is None or c.base is c.n):
        model_operator(c, c.base, c.ins)
    elif made is not None:
        made(c)
    else:
        _reversed(c)


def model_operator(c: Call, base: Node, ins: list[str], outs: list[str] | None = None) -> str:
    """The ONNX operator ``base`` was loaded from, with the attributes the node has now."""
    domain = str(base.attrs.get(DOMAIN, ""))
    return _onnx(c, base.source_op, domain, ins, outs)


def _onnx(c: Call, kind: str, domain: str, ins: list[str], outs: list[str] | None = None) -> str:
    names = c.outs if outs is None else outs
    while ins and not ins[-1]:
        ins = ins[:-1]
    first = c.body.op(kind, ins, names, name=c.n.name, domain="" if domain == "ai.onnx" else domain)
    c.body.nodes[-1].attribute.extend(attribute(c.n, domain, c.version(domain), kind, c.message))
    return first


def _reversed(c: Call) -> None:
    if c.n.op in COLLECTIVES:
        raise InputError("ONNX cannot run a collective of several devices", where=c.n.name, got=c.n.op,
                         todo="Export a step of the single-device model.")  # fmt: skip
    kind = onnx_type(c.n.op)
    if not kind or c.n.subgraphs:
        raise InputError("ONNX has no operator for this node", where=c.n.name, got=c.n.op)
    _onnx(c, kind, "", c.ins)


# ---------------------------------------------------------------- operators with a meaning of their own
def _cast(c: Call) -> None:
    target = c.y[0].dtype or ""
    if target not in TYPES:
        raise InputError("ONNX has no such type", where=c.n.name, got=target)
    c.body.op("Cast", c.ins[:1], c.outs, name=c.n.name, to=TYPES[target])


def _same(c: Call) -> None:
    for a, b in zip(c.ins, c.outs, strict=False):
        if b:
            c.body.op("Identity", [a], [b], name=c.n.name)


def _axes(c: Call) -> None:
    kind = "Unsqueeze" if c.n.op.startswith(("Unsqueeze", "ExpandDims")) else "Squeeze"
    axes = c.n.attrs.get("axes", c.n.attrs.get("axis", ()))
    c.body.squeeze(
        kind, c.ins[0], [int(a) for a in (axes if isinstance(axes, tuple | list) else (axes,))], c.outs, c.n.name
    )


def _transpose(c: Call) -> None:
    if "perm" not in c.n.attrs:
        raise InputError("the permutation is not known", where=c.n.name)
    c.body.op("Transpose", c.ins[:1], c.outs, name=c.n.name, perm=[int(p) for p in c.n.attrs["perm"]])


def _reshape(c: Call) -> None:
    shape = c.y[0].shape
    if len(c.ins) > 1 and c.ins[1]:
        c.body.op("Reshape", c.ins[:2], c.outs, name=c.n.name)
    elif shape is not None and all(isinstance(d, int) for d in shape):
        c.body.reshape(c.ins[0], [int(d) for d in shape if isinstance(d, int)], c.outs, c.n.name)
    else:
        raise InputError("the new shape is not known", where=c.n.name)


def _scaled(c: Call) -> None:
    kind = {"Muls": "Mul", "Adds": "Add"}[c.n.op]
    number = c.body.const(float(c.n.attrs["value"]), c.type_of())
    c.body.op(kind, [c.ins[0], number], c.outs, name=c.n.name)


def _split(c: Call) -> None:
    if "size_splits" not in c.n.attrs:
        raise InputError("the sizes of a split are not known", where=c.n.name)
    axis = int(c.n.attrs.get("split_dim", 0))
    c.body.split(c.ins[0], [int(s) for s in c.n.attrs["size_splits"]], axis, c.outs, c.n.name)


def _matmul(c: Call) -> None:
    """Transposes by flag, the product as the model writes it, and what was added behind it."""
    b = c.body
    ins = list(c.ins)
    for k, names in enumerate((("adj_x1", "transpose_x1"), ("adj_x2", "transpose_x2"))):
        if c.flag(*names):
            ins[k] = b.swap_last(ins[k], c.rank(k))
    own = len(c.base.inputs) if c.base is not None else 2
    added = ins[own:]
    product = [b.fresh("product")] if any(added) else c.outs
    if c.base is not None:
        model_operator(c, c.base, ins[:own], product)
    else:
        b.op("MatMul", ins[:own], product, name=c.n.name)
    if any(added):
        b.op("Add", [product[0], added[0]], c.outs, name=f"{c.n.name}__bias")


def _swish(c: Call) -> None:
    b = c.body
    b.op("Mul", [c.ins[0], b.op("Sigmoid", c.ins[:1])], c.outs, name=c.n.name)


def _gelu(c: Call) -> None:
    b, x, kind = c.body, c.ins[0], c.type_of()
    if c.n.attrs.get("approximate", "none") == "tanh":
        cube = b.op("Mul", [b.op("Mul", [x, x]), x])
        inner = b.op("Add", [x, b.op("Mul", [cube, b.const(0.044715, kind)])])
        gate = b.op("Tanh", [b.op("Mul", [inner, b.const(math.sqrt(2 / math.pi), kind)])])
    else:
        gate = b.op("Erf", [b.op("Div", [x, b.const(math.sqrt(2.0), kind)])])
    gate = b.op("Add", [gate, b.const(1.0, kind)])
    b.op("Mul", [b.op("Mul", [x, gate]), b.const(0.5, kind)], c.outs, name=c.n.name)


def _norm(c: Call) -> None:
    """LayerNorm and RmsNorm over the last axes, with the sum of two inputs in front of it in the Add forms."""
    b, kind, add = c.body, c.type_of(), c.n.op.startswith("Add")
    rank = c.rank()
    axis = c.n.attrs.get("begin_norm_axis", c.n.attrs.get("axis", -1))
    axes = list(range(int(axis) % rank, rank))
    x = c.ins[0]
    if add:
        x = b.op("Add", c.ins[:2], [c.outs[-1]] if c.outs[-1] else None)
    params = [p for p in c.ins[2 if add else 1 :] if p]
    centre = "Layer" in c.n.op
    mean = b.mean(x, axes) if centre else ""
    centred = b.op("Sub", [x, mean]) if centre else x
    power = b.mean(b.op("Mul", [centred, centred]), axes)
    root = b.op("Sqrt", [b.op("Add", [power, b.const(float(c.n.attrs.get("epsilon", 1e-5)), kind)])])
    scaled = b.op("Div", [centred, root])
    first = [c.outs[0]]
    if len(params) > 1:
        b.op("Add", [b.op("Mul", [scaled, params[0]]), params[1]], first, name=c.n.name)
    else:
        b.op("Mul", [scaled, params[0]], first, name=c.n.name)
    rest = c.outs[1:-1] if add else c.outs[1:]
    for out, make in zip(rest, ((mean, root) if centre else (root,)), strict=False):
        if out:
            b.op("Identity" if make == mean else "Reciprocal", [make], [out])


def _attention(c: Call) -> None:
    b, kind = c.body, c.type_of()
    q, k, v = c.ins[:3]
    if not c.n.attrs.get("_gx_key_transposed"):
        k = b.swap_last(k, c.rank(1))
    scores = b.op("Mul", [b.op("MatMul", [q, k]), b.const(float(c.n.attrs.get("scale", 1.0)), kind)])
    if len(c.ins) > 3 and c.ins[3]:
        scores = b.op("Add", [scores, c.ins[3]])
    b.op("MatMul", [b.op("Softmax", [scores], axis=c.rank() - 1), v], c.outs, name=c.n.name)


MADE: Mapping[str, Callable[[Call], None]] = MappingProxyType(
    {
        "Cast": _cast, **dict.fromkeys(("Identity", "IdentityN", "TransData", "TensorMove"), _same),
        **dict.fromkeys(("MemcpyAsync", "MemcpyAddrAsync"), _same),
        **dict.fromkeys(("Squeeze", "SqueezeV2", "SqueezeV3", "Unsqueeze", "UnsqueezeV2", "UnsqueezeV3", "ExpandDims"), _axes),
        "Transpose": _transpose, "TransposeD": _transpose, "Reshape": _reshape, "ReFormat": _reshape, "Muls": _scaled,
        "Adds": _scaled, "SplitVD": _split, "SplitV": _split, **dict.fromkeys(MATMULS, _matmul), "Swish": _swish, "Gelu": _gelu,
        **dict.fromkeys(("LayerNorm", "RmsNorm", "AddLayerNorm", "AddRmsNorm"), _norm), "FusedInferAttentionScore": _attention,
    }
)  # fmt: skip
"""GE type -> writer, for nodes that a pass made or changed."""

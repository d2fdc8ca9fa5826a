"""Attributes, types and constants as ONNX messages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import onnx
from onnx import helper

from ge_explorer.errors import InputError
from ge_explorer.exports.onnx_types import kind_proto
from ge_explorer.graph.constant import ConstantValue
from ge_explorer.graph.model import Node, Tensor
from ge_explorer.loaders.onnx_convert import KIND
from ge_explorer.loaders.onnx_tensors import DTYPES

TYPES = {name: number for number, name in DTYPES.items()}
"""GE type name -> onnx.TensorProto.DataType."""
_KIND = {
    "FLOAT": onnx.AttributeProto.FLOAT, "INT": onnx.AttributeProto.INT, "STRING": onnx.AttributeProto.STRING,
    "TENSOR": onnx.AttributeProto.TENSOR, "FLOATS": onnx.AttributeProto.FLOATS, "INTS": onnx.AttributeProto.INTS,
    "STRINGS": onnx.AttributeProto.STRINGS,
}  # fmt: skip


def tensor_type(name: str, t: Tensor) -> Any:
    """ValueInfoProto of a tensor; unknown dimensions stay open."""
    kind = t.attrs.get(KIND)
    if isinstance(kind, str):
        return helper.make_value_info(name, kind_proto(kind))
    shape = None if t.shape is None else list(t.shape)
    return helper.make_tensor_value_info(name, TYPES.get(t.dtype or "", 0), shape)


def initializer(name: str, value: ConstantValue) -> onnx.TensorProto:
    """TensorProto of a kept constant, byte for byte."""
    if value.dtype not in TYPES:
        raise InputError("ONNX has no such type", where=name, got=value.dtype)
    return onnx.TensorProto(name=name, data_type=TYPES[value.dtype], dims=value.shape, raw_data=value.data)


def attribute(
    n: Node, domain: str, version: int, kind: str = "", message: Callable[[str], Any] = lambda _: None
) -> Iterator[onnx.AttributeProto]:
    """The attributes of a node that its ONNX operator (``kind``, default the one it was loaded from) knows.

    ``message`` finds what the graph does not keep, such as a large tensor, in the file by the attribute's name.
    """
    known = _schema(kind or n.source_op, domain, version)
    for key, value in n.attrs.items():
        if key.startswith("_") or (known is not None and key not in known):
            continue
        kept = message(key)
        if kept is not None:
            yield kept
        elif isinstance(value, ConstantValue):
            yield helper.make_attribute(key, initializer(key, value))
        elif known is not None and known[key] in _KIND:
            if known[key] == "TENSOR":
                raise InputError("the tensor in this attribute is too large to be kept", where=f"{n.name}.{key}")
            yield helper.make_attribute(
                key, list(value) if isinstance(value, tuple) else value, attr_type=_KIND[known[key]]
            )
        elif known is not None and known[key] not in ("GRAPH", "GRAPHS"):
            raise InputError("this attribute is not kept in the graph", where=f"{n.name}.{key}", got=known[key],
                             todo="Give the model it was loaded from.")  # fmt: skip
        else:
            yield helper.make_attribute(key, list(value) if isinstance(value, tuple) else value)


def _schema(op: str, domain: str, version: int) -> dict[str, str] | None:
    """Attribute name -> kind, None for an operator onnx does not know."""
    try:
        schema = onnx.defs.get_schema(op, version, "" if domain == "ai.onnx" else domain)
    except onnx.defs.SchemaError:
        return None
    return {k: str(a.type).rsplit(".", 1)[-1] for k, a in schema.attributes.items()}

"""Attributes, types and constants as ONNX messages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import onnx
from onnx import helper

from ge_explorer.errors import InputError
from ge_explorer.graph.constant import ConstantValue
from ge_explorer.graph.model import Node, Tensor

TYPES = {
    "float": 1, "uint8": 2, "int8": 3, "uint16": 4, "int16": 5, "int32": 6, "int64": 7, "string": 8, "bool": 9, "float16": 10,
    "double": 11, "uint32": 12, "uint64": 13, "complex64": 14, "complex128": 15, "bfloat16": 16, "float8_e4m3fn": 17,
    "float8_e5m2": 19, "uint4": 21, "int4": 22,
}  # fmt: skip
"""GE type name -> onnx.TensorProto.DataType."""
_KIND = {
    "FLOAT": onnx.AttributeProto.FLOAT, "INT": onnx.AttributeProto.INT, "STRING": onnx.AttributeProto.STRING,
    "TENSOR": onnx.AttributeProto.TENSOR, "FLOATS": onnx.AttributeProto.FLOATS, "INTS": onnx.AttributeProto.INTS,
    "STRINGS": onnx.AttributeProto.STRINGS,
}  # fmt: skip


def tensor_type(name: str, t: Tensor) -> Any:
    """ValueInfoProto of a tensor; unknown dimensions stay open."""
    shape = None if t.shape is None else list(t.shape)
    return helper.make_tensor_value_info(name, TYPES.get(t.dtype or "", 0), shape)


def initializer(name: str, value: ConstantValue) -> onnx.TensorProto:
    """TensorProto of a kept constant, byte for byte."""
    if value.dtype not in TYPES:
        raise InputError("ONNX has no such type", where=name, got=value.dtype)
    return onnx.TensorProto(name=name, data_type=TYPES[value.dtype], dims=value.shape, raw_data=value.data)


def attribute(n: Node, domain: str, version: int) -> Iterator[onnx.AttributeProto]:
    """The attributes of a node that its ONNX operator knows."""
    known = _schema(n.source_op, domain, version)
    for key, value in n.attrs.items():
        if key.startswith("_") or (known is not None and key not in known):
            continue
        if isinstance(value, ConstantValue):
            yield helper.make_attribute(key, initializer(key, value))
        elif known is not None and known[key] in _KIND:
            if known[key] == "TENSOR":
                raise InputError("the tensor in this attribute is too large to be kept", where=f"{n.name}.{key}")
            yield helper.make_attribute(
                key, list(value) if isinstance(value, tuple) else value, attr_type=_KIND[known[key]]
            )
        else:
            yield helper.make_attribute(key, list(value) if isinstance(value, tuple) else value)


def _schema(op: str, domain: str, version: int) -> dict[str, str] | None:
    """Attribute name -> kind, None for an operator onnx does not know."""
    try:
        schema = onnx.defs.get_schema(op, version, "" if domain == "ai.onnx" else domain)
    except onnx.defs.SchemaError:
        return None
    return {k: str(a.type).rsplit(".", 1)[-1] for k, a in schema.attributes.items()}

"""GE's type names and our spellings of sequences and optionals as ONNX messages."""

from __future__ import annotations

import re
from typing import Any

from ge_explorer.loaders.onnx_tensors import DTYPES

_NUMBERS = {name: number for number, name in DTYPES.items()}
_WORD = re.compile(r"(tensor|sparse_tensor|seq|optional|map)\((.*)\)$", re.ASCII | re.DOTALL)


def dtype_number(name: str | None) -> int:
    """onnx.TensorProto.DataType of a GE type name; 0 (undefined) for none and for types ONNX lacks."""
    return _NUMBERS.get(name or "", 0)


def kind_proto(text: str) -> Any:
    """TypeProto of a spelling such as ``seq(tensor(float))``; an empty one for anything else.

    >>> kind_proto("optional(seq(tensor(int64)))").optional_type.elem_type.sequence_type.elem_type.tensor_type.elem_type
    7
    """
    import onnx

    out = onnx.TypeProto()
    found = _WORD.match(text)
    if found is None:
        return out
    word, inner = found.groups()
    if word == "tensor":
        out.tensor_type.elem_type = dtype_number(inner)
    elif word == "sparse_tensor":
        out.sparse_tensor_type.elem_type = dtype_number(inner)
    elif word == "seq":
        out.sequence_type.elem_type.CopyFrom(kind_proto(inner))
    elif word == "optional":
        out.optional_type.elem_type.CopyFrom(kind_proto(inner))
    else:
        key, _, value = inner.partition(", ")
        out.map_type.key_type = dtype_number(key)
        out.map_type.value_type.CopyFrom(kind_proto(value))
    return out

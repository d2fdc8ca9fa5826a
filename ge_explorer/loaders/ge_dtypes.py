"""GE's two numberings of data types, and its names.

Tensor descriptors of a dump use the *proto* numbers (ge_ir.proto, FLOAT = 1); integer attributes such as ``dst_type`` use
the numbers of ``ge::DataType`` (inc/external/graph/types.h, FLOAT = 0). Mixing them shows wrong types.
"""

from __future__ import annotations

from types import MappingProxyType

_TAIL = (
    "STRING", "DUAL_SUB_INT8", "DUAL_SUB_UINT8", "COMPLEX64", "COMPLEX128", "QINT8", "QINT16", "QINT32", "QUINT8",
    "QUINT16", "RESOURCE", "STRING_REF", "DUAL", "VARIANT", "BF16",
)  # fmt: skip
_SMALL = (
    "INT4", "UINT1", "INT2", "UINT2", "COMPLEX32", "HIFLOAT8", "FLOAT8_E5M2", "FLOAT8_E4M3FN", "FLOAT8_E8M0",
    "FLOAT6_E3M2", "FLOAT6_E2M3", "FLOAT4_E2M1", "FLOAT4_E1M2", "HIFLOAT4", "HIFLOAT4_SCALE",
)  # fmt: skip
_PROTO = (
    "UNDEFINED", "FLOAT", "FLOAT16", "INT8", "UINT8", "INT16", "UINT16", "INT32", "INT64", "UINT32", "UINT64", "BOOL",
    "DOUBLE", *_TAIL, *_SMALL,
)  # fmt: skip
_GE = (
    "FLOAT", "FLOAT16", "INT8", "INT32", "UINT8", "", "INT16", "UINT16", "UINT32", "INT64", "UINT64", "DOUBLE", "BOOL",
    *_TAIL, "UNDEFINED", *_SMALL,
)  # fmt: skip
_OWN = MappingProxyType({"bf16": "bfloat16", "float32": "float", "bfloat16": "bfloat16", "undefined": ""})


def dtype_name(text: str) -> str | None:
    """``DT_FLOAT16`` -> ``float16``; None for DT_UNDEFINED and an empty name.

    >>> dtype_name("DT_BF16")
    'bfloat16'
    """
    plain = text.strip().removeprefix("DT_").lower()
    return _OWN.get(plain, plain) or None


def proto_dtype(number: int) -> str | None:
    """Type of a tensor descriptor by number (ge_ir.proto). None when undefined or unknown.

    >>> proto_dtype(7), proto_dtype(0)
    ('int32', None)
    """
    return dtype_name(_PROTO[number]) if 0 <= number < len(_PROTO) else None


def ge_dtype(number: int) -> str | None:
    """Type of an integer attribute such as ``dst_type`` (ge::DataType). None when undefined or unknown.

    >>> ge_dtype(7), ge_dtype(0)
    ('uint16', 'float')
    """
    return dtype_name(_GE[number]) if 0 <= number < len(_GE) else None

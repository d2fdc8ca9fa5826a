"""Types, shapes and small values out of ONNX messages."""

from __future__ import annotations

from typing import Any

from ge_explorer.graph.constant import VALUE_LIMIT, ConstantValue
from ge_explorer.graph.model import DTYPE_BITS, Dim, Shape
from ge_explorer.loaders.onnx_records import Proto

INVENTED = "unk__"
"""Start of the symbols ONNX shape inference makes up for dimensions nobody named."""
EXTERNAL = 1
"""TensorProto.data_location of a tensor whose bytes are in a side file."""

DTYPES = {
    1: "float", 2: "uint8", 3: "int8", 4: "uint16", 5: "int16", 6: "int32", 7: "int64", 8: "string", 9: "bool",
    10: "float16", 11: "double", 12: "uint32", 13: "uint64", 14: "complex64", 15: "complex128", 16: "bfloat16",
    17: "float8_e4m3fn", 18: "float8_e4m3fnuz", 19: "float8_e5m2", 20: "float8_e5m2fnuz", 21: "uint4", 22: "int4",
    23: "float4_e2m1", 24: "float8_e8m0", 25: "uint2", 26: "int2",
}  # fmt: skip
"""onnx.TensorProto.DataType -> GE's type name. The two FNUZ types have no GE counterpart and keep ONNX's name."""

GE_PARSER_DTYPES = frozenset({
    "float", "float16", "bfloat16", "double", "int4", "int8", "int16", "int32", "int64", "uint8", "uint16",
    "uint32", "uint64", "bool", "string", "complex64", "complex128", "float8_e4m3fn", "float8_e5m2",
})  # fmt: skip
"""Types GE's ONNX parser maps (hicann/ge parser onnx_util.cc); an input of another type is an error there."""

_FIELD = {
    "float": "float_data",
    "int32": "int32_data",
    "int64": "int64_data",
    "double": "double_data",
    "uint64": "uint64_data",
}


def dims_of(dims: Any) -> tuple[int, ...]:
    """Dimensions of a TensorProto."""
    return tuple(int(d) for d in dims)


def bytes_of(t: Proto) -> int | None:
    """Bytes of a tensor from its shape and type; None for a type whose size is unknown or a negative dimension."""
    bits = DTYPE_BITS.get(DTYPES.get(t.data_type, ""))
    if bits is None:
        return None
    n = 1
    for d in t.dims:
        if d < 0:
            return None
        n *= d
    return (n * bits + 7) // 8


def small_value(t: Proto) -> ConstantValue | None:
    """Value of a tensor of at most ``VALUE_LIMIT`` bytes; None when larger, external, damaged or of a type numpy lacks."""
    size, dtype = bytes_of(t), DTYPES.get(t.data_type, "")
    if size is None or size > VALUE_LIMIT or t.data_location == EXTERNAL or dtype == "string":
        return None
    shape = dims_of(t.dims)
    if t.HasField("raw_data"):
        return ConstantValue(dtype, shape, t.raw_data) if len(t.raw_data) == size else None
    if dtype in _FIELD:
        import numpy as np

        kinds = {"float": "<f4", "int32": "<i4", "int64": "<i8", "double": "<f8", "uint64": "<u8"}
        values = np.array(getattr(t, _FIELD[dtype]), dtype=kinds[dtype])
        return ConstantValue(dtype, shape, values.tobytes()) if values.nbytes == size else None
    from onnx import numpy_helper

    try:
        array = numpy_helper.to_array(t)
    except (ValueError, TypeError, KeyError):
        return None
    return ConstantValue(dtype, shape, array.tobytes()) if array.nbytes == size else None


def tensor_spec(t: Proto) -> tuple[Shape | None, str | None]:
    """(shape, GE type) of a TensorProto or SparseTensorProto."""
    values = t.values if hasattr(t, "values") else t
    return dims_of(t.dims), DTYPES.get(values.data_type)


def shape_of(message: Proto) -> Shape | None:
    """Shape of a TensorShapeProto: sizes as int, symbols as str, unknown or negative dims as None."""
    dims: list[Dim] = []
    for d in message.dim:
        kind = d.WhichOneof("value")
        if kind == "dim_value" and d.dim_value >= 0:
            dims.append(int(d.dim_value))
        elif kind == "dim_param" and d.dim_param and not d.dim_param.startswith(INVENTED):
            dims.append(str(d.dim_param))
        else:
            dims.append(None)
    return tuple(dims)


def type_spec(message: Proto) -> tuple[Shape | None, str | None, str]:
    """(shape, GE type, kind) of a TypeProto. ``kind`` is "" for a plain tensor, else ONNX's spelling such as
    ``seq(tensor(float))``; such values have neither shape nor type of their own.
    """
    if message is None:
        return None, None, ""
    kind = message.WhichOneof("value")
    if kind == "tensor_type":
        t = message.tensor_type
        return (shape_of(t.shape) if t.HasField("shape") else None), DTYPES.get(t.elem_type), ""
    if kind is None:
        return None, None, ""
    return None, None, spelled(message)


def spelled(message: Proto) -> str:
    """ONNX spelling of a type, without shapes."""
    kind = message.WhichOneof("value")
    if kind == "tensor_type":
        return f"tensor({DTYPES.get(message.tensor_type.elem_type, 'undefined')})"
    if kind == "sparse_tensor_type":
        return f"sparse_tensor({DTYPES.get(message.sparse_tensor_type.elem_type, 'undefined')})"
    if kind == "sequence_type":
        return f"seq({spelled(message.sequence_type.elem_type)})"
    if kind == "optional_type":
        return f"optional({spelled(message.optional_type.elem_type)})"
    if kind == "map_type":
        m = message.map_type
        return f"map({DTYPES.get(m.key_type, 'undefined')}, {spelled(m.value_type)})"
    return "undefined" if kind is None else kind.removesuffix("_type")


def attribute_value(a: Proto) -> Any:
    """Plain Python value of an attribute (graphs are not attributes here). Tensors become a ``ConstantValue`` when small,
    else a text with type and shape.
    """
    kind = a.type
    if kind == 1:
        return a.f
    if kind == 2:
        return a.i
    if kind == 3:
        return _text(a.s)
    if kind == 4:
        return _tensor(a.t)
    if kind == 6:
        return tuple(a.floats)
    if kind == 7:
        return tuple(a.ints)
    if kind == 8:
        return tuple(_text(s) for s in a.strings)
    if kind == 9:
        return tuple(_tensor(t) for t in a.tensors)
    if kind in (11, 12):
        return f"sparse tensor {list(a.sparse_tensor.dims)}" if kind == 11 else "sparse tensors"
    if kind == 13:
        return spelled(a.tp)
    if kind == 14:
        return tuple(spelled(t) for t in a.type_protos)
    return _untyped(a)


def _untyped(a: Proto) -> Any:
    """Old files leave ``type`` out; take the field that is set."""
    for field in ("ints", "floats", "strings"):
        values = getattr(a, field)
        if len(values):
            return tuple(_text(v) if field == "strings" else v for v in values)
    if a.HasField("t"):
        return _tensor(a.t)
    if a.s:
        return _text(a.s)
    return a.f if a.f else a.i


def _tensor(t: Proto) -> Any:
    value = small_value(t)
    return value if value is not None else f"{DTYPES.get(t.data_type, 'undefined')}{list(t.dims)}"


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", errors="replace")

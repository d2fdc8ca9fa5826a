"""GE attribute values (AttrDef of ge_ir.proto) and tensor descriptors as plain Python values."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from ge_explorer.graph.constant import NUMPY_DTYPES, VALUE_LIMIT, ConstantValue
from ge_explorer.loaders.ge_dtypes import dtype_name, ge_dtype, proto_dtype
from ge_explorer.loaders.ge_records import DescRecord
from ge_explorer.loaders.pbtxt import Message, as_text

RANK_LIMIT = 64
_DESC_NUMBERS = ("size", "weight_size", "data_offset", "real_dim_cnt", "reuse_input_index")
_DESC_FLAGS = ("reuse_input", "output_tensor", "input_tensor")
_KEPT_DESC_ATTRS = frozenset(
    {"origin_format", "origin_shape", "origin_data_type", "shape_range", "_datadump_origin_name",
     "_datadump_origin_output_index", "_datadump_origin_format", "_datadump_origin_data_type", "_parent_node_index",
     "_tensor_memory_type", "placement"}
)  # fmt: skip


def fold_entry(m: Message) -> tuple[str, Any]:
    """``attr { key value }`` -> (key, value); for the reader's folds."""
    value = m.last("value", Message, Message())
    return m.text("key"), attribute(value)


def attributes(m: Message) -> dict[str, Any]:
    """All folded ``attr`` entries of a message."""
    return {e[0]: e[1] for e in m.all("attr") if isinstance(e, tuple)}


def attribute(m: Message) -> Any:
    """Value of one AttrDef: text, number, bool, tuple, mapping, ConstantValue; None for an empty one."""
    for key, values in m.fields.items():
        value = values[-1]
        match key:
            case "s" | "expression":
                return as_text(value) if isinstance(value, bytes | str) else value
            case "bt":
                return value
            case "f":
                return float(value) if isinstance(value, int | float) else value
            case "i" | "b":
                return value
            case "dt":
                return (ge_dtype(value) if isinstance(value, int) else dtype_name(str(value))) or "undefined"
        if not isinstance(value, Message):
            continue
        match key:
            case "list":
                return list_value(value)
            case "list_list_int":
                return tuple(tuple(r.integers("list_i")) for r in _messages(value, "list_list_i"))
            case "list_list_float":
                return tuple(tuple(r.all("list_f")) for r in _messages(value, "list_list_f"))
            case "func":
                return MappingProxyType(attributes(value))
            case "t":
                return tensor(value)
            case "td":
                return desc_value(value)
            case "g":
                return f"graph {value.text('name')}"
    return None


def list_value(m: Message) -> tuple[Any, ...]:
    """A typed list; ``val_type`` alone is an empty one."""
    for key, values in m.fields.items():
        match key:
            case "s":
                return tuple(as_text(v) if isinstance(v, bytes | str) else v for v in values)
            case "i" | "f" | "b" | "bt":
                return tuple(v for v in values if not isinstance(v, Message))
            case "dt":
                return tuple((ge_dtype(v) if isinstance(v, int) else dtype_name(str(v))) or "undefined" for v in values)
            case "t":
                return tuple(tensor(v) for v in values if isinstance(v, Message))
            case "td":
                return tuple(desc_value(v) for v in values if isinstance(v, Message))
            case "na":
                return tuple(MappingProxyType(attributes(v)) for v in values if isinstance(v, Message))
            case "g":
                return tuple(f"graph {v.text('name')}" for v in values if isinstance(v, Message))
    return ()


def tensor(m: Message) -> Any:
    """TensorDef: a ConstantValue when the bytes are there and few, else its description as text."""
    d = desc(m.last("desc", Message, Message()))
    data = m.last("data", bytes, b"")
    shape = d.shape or ()
    if 0 < len(data) <= VALUE_LIMIT and d.dtype in NUMPY_DTYPES and all(isinstance(x, int) for x in shape):
        value = ConstantValue(d.dtype, tuple(x for x in shape if isinstance(x, int) and x >= 0), data)
        if value.array() is not None:
            return value
    return f"{d.dtype or '?'}{list(shape)} {f'{len(data)} bytes' if data else 'without data'}"


def desc_value(m: Message) -> Mapping[str, Any]:
    """A tensor descriptor inside an attribute."""
    d = desc(m)
    return MappingProxyType({"dtype": d.dtype, "shape": d.shape, **d.attrs})


def desc(m: Message) -> DescRecord:
    """TensorDescriptor. The type is by proto number or name; a descriptor without ``shape`` is a scalar or unknown."""
    raw = (m.fields.get("dtype") or [0])[-1]
    dtype = proto_dtype(raw) if isinstance(raw, int) else dtype_name(m.text("dtype"))
    shape: tuple[int | None, ...] | None = None
    holder = m.last("shape", Message, Message())
    if "shape" in m:
        shape = dims(holder.integers("dim"))
    attrs: dict[str, Any] = {}
    if "layout" in m:
        attrs["format"] = m.text("layout")
    for key in _DESC_NUMBERS:
        if key in m:
            attrs[key] = m.integer(key)
    for key in _DESC_FLAGS:
        if m.last(key, bool, False):
            attrs[key] = True
    if m.text("device_type") not in ("", "NPU"):
        attrs["device_type"] = m.text("device_type")
    attrs |= {k: v for k, v in attributes(m).items() if k in _KEPT_DESC_ATTRS}
    return DescRecord(m.text("name"), dtype, shape, attrs)


def dims(values: list[int]) -> tuple[int | None, ...] | None:
    """GE's shape as ours: -1 is an unknown size, -2 alone an unknown rank."""
    if len(values) > RANK_LIMIT or any(v == -2 for v in values):
        return None
    return tuple(None if v < 0 else v for v in values)


def _messages(m: Message, name: str) -> list[Message]:
    return [v for v in m.all(name) if isinstance(v, Message)]

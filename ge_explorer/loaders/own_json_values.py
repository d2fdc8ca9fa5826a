"""Attribute values to JSON and back, exactly: type and content.

>>> unpack(pack((1, 2.5, b"x", float("inf")))) == (1, 2.5, b"x", float("inf"))
True
"""

from __future__ import annotations

import base64
import binascii
import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from ge_explorer.graph.constant import ConstantValue

DEPTH_LIMIT = 60


class BadValue(ValueError):
    """A value that has no JSON form, or a JSON form that stands for no value; the text says which."""


def pack(value: Any, depth: int = 0) -> Any:
    """JSON form. numpy scalars become plain numbers; BadValue for a type that is not data."""
    if depth > DEPTH_LIMIT:
        raise BadValue(f"values are nested deeper than {DEPTH_LIMIT}")
    if value is None or isinstance(value, bool | str):
        return _surrogates(value) if isinstance(value, str) else value
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else {"$float": repr(value)}
    if isinstance(value, complex):
        return {"$complex": [repr(value.real), repr(value.imag)]}
    if isinstance(value, bytes):
        return {"$bytes": base64.b64encode(value).decode("ascii")}
    if isinstance(value, ConstantValue):
        return {"$constant": [value.dtype, list(value.shape), base64.b64encode(value.data).decode("ascii")]}
    if isinstance(value, tuple):
        return {"$tuple": [pack(v, depth + 1) for v in value]}
    if isinstance(value, list):
        return [pack(v, depth + 1) for v in value]
    if isinstance(value, Mapping):
        return {"$map": [[pack(k, depth + 1), pack(v, depth + 1)] for k, v in value.items()]}
    raise BadValue(f"a value of type {type(value).__name__} has no JSON form")


def _surrogates(text: str) -> Any:
    """Text with lone surrogates is not UTF-8; it is kept as its code units."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return {"$text": base64.b64encode(text.encode("utf-8", "surrogatepass")).decode("ascii")}
    return text


def unpack(value: Any, depth: int = 0) -> Any:
    """Inverse of ``pack``. BadValue for an unknown or damaged form."""
    if depth > DEPTH_LIMIT:
        raise BadValue(f"values are nested deeper than {DEPTH_LIMIT}")
    if isinstance(value, list):
        return [unpack(v, depth + 1) for v in value]
    if not isinstance(value, dict):
        return value
    if len(value) != 1:
        raise BadValue(f"unknown form {list(value)[:3]}")
    [(kind, body)] = value.items()
    try:
        match kind:
            case "$tuple":
                return tuple(unpack(v, depth + 1) for v in body)
            case "$map":
                return MappingProxyType({unpack(k, depth + 1): unpack(v, depth + 1) for k, v in body})
            case "$bytes":
                return base64.b64decode(body, validate=True)
            case "$text":
                return base64.b64decode(body, validate=True).decode("utf-8", "surrogatepass")
            case "$constant":
                dtype, shape, data = body
                if not isinstance(dtype, str):
                    raise BadValue("a constant without a type")
                return ConstantValue(dtype, tuple(int(d) for d in shape), base64.b64decode(data, validate=True))
            case "$float":
                return float(body)
            case "$complex":
                return complex(float(body[0]), float(body[1]))
    except (TypeError, binascii.Error, ValueError, IndexError) as e:
        raise BadValue(f"damaged {kind}: {e}") from None
    raise BadValue(f"unknown form {kind!r:.40}")

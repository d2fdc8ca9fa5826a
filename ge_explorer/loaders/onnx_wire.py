"""A look at the bytes of an ONNX file: is it one, and if it breaks off, where."""

from __future__ import annotations

FIELDS = {
    1: ("ir_version", 0), 2: ("producer_name", 2), 3: ("producer_version", 2), 4: ("domain", 2), 5: ("model_version", 0),
    6: ("doc_string", 2), 7: ("graph", 2), 8: ("opset_import", 2), 14: ("metadata_props", 2), 20: ("training_info", 2),
    25: ("functions", 2), 26: ("configuration", 2),
}  # fmt: skip
"""Top-level fields of ModelProto: number -> (name, wire type)."""


def varint(data: bytes, at: int) -> tuple[int, int] | None:
    """(value, next position), or None when the bytes end or the number is too long."""
    value = shift = 0
    while at < len(data) and shift < 70:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at += 1
        if byte < 0x80:
            return value, at
        shift += 7
    return None


def top_fields(data: bytes) -> tuple[list[str], int, str]:
    """Names of the ModelProto fields read, the byte where reading stopped, and why ("" when it reached the end)."""
    found: list[str] = []
    at = 0
    while at < len(data):
        key = varint(data, at)
        if key is None:
            return found, at, "the file ends inside a field number"
        number, wire = key[0] >> 3, key[0] & 7
        name, expected = FIELDS.get(number, ("", wire))
        if wire != expected or wire not in (0, 1, 2, 5) or (not name and number > 1000):
            return found, at, f"byte {data[at]:#04x} starts no field of an ONNX model"
        start, at = at, key[1]
        if wire == 2:
            size = varint(data, at)
            if size is None:
                return found, start, "the file ends inside a length"
            at = size[1] + size[0]
            if at > len(data):
                left = len(data) - size[1]
                return [*found, name], start, f"field {name or number} needs {size[0]} bytes, {left} are left"
        elif wire == 0:
            number_value = varint(data, at)
            if number_value is None:
                return found, start, "the file ends inside a number"
            at = number_value[1]
        else:
            at += 8 if wire == 1 else 4
            if at > len(data):
                return found, start, "the file ends inside a number"
        if name:
            found.append(name)
    return found, at, ""


def looks_like_model(data: bytes) -> bool:
    """True when the first fields are those of a ModelProto: known numbers with the right wire types, a graph among them
    (or the file ends before it).
    """
    found, _, why = top_fields(data)
    if "graph" in found:
        return True
    return bool(why) and bool(found) and not why.startswith("byte")

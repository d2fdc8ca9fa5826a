"""Shapes a user gives for the inputs of an ONNX model, as ATC's ``--input_shape`` does.

GE's parser replaces the dimensions of the file by the given ones without comparing them; only the rank must be equal
(parser/onnx/onnx_data_parser.cc). -1 leaves a dimension open.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ge_explorer.errors import OptionError, did_you_mean
from ge_explorer.issue import Issue
from ge_explorer.loaders.onnx_records import GraphRecord, Proto
from ge_explorer.text import Text

LARGEST = 2**62


def check_input_shapes(given: Mapping[str, Any] | None) -> dict[str, tuple[int, ...]]:
    """The user's mapping with tuples of ints. OptionError for anything that is no shape."""
    out: dict[str, tuple[int, ...]] = {}
    for name, shape in (given or {}).items():
        if isinstance(shape, str) or not hasattr(shape, "__iter__"):
            raise OptionError("an input shape is a row of whole numbers", where=str(name), got=shape,
                              todo='For example input_shapes={"x": (1, 3, 224, 224)}.')  # fmt: skip
        row = [-1 if d is None else d for d in shape]
        if any(isinstance(d, bool) or not hasattr(d, "__index__") or not -1 <= int(d) < LARGEST for d in row):
            raise OptionError("a dimension of an input shape is no size", where=str(name), got=tuple(row),
                              todo="Give whole numbers; -1 leaves a dimension open.")  # fmt: skip
        out[str(name)] = tuple(int(d) for d in row)
    return out


def parse_input_shapes(texts: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """ATC's text form, ``x:1,3,224,224`` or several with ``;`` between. OptionError with the part that is wrong.

    >>> parse_input_shapes(["x:1,3;y:-1,8", "s:"])
    {'x': (1, 3), 'y': (-1, 8), 's': ()}
    """
    out: dict[str, tuple[int, ...]] = {}
    for part in (p.strip() for text in texts for p in text.split(";")):
        if not part:
            continue
        name, colon, dims = part.rpartition(":")
        numbers = [d.strip() for d in dims.split(",")] if dims.strip() else []
        if (
            not colon
            or not name
            or not all(d.removeprefix("-").isascii() and d.removeprefix("-").isdigit() for d in numbers)
        ):
            raise OptionError("an input shape is written name:number,number,…", got=part,
                              todo="For example --input-shape x:1,3,224,224; -1 leaves a dimension open.")  # fmt: skip
        if name in out:
            raise OptionError("two shapes for one input", got=name, todo="Give each input once.")
        out.update(check_input_shapes({name: tuple(int(d) for d in numbers)}))
    return out


def bind_inputs(
    record: GraphRecord, given: Mapping[str, tuple[int, ...]], dims: Mapping[str, int]
) -> tuple[dict[str, int], list[Issue]]:
    """Put the given shapes into the record's inputs; returns the values of symbolic dimensions and findings.

    A symbol that a given shape fixes is fixed everywhere, because a name stands for one number in an ONNX file. OptionError
    for an unknown input, another rank, or a dimension the file does not name.
    """
    bound = dict(dims)
    symbols = _symbols(record) if dims else set()
    for name in dims:
        if symbols and name not in symbols:
            raise OptionError(f"the model has no dimension named {name!r}", todo=did_you_mean(name, symbols))
    if not given:
        return bound, []
    known = [s for s, _ in record.inputs]
    places = {s: k for k, s in enumerate(known)}
    seen: dict[str, set[int]] = {}
    changed: list[str] = []
    for name, shape in given.items():
        if name not in places:
            raise OptionError(f"the model has no input named {name!r}", todo=did_you_mean(name, known))
        symbol, message = record.inputs[places[name]]
        new, replaced = _replaced(name, message, shape, seen)
        record.inputs[places[name]] = (symbol, new)
        if replaced:
            changed.append(name)
    torn = sorted(s for s, values in seen.items() if len(values) > 1)
    for s, values in seen.items():
        if len(values) == 1:
            bound[s] = next(iter(values))
    issues: list[Issue] = []
    if torn:
        issues.append(Issue("GX315", "warning", Text(
            "The given input shapes give several values to the dimension {names}; the file says it is one number.",
            "给定的输入形状使维度 {names} 有多个取值；文件中它是同一个数。").format(names=", ".join(torn[:4]))))  # fmt: skip
    if changed or torn:
        _forget_sizes(record)
    if changed:
        issues.append(Issue("GX316", "note", Text(
            "The given shapes replace the file's own for {names}, as GE does; sizes the file states inside are inferred again.",
            "与 GE 一样，{names} 的形状按给定值替换；文件内的尺寸重新推导。").format(names=", ".join(changed[:4]))))  # fmt: skip
    return bound, issues


def _symbols(record: GraphRecord) -> set[str]:
    """Names of dimensions the file states, of inputs and of tensors inside."""
    found = [t for _, t in record.inputs if t is not None] + list(record.types.values())
    return {d.dim_param for t in found for d in t.tensor_type.shape.dim if d.dim_param}


def _replaced(name: str, message: Proto, shape: tuple[int, ...], seen: dict[str, set[int]]) -> tuple[Proto, bool]:
    """Copy of an input's type with the given shape, and whether a number of the file was replaced."""
    import onnx

    new = onnx.TypeProto()
    if message is not None:
        new.CopyFrom(message)
    if new.WhichOneof("value") not in ("tensor_type", None):
        raise OptionError("this input is no tensor, it has no shape", where=name, todo="Leave it out.")
    tensor = new.tensor_type
    replaced = False
    if tensor.HasField("shape"):
        old = tensor.shape.dim
        if len(old) != len(shape):
            raise OptionError("the given shape has another rank than the model's input", where=name, got=shape,
                              todo=f"Give {len(old)} dimensions.")  # fmt: skip
        for d, size in zip(old, shape, strict=True):
            if d.WhichOneof("value") == "dim_value" and d.dim_value >= 0:
                replaced |= d.dim_value != size
            elif d.dim_param and size >= 0:
                seen.setdefault(d.dim_param, set()).add(size)
        keep = [d.dim_param if size < 0 else "" for d, size in zip(old, shape, strict=True)]
    else:
        keep = [""] * len(shape)
    tensor.ClearField("shape")
    tensor.shape.SetInParent()
    for size, symbol in zip(shape, keep, strict=True):
        d = tensor.shape.dim.add()
        if size >= 0:
            d.dim_value = size
        elif symbol:
            d.dim_param = symbol
    return new, replaced


def _forget_sizes(record: GraphRecord) -> None:
    """Declared types inside keep element type and rank only: their sizes belong to the old input shapes."""
    for symbol, message in list(record.types.items()):
        if message.WhichOneof("value") == "tensor_type":
            new = type(message)()
            new.CopyFrom(message)
            for d in new.tensor_type.shape.dim:
                d.Clear()
            record.types[symbol] = new
    for n in record.nodes:
        for _, body in n.bodies:
            _forget_sizes(body)

"""A graph without its secrets, for bug reports: names are replaced, weights go, types, shapes and structure stay.

GE orders some things by name, so replaced names sort as the real ones do; equal names stay equal. Integer constants (shapes,
axes) stay because folding needs them.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from ge_explorer.device.op_table import place_of
from ge_explorer.graph.constant import VALUE, ConstantValue
from ge_explorer.graph.model import Attrs, Graph
from ge_explorer.loaders.ge_recorded import BufferLine, Recorded

_NUMBERS = ("int", "uint", "bool")
_PUBLIC_TEXT = frozenset({"format", "origin_format", "data_format", "dtype", "origin_data_type", "auto_pad", "mode", "padding",
                          "equation", "reduction", "direction", "device_type", "placement", "_gx_engine", "_gx_core",
                          "_gx_format", "_gx_onnx_type", "_gx_domain", "_gx_body", "_gx_duration_origin"})  # fmt: skip
"""Attributes whose text is a word of the trade, never a user's."""
_STANDARD = frozenset({"", "ai.onnx", "ai.onnx.ml", "com.microsoft", "npu", "ge"})


class Names:
    """Replacement of every text: ``n<place among all names>_<keyed hash>``. The key makes guessing names useless."""

    def __init__(self, texts: Iterable[str], key: bytes) -> None:
        ordered = sorted(set(texts))
        width = len(str(len(ordered)))
        self._of = {t: f"n{k:0{width}}_{self._hash(t, key)}" if t else "" for k, t in enumerate(ordered)}
        self._key = key

    @staticmethod
    def _hash(text: str, key: bytes) -> str:
        return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=4, key=key).hexdigest()

    def __call__(self, text: str) -> str:
        """Replacement of one text; an empty one stays empty."""
        return self._of.get(text) or (f"n_{self._hash(text, self._key)}" if text else "")


def anonymous(
    graph: Graph, recorded: Recorded | None = None, key: bytes | None = None
) -> tuple[Graph, Recorded | None]:
    """Copy of a graph (and of what a dump recorded) that names nothing. ``key``: up to 64 bytes; the same key gives the same
    names for the same graph, a fresh one is drawn otherwise.
    """
    if key is None:
        key = secrets.token_bytes(16)
    names = Names(_texts(graph), key)
    nodes = tuple(
        None if n is None else replace(
            n, name=names(n.name), op=_op(n.op, names), source_op=_op(n.source_op, names), attrs=_attrs(n.attrs, names)
        )
        for n in graph.nodes
    )  # fmt: skip
    tensors = tuple(
        None if t is None else replace(
            t, name=names(t.name), attrs=_attrs(t.attrs, names),
            shape=None if t.shape is None else tuple(names(d) if isinstance(d, str) else d for d in t.shape),
        )
        for t in graph.tensors
    )  # fmt: skip
    scopes = tuple(
        None if s is None else replace(s, name=names(s.name), attrs=_attrs(s.attrs, names)) for s in graph.scopes
    )
    copy = Graph(names(graph.name), nodes, tensors, scopes, graph.edges, graph.control, _attrs(graph.attrs, names), ())
    return copy, None if recorded is None else _recorded(recorded, names)


def _texts(g: Graph) -> Iterable[str]:
    yield g.name
    for n in g:
        yield n.name
    for t in g.tensors:
        if t is not None:
            yield t.name
            yield from (d for d in t.shape or () if isinstance(d, str))
    yield from (s.name for s in g.scopes if s is not None)


def _op(op: str, names: Names) -> str:
    """Types of the trade stay; a type nobody knows may be a company's own."""
    plain = op.removeprefix("ge:")
    if (
        not plain
        or plain in ("Initializer", "NetOutput", "return")
        or place_of(plain)[0] is not None
        or _is_onnx(plain)
    ):
        return op
    return names(op)


def _is_onnx(op: str) -> bool:
    from ge_explorer.loaders.ge_types import ge_type

    return any(ge_type(op, d, 17).kind != "none" for d in ("ai.onnx", "com.microsoft", "npu"))


def _attrs(attrs: Attrs, names: Names) -> Attrs:
    out: dict[str, Any] = {}
    for key, value in attrs.items():
        if key == "_gx_domain" and value not in _STANDARD:
            out[key] = names(str(value))
        elif key in _PUBLIC_TEXT or key == "_gx_opsets":
            out[key] = value if key != "_gx_opsets" else tuple((d if d in _STANDARD else names(d), v) for d, v in value)
        elif (kept := _value(value, names)) is not None:
            out[key if key in _KNOWN_KEYS or key.startswith("_") or _plain_key(key) else names(key)] = kept
    return MappingProxyType(out)


_KNOWN_KEYS = frozenset({VALUE, "index", "value", "workspace_bytes"})


def _plain_key(key: str) -> bool:
    """Attribute keys of operators are public words; only odd ones are replaced."""
    return key.replace("_", "").isalnum() and len(key) <= 40


def _value(value: Any, names: Names) -> Any:
    if isinstance(value, ConstantValue):
        return value if value.dtype.startswith(_NUMBERS) else None
    if isinstance(value, str):
        return names(value)
    if isinstance(value, bytes):
        return None
    if isinstance(value, tuple | list):
        items = [_value(v, names) for v in value]
        return tuple(v for v in items if v is not None)
    if isinstance(value, Mapping):
        return MappingProxyType(
            {k if isinstance(k, int) else names(str(k)): _value(v, names) for k, v in value.items()}
        )
    return value


def _recorded(r: Recorded, names: Names) -> Recorded:
    def line(b: BufferLine) -> BufferLine:
        return replace(b, graph=names(b.graph), name=names(b.name), op=_op(b.op, names), batch=names(b.batch))

    options = {k: v for k, v in r.options.items() if harmless(v)}
    model = {k: v if not isinstance(v, str) or harmless(v) else names(v) for k, v in r.model.items()}
    return replace(
        r, options=MappingProxyType(options), buffers=tuple(line(b) for b in r.buffers), stage="",
        model=MappingProxyType(model), facts=MappingProxyType({}),
    )  # fmt: skip


def harmless(text: str) -> bool:
    """Numbers, flags and short words; never paths or lists of names."""
    return len(text) <= 24 and text.replace(".", "").replace("_", "").replace("-", "").isalnum()

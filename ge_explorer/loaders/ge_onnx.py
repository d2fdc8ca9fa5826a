"""Loader for GE's dump ``ge_onnx_*.pbtxt``: ONNX's text form, with GE's operators (``ge:Conv2D``) and attributes.

Differences from ONNX (graph_metadef/graph/serialization/onnx_utils or ge_onnx.proto writer, read from dumps): inputs are
``producer:output``, ``producer:-1`` is a control edge; tensor descriptors are spread over attributes
``output_desc_shape:0``; a subgraph hangs on an extra node of type ``subgraph``, without a link to its owner; an INT
attribute without ``i`` is 0.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from typing import TYPE_CHECKING, Any

from ge_explorer.errors import InputError, shorten
from ge_explorer.graph.constant import NUMPY_DTYPES, VALUE_LIMIT, ConstantValue
from ge_explorer.loaders.ge_attributes import dims
from ge_explorer.loaders.ge_build import build
from ge_explorer.loaders.ge_dtypes import dtype_name
from ge_explorer.loaders.ge_owners import guess_owners
from ge_explorer.loaders.ge_proto import INT32
from ge_explorer.loaders.ge_records import DescRecord, GraphRecord, ModelRecord, OpRecord, split_input
from ge_explorer.loaders.pbtxt import Fold, Message, as_text, parse, text_head
from ge_explorer.loaders.report import LoadResult
from ge_explorer.loaders.source import Source

if TYPE_CHECKING:
    from ge_explorer.loaders import LoadSettings

CARRIER = "subgraph"
_MARK = re.compile(rb'op_type\s*:\s*"(?:ge:|subgraph")')
_DESC = re.compile(r"^(input|output)_desc_(?:(attr_)?(.+):(\d{1,5})|(\d{1,5}))$", re.ASCII)
_FIELD_ATTRS = frozenset(
    {"id", "stream_id", "input_i", "output_i", "workspace", "workspace_bytes", "input_name", "src_name", "dst_name",
     "src_index", "dst_index", "is_input_const", "input_desc_nums", "output_desc_nums"}
)  # fmt: skip
_DESC_KEYS = {"layout": "format", "origin_layout": "origin_format", "origin_dtype": "origin_data_type"}
_DESC_PLAIN = frozenset(
    {"size", "weight_size", "data_offset", "reuse_input", "reuse_input_index", "real_dim_cnt", "output_tensor",
     "input_tensor", "origin_shape", "shape_range", "placement"}
)  # fmt: skip
_DESC_LIMIT = 4096
Attr = tuple[str, Any, bool]
"""Name, value, and whether a zero was left out."""


class GeOnnxLoader:
    """GE's ONNX-like text, recognised by its first field and an operator type ``ge:…``."""

    def sniff(self, source: Source) -> bool:
        """True for the text form of ONNX that holds GE's operators or names GE as its producer."""
        if not source.is_text:
            return False
        head = text_head(source)
        if not re.match(r"(ir_version|producer_name|producer_version|model_version|domain|graph)\s*[:{<]", head):
            return False
        return re.search(r'producer_name\s*:\s*"GE"', head) is not None or _MARK.search(source.data) is not None

    def read(self, source: Source, settings: LoadSettings) -> LoadResult:
        """Parse and convert. InputError with byte, line or node."""
        return build(read_model(source), source, settings)


GE_ONNX = GeOnnxLoader()


def read_model(source: Source) -> ModelRecord:
    """Records of the file; the root graph first, subgraphs in file order."""
    top = parse(source.data, source.name, _FOLDS)
    graphs = [g for g in top.all("graph") if isinstance(g, list)]
    if not graphs:
        raise InputError("the dump holds no graph", where=source.name, todo="Dump it again.")
    records: list[GraphRecord] = graphs[-1]
    model = ModelRecord("ge_onnx", records, {}, carriers=len(records) - 1, links="guessed")
    model.counts = {"ir_version": top.integer("ir_version"), "producer": top.text("producer_name")}
    guess_owners(model)
    return model


# ---------------------------------------------------------------- folds
def _graph(m: Message) -> list[GraphRecord]:
    own = GraphRecord(m.text("name"), at=m.at)
    inner: list[GraphRecord] = []
    for node in m.all("node"):
        if isinstance(node, OpRecord):
            own.ops.append(node)
        elif isinstance(node, list):
            inner.extend(node)
    return [own, *inner]


def _attribute(m: Message) -> Attr:
    name = m.text("name")
    for key, kind in (("i", int), ("f", float), ("s", bytes)):
        if key in m:
            return name, m.last(key, kind, kind()), False
    if "ints" in m or "floats" in m:
        values = m.all("ints") or m.all("floats")
        return name, tuple(v for v in values if isinstance(v, int | float)), False
    if "strings" in m:
        return name, tuple(m.texts("strings")), False
    if "g" in m:
        return name, m.all("g")[-1], False
    kind_name = m.text("type")
    empty: dict[str, Any] = {"INT": 0, "FLOAT": 0.0, "STRING": b"", "INTS": (), "FLOATS": (), "STRINGS": ()}
    return name, empty.get(kind_name), True


def _node(m: Message) -> OpRecord | list[GraphRecord]:
    name, kind = m.text("name"), m.text("op_type")
    entries: list[Attr] = [a for a in m.all("attribute") if isinstance(a, tuple)]
    if kind == CARRIER:
        held = next((v for _, v, _ in entries if isinstance(v, list)), None)
        if held:
            graphs: list[GraphRecord] = held
            graphs[0].name = graphs[0].name or name
            return graphs
    if not name:
        raise InputError("an operator has no name", got=kind or None, todo="Dump the graph again.")
    op = OpRecord(name, kind, [split_input(t) for t in m.texts("input")], at=m.at, bare=not entries)
    values = {n: v for n, v, _ in entries}
    implicit = {n for n, _, left_out in entries if left_out}
    if entries:
        op.id = _whole(values.get("id"), None)
        op.stream = _whole(values.get("stream_id"), None)
        op.implicit_stream = "stream_id" in implicit
        if op.stream is not None and not INT32[0] <= op.stream <= INT32[1]:
            raise InputError(
                "a stream id does not fit 32 bits", where=f"node {shorten(name)}", got=op.stream, todo="Dump it again."
            )
    op.input_offsets, op.output_offsets = _wholes(values.get("input_i")), _wholes(values.get("output_i"))
    op.workspace, op.workspace_bytes = _wholes(values.get("workspace")), _wholes(values.get("workspace_bytes"))
    if not op.inputs and "src_name" in values:
        indices = _wholes(values.get("src_index"))
        names = values["src_name"] if isinstance(values["src_name"], tuple) else ()
        op.inputs = [(n, indices[k] if k < len(indices) else 0) if n else None for k, n in enumerate(names)]
    _spread(op, values, m)
    return op


_FOLDS: dict[str, Fold] = {"attribute": _attribute, "node": _node, "g": _graph, "graph": _graph}


# ---------------------------------------------------------------- descriptors
def _spread(op: OpRecord, values: dict[str, Any], m: Message) -> None:
    """Sort the attributes into descriptors, fields and the operator's own."""
    sides: dict[str, dict[int, dict[str, Any]]] = {"input": defaultdict(dict), "output": defaultdict(dict)}
    constants: dict[str, dict[str, Any]] = defaultdict(dict)
    for name, value in values.items():
        found = _DESC.match(name)
        if found is not None:
            side, own, field, index, whole = found.groups()
            if whole is not None:
                sides[side][int(whole)] |= _json_desc(value, name, op.name)
            elif field is not None:
                sides[side][int(index)][f"attr {field}" if own else field] = value
            continue
        if name in _FIELD_ATTRS:
            continue
        if isinstance(value, bytes):
            base, mark, part = name.rpartition("_desc_")
            if mark and part in ("dtype", "layout", "device_type"):
                constants[base][part] = as_text(value)
                continue
            if name.endswith("_data"):
                constants[name.removesuffix("_data")]["data"] = value
                continue
            value = as_text(value)
        elif name.endswith("_desc_shape") and isinstance(value, tuple):
            constants[name.removesuffix("_desc_shape")]["shape"] = value
            continue
        if isinstance(value, list):  # a graph on another node than a carrier
            value = ", ".join(f"graph {g.name}" for g in value)
        if value is not None:
            op.attrs[name] = value
    for base, parts in constants.items():
        op.attrs[base] = _constant(parts)
    op.outputs = _descs(sides["output"], _whole(values.get("output_desc_nums"), None), len(m.all("output")))
    op.input_descs = _descs(sides["input"], _whole(values.get("input_desc_nums"), None), 0)


def _descs(found: dict[int, dict[str, Any]], stated: int | None, named: int) -> list[DescRecord]:
    count = max(found, default=-1) + 1
    if stated is not None and 0 <= stated <= _DESC_LIMIT:
        count = max(count, stated)
    if not count and named == 1:
        count = 0  # the names of used outputs say it, see ge_build
    return [_desc(found.get(k, {})) for k in range(min(count, _DESC_LIMIT))]


def _desc(fields: dict[str, Any]) -> DescRecord:
    d = DescRecord()
    for key, value in fields.items():
        plain = as_text(value) if isinstance(value, bytes) else tuple(value) if isinstance(value, list) else value
        key = key.removeprefix("attr ")
        if key == "dtype" and isinstance(plain, str):
            d.dtype = dtype_name(plain)
        elif key == "shape" and isinstance(plain, tuple):
            d.shape = dims([v for v in plain if isinstance(v, int)])
        elif key in _DESC_KEYS:
            d.attrs[_DESC_KEYS[key]] = plain
        elif (key in _DESC_PLAIN or key.startswith("_")) and plain not in (None, 0, ""):
            d.attrs[key] = plain
    return d


def _json_desc(value: Any, name: str, node: str) -> dict[str, Any]:
    """From 20 tensors on a side, GE writes each descriptor as one JSON text."""
    try:
        found = json.loads(as_text(value)) if isinstance(value, bytes) else None
    except (ValueError, RecursionError):
        raise InputError(
            "a descriptor is no JSON", got=name, where=f"node {shorten(node)}", todo="Dump the graph again."
        ) from None
    return found if isinstance(found, dict) else {}


def _constant(parts: dict[str, Any]) -> Any:
    dtype, data = dtype_name(parts.get("dtype", "")), parts.get("data", b"")
    shape = tuple(v for v in parts.get("shape", ()) if isinstance(v, int) and v >= 0)
    if dtype in NUMPY_DTYPES and 0 < len(data) <= VALUE_LIMIT:
        value = ConstantValue(dtype, shape, data)
        if value.array() is not None:
            return value
    return f"{dtype or '?'}{list(shape)} {f'{len(data)} bytes' if data else 'without data'}"


def _whole(value: Any, default: int | None) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else default


def _wholes(value: Any) -> list[int]:
    return [v for v in value if isinstance(v, int)] if isinstance(value, tuple) else []

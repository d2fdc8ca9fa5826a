"""Records to a GE-like graph: Data, Const, operators with GE's types, NetOutput, and one scope per body.

As GE's ONNX parser does it (parser/onnx/onnx_parser.cc, onnx_data_parser.cc, if_subgraph_adapter.cc), with two
differences that the report names: nodes GE would expand into small graphs stay one node, and bodies GE has no adapter
for (Loop, Scan, SequenceMap) become scopes as well.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from ge_explorer.graph.builder import GX_CORE, GX_DURATION, GX_DURATION_ORIGIN, GX_ENGINE, PARENT_INDEX
from ge_explorer.graph.constant import VALUE, ConstantValue
from ge_explorer.graph.edit import GraphEditor
from ge_explorer.graph.model import Graph, Shape
from ge_explorer.loaders.ge_types import COLLECTIVES, Mapped, ge_type
from ge_explorer.loaders.onnx_records import GraphRecord, NodeRecord, Proto
from ge_explorer.loaders.onnx_shapes import Types
from ge_explorer.loaders.onnx_tensors import EXTERNAL, attribute_value, small_value, tensor_spec, type_spec
from ge_explorer.loaders.own_json_values import unpack

PARALLEL_GROUP = "_parallel_group"
FUNCTION = "_gx_function"
"""Our attribute: chain of local functions a node was expanded from, outermost first."""
CALL = "_gx_call"
"""Our attribute: names of the calling nodes of those functions, outermost first: which instance it is."""
KIND = "_gx_onnx_type"
"""Our tensor attribute: ONNX's spelling of a value that is no plain tensor, such as ``seq(tensor(float))``."""
DOMAIN = "_gx_domain"
OPSETS = "_gx_opsets"
"""Our graph attribute: (domain, version) rows of the file."""
CAPTURED = "_gx_captured"
"""Our attribute of a Data node that a body takes from outside without being handed it."""
BODY = "_gx_body"
"""Our scope attribute: name of the ONNX attribute that held the body."""
METADATA = "gx.attr."
"""Start of the node metadata an ONNX file carries our attributes in (exports/onnx_export.py writes it)."""
CONTROL = "gx.control"
"""Node metadata: names of the nodes a node waits for without reading from them."""
METADATA_LIMIT = 1024 * 1024
OUTPUT_NAMES = "_gx_names"
"""Our attribute of a NetOutput: the names of the results, in order."""
VALUE_BUDGET = 32 * 1024 * 1024
"""Bytes of constant values kept per model; later constants keep shape and type only."""

_TYPED = {GX_ENGINE: str, GX_CORE: str, GX_DURATION: int, GX_DURATION_ORIGIN: str}
_TEXT_KEYS = frozenset({"_stream_label", "_user_stream_label", PARALLEL_GROUP, "_op_aicore_num", "_op_vectorcore_num"})


class Converter:
    """Builds the graph; afterwards ``mapped`` counts (type, kind), ``open_types`` the tensors of unknown shape."""

    def __init__(self, types: Types, name: str, attrs: dict[str, Any]) -> None:
        self._types = types
        self._editor = GraphEditor.empty(name, attrs=attrs)
        self._tensor: dict[str, int] = {}
        self._known: dict[str, tuple[Shape | None, str | None]] = {}
        self._names: set[str] = set()
        self._ids: dict[tuple[int, str], int] = {}
        self._groups: dict[str, str] = {}
        self._specs: dict[str, tuple[Shape | None, str | None, str]] = {}
        self._budget = VALUE_BUDGET
        self.mapped: Counter[tuple[str, str, str]] = Counter()
        self.unused: list[str] = []
        self.external: list[tuple[str, str]] = []
        self.dropped_attributes: list[str] = []
        self.other_kinds: Counter[str] = Counter()
        self.unknown_shapes = 0
        self.tensors = 0
        self.collectives = 0

    def run(self, record: GraphRecord) -> Graph:
        """Whole graph."""
        self._scope(record, 0, "", (), 0)
        return self._editor.freeze()

    # ---------------------------------------------------------------- one scope
    def _scope(
        self, record: GraphRecord, scope: int, prefix: str, captured: tuple[tuple[str, int], ...], shift: int
    ) -> None:
        outer = {s: self._tensor.get(s) for s, _ in captured}
        for index, (s, message) in enumerate(record.inputs):
            spec = self._spec(s, message)
            attrs: dict[str, Any] = {"index": index}
            if scope:
                attrs[PARENT_INDEX] = index + shift
            self._source(s, f"{prefix}{s}", "Data", spec, attrs, scope, "")
        for k, (s, parent_index) in enumerate(captured):
            attrs = {"index": len(record.inputs) + k, PARENT_INDEX: parent_index, CAPTURED: True}
            self._source(s, f"{prefix}{s}", "Data", self._known.get(s, (None, None)), attrs, scope, "")
        self._weights(record, scope, prefix)
        made: list[int] = []
        for n in record.nodes:
            made.append(self._node(n, scope, prefix))
        for n, i in zip(record.nodes, made, strict=True):
            self._editor.connect_all([None if s is None else self._tensor.get(s) for s in n.inputs], i)
        for n, i in zip(record.nodes, made, strict=True):
            self._control_edges(n, i, scope)
        for n, i in zip(record.nodes, made, strict=True):
            if n.bodies:
                self._bodies(n, i, prefix)
        ends = [None if o is None else self._tensor.get(o) for o in record.outputs]
        names = {OUTPUT_NAMES: tuple(o or "" for o in record.outputs)}
        self._editor.add_node(self._unique(f"{prefix}Node_Output"), "NetOutput", inputs=ends, scope=scope, attrs=names)
        for s, tensor in outer.items():
            if tensor is not None:
                self._tensor[s] = tensor

    def _weights(self, record: GraphRecord, scope: int, prefix: str) -> None:
        used: set[str] = {o for o in record.outputs if o is not None}
        for n in record.nodes:
            used.update(s for s in n.inputs if s is not None)
            for _, body in n.bodies:
                used.update(body.captured)
        rank = {s: k for k, s in enumerate(sorted(s for s, _ in record.weights))}
        for s, t in record.weights:
            if s not in used:
                self.unused.append(s)
                continue
            attrs: dict[str, Any] = {}
            op = "Const"
            if not hasattr(t, "values") and t.data_location == EXTERNAL:
                op = "FileConstant"
                where = {e.key: e.value for e in t.external_data}
                attrs = {k: where[k] for k in ("location", "offset", "length") if k in where}
                self.external.append((s, where.get("location", "")))
            elif not hasattr(t, "values"):
                self._keep(attrs, small_value(t))
            self._source(s, f"{prefix}{s}_Initializer_{rank[s]}", op, tensor_spec(t), attrs, scope, "Initializer")

    def _source(self, symbol: str, name: str, op: str, spec: tuple[Shape | None, str | None], attrs: dict[str, Any], scope: int,
                source_op: str) -> None:  # fmt: skip
        i = self._editor.add_node(
            self._unique(name), op, outputs=[spec], attrs=attrs, scope=scope, source_op=source_op, tensor_names=[symbol]
        )
        self._tensor[symbol], self._known[symbol] = self._editor.output(i), spec
        self._mark(symbol, self._tensor[symbol], spec[0])

    def _node(self, n: NodeRecord, scope: int, prefix: str) -> int:
        captures = sorted({s for _, body in n.bodies for s in body.captured})
        if captures:
            n.inputs = [*n.inputs, *captures]
        specs = [(None, None) if s is None else self._spec(s, None) for s in n.outputs]
        attrs = self._attributes(n)
        mapped, op = self._type(n, attrs)
        self.mapped[(n.op, op, mapped.kind)] += 1
        if op in ("Constant", "FileConstant"):
            specs = self._constant(n, attrs, specs)
        if op in COLLECTIVES:
            self._group(n, attrs)
        if n.domain != "ai.onnx":
            attrs[DOMAIN] = n.domain
        if n.function:
            attrs[FUNCTION], attrs[CALL] = n.function, n.calls
        i = self._editor.add_node(
            self._unique(f"{prefix}{n.name}"), op, inputs=[None] * len(n.inputs), outputs=specs, attrs=attrs, scope=scope,
            source_op=n.op, tensor_names=[s or "" for s in n.outputs],
        )  # fmt: skip
        self._ids[(scope, n.name)] = i
        for k, s in enumerate(n.outputs):
            if s is not None:
                self._tensor[s], self._known[s] = self._editor.output(i, k), specs[k]
                self._mark(s, self._tensor[s], specs[k][0])
        return i

    def _bodies(self, n: NodeRecord, i: int, prefix: str) -> None:
        position = {s: k for k, s in enumerate(n.inputs) if s is not None}
        # If keeps its condition; Scan of opset 8 has the sequence lengths in front
        shift = 1 if n.op == "If" or (n.op == "Scan" and 0 < n.version < 9) else 0
        # GE's If has the then branch in slot 0; the file may list its attributes in any order
        for attribute, body in sorted(n.bodies, key=lambda b: n.op == "If" and b[0] == "else_branch"):
            scope = self._editor.add_scope(f"{prefix}{body.name}", i, attrs={BODY: attribute})
            captured = tuple((s, position[s]) for s in sorted(body.captured))
            self._scope(body, scope, f"{prefix}{body.name}/", captured, shift)

    # ---------------------------------------------------------------- details
    def _type(self, n: NodeRecord, attrs: dict[str, Any]) -> tuple[Mapped, str]:
        if n.op == "Constant" and n.domain == "ai.onnx":
            external = any(a.HasField("t") and a.t.data_location == EXTERNAL for a in n.attributes)
            return Mapped("Constant", "same"), "FileConstant" if external else "Constant"
        first = n.inputs[0] if n.inputs else None
        shape = self._type_of(first)[0] if first is not None else None
        m = ge_type(n.op, n.domain, n.version, None if shape is None else len(shape), len(n.inputs))
        return m, m.op

    def _constant(
        self, n: NodeRecord, attrs: dict[str, Any], specs: list[Any]
    ) -> list[tuple[Shape | None, str | None]]:
        for a in n.attributes:
            if a.name == "value" and a.HasField("t"):
                if a.t.data_location == EXTERNAL:
                    self.external.append(
                        (n.name, next((e.value for e in a.t.external_data if e.key == "location"), ""))
                    )
                self._keep(attrs, small_value(a.t))
                attrs.pop("value", None)
                return [tensor_spec(a.t)]
            plain = {"value_float": "float", "value_floats": "float", "value_int": "int64", "value_ints": "int64"}.get(
                a.name
            )
            if plain is not None:
                import numpy as np

                self._keep(attrs, ConstantValue.of(np.array(attrs.pop(a.name)), plain))
                return [(attrs[VALUE].shape if VALUE in attrs else specs[0][0], plain)]
        return specs

    def _keep(self, attrs: dict[str, Any], value: ConstantValue | None) -> None:
        if value is not None and len(value.data) <= self._budget:
            self._budget -= len(value.data)
            attrs[VALUE] = value

    def _attributes(self, n: NodeRecord) -> dict[str, Any]:
        out: dict[str, Any] = {}
        for a in n.attributes:
            value = attribute_value(a)
            wanted = _TYPED.get(a.name) or (str if a.name in _TEXT_KEYS else None)
            if (wanted is not None and not isinstance(value, wanted)) or (
                a.name.startswith("_gx_") and a.name not in _TYPED
            ):
                self.dropped_attributes.append(f"{n.name}.{a.name}")
                continue
            out[a.name] = value
        for p in getattr(n.proto, "metadata_props", ()) if n.proto is not None else ():
            if p.key.startswith(METADATA):
                self._from_metadata(n, p.key.removeprefix(METADATA), p.value, out)
        return out

    def _from_metadata(self, n: NodeRecord, key: str, text: str, out: dict[str, Any]) -> None:
        """An attribute our own export wrote beside the operator's schema. Attributes of the file itself win."""
        wanted = _TYPED.get(key) or (str if key in _TEXT_KEYS else None)
        try:
            value = unpack(json.loads(text)) if len(text) <= METADATA_LIMIT else None
        except (ValueError, RecursionError):
            value = None
        if (
            value is None
            or (wanted is not None and not isinstance(value, wanted))
            or (key.startswith("_gx_") and key not in _TYPED)
        ):
            if not key.startswith("_gx_"):
                self.dropped_attributes.append(f"{n.name}.{key}")
            return
        out.setdefault(key, value)

    def _control_edges(self, n: NodeRecord, i: int, scope: int) -> None:
        """Control inputs our own export wrote; only from nodes in front, so that no file can close a circle."""
        for p in getattr(n.proto, "metadata_props", ()) if n.proto is not None else ():
            if p.key == CONTROL:
                try:
                    names = unpack(json.loads(p.value)) if len(p.value) <= METADATA_LIMIT else ()
                except (ValueError, RecursionError):
                    names = ()
                for name in names if isinstance(names, tuple) else ():
                    source = self._ids.get((scope, name)) if isinstance(name, str) else None
                    if source is not None and source < i:
                        self._editor.add_control(source, i)

    def _group(self, n: NodeRecord, attrs: dict[str, Any]) -> None:
        """As HCOM's OptimizeGraphPrepare: one ``hcom_op_<k>`` per communication group, counted from 1 in first-seen order."""
        self.collectives += 1
        group = str(attrs.get("group", "hccl_world_group"))
        attrs.setdefault(PARALLEL_GROUP, self._groups.setdefault(group, f"hcom_op_{len(self._groups) + 1}"))

    def _spec(self, symbol: str, message: Proto) -> tuple[Shape | None, str | None]:
        if message is not None and symbol not in self._types.of:
            return type_spec(message)[:2]
        return self._type_of(symbol)[:2]

    def _type_of(self, symbol: str) -> tuple[Shape | None, str | None, str]:
        """Shape, type and kind of a symbol; protobuf is slow to ask, so it is asked once."""
        found = self._specs.get(symbol)
        if found is None:
            found = self._specs[symbol] = type_spec(self._types.of.get(symbol))
        return found

    def _mark(self, symbol: str, tensor: int, shape: Shape | None) -> None:
        self.tensors += 1
        kind = self._type_of(symbol)[2]
        if kind:
            self.other_kinds[kind] += 1
            self._editor.set_tensor(tensor, attrs={KIND: kind})
        elif shape is None or not all(isinstance(d, int) for d in shape):
            self.unknown_shapes += 1

    def _unique(self, wanted: str) -> str:
        name, k = wanted, 0
        while name in self._names:
            k += 1
            name = f"{wanted}_{k}"
        self._names.add(name)
        return name

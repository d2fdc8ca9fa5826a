"""A graph as an ONNX model that other tools accept, with what GE decided in ``metadata_props``.

Operators that came from ONNX go back under their ONNX type; every other GE operator becomes a node of domain ``ge``. ONNX
has no control edges, no stream attributes and no Send or Recv: control inputs and attributes outside the operator's schema
are node metadata (``gx.control``, ``gx.attr.<key>``), so checker and ONNX Runtime accept the file and ``load`` reads them
back.
"""

from __future__ import annotations

import json
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

from ge_explorer.errors import OptionError
from ge_explorer.exports.onnx_types import dtype_number, kind_proto
from ge_explorer.graph.constant import VALUE, ConstantValue
from ge_explorer.graph.model import CONST_LIKE, DATA_LIKE, Graph, Node, Tensor
from ge_explorer.loaders.ge_types import ge_type
from ge_explorer.loaders.onnx_convert import BODY, CAPTURED, CONTROL, DOMAIN, KIND, METADATA, OPSETS, OUTPUT_NAMES
from ge_explorer.loaders.onnx_weights import NOTHING, FileParts, parts_of
from ge_explorer.loaders.own_json_values import BadValue, pack
from ge_explorer.trace.state import Snapshot, int_array

GE_DOMAIN = "ge"
DEFAULT_OPSET = 17
IR_VERSION = 10
"""First version whose nodes have metadata."""
TYPE_PROTO = 13
Proto = Any


def to_onnx(graph: Graph, snapshot: Snapshot | None = None, original: Proto = None) -> Proto:
    """``onnx.ModelProto`` of a graph.

    ``snapshot``: a state of this graph whose streams, events and offsets are written as node metadata (``gx.stream``,
    ``gx.physical_stream``, ``gx.offset``, ``gx.order``). ``original``: the model the graph was loaded from; weights too large
    to be kept in the graph are taken from it. A weight nobody knows becomes an input of the model, listed in the model's
    metadata ``gx.weights_as_inputs``. OptionError for a snapshot of another graph.
    """
    if snapshot is not None and snapshot.graph is not graph:
        raise OptionError("the snapshot is a state of another graph", todo="Give to_onnx(snapshot.graph, snapshot).")
    return _Writer(graph, snapshot, parts_of(original) if original is not None else NOTHING).run()


def decided(graph: Graph, final: Snapshot) -> Snapshot:
    """What ``final`` says about the nodes that ``graph``, the graph its compilation began with, has in common with it."""
    alive = final.graph.nodes
    same = tuple(i for i in graph.node_ids if i < len(alive) and alive[i] is not None)
    streams = final.streams
    if streams is not None:
        node = [-1] * graph.id_bound
        for i in same:
            node[i] = int(streams.node[i])
        streams = replace(streams, node=int_array(node), attached={})
    physical = final.physical
    if physical is not None:
        node = [-1] * graph.id_bound
        for i in same:
            node[i] = int(physical.node[i])
        physical = replace(physical, node=int_array(node))
    sync = final.sync
    if sync is not None:
        known = set(same)
        sync = replace(sync, events=tuple(e for e in sync.events if e.send in known and e.recv in known))
    return Snapshot(graph, final.options, streams=streams, sync=sync, physical=physical, memory=final.memory)


def original_of(path: str | PathLike[str]) -> Proto:
    """The ONNX file at ``path``, for its weights (side files not read); None for any other file or no file."""
    import onnx
    from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

    if not Path(path).is_file():
        return None
    try:
        return onnx.load_model_from_string(Path(path).read_bytes())
    except (DecodeError, ValueError):
        return None


class _Writer:
    def __init__(self, graph: Graph, snapshot: Snapshot | None, parts: FileParts) -> None:
        import onnx

        self.onnx, self.graph, self.parts = onnx, graph, parts
        self.opsets = dict(graph.attrs.get(OPSETS, ())) or {"ai.onnx": DEFAULT_OPSET}
        self.name: dict[int, str] = {}
        self.taken: set[str] = set()
        self.as_inputs: list[str] = []
        self.facts = _facts(snapshot) if snapshot is not None else {}
        self.domains: set[str] = set()

    def run(self) -> Proto:
        onnx = self.onnx
        self._name_tensors()
        model = onnx.ModelProto()
        model.ir_version = IR_VERSION
        model.producer_name = "ge_explorer"
        self._graph(0, model.graph)
        for name in self.as_inputs:
            model.graph.input.append(self._info(self._tensor_named[name]))
        for domain in sorted({*self.domains, "ai.onnx"}):
            version = self.opsets.get(domain, DEFAULT_OPSET if domain == "ai.onnx" else 1)
            model.opset_import.add(domain="" if domain == "ai.onnx" else domain, version=version)
        if self.as_inputs:
            model.metadata_props.add(key="gx.weights_as_inputs", value=json.dumps(self.as_inputs))
        return model

    # ---------------------------------------------------------------- names
    def _name_tensors(self) -> None:
        """A body sees outer names, so names are unique over the model; what a body only hands in keeps the outer name."""
        g = self.graph
        self._tensor_named: dict[str, Tensor] = {}
        for s in self._outside_in():
            outer = self._handed_in(s)
            for i in g.scope(s).nodes:
                n = g.node(i)
                for t in n.outputs:
                    wanted = g.tensor(t).name or f"{n.name}:{g.tensor(t).index}"
                    if n.op in DATA_LIKE and wanted == f"{n.name}:0":
                        wanted = n.name  # an input of ONNX has one name
                    self.name[t] = outer.get(i) or self._unique(wanted)
                    self._tensor_named.setdefault(self.name[t], g.tensor(t))

    def _outside_in(self) -> list[int]:
        order, k = [0], 0
        while k < len(order):
            for i in self.graph.scope(order[k]).nodes:
                order += self.graph.node(i).subgraphs
            k += 1
        return order

    def _handed_in(self, s: int) -> dict[int, str]:
        """Data node of a body -> name of the outer tensor it stands for. A body of If has no inputs of its own."""
        g = self.graph
        if not s:
            return {}
        owner = g.node(g.scope(s).parent)
        out: dict[int, str] = {}
        for i in g.scope(s).nodes:
            n = g.node(i)
            index = n.attrs.get("_parent_node_index")
            if (
                n.op in DATA_LIKE
                and isinstance(index, int)
                and (n.attrs.get(CAPTURED) or self._onnx_type(owner) == "If")
            ):
                t = owner.inputs[index] if 0 <= index < len(owner.inputs) else None
                if t is not None and t in self.name:
                    out[i] = self.name[t]
        return out

    def _unique(self, wanted: str) -> str:
        name, k = wanted, 1
        while name in self.taken:
            k += 1
            name = f"{wanted}#{k}"
        self.taken.add(name)
        return name

    # ---------------------------------------------------------------- graphs
    def _graph(self, s: int, out: Proto) -> None:
        g = self.graph
        out.name = g.scope(s).name or "graph"
        handed = self._handed_in(s)
        ends: Node | None = None
        for i in g.scope(s).nodes:
            n = g.node(i)
            if n.op == "NetOutput":
                ends = n
            elif n.op in DATA_LIKE:
                if i not in handed and n.outputs:
                    out.input.append(self._info(g.tensor(n.outputs[0])))
            elif n.op in CONST_LIKE and not self._stays_constant(n):
                self._constant(n, out)
            else:
                self._node(n, out)
        names = ends.attrs.get(OUTPUT_NAMES, ()) if ends is not None else ()
        for k, t in enumerate(ends.inputs if ends is not None else ()):
            if t is not None:
                self._output(out, g.tensor(t), names[k] if isinstance(names, tuple) and k < len(names) else "")

    def _output(self, out: Proto, t: Tensor, wanted: str) -> None:
        """A result keeps its name; where a pass put another tensor there, an Identity carries the name on."""
        name = self.name[t.id]
        made = {o.name for o in out.output}
        handed = name not in {x for n in out.node for x in n.output} | {v.name for v in (*out.input, *out.initializer)}
        if (wanted and wanted != name and wanted not in self.taken) or name in made or handed:
            new = self._unique(wanted or name)
            out.node.add(op_type="Identity", name=self._unique(f"{new}_result"), input=[name], output=[new])
            name = new
        out.output.append(self._info(t, name))

    def _info(self, t: Tensor, name: str = "") -> Proto:
        v = self.onnx.ValueInfoProto(name=name or self.name[t.id])
        kind = t.attrs.get(KIND)
        if isinstance(kind, str):
            v.type.CopyFrom(kind_proto(kind))
            return v
        if t.dtype is None and t.shape is None:
            return v
        v.type.tensor_type.elem_type = dtype_number(t.dtype)
        if t.shape is not None:
            v.type.tensor_type.shape.SetInParent()
            for d in t.shape:
                dim = v.type.tensor_type.shape.dim.add()
                if isinstance(d, int):
                    dim.dim_value = d
                elif d:
                    dim.dim_param = d
        return v

    # ---------------------------------------------------------------- constants
    def _stays_constant(self, n: Node) -> bool:
        """A Constant node of the file whose value is known stays a node; everything else becomes an initialiser."""
        if n.source_op != "Constant" or n.op == "Const":
            return False
        name = self.graph.tensor(n.outputs[0]).name
        return VALUE in n.attrs or name in self.parts.weights or any(k.startswith("value") for k in n.attrs)

    def _constant(self, n: Node, out: Proto) -> None:
        t = self.graph.tensor(n.outputs[0])
        name = self.name[t.id]
        value = n.attrs.get(VALUE)
        if isinstance(value, ConstantValue):
            out.initializer.append(self._tensor(value, name))
        elif t.name in self.parts.weights:
            kept = out.initializer.add()
            kept.CopyFrom(self.parts.weights[t.name])
            kept.name = name
        elif isinstance(n.attrs.get("location"), str) and n.op == "FileConstant":
            kept = out.initializer.add(name=name, data_type=dtype_number(t.dtype), data_location=1)
            kept.dims.extend(d for d in t.shape or () if isinstance(d, int))
            for key in ("location", "offset", "length"):
                if key in n.attrs:
                    kept.external_data.add(key=key, value=str(n.attrs[key]))
        else:
            self.as_inputs.append(name)

    def _tensor(self, value: ConstantValue, name: str = "") -> Proto:
        return self.onnx.TensorProto(
            name=name, data_type=dtype_number(value.dtype), dims=value.shape, raw_data=value.data
        )

    # ---------------------------------------------------------------- nodes
    def _onnx_type(self, n: Node) -> str:
        """ONNX type of a node that still is what the file said; "" for GE's own operators."""
        if not n.source_op or n.source_op == "Initializer":
            return ""
        domain = str(n.attrs.get(DOMAIN, "ai.onnx"))
        first = next((t for t in n.inputs[:1] if t is not None), None)
        shape = self.graph.tensor(first).shape if first is not None else None
        version = self.opsets.get(domain, DEFAULT_OPSET)
        mapped = ge_type(n.source_op, domain, version, None if shape is None else len(shape), len(n.inputs))
        return n.source_op if mapped.op == n.op or n.source_op == "Constant" else ""

    def _node(self, n: Node, out: Proto) -> None:
        g = self.graph
        kind = self._onnx_type(n)
        domain = str(n.attrs.get(DOMAIN, "ai.onnx")) if kind else GE_DOMAIN
        self.domains.add(domain)
        node = out.node.add(op_type=kind or n.op, name=n.name, domain="" if domain == "ai.onnx" else domain)
        captured = {
            g.node(i).attrs.get("_parent_node_index")
            for s in n.subgraphs for i in g.scope(s).nodes if g.node(i).attrs.get(CAPTURED)
        }  # fmt: skip
        inputs = [("" if t is None else self.name[t]) for k, t in enumerate(n.inputs) if k not in captured]
        if kind == "If":
            inputs = inputs[:1]
        node.input.extend(inputs)
        node.output.extend("" if self._absent(t) else self.name[t] for t in n.outputs)
        self._attributes(n, node, kind, domain)
        for k, s in enumerate(n.subgraphs):
            body = g.scope(s).attrs.get(BODY)
            a = node.attribute.add(name=str(body) if body else f"subgraph_{k}", type=5)
            self._graph(s, a.g)
        for t in n.outputs:
            if g.tensor(t).shape is not None and not self._absent(t):
                out.value_info.append(self._info(g.tensor(t)))
        self._metadata(n, node)

    def _absent(self, t: int) -> bool:
        tensor = self.graph.tensor(t)
        return not tensor.name and not self.graph.data_out[tensor.producer]

    def _attributes(self, n: Node, node: Proto, kind: str, domain: str) -> None:
        schema = self._schema(kind, domain) if kind else None
        first = self.graph.tensor(n.outputs[0]).name if n.outputs else ""
        value = n.attrs.get(VALUE)
        if kind == "Constant" and isinstance(value, ConstantValue):
            node.attribute.add(name="value", type=4).t.CopyFrom(self._tensor(value))
        elif kind == "Constant" and first in self.parts.weights:
            node.attribute.add(name="value", type=4).t.CopyFrom(self.parts.weights[first])
        for key, value in n.attrs.items():
            if key.startswith("_gx_"):
                continue
            a: Proto = self.parts.attributes.get((first, key)) or self._attribute(key, value)
            if schema is not None and schema.get(key) == TYPE_PROTO and isinstance(value, str):
                a = self.onnx.AttributeProto(name=key, tp=kind_proto(value))
                a.type = TYPE_PROTO
            if a is not None and (schema is None or schema.get(key) == int(a.type)):
                node.attribute.append(a)
            else:
                self._meta(node, f"{METADATA}{key}", value)

    def _schema(self, kind: str, domain: str) -> dict[str, int] | None:
        """Attribute name -> AttributeProto type of an operator; None where ONNX has no schema."""
        plain = "" if domain == "ai.onnx" else domain
        try:
            found = self.onnx.defs.get_schema(kind, self.opsets.get(domain, DEFAULT_OPSET), plain)
        except self.onnx.defs.SchemaError:
            return None
        return {name: int(getattr(a.type, "value", 0)) for name, a in found.attributes.items()}

    def _attribute(self, key: str, value: Any) -> Proto:
        """AttributeProto, or None for a value ONNX has no form for."""
        a: Proto = self.onnx.AttributeProto(name=key)
        if isinstance(value, ConstantValue):
            a.type = 4
            a.t.CopyFrom(self._tensor(value))
        elif isinstance(value, bool | int) and -(2**63) <= value < 2**63:
            a.type, a.i = 2, int(value)
        elif isinstance(value, float):
            a.type, a.f = 1, value
        elif isinstance(value, str):
            a.type, a.s = 3, value.encode("utf-8", "replace")
        elif isinstance(value, tuple) and all(isinstance(v, int) and -(2**63) <= v < 2**63 for v in value):
            a.type = 7
            a.ints.extend(int(v) for v in value)
        elif isinstance(value, tuple) and all(isinstance(v, int | float) for v in value):
            a.type = 6
            a.floats.extend(float(v) for v in value)
        elif isinstance(value, tuple) and all(isinstance(v, str) for v in value):
            a.type = 8
            a.strings.extend(v.encode("utf-8", "replace") for v in value)
        else:
            return None
        return a

    # ---------------------------------------------------------------- metadata
    def _metadata(self, n: Node, node: Proto) -> None:
        for key, value in n.attrs.items():
            if key.startswith("_gx_") and key not in (DOMAIN, VALUE, KIND, OUTPUT_NAMES):
                self._meta(node, f"{METADATA}{key}", value)
        if n.control_in:
            self._meta(node, CONTROL, tuple(self.graph.unique_names[c] for c in n.control_in))
        if node.domain != GE_DOMAIN:
            node.metadata_props.add(key="gx.ge_type", value=n.op)
        for key, value in self.facts.get(n.id, {}).items():
            node.metadata_props.add(key=key, value=value)

    def _meta(self, node: Proto, key: str, value: Any) -> None:
        try:
            text = json.dumps(pack(value), ensure_ascii=False, separators=(",", ":"))
        except BadValue:
            return
        node.metadata_props.add(key=key, value=text)


def _facts(s: Snapshot) -> dict[int, dict[str, str]]:
    """What a state says of each node, as text."""
    out: dict[int, dict[str, str]] = {i: {} for i in s.graph.node_ids}
    for i, facts in out.items():
        if s.order is not None and i < len(s.order):
            facts["gx.order"] = str(int(s.order[i]))
        if s.streams is not None and i < len(s.streams.node):
            facts["gx.stream"] = str(int(s.streams.node[i]))
        if s.physical is not None and i < len(s.physical.node):
            facts["gx.physical_stream"] = str(int(s.physical.node[i]))
        if s.placement is not None and i < len(s.placement.engine) and s.placement.engine[i]:
            facts["gx.engine"] = s.placement.engine[i]
    for e in s.sync.events if s.sync is not None else ():
        for i, key in ((e.send, "gx.sends"), (e.recv, "gx.waits_for")):
            if i in out:
                out[i][key] = " ".join(filter(None, (out[i].get(key), str(e.id))))
    if s.memory is not None:
        for b, at in zip(s.memory.problem.buffers, s.memory.plan.offsets, strict=True):
            for t in b.tensors:
                tensor = s.graph.tensors[t] if t < len(s.graph.tensors) else None
                if tensor is not None and tensor.producer in out:
                    out[tensor.producer][f"gx.offset.{tensor.index}"] = str(at + b.inside.get(t, 0))
    return out

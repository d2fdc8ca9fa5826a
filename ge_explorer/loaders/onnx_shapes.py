"""Shapes and types of every symbol: what the file declares, filled up by ONNX's own shape inference.

Inference runs on a skeleton of the flattened model: nodes in order, functions expanded, large weights replaced by their
type. So it needs no weights and never touches the 2 GiB limit of a protobuf message.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ge_explorer.loaders.onnx_guard import InferenceFailed, infer_safely
from ge_explorer.loaders.onnx_records import GraphRecord, NodeRecord, Proto, topological
from ge_explorer.loaders.onnx_tensors import EXTERNAL, bytes_of

BOOL = 9
SMALL_WEIGHT = 4096
"""Bytes up to which a weight stays in the skeleton (reshape targets, axes and pads are this small)."""


@dataclass(frozen=True, slots=True)
class Types:
    """Type message of each symbol that has one; ``failure`` is the first line of what inference complained about."""

    of: Mapping[str, Proto]
    failure: str = ""


def infer(graph: GraphRecord, model: Proto, dims: Mapping[str, int]) -> Types:
    """Types of all symbols. ``dims`` gives values to symbolic dimensions of the inputs first."""
    declared: dict[str, Proto] = {}
    _declared(graph, declared, dims)
    skeleton = _model(graph, model, declared)
    try:
        inferred = infer_safely(skeleton)
    except InferenceFailed as e:
        return Types(declared, str(e))
    types = dict(declared)
    _collect(inferred.graph, types)
    _dropout_masks(graph, types)
    return Types(types)


def _dropout_masks(graph: GraphRecord, types: dict[str, Proto]) -> None:
    """ONNX infers no type for the mask of older Dropout versions; its definition fixes one: the shape of the data, the
    element type of the data before opset 10 and bool from then on.
    """
    for n in graph.nodes:
        if n.op == "Dropout" and n.domain == "ai.onnx" and len(n.outputs) > 1 and n.inputs:
            source, mask = n.inputs[0], n.outputs[1]
            if source in types and mask is not None and mask not in types:
                types[mask] = message = type(types[source])()
                message.CopyFrom(types[source])
                if n.version >= 10 and message.WhichOneof("value") == "tensor_type":
                    message.tensor_type.elem_type = BOOL
        for _, body in n.bodies:
            _dropout_masks(body, types)


def _bind(message: Proto, dims: Mapping[str, int]) -> Proto:
    if not dims or message.WhichOneof("value") != "tensor_type":
        return message
    if not any(d.dim_param in dims for d in message.tensor_type.shape.dim):
        return message
    copy = type(message)()
    copy.CopyFrom(message)
    for d in copy.tensor_type.shape.dim:
        if d.dim_param in dims:
            d.dim_value = dims[d.dim_param]
    return copy


def _declared(graph: GraphRecord, out: dict[str, Proto], dims: Mapping[str, int]) -> None:
    for s, message in graph.inputs:
        if message is not None:
            out[s] = _bind(message, dims)
    for s, message in graph.types.items():
        out.setdefault(s, _bind(message, dims))
    for n in graph.nodes:
        for _, body in n.bodies:
            _declared(body, out, dims)


def _model(graph: GraphRecord, model: Proto, declared: Mapping[str, Proto]) -> Proto:
    import onnx

    skeleton = onnx.ModelProto()
    skeleton.ir_version = max(model.ir_version, 4)  # from 4 on, initialisers need not be inputs
    opsets = {o.domain: o.version for o in model.opset_import}
    for f in model.functions:
        for o in f.opset_import:
            opsets.setdefault(o.domain, o.version)
    for domain, version in opsets.items():
        skeleton.opset_import.add(domain=domain, version=version)
    _graph(graph, skeleton.graph, declared, root=True)
    return skeleton


def _graph(record: GraphRecord, g: Proto, declared: Mapping[str, Proto], root: bool) -> None:
    g.name = record.name or "graph"
    for s, _ in record.inputs:
        v = g.input.add(name=s)
        if s in declared:
            v.type.CopyFrom(declared[s])
    for s, t in record.weights:
        size = bytes_of(t) if not hasattr(t, "values") else None
        if size is not None and size <= SMALL_WEIGHT and t.data_location != EXTERNAL:
            copy = g.initializer.add()
            copy.CopyFrom(t)
            copy.name = s
        else:
            _typed(g.input if root else g.value_info, s, t)
    order, _ = topological(record)
    for i in order:
        _node(record.nodes[i], g, declared)
    formal = {s for s, _ in record.inputs}
    for s in record.types:
        if s in declared and s not in formal:
            g.value_info.add(name=s).type.CopyFrom(declared[s])
    for o in record.outputs:
        if o is not None:
            v = g.output.add(name=o)
            if o in declared:
                v.type.CopyFrom(declared[o])


def _typed(target: Proto, symbol: str, t: Proto) -> None:
    v = target.add(name=symbol)
    values = t.values if hasattr(t, "values") else t
    v.type.tensor_type.elem_type = values.data_type
    v.type.tensor_type.shape.SetInParent()
    for d in t.dims:
        v.type.tensor_type.shape.dim.add(dim_value=d)


def _node(n: NodeRecord, g: Proto, declared: Mapping[str, Proto]) -> None:
    node = g.node.add(op_type=n.op, domain="" if n.domain == "ai.onnx" else n.domain)
    node.input.extend(s or "" for s in n.inputs)
    node.output.extend(s or "" for s in n.outputs)
    for a in n.attributes:
        if a.HasField("t") and (bytes_of(a.t) or 0) > SMALL_WEIGHT:
            symbol = n.outputs[0] if n.op == "Constant" and n.outputs else None
            if symbol is not None:
                _typed(g.value_info, symbol, a.t)
            continue
        node.attribute.add().CopyFrom(a)
    for name, body in n.bodies:
        a = node.attribute.add(name=name, type=5)
        _graph(body, a.g, declared, root=False)
    if n.op == "Constant" and not node.attribute:
        del g.node[-1]


def _collect(g: Proto, out: dict[str, Proto]) -> None:
    for v in (*g.value_info, *g.output):
        if v.HasField("type") and v.type.WhichOneof("value") is not None:
            out[v.name] = v.type
    for v in g.input:
        if v.HasField("type") and v.name not in out:
            out[v.name] = v.type
    for n in g.node:
        for a in n.attribute:
            if a.type == 5:
                _collect(a.g, out)

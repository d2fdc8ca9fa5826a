"""Shapes and types of every symbol: what the file declares, filled up by ONNX's own shape inference.

Inference runs on a skeleton of the flattened model: nodes in order, functions expanded, large weights replaced by their
type. So it needs no weights and never touches the 2 GiB limit of a protobuf message.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ge_explorer.loaders.onnx_guard import InferenceFailed, infer_safely
from ge_explorer.loaders.onnx_records import GraphRecord, NodeRecord, Proto, topological
from ge_explorer.loaders.onnx_tensors import EXTERNAL, INVENTED, bytes_of
from ge_explorer.loaders.onnx_values import improve, says_more

BOOL = 9
NO_NAMES = frozenset({"", "?", "-1", "None"})
"""Texts that exporters write for a dimension without a name."""
ROUNDS = 4
"""Times ONNX's inference runs again on what onnx_values.py found; every round costs as much as the first."""
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
    _name_open(graph, declared)
    skeleton = _model(graph, model, declared)
    try:
        inferred = infer_safely(skeleton)
    except InferenceFailed as e:
        return Types(declared, str(e))
    types = dict(declared)
    _collect(inferred.graph, types)
    _dropout_masks(graph, types)
    for _ in range(ROUNDS):
        found = improve(graph, types)
        if not found:
            break
        for s, shape in found.items():
            _say(types, s, shape)
        _declare(skeleton.graph, {s: types[s] for s in found})
        try:
            inferred = infer_safely(skeleton)
        except InferenceFailed:  # ONNX contradicts a shape it has no rule for: keep ours
            break
        better = dict(types)
        _collect(inferred.graph, better)
        types = {s: _richer(types.get(s), t) for s, t in better.items()}
    return Types(types)


def _say(types: dict[str, Proto], s: str, shape: tuple[int | str | None, ...]) -> None:
    import onnx

    new = onnx.TypeProto()
    if s in types:
        new.CopyFrom(types[s])
    new.tensor_type.shape.SetInParent()
    del new.tensor_type.shape.dim[:]
    for d in shape:
        dim = new.tensor_type.shape.dim.add()
        if isinstance(d, int):
            dim.dim_value = d
        elif d:
            dim.dim_param = d
    types[s] = new


def _declare(g: Proto, found: Mapping[str, Proto]) -> None:
    """Write types into the value infos and results of every graph that makes the tensors."""
    made = {o for n in g.node for o in n.output if o in found}
    for v in (*g.value_info, *g.output):
        if v.name in made:
            v.type.CopyFrom(found[v.name])
            made.discard(v.name)
    for s in made:
        if found[s].tensor_type.elem_type:
            g.value_info.add(name=s).type.CopyFrom(found[s])
    for n in g.node:
        for a in n.attribute:
            if a.type == 5:
                _declare(a.g, found)


def _richer(old: Proto | None, new: Proto) -> Proto:
    """The type that says more, dimension by dimension: ONNX's next pass can lose what it cannot derive itself."""
    if old is None or new.WhichOneof("value") != "tensor_type" or old.WhichOneof("value") != "tensor_type":
        return new
    if not old.tensor_type.HasField("shape"):
        return new
    before, after = old.tensor_type.shape.dim, new.tensor_type.shape.dim
    if not new.tensor_type.HasField("shape") or len(before) != len(after):
        return old
    keep = [k for k, (p, q) in enumerate(zip(before, after, strict=True)) if says_more(_plain(p), _plain(q))]
    if not keep:
        return new
    out = type(new)()
    out.CopyFrom(new)
    for k in keep:
        out.tensor_type.shape.dim[k].CopyFrom(before[k])
    return out


def _plain(d: Proto) -> int | str | None:
    kind = d.WhichOneof("value")
    return int(d.dim_value) if kind == "dim_value" else str(d.dim_param) if kind == "dim_param" else None


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


def _name_open(graph: GraphRecord, declared: dict[str, Proto]) -> None:
    """Open dimensions of the inputs get a name of their own, so that what is equal to one stays equal to it. Exporters that
    write ``?`` for every open dimension do not mean that all are equal.
    """
    count = 0
    inputs = {s for s, _ in graph.inputs}
    for s, message in declared.items():
        if message.WhichOneof("value") != "tensor_type":
            continue
        if not any(_is_open(d) for d in message.tensor_type.shape.dim):
            continue
        copy = type(message)()
        copy.CopyFrom(message)
        for d in copy.tensor_type.shape.dim:
            if _is_open(d):
                d.Clear()
                if s in inputs:
                    d.dim_param = f"{INVENTED}i{count}"
                    count += 1
        declared[s] = copy


def _is_open(d: Proto) -> bool:
    kind = d.WhichOneof("value")
    return (
        kind is None or (kind == "dim_param" and d.dim_param in NO_NAMES) or (kind == "dim_value" and d.dim_value < 0)
    )


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
    _graph(graph, skeleton.graph, declared, skeleton.graph)
    return skeleton


def _graph(record: GraphRecord, g: Proto, declared: Mapping[str, Proto], root: Proto) -> None:
    """Weights whose values are left out become inputs of the root: names are unique, and bodies see outer names."""
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
            _typed(root.input, s, t)
    order, _ = topological(record)
    for i in order:
        _node(record.nodes[i], g, declared, root)
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


def _node(n: NodeRecord, g: Proto, declared: Mapping[str, Proto], root: Proto) -> None:
    node = g.node.add(op_type=n.op, domain="" if n.domain == "ai.onnx" else n.domain)
    node.input.extend(s or "" for s in n.inputs)
    node.output.extend(s or "" for s in n.outputs)
    for a in n.attributes:
        if a.HasField("t") and (bytes_of(a.t) or 0) > SMALL_WEIGHT:
            symbol = n.outputs[0] if n.op == "Constant" and n.outputs else None
            if symbol is not None:
                _typed(root.input, symbol, a.t)
            continue
        node.attribute.add().CopyFrom(a)
    for name, body in n.bodies:
        a = node.attribute.add(name=name, type=5)
        _graph(body, a.g, declared, root)
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

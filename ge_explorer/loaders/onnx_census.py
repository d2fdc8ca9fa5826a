"""Figures of an ONNX file as it stands, before any conversion. They go into the report's ``counts``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from ge_explorer.errors import InputError
from ge_explorer.loaders.onnx_records import Proto
from ge_explorer.loaders.onnx_tensors import EXTERNAL


def census(model: Proto) -> dict[str, Any]:
    """Counts by name.

    ``nodes``: of the main graph; ``nodes_all``: with all bodies (functions not counted); ``depth``: deepest body;
    ``subgraphs``: bodies; ``types``, ``domains``: node counts over ``nodes_all``; ``unnamed``, ``empty_inputs``: over
    ``nodes_all``; ``inputs``, ``outputs``, ``init``: of the main graph as written (an initialiser that is also an input
    counts in both); ``init_all``: with bodies; ``dynamic_inputs``: inputs with a dimension that is no number;
    ``outer_refs``: node inputs in bodies that name an outer tensor; ``functions_count``, ``functions_nodes``;
    ``opsets``: domain -> version; ``external``: tensors in side files; ``topo_sorted``: of the main graph;
    ``data_edges_top``: node inputs of the main graph that another of its nodes makes.
    """
    g = model.graph
    c = _Count()
    c.graph(g, 0)
    weights = {t.name for t in g.initializer}
    made = {o for n in g.node for o in n.output if o}
    return {
        "ir": model.ir_version,
        "producer": model.producer_name,
        "opsets": {o.domain or "ai.onnx": o.version for o in model.opset_import},
        "graph": g.name,
        "nodes": len(g.node),
        "nodes_all": c.nodes,
        "depth": c.depth,
        "subgraphs": c.subgraphs,
        "types": dict(c.types.most_common()),
        "domains": dict(c.domains),
        "unnamed": c.unnamed,
        "dup_names": sum(k - 1 for k in c.names.values()),
        "empty_inputs": c.empty_inputs,
        "empty_outputs": c.empty_outputs,
        "inputs": len(g.input),
        "outputs": len(g.output),
        "value_info": len(g.value_info),
        "data_edges_top": sum(i in made for n in g.node for i in n.input),
        "init": len(g.initializer),
        "init_all": c.init,
        "sparse_init": len(g.sparse_initializer),
        "inputs_that_are_init": sum(v.name in weights for v in g.input),
        "dynamic_inputs": sum(_is_dynamic(v) for v in g.input if v.name not in weights),
        "nontensor_io": sum(v.type.WhichOneof("value") not in ("tensor_type", None) for v in (*g.input, *g.output)),
        "outer_refs": c.outer,
        "functions": [f"{f.domain}::{f.name}({len(f.node)} nodes)" for f in model.functions],
        "functions_count": len(model.functions),
        "functions_nodes": sum(len(f.node) for f in model.functions),
        "external": c.external,
        "topo_sorted": _sorted(g),
        "training": len(model.training_info),
    }


def require_text_names(model: Proto, where: str) -> None:
    """InputError when a name is not UTF-8: protobuf hands such names out as bytes."""
    for name in _names(model):
        if isinstance(name, bytes):
            raise InputError("a name in the file is not UTF-8 text", where=where, got=name[:40],
                             todo="Copy or export the file again.")  # fmt: skip


def _names(model: Proto) -> Iterator[Any]:
    yield model.producer_name
    for o in model.opset_import:
        yield o.domain
    for f in model.functions:
        yield from (f.name, f.domain, *f.input, *f.output, *f.attribute, *(a.name for a in f.attribute_proto))
        yield from (o.domain for o in f.opset_import)
        yield from _node_names(f.node)
    yield from _graph_names(model.graph)


def _graph_names(g: Proto) -> Iterator[Any]:
    yield g.name
    for v in (*g.input, *g.output, *g.value_info):
        yield v.name
        yield from (d.dim_param for d in v.type.tensor_type.shape.dim)
    for t in g.initializer:
        yield t.name
        yield from (text for e in t.external_data for text in (e.key, e.value))
    yield from (t.values.name for t in g.sparse_initializer)
    yield from _node_names(g.node)


def _node_names(nodes: Proto) -> Iterator[Any]:
    for n in nodes:
        yield from (n.name, n.op_type, n.domain, *n.input, *n.output)
        for a in n.attribute:
            yield a.name
            yield a.ref_attr_name
            if a.HasField("g"):
                yield from _graph_names(a.g)
            for g in a.graphs:
                yield from _graph_names(g)


class _Count:
    def __init__(self) -> None:
        self.nodes = self.depth = self.subgraphs = self.unnamed = self.empty_inputs = self.empty_outputs = 0
        self.init = self.outer = 0
        self.types: Counter[str] = Counter()
        self.domains: Counter[str] = Counter()
        self.names: Counter[str] = Counter()
        self.external: list[tuple[str, dict[str, str]]] = []

    def graph(self, g: Proto, depth: int) -> None:
        self.depth = max(self.depth, depth)
        self.init += len(g.initializer)
        for t in g.initializer:
            self._tensor(t)
        own = (
            {v.name for v in g.input} | {t.name for t in g.initializer} | {t.values.name for t in g.sparse_initializer}
        )
        own.update(o for n in g.node for o in n.output)
        for n in g.node:
            self.nodes += 1
            self.types[n.op_type] += 1
            self.domains[n.domain or "ai.onnx"] += 1
            self.unnamed += not n.name
            if n.name:
                self.names[n.name] += 1
            self.empty_inputs += sum(not i for i in n.input)
            self.empty_outputs += sum(not o for o in n.output)
            if depth:
                self.outer += sum(bool(i) and i not in own for i in n.input)
            for a in n.attribute:
                if a.HasField("t"):
                    self._tensor(a.t)
                for inner in [*([a.g] if a.HasField("g") else []), *a.graphs]:
                    self.subgraphs += 1
                    self.graph(inner, depth + 1)

    def _tensor(self, t: Proto) -> None:
        if t.data_location == EXTERNAL:
            self.external.append((t.name, {e.key: e.value for e in t.external_data}))


def _is_dynamic(v: Proto) -> bool:
    if v.type.WhichOneof("value") != "tensor_type":
        return False
    return any(d.WhichOneof("value") != "dim_value" or d.dim_value < 0 for d in v.type.tensor_type.shape.dim)


def _sorted(g: Proto) -> bool:
    made = {o for n in g.node for o in n.output if o}
    seen: set[str] = set()
    for n in g.node:
        if any(i in made and i not in seen for i in n.input):
            return False
        seen.update(n.output)
    return True

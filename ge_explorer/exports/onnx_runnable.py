"""A graph that came from ONNX, after any passes, as an ONNX model that *runs*: to compare it with the original.

Unlike ``onnx_export``, which writes any graph with GE's decisions for display, this needs every value: constants too large to be
kept or computed come from the file, or are written as the operators they were folded from.

What the passes changed is in the model: removed nodes are gone, folded ones are initialisers. Operators keep the ONNX type and
attributes they were loaded with (``source_op``); the few that passes make themselves are translated in ``onnx_made``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import onnx
from onnx import helper

from ge_explorer.errors import InputError
from ge_explorer.exports.onnx_attributes import attribute, initializer, tensor_type
from ge_explorer.exports.onnx_made import made_node
from ge_explorer.graph.constant import VALUE, ConstantValue
from ge_explorer.graph.model import CONST_LIKE, DATA_LIKE, Graph, Node
from ge_explorer.loaders.onnx_convert import BODY, CAPTURED, DOMAIN, OPSETS, OUTPUT_NAMES
from ge_explorer.passes.optimize.work import EXPECTED


def runnable_model(
    graph: Graph, *, model: onnx.ModelProto | None = None, before: Graph | None = None
) -> onnx.ModelProto:
    """ONNX model of a graph.

    ``model`` is the file the graph was loaded from: it supplies weights that are too large to be kept with the graph. ``before``
    is the graph as loaded: constants that folding made too large to be computed are written as the nodes they came from.
    InputError for an operator ONNX does not have and for a value nobody has.
    """
    return _Writer(graph, model, before).run()


class _Writer:
    """Names tensors, then writes one GraphProto a scope."""

    def __init__(self, graph: Graph, model: onnx.ModelProto | None, before: Graph | None) -> None:
        self.g, self.before = graph, before
        self.opsets = dict(graph.attrs.get(OPSETS, ())) or {"ai.onnx": 18}
        self.weights: dict[str, onnx.TensorProto] = {}
        if model is not None:
            self.weights = {t.name: t for t in model.graph.initializer}
            for n in model.graph.node:
                if n.op_type == "Constant" and n.attribute and n.attribute[0].HasField("t"):
                    self.weights[n.output[0]] = n.attribute[0].t
        self.names: dict[int, str] = {}
        self.old_names: dict[int, str] = {}
        taken: set[str] = set()
        for t in graph.tensors:
            if t is not None:
                name = t.name if t.name and t.name not in taken else f"{t.name}__{t.id}"
                taken.add(name)
                self.names[t.id] = name
        self.taken = taken

    def run(self) -> onnx.ModelProto:
        """The whole model."""
        body = self.scope(0, self.g.name)
        opsets = [helper.make_opsetid("" if d == "ai.onnx" else d, v) for d, v in self.opsets.items()]
        return helper.make_model(body, opset_imports=opsets, producer_name="ge_explorer")

    def scope(self, scope: int, name: str) -> onnx.GraphProto:
        """One graph level."""
        nodes: list[onnx.NodeProto] = []
        weights: list[onnx.TensorProto] = []
        inputs, outputs = [], []
        members = [self.g.node(i) for i in self.g.scope(scope).nodes]
        for n in members:
            if n.op in DATA_LIKE and not n.attrs.get(CAPTURED):
                inputs.append(
                    (n.attrs.get("index", 0), tensor_type(self.names[n.outputs[0]], self.g.tensor(n.outputs[0])))
                )
            elif n.op in CONST_LIKE:
                self.constant(n, nodes, weights)
        for n in self.in_order(members):
            if n.op == "NetOutput":
                outputs = list(self.results(n, nodes, weights))
            else:
                self.operator(n, nodes, weights)
        found = [m for _, m in sorted(inputs, key=lambda pair: int(pair[0]))]
        return helper.make_graph(nodes, name or "graph", found, outputs, weights)

    def in_order(self, members: list[Node]) -> Iterator[Node]:
        """Operators of a scope, producers first."""
        inside = {n.id for n in members}
        missing = {n.id: sum(p in inside for p in self.g.pred[n.id]) for n in members}
        ready = [n.id for n in members if not missing[n.id]]
        for i in ready:  # grows while it is walked
            n = self.g.node(i)
            if n.op not in DATA_LIKE and n.op not in CONST_LIKE and n.op != "NetOutput":
                yield n
            for j in self.g.succ[i]:
                missing[j] -= 1
                if not missing[j]:
                    ready.append(j)
        yield from (n for n in members if n.op == "NetOutput")

    # ---------------------------------------------------------------- nodes
    def operator(self, n: Node, nodes: list[onnx.NodeProto], weights: list[onnx.TensorProto]) -> None:
        """One operator with its bodies."""
        captured = sum(bool(self.g.node(i).attrs.get(CAPTURED)) for s in n.subgraphs[:1] for i in self.g.scope(s).nodes)
        wanted = dict(n.attrs.get(EXPECTED, ()))
        ins = ["" if t is None else self.reshaped(n, k, t, wanted, nodes, weights) for k, t in enumerate(n.inputs)]
        outs = [self.names[t] for t in n.outputs]
        self.alias(n)
        domain = str(n.attrs.get(DOMAIN, ""))
        if not n.source_op:
            made_node(self.g, n, ins, outs, self.opsets.get("ai.onnx", 18), nodes, weights)
            return
        bodies = {}
        for s in n.subgraphs:
            body = self.g.scope(s)
            if BODY not in body.attrs:
                raise InputError("this subgraph is no body of an ONNX operator", where=body.name)
            bodies[str(body.attrs[BODY])] = self.scope(s, body.name)
        if n.subgraphs:
            ins = ins[: len(ins) - self.captures(n, captured)]
        node = helper.make_node(n.source_op, ins, outs, name=n.name, domain=domain, **bodies)
        version = self.opsets.get(domain or "ai.onnx", 1)
        node.attribute.extend(attribute(n, domain, version))
        nodes.append(node)

    def captures(self, n: Node, first: int) -> int:
        """Inputs at the end that ONNX does not list: names the bodies take from outside."""
        positions = {
            self.g.node(i).attrs.get("_parent_node_index")
            for s in n.subgraphs
            for i in self.g.scope(s).nodes
            if self.g.node(i).attrs.get(CAPTURED)
        }
        return max(first, len(positions)) if positions else 0

    def alias(self, n: Node) -> None:
        """A captured inner Data is the outer tensor under its own name."""
        for s in n.subgraphs:
            for i in self.g.scope(s).nodes:
                inner = self.g.node(i)
                if inner.attrs.get(CAPTURED):
                    outer = n.inputs[inner.attrs["_parent_node_index"]]
                    if outer is not None:
                        self.names[inner.outputs[0]] = self.names[outer]

    def results(self, n: Node, nodes: list[onnx.NodeProto], weights: list[onnx.TensorProto]) -> Iterator[Any]:
        """Outputs of a graph under the names the model gave them."""
        given = n.attrs.get(OUTPUT_NAMES, ())
        wanted = dict(n.attrs.get(EXPECTED, ()))
        inner = {self.names[t] for t in n.inputs if t is not None}
        for k, t in enumerate(n.inputs):
            if t is None:
                continue
            tensor = self.g.tensor(t)
            source = self.reshaped(n, k, t, wanted, nodes, weights)
            name = given[k] if k < len(given) and given[k] else source
            if name != source or n.inputs.index(t) != k:
                if name in inner or name in self.taken:
                    name = self.fresh(f"{name}__out{k}")
                nodes.append(helper.make_node("Identity", [source], [name], name=f"{n.name}__{k}"))
            yield tensor_type(name, replace(tensor, shape=tuple(wanted[k])) if k in wanted else tensor)

    def reshaped(
        self,
        n: Node,
        index: int,
        t: int,
        wanted: dict[int, Any],
        nodes: list[onnx.NodeProto],
        weights: list[onnx.TensorProto],
    ) -> str:
        """Name of an input; through a Reshape where the reader wants a shape its producer does not make."""
        if index not in wanted:
            return self.names[t]
        name = self.fresh(f"{n.name}__in{index}")
        shape = helper.make_tensor(f"{name}_shape", onnx.TensorProto.INT64, [len(wanted[index])], wanted[index])
        weights.append(shape)
        nodes.append(helper.make_node("Reshape", [self.names[t], shape.name], [name], name=name))
        return name

    # ---------------------------------------------------------------- constants
    def constant(self, n: Node, nodes: list[onnx.NodeProto], weights: list[onnx.TensorProto]) -> None:
        """An initialiser, from the graph, from the file, or (too large to be kept) as the nodes it was folded from."""
        t = self.g.tensor(n.outputs[0])
        value = n.attrs.get(VALUE)
        if isinstance(value, ConstantValue):
            weights.append(initializer(self.names[t.id], value))
        elif t.name in self.weights and not n.origin:
            kept = onnx.TensorProto()
            kept.CopyFrom(self.weights[t.name])
            kept.name = self.names[t.id]
            weights.append(kept)
        elif n.origin and self.before is not None:
            old = self.before.node(n.origin[0])
            match = next((o for o in old.outputs if self.before.tensor(o).name == t.name), old.outputs[0])
            source = self.original(self.before, match, nodes, weights)
            nodes.append(helper.make_node("Identity", [source], [self.names[t.id]], name=f"{n.name}__same"))
        else:
            raise InputError(
                "the value of a constant is not known",
                where=n.name,
                todo="Give the model it was loaded from (model=…, before=…).",
            )

    def original(self, g: Graph, t: int, nodes: list[onnx.NodeProto], weights: list[onnx.TensorProto]) -> str:
        """Write the producer of a tensor of the loaded graph, and what it needs; returns the tensor's name here."""
        if t in self.old_names:
            return self.old_names[t]
        tensor = g.tensor(t)
        n = g.node(tensor.producer)
        for o in n.outputs:
            self.old_names[o] = self.fresh(f"{g.tensor(o).name}__before")
        if n.op in CONST_LIKE:
            value = n.attrs.get(VALUE)
            if isinstance(value, ConstantValue):
                weights.append(initializer(self.old_names[t], value))
            elif tensor.name in self.weights:
                kept = onnx.TensorProto()
                kept.CopyFrom(self.weights[tensor.name])
                kept.name = self.old_names[t]
                weights.append(kept)
            else:
                raise InputError("the value of a constant is not known", where=n.name, todo="Give model=….")
            return self.old_names[t]
        if n.op in DATA_LIKE or not n.source_op or n.subgraphs:
            raise InputError("a constant was folded from something ONNX cannot express", where=n.name, got=n.op)
        ins = ["" if i is None else self.original(g, i, nodes, weights) for i in n.inputs]
        domain = str(n.attrs.get(DOMAIN, ""))
        node = helper.make_node(
            n.source_op, ins, [self.old_names[o] for o in n.outputs], name=f"{n.name}__before", domain=domain
        )
        node.attribute.extend(attribute(n, domain, self.opsets.get(domain or "ai.onnx", 1)))
        nodes.append(node)
        return self.old_names[t]

    def fresh(self, wanted: str) -> str:
        """A tensor name nobody has."""
        name, k = wanted, 1
        while name in self.taken:
            k += 1
            name = f"{wanted}_{k}"
        self.taken.add(name)
        return name

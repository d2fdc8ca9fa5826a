"""Writes one graph as a runnable ONNX model: names, scopes, operators, constants (see ``runnable``)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import onnx
from onnx import helper

from ge_explorer.errors import InputError
from ge_explorer.exports.onnx_attributes import tensor_type
from ge_explorer.exports.runnable_body import FUNCTION_DOMAIN, Body
from ge_explorer.exports.runnable_constants import Constants
from ge_explorer.exports.runnable_formats import heavy, pack, plain, unpack
from ge_explorer.exports.runnable_fused import Functions
from ge_explorer.exports.runnable_history import History, rewritten
from ge_explorer.exports.runnable_names import Names
from ge_explorer.exports.runnable_ops import Call, emit
from ge_explorer.exports.runnable_values import Values
from ge_explorer.graph.builder import PARENT_INDEX
from ge_explorer.graph.model import CONST_LIKE, DATA_LIKE, SOURCE_LIKE, Graph, Node
from ge_explorer.loaders.onnx_convert import BODY, CAPTURED, OPSETS, OUTPUT_NAMES
from ge_explorer.loaders.onnx_weights import FileParts
from ge_explorer.passes.optimize.cond_normalise import CONDITION
from ge_explorer.passes.optimize.cond_remove import CALL
from ge_explorer.passes.optimize.fusion_scope import FORMAT
from ge_explorer.passes.optimize.work import EXPECTED

IR_VERSION = 10
DEFAULT_OPSET = 18


class RunnableWriter:
    """Names tensors, then writes one GraphProto a scope."""

    def __init__(self, graph: Graph, history: History, parts: FileParts) -> None:
        self.g, self.history, self.parts = graph, history, parts
        self.values = Values(history, parts)
        self.from_onnx = str(graph.attrs.get(FORMAT, "ONNX")).startswith("ONNX")
        self.opsets = dict(graph.attrs.get(OPSETS, ())) if self.from_onnx else {}
        self.opsets.setdefault("ai.onnx", DEFAULT_OPSET)
        self.names = Names(graph)
        imports = [helper.make_opsetid("" if d == "ai.onnx" else d, v) for d, v in self.opsets.items()]
        self.functions = Functions(history, self.opsets["ai.onnx"], imports, self.emit)
        self.imports = imports

    def run(self) -> onnx.ModelProto:
        """The whole model."""
        return self.model(self.scope(0, self.g.name))

    def model(self, body: onnx.GraphProto) -> onnx.ModelProto:
        """A model around a graph."""
        imports = list(self.imports)
        if self.functions.made:
            imports.append(helper.make_opsetid(FUNCTION_DOMAIN, 1))
        return helper.make_model(
            body, opset_imports=imports, functions=self.functions.made, producer_name="ge_explorer", ir_version=IR_VERSION
        )  # fmt: skip

    # ---------------------------------------------------------------- scopes
    def scope(self, scope: int, name: str) -> onnx.GraphProto:
        """One graph level."""
        nodes: list[onnx.NodeProto] = []
        weights: list[onnx.TensorProto] = []
        inputs = []
        members = [self.g.node(i) for i in self.g.scope(scope).nodes]
        in_if = scope != 0 and self.g.node(self.g.scope(scope).parent).source_op == "If"
        for n in members:
            if n.op in DATA_LIKE and not n.attrs.get(CAPTURED) and not in_if:
                t = self.g.tensor(n.outputs[0])
                inputs.append((int(n.attrs.get("index", 0)), tensor_type(self.names[t.id], t)))
        self.level(members, nodes, weights)
        ends = [n for n in members if n.op == "NetOutput"]
        outputs = [o for n in ends for o in self.results(n, nodes)]
        found = [m for _, m in sorted(inputs, key=lambda pair: pair[0])]
        return helper.make_graph(nodes, name or "graph", found, outputs, weights)

    def level(self, members: list[Node], nodes: list[Any], weights: list[Any]) -> None:
        """Constants, then operators of a scope, producers first."""
        constants = Constants(self.g, self.names, self.values, self.call, nodes, weights)
        for n in members:
            if n.op in CONST_LIKE:
                constants.write(n)
        for n in self.in_order(members):
            if n.op == CALL and len(n.subgraphs) == 1:
                self.opened(n, nodes, weights)
            else:
                self.operator(n, nodes)

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
                if j in missing:
                    missing[j] -= 1
                    if not missing[j]:
                        ready.append(j)

    def opened(self, n: Node, nodes: list[Any], weights: list[Any]) -> None:
        """A call of one subgraph: ONNX has no such node, so its operators stand here."""
        inner = [self.g.node(i) for i in self.g.scope(n.subgraphs[0]).nodes]
        fed = self.inputs(n, nodes)
        for m in inner:
            if m.op in DATA_LIKE:
                nodes.append(
                    helper.make_node("Identity", [fed[m.attrs[PARENT_INDEX]]], [self.names[m.outputs[0]]], name=m.name)
                )
        self.level(inner, nodes, weights)
        for m in inner:
            if m.op == "NetOutput":
                for source, t in zip(self.inputs(m, nodes), n.outputs, strict=False):
                    nodes.append(helper.make_node("Identity", [source], [self.names[t]], name=f"{n.name}__{t}"))

    # ---------------------------------------------------------------- operators
    def operator(self, n: Node, nodes: list[Any]) -> None:
        """One operator of the graph, with its bodies."""
        ins = self.inputs(n, nodes)
        outs = [self.names[t] if self.g.tensor(t).name or self.g.data_out[n.id] else "" for t in n.outputs]
        if not n.subgraphs:
            self.call(n, ins, outs, nodes)
            return
        captured: set[int] = set()
        bodies = {}
        for s in n.subgraphs:
            body = self.g.scope(s)
            if BODY not in body.attrs or not n.source_op:
                raise InputError("this subgraph is no body of an ONNX operator", where=n.name, got=n.op)
            for m in (self.g.node(i) for i in body.nodes):
                if m.op in DATA_LIKE and (m.attrs.get(CAPTURED) or n.source_op == "If"):
                    captured.add(m.attrs[PARENT_INDEX])
                    self.names[m.outputs[0]] = ins[m.attrs[PARENT_INDEX]]
            bodies[str(body.attrs[BODY])] = self.scope(s, body.name)
        if n.source_op == "If" and n.inputs[0] is not None and self.g.tensor(n.inputs[0]).dtype not in (None, "bool"):
            ins[0] = self.truth(ins[0], n, nodes)
        given = ins[:1] if n.source_op == "If" else [x for k, x in enumerate(ins) if k not in captured]
        self.call(n, given, outs, nodes)
        nodes[-1].attribute.extend(helper.make_attribute(k, b) for k, b in bodies.items())

    def truth(self, condition: str, n: Node, nodes: list[Any]) -> str:
        """GE's int32 condition as ONNX's bool; a condition that is still the model's own bool stays."""
        t = self.g.tensor(n.inputs[0] or 0)
        if CONDITION in self.g.node(t.producer).attrs:
            return condition
        return Body(self.opsets["ai.onnx"], self.names.fresh, nodes).op("Cast", [condition], to=onnx.TensorProto.BOOL)

    def call(self, n: Node, ins: list[str], outs: list[str], nodes: list[Any]) -> None:
        """Append an operator whose inputs and outputs are named."""
        body = Body(self.opsets["ai.onnx"], self.names.fresh, nodes)
        if rewritten(n) and not n.subgraphs:
            self.functions.call(n, ins, outs, body)
        else:
            self.emit(body, n, ins, outs)

    def emit(self, body: Body, n: Node, ins: list[str], outs: list[str]) -> None:
        """One operator with the types of its tensors and the node of the model behind it."""
        base = None
        if self.from_onnx:
            base = self.history.model_node(n) if rewritten(n) else n
            base = base if base is not None and base.source_op and base.source_op != "Initializer" else None
        if not outs:
            raise InputError("an operator without results cannot be run", where=n.name, got=n.op)
        x = [None if t is None else self.history.tensor(t) for t in n.inputs]
        for k, shape in n.attrs.get(EXPECTED, ()):
            if k < len(x) and (t := x[k]) is not None:
                x[k] = replace(t, shape=tuple(shape))
        y = [t for o in n.outputs if (t := self.history.tensor(o)) is not None]
        first = y[0].name if y else ""
        groups = next((v for k in ("groups", "group") if isinstance(v := n.attrs.get(k), int)), 1)
        packed = dict.fromkeys(k for k, t in enumerate(y) if heavy(t) and k < len(outs) and outs[k])
        wanted = [body.fresh("plain") if k in packed else o for k, o in enumerate(outs)]
        ins = [unpack(body, i, t, groups if k else 1) if t is not None and heavy(t) else i
               for k, (i, t) in enumerate(zip(ins, x, strict=False))] + ins[len(x) :]  # fmt: skip
        emit(Call(
            body, n, ins, wanted, [None if t is None else plain(t) for t in x], [plain(t) for t in y], base,
            lambda d: self.opsets.get(d or "ai.onnx", 1),
            lambda key: self.parts.attributes.get((first, key)) if base is n else None,
        ))  # fmt: skip
        for k in packed:
            pack(body, wanted[k], y[k], [outs[k]], groups if n.op == "TransData" else 1)

    def inputs(self, n: Node, nodes: list[Any]) -> list[str]:
        """Names of a node's inputs; through a Reshape where it wants a shape its producer does not make."""
        wanted = dict(n.attrs.get(EXPECTED, ()))
        out = []
        for k, t in enumerate(n.inputs):
            if t is None:
                out.append("")
            elif k in wanted:
                body = Body(self.opsets["ai.onnx"], self.names.fresh, nodes)
                out.append(body.reshape(self.names[t], wanted[k], [self.names.fresh(f"{n.name}__in{k}")]))
            else:
                out.append(self.names[t])
        return out

    def results(self, n: Node, nodes: list[Any]) -> Iterator[Any]:
        """Outputs of a graph under the names the model gave them."""
        given = n.attrs.get(OUTPUT_NAMES, ())
        wanted = dict(n.attrs.get(EXPECTED, ()))
        for k, (t, source) in enumerate(zip(n.inputs, self.inputs(n, nodes), strict=True)):
            if t is None:
                continue
            again, maker = n.inputs.index(t) != k, self.g.node(self.g.tensor(t).producer)
            name = str(given[k]) if k < len(given) and given[k] else source
            if n.scope:  # a name of its own only where the body makes no value itself
                own = maker.scope == n.scope and maker.op not in SOURCE_LIKE and not again
                name = source if own else self.names.fresh(f"{name}__out")
            elif again or self.names.taken_by(name) not in (None, t):
                name = name if self.names.taken_by(name) is None else self.names.fresh(f"{name}__out")
            if name != source:
                nodes.append(helper.make_node("Identity", [source], [name], name=f"{n.name}__{k}"))
            tensor = self.g.tensor(t)
            yield tensor_type(name, replace(tensor, shape=tuple(wanted[k])) if k in wanted else tensor)

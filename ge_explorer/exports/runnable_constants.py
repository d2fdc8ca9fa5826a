"""Constants of one scope: initialisers, or the operators a constant was folded from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import onnx
from onnx import numpy_helper

from ge_explorer.errors import InputError
from ge_explorer.exports.onnx_attributes import initializer
from ge_explorer.exports.runnable_body import Body
from ge_explorer.exports.runnable_names import Names
from ge_explorer.exports.runnable_values import Values
from ge_explorer.graph.constant import NUMPY_DTYPES, VALUE, ConstantValue
from ge_explorer.graph.model import CONST_LIKE, DATA_LIKE, Graph, Node, Tensor
from ge_explorer.passes.optimize.fusion_recipe import RECIPE

CallWriter = Callable[[Node, list[str], list[str], list[Any]], None]


@dataclass
class Constants:
    """Writes to ``nodes`` and ``weights`` of a scope; ``call`` appends an operator."""

    g: Graph
    names: Names
    values: Values
    call: CallWriter
    nodes: list[Any]
    weights: list[Any]
    earlier: dict[int, str] = field(default_factory=dict)
    """Names of tensors that only earlier graphs had."""

    def write(self, n: Node) -> None:
        """A constant of the graph under its own name."""
        t = self.g.tensor(n.outputs[0])
        if not self._known(n, t, self.names[t.id]):
            source = self._folded(self._source(n), t.name)
            Body(1, self.names.fresh, self.nodes).op("Identity", [source], [self.names[t.id]], name=f"{n.name}__same")

    def _known(self, n: Node, t: Tensor, name: str) -> bool:
        """Append an initialiser whose values the graph or the file has, or that can be computed; False when it was folded."""
        value, proto = n.attrs.get(VALUE), self.values.proto(n)
        if isinstance(value, ConstantValue):
            self.weights.append(initializer(name, value))
        elif proto is not None:
            kept = onnx.TensorProto()
            kept.CopyFrom(proto)
            kept.name = name
            self.weights.append(kept)
        elif RECIPE in n.attrs:
            array = self.values.array(n.id)
            if array is None or t.dtype not in NUMPY_DTYPES:
                raise InputError(
                    "the value of a constant is not known", where=n.name, todo="Give the model it was loaded from."
                )
            self.weights.append(numpy_helper.from_array(array.astype(NUMPY_DTYPES[t.dtype]).reshape(t.shape), name))
        else:
            return False
        return True

    def _source(self, n: Node) -> int:
        if not n.origin or n.origin[0] == n.id:
            raise InputError(
                "the value of a constant is not known", where=n.name, todo="Give the model it was loaded from."
            )
        return n.origin[0]

    def _folded(self, i: int, name: str) -> str:
        """Write the operator a constant was folded from, and what it needs; returns the name of its result."""
        history = self.values.history
        n = history.node(i)
        if n is not None and n.op in DATA_LIKE and i < len(self.g.nodes) and self.g.nodes[i] is not None:
            return self.names[n.outputs[0]]
        if n is None or n.op in DATA_LIKE or n.subgraphs:
            raise InputError("a constant was folded from something ONNX cannot express", where=name, got=n and n.op)
        outs = [x for o in n.outputs if (x := history.tensor(o)) is not None]
        wanted = next((x for x in outs if x.name == name), outs[0])
        if wanted.id in self.earlier:
            return self.earlier[wanted.id]
        for x in outs:
            self.earlier[x.id] = self.names.fresh(f"{x.name or n.name}__before")
        if n.op not in CONST_LIKE:
            tensors = [None if x is None else history.tensor(x) for x in n.inputs]
            ins = ["" if x is None else self._folded(x.producer, x.name) for x in tensors]
            self.call(n, ins, [self.earlier[x.id] for x in outs], self.nodes)
        elif not self._known(n, wanted, self.earlier[wanted.id]):
            self.earlier[wanted.id] = self._folded(self._source(n), wanted.name)
        return self.earlier[wanted.id]

"""Values of constants that a graph does not keep: from the file, or computed from what the file has."""

from __future__ import annotations

from typing import Any

from onnx import numpy_helper

from ge_explorer.exports.onnx_attributes import initializer
from ge_explorer.exports.runnable_history import History
from ge_explorer.graph.constant import VALUE, ConstantValue
from ge_explorer.graph.model import CONST_LIKE, Node
from ge_explorer.loaders.onnx_weights import FileParts
from ge_explorer.passes.optimize.fusion_recipe import RECIPE, compute

SIZE_LIMIT = 2**31
"""Bytes of one constant that are computed."""


class Values:
    """Looks for the array of a constant node; None where nobody has it."""

    def __init__(self, history: History, parts: FileParts) -> None:
        self.history, self.parts = history, parts

    def proto(self, n: Node) -> Any:
        """TensorProto of the file behind a constant node; None when it is not one of the file."""
        t = self.history.tensor(n.outputs[0])
        return self.parts.weights.get(t.name) if t is not None and t.name else None

    def array(self, i: int) -> Any:
        """Values of a node, a constant or what one was folded from."""
        n = self.history.node(i)
        if n is None:
            return None
        if n.op not in CONST_LIKE:
            return self._evaluated(n)
        value = n.attrs.get(VALUE)
        if isinstance(value, ConstantValue):
            return numpy_helper.to_array(initializer("value", value))
        if isinstance(n.attrs.get(RECIPE), tuple):
            return compute(n.attrs[RECIPE], self.array)
        proto = self.proto(n)
        if proto is not None:
            return None if proto.data_location else numpy_helper.to_array(proto)
        return self.array(n.origin[0]) if n.origin and n.origin[0] != i else None

    def _evaluated(self, n: Node) -> Any:
        """Result of one operator of the model whose inputs are known, by onnx's reference evaluator."""
        from onnx.reference import ReferenceEvaluator

        from ge_explorer.exports.runnable import operator_model

        tensors = [None if t is None else self.history.tensor(t) for t in n.inputs]
        out = self.history.tensor(n.outputs[0])
        if out is None or len(n.outputs) != 1 or out.nbytes is None or out.nbytes > SIZE_LIMIT:
            return None
        feeds = {}
        for k, t in enumerate(tensors):
            if t is not None:
                feeds[f"x{k}"] = self.array(t.producer)
        if any(a is None for a in feeds.values()):
            return None
        results: list[Any] = list(ReferenceEvaluator(operator_model(n, self.history, self.parts)).run(None, feeds))
        return results[0]

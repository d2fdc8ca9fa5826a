"""A list of ONNX nodes under construction, and the spellings that changed between opsets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from onnx import helper

from ge_explorer.exports.onnx_attributes import TYPES

AXES_ARE_INPUTS = 13
"""Opset from which Squeeze, Unsqueeze and Split take their numbers as an input."""
REDUCE_AXES_ARE_INPUTS = 18


@dataclass
class Body:
    """ONNX nodes in order. ``fresh`` makes a tensor name nobody has; ``opset`` is the standard operators' version."""

    opset: int
    fresh: Callable[[str], str]
    nodes: list[Any] = field(default_factory=list)

    def op(
        self, kind: str, ins: Sequence[str], outs: Sequence[str] | None = None, *, name: str = "", domain: str = "", **attrs: Any
    ) -> str:  # fmt: skip
        """Append a node; returns its first output."""
        names = list(outs) if outs is not None else [self.fresh(kind.lower())]
        self.nodes.append(helper.make_node(kind, list(ins), names, name=name, domain=domain, **attrs))
        return names[0]

    def const(self, values: Any, dtype: str = "int64") -> str:
        """A constant of a GE type."""
        a = np.asarray(values)
        tensor = helper.make_tensor("value", TYPES[dtype], a.shape, a.ravel().tolist())
        return self.op("Constant", (), [self.fresh("constant")], value=tensor)

    def reshape(self, x: str, shape: Sequence[int], outs: Sequence[str] | None = None, name: str = "") -> str:
        """Reshape to known sizes. A size of 0 means 0."""
        extra: dict[str, Any] = {"allowzero": 1} if 0 in shape and self.opset >= 14 else {}
        return self.op("Reshape", [x, self.const(list(shape))], outs, name=name, **extra)

    def squeeze(self, kind: str, x: str, axes: Sequence[int], outs: Sequence[str], name: str = "") -> str:
        """Squeeze or Unsqueeze along ``axes``."""
        if not axes:
            return self.op("Identity", [x], outs, name=name)
        if self.opset < AXES_ARE_INPUTS:
            return self.op(kind, [x], outs, name=name, axes=list(axes))
        return self.op(kind, [x, self.const(list(axes))], outs, name=name)

    def split(self, x: str, sizes: Sequence[int], axis: int, outs: Sequence[str], name: str = "") -> str:
        """Split into parts of given sizes."""
        if self.opset < AXES_ARE_INPUTS:
            return self.op("Split", [x], outs, name=name, axis=axis, split=list(sizes))
        return self.op("Split", [x, self.const(list(sizes))], outs, name=name, axis=axis)

    def mean(self, x: str, axes: Sequence[int]) -> str:
        """Mean over ``axes``, dimensions kept."""
        if self.opset < REDUCE_AXES_ARE_INPUTS:
            return self.op("ReduceMean", [x], axes=list(axes), keepdims=1)
        return self.op("ReduceMean", [x, self.const(list(axes))], keepdims=1)

    def swap_last(self, x: str, rank: int) -> str:
        """Last two axes exchanged."""
        return self.op("Transpose", [x], perm=[*range(rank - 2), rank - 1, rank - 2])


def function(name: str, body: Body, inputs: Sequence[str], outputs: Sequence[str], opsets: Sequence[Any]) -> Any:
    """FunctionProto of a body."""
    return helper.make_function(FUNCTION_DOMAIN, name, list(inputs), list(outputs), body.nodes, list(opsets))


FUNCTION_DOMAIN = "ge.fused"
"""Domain of the functions we write for fused operators."""

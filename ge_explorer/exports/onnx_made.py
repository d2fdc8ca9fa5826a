"""Operators that passes make themselves, in ONNX terms."""

from __future__ import annotations

from typing import Any

import onnx
from onnx import helper

from ge_explorer.errors import InputError
from ge_explorer.exports.onnx_attributes import TYPES
from ge_explorer.graph.model import Graph, Node
from ge_explorer.passes.optimize.cond_normalise import CONDITION

AXES_ARE_INPUTS = 13
"""Opset from which Squeeze and Unsqueeze take their axes as an input."""


def made_node(g: Graph, n: Node, ins: list[str], outs: list[str], opset: int, nodes: list[onnx.NodeProto],
              weights: list[onnx.TensorProto]) -> None:  # fmt: skip
    """Append the ONNX form of a node without a source operator; InputError when there is none."""
    extra: dict[str, Any] = {}
    op = n.op
    if n.attrs.get(CONDITION):  # ONNX asks the condition itself
        op, ins = "Identity", ins[:1]
    elif op == "Cast":
        extra["to"] = TYPES[g.tensor(n.outputs[0]).dtype or "float"]
        ins = ins[:1]
    elif op in ("Squeeze", "Unsqueeze"):
        axes = [int(a) for a in n.attrs.get("axis" if op == "Squeeze" else "axes", ())]
        if not axes:
            op = "Identity"
        elif opset < AXES_ARE_INPUTS:
            extra["axes"] = axes
        else:
            weights.append(helper.make_tensor(f"{n.name}__axes", onnx.TensorProto.INT64, [len(axes)], axes))
            ins = [ins[0], weights[-1].name]
    elif op in ("Transpose", "TransposeD") and "perm" in n.attrs:
        op, extra["perm"] = "Transpose", list(n.attrs["perm"])
    elif (op == "Reshape" and len(ins) == 2) or op == "Identity":
        pass
    else:
        raise InputError("ONNX has no operator for this node", where=n.name, got=op)
    nodes.append(helper.make_node(op, ins, outs, name=n.name, **extra))

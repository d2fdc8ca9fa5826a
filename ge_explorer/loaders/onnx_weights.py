"""What our graph leaves in the file: weights and tensor attributes, by the names things have in our graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ge_explorer.loaders.onnx_flatten import Flattener
from ge_explorer.loaders.onnx_records import GraphRecord, Proto

_MESSAGES = frozenset({4, 9, 11, 12, 13, 14})
"""AttributeProto.type of tensors, sparse tensors and types."""


@dataclass(frozen=True, slots=True)
class FileParts:
    """``weights``: tensor name -> TensorProto (initialisers and Constant nodes; functions expanded, inner names unique).
    ``attributes``: (first output of a node, attribute name) -> AttributeProto that holds a message.
    """

    weights: Mapping[str, Proto]
    attributes: Mapping[tuple[str, str], Proto]


NOTHING = FileParts({}, {})


def parts_of(model: Proto, node_limit: int = 500_000) -> FileParts:
    """Parts of the main graph, its bodies and functions. Sparse initialisers are left out."""
    weights: dict[str, Proto] = {}
    attributes: dict[tuple[str, str], Proto] = {}
    todo: list[GraphRecord] = [Flattener(model, node_limit).run()]
    while todo:
        g = todo.pop()
        weights.update((s, t) for s, t in g.weights if not hasattr(t, "values"))
        for n in g.nodes:
            todo += [body for _, body in n.bodies]
            first = n.outputs[0] if n.outputs else None
            for a in n.attributes if first is not None else ():
                if a.type in _MESSAGES:
                    attributes[(str(first), a.name)] = a
                if n.op == "Constant" and a.name == "value" and a.HasField("t"):
                    weights[str(first)] = a.t
    return FileParts(weights, attributes)

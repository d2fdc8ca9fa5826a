"""Flat, named-once form of an ONNX model: what the later steps (shape inference, conversion) work on.

ONNX names tensors per graph, lets inner graphs see outer names, and lets functions hide whole graphs. Here every tensor
has one *symbol* (a string unique over the whole model), local functions are expanded, and captured names are resolved.
The records point at the protobuf messages; weights are never copied.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Proto = Any
"""A protobuf message of onnx (untyped: onnx is imported lazily)."""


@dataclass(slots=True)
class NodeRecord:
    """One operator. ``inputs``/``outputs`` are symbols (None: absent). ``attributes`` are AttributeProto without graphs.

    ``function`` is the chain of local functions it was expanded from, outermost first; ``calls`` the names of the calling nodes.
    """

    name: str
    op: str
    domain: str
    version: int
    inputs: list[str | None]
    outputs: list[str | None]
    proto: Proto
    attributes: list[Proto] = field(default_factory=list)
    bodies: list[tuple[str, GraphRecord]] = field(default_factory=list)
    function: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()


@dataclass(slots=True)
class GraphRecord:
    """One graph level. ``inputs`` are (symbol, type message or None), ``weights`` (symbol, TensorProto or SparseTensorProto).

    ``captured`` are the outer symbols it reads (itself or in its bodies), in first-use order.
    """

    name: str
    inputs: list[tuple[str, Proto]] = field(default_factory=list)
    weights: list[tuple[str, Proto]] = field(default_factory=list)
    nodes: list[NodeRecord] = field(default_factory=list)
    outputs: list[str | None] = field(default_factory=list)
    types: dict[str, Proto] = field(default_factory=dict)
    captured: list[str] = field(default_factory=list)
    in_order: bool = True


def local_symbols(graph: GraphRecord) -> set[str]:
    """Symbols the graph defines at its own level."""
    own = {s for s, _ in graph.inputs} | {s for s, _ in graph.weights}
    own.update(s for n in graph.nodes for s in n.outputs if s is not None)
    return own


def reads(node: NodeRecord) -> list[str]:
    """Symbols a node reads, captures of its bodies included."""
    out = [s for s in node.inputs if s is not None]
    for _, body in node.bodies:
        out.extend(body.captured)
    return out


def topological(graph: GraphRecord) -> tuple[list[int], list[int]]:
    """Stable topological order of the nodes (indices), and the nodes on or behind a cycle (empty for a sound graph)."""
    producer = {s: i for i, n in enumerate(graph.nodes) for s in n.outputs if s is not None}
    waits: list[set[int]] = []
    for n in graph.nodes:
        waits.append({p for s in reads(n) if (p := producer.get(s)) is not None})
    if all(p < i for i, w in enumerate(waits) for p in w):
        return list(range(len(graph.nodes))), []
    readers: dict[int, list[int]] = {}
    missing = [len(w) for w in waits]
    for i, w in enumerate(waits):
        for p in w:
            readers.setdefault(p, []).append(i)
    ready = [i for i, k in enumerate(missing) if k == 0]
    order: list[int] = []
    for i in ready:  # grows while we walk it
        order.append(i)
        for r in readers.get(i, ()):
            missing[r] -= 1
            if missing[r] == 0:
                ready.append(r)
    left = sorted(set(range(len(graph.nodes))) - set(order))
    return order, left

"""Which graphs of a model GE compiles as graphs of unknown shape.

GE's rule (compiler/graph/partition/dynamic_shape_partition.cc, IsGraphNeedUnknownShapePartition): one node with an unknown
dimension, on a descriptor of its own or in one of its subgraphs, and the whole root goes the dynamic way. A subgraph is
unknown when one of its nodes is (MarkSubgraphUnknownStatus). GE knows every shape it can infer from the inputs, while a
shape may be unknown here only because ONNX has no rule for the operator. So only these count:

* Data with an open dimension after the user's input shapes (no shape in the file: GE takes it for a scalar);
* an operator GE knows, fed by tensors of known shape, whose result size ONNX leaves open (NonZero, or Reshape to a computed
  shape).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from ge_explorer.graph.model import Graph, Tensor, frozen

UNKNOWN_SHAPE = "_gx_unknown_shape"
"""Our attribute of a root graph of unknown shape: names of the nodes where it starts, at most ten."""
LISTED = 10


def sources_of_unknown(graph: Graph, kind: str, opaque: Collection[int], inferred: bool) -> list[int]:
    """Nodes where unknown shapes start, in walk order. ``kind``: tensor attribute of values that are no tensors,
    ``opaque``: nodes of types GE does not know, ``inferred``: False when shape inference gave no result.
    """
    out = []
    for i in graph.walk():
        n = graph.node(i)
        made = [graph.tensor(t) for t in n.outputs]
        if n.op == "Data":
            if n.scope == 0 and any(t.shape is not None and _open(t) for t in made):
                out.append(i)
        elif inferred and i not in opaque and not n.is_source and any(_open(t) and kind not in t.attrs for t in made):
            read = [graph.tensor(t) for t in n.inputs if t is not None]
            if not any(_open(t) or kind in t.attrs for t in read):
                out.append(i)
    return out


def _open(t: Tensor) -> bool:
    return t.shape is None or any(not isinstance(d, int) for d in t.shape)


def with_unknown_scopes(graph: Graph, sources: list[int]) -> Graph:
    """Root and subgraphs marked ``dynamic`` by GE's rule; the graph itself when nothing is unknown."""
    if not sources:
        return graph
    unknown = {0}
    for i in graph.node_ids:
        n = graph.node(i)
        if any(_open(graph.tensor(t)) for t in (*n.outputs, *(t for t in n.inputs if t is not None))):
            scope = n.scope
            while scope not in unknown:
                unknown.add(scope)
                scope = graph.node(graph.scope(scope).parent).scope
    scopes = tuple(s if s is None or s.id not in unknown else replace(s, dynamic=True) for s in graph.scopes)
    names = tuple(graph.unique_names[i] for i in sources[:LISTED])
    return replace(graph, scopes=scopes, attrs=frozen({**graph.attrs, UNKNOWN_SHAPE: names}))

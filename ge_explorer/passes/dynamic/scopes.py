"""Which graphs and nodes the dynamic allocator works on, and which nodes it always puts on stream 0."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ge_explorer.graph.model import SOURCE_LIKE, Graph, Node
from ge_explorer.trace.state import NO_STREAM, Clusters

MAIN_STREAM = 0
_POTENTIAL_CONST = "_is_potential_const"


def dynamic_scopes(graph: Graph, scope_order: Iterable[int] | None) -> list[int]:
    """The root, then the subgraphs of unknown shapes in GE's ``GetAllSubgraphs`` order."""
    return [0, *(i for i in scope_order or () if graph.scope(i).dynamic)]


def dynamic_nodes(graph: Graph, scope_order: Iterable[int] | None) -> list[int]:
    """Direct nodes of these graphs, graph by graph."""
    return [i for scope in dynamic_scopes(graph, scope_order) for i in graph.scope(scope).nodes]


def forced_main(n: Node) -> bool:
    """True for inputs, constants, variables and NetOutput, which GE keeps on stream 0."""
    return n.op in SOURCE_LIKE or n.op == "NetOutput" or n.attrs.get(_POTENTIAL_CONST) is True


def common_streams(clusters: Clusters | None, streams: Sequence[int]) -> tuple[int, ...]:
    """Stream that all nodes of each cluster share, -1 where they differ. GE drops its clusters here; ours stay visible."""
    out = []
    for c in clusters.items if clusters is not None else ():
        found = {streams[i] for i in c.nodes}
        out.append(found.pop() if len(found) == 1 else NO_STREAM)
    return tuple(out)

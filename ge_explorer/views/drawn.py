"""The graph as it is drawn: without Send and Recv nodes, because events are drawn instead of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ge_explorer.graph.model import Graph
from ge_explorer.trace.state import SYNC_OPS, Snapshot


def drawn_graph(graph: Graph, earlier: Graph | None = None) -> Graph:
    """Copy without the nodes that stand for ends of events; the same graph when it has none.

    ``earlier`` is returned instead when the copy has the same nodes, edges and lists.
    """
    gone = {n.id for n in graph if n.op in SYNC_OPS}
    if not gone:
        return graph
    nodes = tuple(
        None
        if n is None or n.id in gone
        else n
        if gone.isdisjoint(n.control_in)
        else replace(n, control_in=tuple(i for i in n.control_in if i not in gone))
        for n in graph.nodes
    )
    scopes = tuple(
        None if s is None else replace(s, nodes=tuple(i for i in s.nodes if i not in gone)) for s in graph.scopes
    )
    control = tuple(e for e in graph.control if gone.isdisjoint(e))
    if earlier is not None and (earlier.edges, earlier.control, earlier.scopes) == (graph.edges, control, scopes):
        known = earlier.id_bound
        if nodes[:known] == earlier.nodes and not any(nodes[known:]):
            return earlier
    return replace(graph, nodes=nodes, scopes=scopes, control=control)


def drawn(snapshots: Sequence[Snapshot]) -> list[Snapshot]:
    """Snapshots with the graphs to draw; snapshots that share a graph go on sharing one."""
    done: dict[int, Graph] = {}
    out: list[Snapshot] = []
    last: Graph | None = None
    for s in snapshots:
        if id(s.graph) not in done:
            done[id(s.graph)] = drawn_graph(s.graph, last)
        last = done[id(s.graph)]
        out.append(s if last is s.graph else s.evolve(graph=last))
    return out

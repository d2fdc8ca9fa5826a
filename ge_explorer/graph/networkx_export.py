"""A graph as a networkx multigraph, for people's own analyses."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ge_explorer.graph.model import Graph


def to_networkx(graph: Graph) -> Any:
    """``networkx.MultiDiGraph``: nodes keyed by unique name with ``op`` and ``scope``; edges with ``kind`` data or control.

    >>> from ge_explorer import examples
    >>> to_networkx(examples.chain()).number_of_nodes() == len(examples.chain())
    True
    """
    import networkx

    names = graph.unique_names
    out = networkx.MultiDiGraph(name=graph.name)
    for n in graph:
        out.add_node(names[n.id], op=n.op, scope=graph.scope(n.scope).name)
    for e in graph.edges:
        out.add_edge(names[e.src], names[e.dst], kind="data", output=e.src_out, input=e.dst_in)
    for a, b in graph.control:
        out.add_edge(names[a], names[b], kind="control")
    return out


def write_graphml(graph: Graph, path: Path, values: Mapping[str, Mapping[int, int | str]] | None = None) -> None:
    """GraphML file of the graph, for networkx, Gephi and yEd. ``values``: attribute name -> value by node id."""
    import networkx

    out, names = to_networkx(graph), graph.unique_names
    for key, of in (values or {}).items():
        for i, value in of.items():
            out.nodes[names[i]][key] = value
    clean = {
        n: "".join(c if c in "\t\n\r" or 32 <= ord(c) < 0xD800 or ord(c) > 0xDFFF else "?" for c in n) for n in out
    }
    if len(set(clean.values())) == len(clean):
        out = networkx.relabel_nodes(out, clean)
    networkx.write_graphml(out, path)

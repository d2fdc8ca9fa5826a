"""Nodes that the event chapter adds to the graph: Send, Recv, StreamActive. Every per-node facet grows with them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ge_explorer.graph.edit import GraphEditor
from ge_explorer.graph.model import Graph, IntArray
from ge_explorer.trace.state import NO_STREAM, Placement, Snapshot, int_array

RTS_ENGINE = "DNN_VM_RTS"
GROWN = frozenset({"graph", "order", "sequence", "placement", "clusters", "streams"})
"""Facets a pass that adds nodes writes."""


class NewNodes:
    """Collects added nodes in an editor; ``result`` grows the facets."""

    def __init__(self, s: Snapshot) -> None:
        self.s = s
        self.editor = GraphEditor(s.graph)
        self.stream: dict[int, int] = {}
        self._behind: dict[int, list[int]] = {}

    def add(
        self, name: str, op: str, scope: int, stream: int, attrs: Mapping[str, Any], *, control: Iterable[int] = (),
        after: int | None = None,
    ) -> int:  # fmt: skip
        """New node with a main stream, at the end of the node list or right behind ``after``; returns its id."""
        i = self.editor.add_node(name, op, control=control, attrs=attrs, scope=scope)
        self.stream[i] = stream
        if after is not None:
            self._behind.setdefault(after, []).insert(0, i)
        return i

    def _listed(self, nodes: Iterable[int]) -> list[int]:
        """Node list with the nodes that asked for it right behind their anchor, the latest first."""
        moved = {i for rows in self._behind.values() for i in rows}
        return [x for i in nodes if i not in moved for x in (i, *self._behind.get(i, ()))]

    def result(
        self, arrange: Callable[[Graph, list[int]], list[int]] | None = None, *, renumber: bool = False
    ) -> Snapshot:
        """Snapshot with the nodes added.

        ``arrange`` puts the node list of one scope in order. ``renumber``: topological ids become 0..n-1 in traversal order;
        otherwise the new nodes get the ids after the highest one, in order of creation.
        """
        s = self.s
        graph = self.editor.freeze()
        lists: dict[int, list[int]] = {}
        for scope in (x for x in graph.scopes if x is not None):
            members = self._listed(scope.nodes)
            lists[scope.id] = arrange(graph, members) if arrange is not None else members
        graph = graph.with_scope_order(lists)
        sequence = tuple(graph.walk())
        extra = graph.id_bound - s.graph.id_bound
        facets: dict[str, Any] = {"graph": graph, "sequence": sequence}
        old = np.asarray(s.order if s.order is not None else [NO_STREAM] * s.graph.id_bound)
        order = grown(old, range(int(old.max(initial=-1)) + 1, int(old.max(initial=-1)) + 1 + extra)).tolist()
        if renumber:
            for place, i in enumerate(sequence):
                order[i] = place
        facets["order"] = int_array(order)
        if s.placement is not None:
            p = s.placement
            facets["placement"] = Placement(
                (*p.engine, *(RTS_ENGINE,) * extra), (*p.core, *("NONE",) * extra),
                (*p.reason, *("generated",) * extra) if p.reason else (),
            )  # fmt: skip
        if s.clusters is not None:
            facets["clusters"] = replace(s.clusters, of_node=grown(s.clusters.of_node, [NO_STREAM] * extra))
        assert s.streams is not None
        streams = [self.stream.get(i, NO_STREAM) for i in range(s.graph.id_bound, graph.id_bound)]
        facets["streams"] = replace(s.streams, node=grown(s.streams.node, streams))
        return s.evolve(**facets)


def grown(array: IntArray, extra: Iterable[int]) -> IntArray:
    """Per-node array with entries for new nodes at the end."""
    return int_array([*np.asarray(array).tolist(), *extra])

"""What the DAG allocator works on: nodes with a cost and a label, edges between their positions."""

from __future__ import annotations

from dataclasses import dataclass

UNKNOWN_TIME = -1.0
"""``execution_time`` of a node without a profiling record (dag_node.h). Not zero, so such nodes take part."""

ZERO_TIME = 1e-6
"""Nodes whose time is at most this far from zero are left out of the cover (dag_stream_allocator.cc)."""


@dataclass(frozen=True, slots=True)
class DagNode:
    """One node. ``serial`` is its stream label ("" for none), ``time`` in µs (a C++ float), block numbers as in the profile.

    ``node_id`` is the graph's node (-1: unknown there); ``profiled`` says that time and blocks come from a profiling record.
    """

    name: str
    serial: str = ""
    time: float = UNKNOWN_TIME
    cube: int = 0
    vec: int = 0
    node_id: int = -1
    profiled: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Dag:
    """Nodes in topological order (a node's position is its id here) and edges ``(source, target)`` in creation order.

    ``cores`` are the chip's cube and vector core numbers, -1 when unknown. GE loads them, but no rule reads them.
    """

    nodes: tuple[DagNode, ...]
    edges: tuple[tuple[int, int], ...]
    cores: tuple[int, int] = (-1, -1)

    @property
    def profiled(self) -> int:
        """Number of nodes a profiling record was found for."""
        return sum(n.profiled for n in self.nodes)

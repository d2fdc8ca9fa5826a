"""The residual graph: what is left of a DAG without labelled nodes and without nodes that take no time."""

from __future__ import annotations

from dataclasses import dataclass

from ge_explorer.passes.streams.dag.model import ZERO_TIME, Dag


@dataclass(frozen=True, slots=True, eq=False)
class Residual:
    """``nodes`` are kept positions, ascending; ``succ[i]`` the positions (indices into ``nodes``) that follow the i-th.

    ``labels`` maps each stream label to its node positions, in order of first appearance; ``dropped`` are the zero-time ones.
    """

    nodes: tuple[int, ...]
    succ: tuple[tuple[int, ...], ...]
    labels: dict[str, tuple[int, ...]]
    dropped: tuple[int, ...]

    def edges(self) -> list[tuple[int, int]]:
        """Residual edges as pairs of original positions, by source, then in each source's own order."""
        return [(self.nodes[u], self.nodes[v]) for u, row in enumerate(self.succ) for v in row]


def residual(dag: Dag) -> Residual:
    """Drop labelled and zero-time nodes; u→v stays when a path leads from u to v through dropped nodes only.

    Source: DagStreamAllocator (dag_stream_allocator.cc), recorded order of each node's out edges. O(N + E) where nothing is
    dropped; a dropped region is walked once per kept node that feeds it, as in GE.
    """
    labels: dict[str, list[int]] = {}
    dropped: list[int] = []
    kept: list[int] = []
    for i, n in enumerate(dag.nodes):
        if n.serial:
            labels.setdefault(n.serial, []).append(i)
        elif abs(n.time) <= ZERO_TIME:
            dropped.append(i)
        else:
            kept.append(i)
    succ: list[list[int]] = [[] for _ in dag.nodes]
    for a, b in dag.edges:
        succ[a].append(b)
    index = [-1] * len(dag.nodes)
    for k, i in enumerate(kept):
        index[i] = k
    rows = tuple(_reach(i, succ, index) for i in kept)
    return Residual(tuple(kept), rows, {k: tuple(v) for k, v in labels.items()}, tuple(dropped))


def _reach(start: int, succ: list[list[int]], index: list[int]) -> tuple[int, ...]:
    """Kept nodes behind ``start`` other than itself, looking through the dropped ones, nearest first."""
    found: dict[int, None] = {}
    seen: set[int] = set()
    todo = list(succ[start])
    at = 0
    while at < len(todo):
        j = todo[at]
        at += 1
        if index[j] >= 0:
            if j != start:
                found[index[j]] = None
        elif j not in seen:
            seen.add(j)
            todo.extend(succ[j])
    return tuple(found)

"""Transitive reduction of a DAG: the fewest arcs with the same reachability.

A full closure is not needed. Only an arc whose source has another consumer and whose target has another, later producer can be
implied by the rest, so only such sources get a bit. Sources are taken in blocks of ``BLOCK`` bits, and a block is carried from
its first source to the last consumer that asks for it: where producers and consumers are near each other, every node is
visited about once with a short integer. Sources with far consumers share blocks of their own.

Memory is ``BLOCK`` bits times the nodes of one sweep, time the sum of the sweeps: 100,000 nodes stay below a second.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import reduce
from operator import and_

from ge_explorer.errors import GraphError
from ge_explorer.graph.reach import Neighbours

BLOCK = 1024
"""Bits of one sweep. Shorter means less work per arc and more sweeps over the same nodes."""
FAR = 2 * BLOCK
"""Distance in the order beyond which a source goes to the blocks of far sources."""
FAR_BLOCK = 8 * BLOCK
"""Bits of a sweep of far sources, which may run over all nodes (up to 100 MB at 100,000 of them)."""


def reduced_predecessors(order: Sequence[int], pred: Neighbours, any_of: Collection[int] = ()) -> dict[int, list[int]]:
    """Per node of ``order`` the predecessors that no other predecessor already implies, in ``order``.

    ``order`` must be topological for ``pred``; repeats and predecessors outside ``order`` are ignored. A node of ``any_of``
    starts after ONE of its predecessors: it keeps all of them, and only what they have in common is known when it runs.
    Raises GraphError naming the pair when a predecessor comes later in ``order`` than its node.

    >>> reduced_predecessors([0, 1, 2], {1: [0], 2: [0, 1]})
    {0: [], 1: [0], 2: [1]}
    """
    nodes = list(order)
    rows = predecessor_rows(nodes, pred)
    chosen = set(any_of)
    for v, sources in implied_arcs(rows, frozenset(k for k, v in enumerate(nodes) if v in chosen)).items():
        rows[v] = [p for p in rows[v] if p not in sources]
    if nodes == list(range(len(nodes))):
        return {v: row[::-1] for v, row in enumerate(rows)}
    return {nodes[v]: [nodes[p] for p in reversed(row)] for v, row in enumerate(rows)}


def predecessor_rows(nodes: Sequence[int], pred: Neighbours) -> list[list[int]]:
    """Distinct predecessors of each node as positions in ``nodes``, latest first. GraphError as above."""
    given = [pred.get(v, ()) for v in nodes] if isinstance(pred, Mapping) else [pred[v] for v in nodes]
    count = len(nodes)
    # Ids that already are positions need no translation.
    plain = nodes == list(range(count))
    place = range(count) if plain else {v: k for k, v in enumerate(nodes)}
    rows: list[list[int]] = []
    for k, sources in enumerate(given):
        row = list(sources) if plain else [place[p] for p in sources if p in place]
        if len(row) > 1:
            row = sorted(set(row), reverse=True)
        if row and (row[0] >= k or row[-1] < 0):
            if plain:
                row = [p for p in row if 0 <= p < count]
            if row and row[0] >= k:
                raise GraphError(
                    f"node {nodes[row[0]]} comes after its consumer {nodes[k]}", todo="Pass a topological order."
                )
        rows.append(row)
    return rows


def implied_arcs(rows: Sequence[Sequence[int]], joint: frozenset[int] = frozenset()) -> dict[int, set[int]]:
    """Target -> its predecessors that others imply, for rows as ``predecessor_rows`` gives them. ``joint``: any-of positions."""
    gone: dict[int, set[int]] = {}
    known, own = [0] * len(rows), [0] * len(rows)
    for sources, last in _blocks(rows, joint):
        first = sources[0]
        for k, u in enumerate(sources):
            own[u] = 1 << k
        # known[v]: sources of the block that are done when v is.
        for v, row in enumerate(rows[first : last + 1], first):
            if not row:
                known[v] = own[v]
            elif len(row) == 1:
                known[v] = known[row[0]] | own[v]
            elif v in joint:
                known[v] = reduce(and_, map(known.__getitem__, row)) | own[v]
            else:
                mask = 0
                for p in row:
                    if mask & own[p]:
                        gone.setdefault(v, set()).add(p)
                    else:
                        mask |= known[p]
                known[v] = mask | own[v]
        known[first : last + 1] = [0] * (last + 1 - first)
        for u in sources:
            own[u] = 0
    return gone


def _blocks(rows: Sequence[Sequence[int]], joint: frozenset[int]) -> Iterator[tuple[list[int], int]]:
    """(sources of one sweep ascending, last position that asks for one of them)."""
    consumers, asked = [0] * len(rows), [-1] * len(rows)
    for v, row in enumerate(rows):
        for p in row:
            consumers[p] += 1
        if len(row) > 1 and v not in joint:
            for p in row[1:]:
                asked[p] = v
    near, far = list[int](), list[int]()
    for u, last in enumerate(asked):
        if last >= 0 and consumers[u] > 1:
            (far if last - u > FAR else near).append(u)
    for sources, size in ((near, BLOCK), (far, FAR_BLOCK)):
        for k in range(0, len(sources), size):
            block = sources[k : k + size]
            yield block, max(asked[u] for u in block)

"""The graph of a static page: places of nodes in stream lanes, edges, and the stream of every node at every step."""

from __future__ import annotations

from typing import Any

import numpy as np

from ge_explorer.trace.trace import Trace
from ge_explorer.views.drawn import drawn_graph
from ge_explorer.views.layout import Links, rank_nodes
from ge_explorer.views.layout_lanes import place
from ge_explorer.views.marks import plain
from ge_explorer.views.palette import Identities

MAX_NODES = 4000
"""SVG in a page stays fluid up to about this many nodes; larger graphs keep lists, tables and pictures."""


def graph_data(trace: Trace, identities: Identities) -> dict[str, Any]:
    """JSON-able: ``nodes`` (id, name, op, column, row), ``edges`` (from, to, 1 for control), ``steps`` per state from the start:
    identity index per drawn node (-1 none, -2 absent). ``left_out`` counts constants and, above MAX_NODES, all others.
    """
    s = trace.final
    s = s.evolve(graph=drawn_graph(s.graph))
    ids = [i for i in s.graph.node_ids if not s.graph.node(i).is_source or s.graph.node(i).op in ("Data", "RefData")]
    left_out = len(s.graph) - len(ids)
    if len(ids) > MAX_NODES:
        left_out += len(ids) - MAX_NODES
        ids = ids[:MAX_NODES]
    at = {i: k for k, i in enumerate(ids)}
    pairs = [(at[a], at[b]) for a, b in s.graph.dependencies if a in at and b in at]
    control = {(at[a], at[b]) for a, b in s.graph.control if a in at and b in at}
    links = Links.of(len(ids), pairs)
    states = [_identity_row(trace, identities, k, ids) for k in range(-1, len(trace))]
    lane = np.array(states[-1], np.int32)
    keys = sorted({int(x) for x in lane.tolist()})
    grid = place(links, rank_nodes(links), lane, keys)
    names = s.graph.unique_names
    return {
        "nodes": [
            [i, plain(names[i], 80), plain(s.graph.node(i).op, 40), int(grid.col[k]), int(grid.row[k])]
            for k, i in enumerate(ids)
        ],
        "edges": [[a, b, int((a, b) in control)] for a, b in dict.fromkeys(pairs)],
        "steps": states,
        "events": [_events(trace, k, at) for k in range(-1, len(trace))],
        "lanes": [[x.key, x.first, x.rows] for x in grid.lanes],
        "left_out": left_out,
    }


def _identity_row(trace: Trace, identities: Identities, step: int, ids: list[int]) -> list[int]:
    s = trace.snapshot(step)
    table = identities.by_step[step + 1]
    out = []
    for i in ids:
        if i >= s.graph.id_bound or s.graph.nodes[i] is None:
            out.append(-2 if step < len(trace) - 1 else -1)
        elif s.streams is None or i >= s.streams.node.size:
            out.append(-1)
        else:
            out.append(table.get(int(s.streams.node[i]), -1))
    return out


def _events(trace: Trace, step: int, at: dict[int, int]) -> list[list[int]]:
    """(from, to, GE id, uid) of the events alive after a step."""
    sync = trace.snapshot(step).sync
    return [
        [at[e.send], at[e.recv], e.id, e.uid] for e in (sync.events if sync else ()) if e.send in at and e.recv in at
    ]

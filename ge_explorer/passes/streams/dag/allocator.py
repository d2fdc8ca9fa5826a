"""Path cover, then merge: a stream for every node of a DAG.

Source: DagStreamAllocator::ByPathCover (compiler/graph/build/dag/dag_stream_allocator.cc).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ge_explorer.passes.streams.dag import load_balance, main_stream, weighted
from ge_explorer.passes.streams.dag.merger import MergeResult
from ge_explorer.passes.streams.dag.mode import Strategy
from ge_explorer.passes.streams.dag.model import Dag
from ge_explorer.passes.streams.dag.path_cover import match_successors, routes
from ge_explorer.passes.streams.dag.residual import Residual, residual
from ge_explorer.passes.streams.dag.units import MergeError, MergeOptions

NO_STREAM = -1
DEFAULT_LIMIT = 8
"""Streams when no limit is given (kDefaultMaxPhysicalStreams)."""


@dataclass(frozen=True, slots=True, eq=False)
class Cover:
    """Result. ``node_streams`` per node position (-1: the node takes no time, so it keeps its stream), ``routes`` are node
    positions per unit, ``label_streams`` the stream of each label; ``required`` counts unit streams plus labels.
    ``failure`` says why nothing was assigned (GE logs it and goes on)."""

    required: int
    node_streams: tuple[int, ...]
    routes: tuple[tuple[int, ...], ...]
    merged: MergeResult
    residual: Residual
    label_streams: dict[str, int]
    failure: str = ""


def by_path_cover(dag: Dag, strategy: Strategy, *, limit: int | None, base: int = 0, repair_moves: int = 0) -> Cover:
    """Spread ``dag`` over at most ``limit`` streams (None: GE's default, 8) numbered from ``base``.

    Each label gets one more stream after those; labels do not count against the limit.
    """
    streams = [NO_STREAM] * len(dag.nodes)
    for a, b in dag.edges:
        if not (0 <= a < len(dag.nodes) and 0 <= b < len(dag.nodes)):
            nothing = Residual((), (), {}, ())
            return Cover(0, tuple(streams), (), MergeResult((), ()), nothing, {}, "an edge leaves the graph")
    rest = residual(dag)
    units = routes(match_successors(rest.succ))
    named = tuple(tuple(rest.nodes[k] for k in unit) for unit in units)
    options = default_options(strategy, DEFAULT_LIMIT if limit is None else limit, repair_moves)
    try:
        merged = merge_paths(dag, rest, units, strategy, options)
    except MergeError as e:
        return Cover(0, tuple(streams), named, MergeResult((), ()), rest, {}, e.what)
    for unit, stream in zip(units, merged.mapping, strict=True):
        for k in unit:
            streams[rest.nodes[k]] = base + stream
    unit_streams = max(merged.mapping, default=-1) + 1
    labels: dict[str, int] = {}
    for k, (label, members) in enumerate(rest.labels.items()):
        labels[label] = base + unit_streams + k
        for i in members:
            streams[i] = labels[label]
    return Cover(unit_streams + len(labels), tuple(streams), named, merged, rest, labels)


def default_options(strategy: Strategy, limit: int = DEFAULT_LIMIT, repair_moves: int = 0) -> MergeOptions:
    """GE's constants for a strategy with ``limit`` streams."""
    looked_at = weighted.CANDIDATE_LIMIT if strategy == "WeightedLoadBalance" else MergeOptions().candidate_limit
    return MergeOptions(physical_stream_limit=limit, candidate_limit=looked_at, repair_moves=repair_moves)


def merge_paths(
    dag: Dag,
    rest: Residual,
    paths: Sequence[tuple[int, ...]],
    strategy: Strategy,
    options: MergeOptions,
    *,
    simulate: bool = False,
) -> MergeResult:
    """Put paths (indices into ``rest.nodes``) on streams by ``strategy``. ``simulate``: see ``weighted.merge``.

    MergeError for options or paths GE refuses. No path at all is fine and gives an empty mapping.
    """
    if strategy == "WeightedLoadBalance":
        kept = [dag.nodes[i] for i in rest.nodes]
        time, vec, cube = [n.time for n in kept], [n.vec for n in kept], [n.cube for n in kept]
        return weighted.merge(rest.succ, paths, options, time, vec, cube, simulate=simulate)
    merge = load_balance.merge if strategy == "LoadBalance" else main_stream.merge
    return merge(rest.succ, paths, options)

"""Exact difference of two states that need not share ids: two compilations, two dumps, a dump and our own compilation.

The same value as the difference of two files (compare_files.py), so that one table and one report serve both. Nodes are matched
by name, then by ``_datadump_original_op_names``, then by surroundings, also where both states began with one graph: ids given
by passes need not mean the same node in two runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ge_explorer.trace.compare_files import (
    FilesDiff,
    Side,
    changed_nodes,
    different_texts,
    events_apart,
    places_in_order,
    streams_apart,
)
from ge_explorer.trace.diff import Moved
from ge_explorer.trace.match_files import Match, match_nodes
from ge_explorer.trace.state import SYNC_OPS, Snapshot


def diff_states(
    a: Snapshot,
    b: Snapshot,
    titles: tuple[str, str] = ("A", "B"),
    versions: tuple[tuple[tuple[str, str], ...], tuple[tuple[str, str], ...]] = ((), ()),
    options: tuple[Mapping[str, str], Mapping[str, str]] | None = None,
) -> FilesDiff:
    """Difference from state ``a`` to state ``b``.

    Offsets are those of planned buffers, in bytes, matched by buffer name. ``options`` default to those of the states;
    ``versions`` are (name, version) pairs that the sources state.
    """
    m = _without_sync(match_nodes(a.graph, b.graph), a, b)
    moved, stream_of = streams_apart(a, b, m)
    events_a, events_b = events_apart(a, b, dict(m.pairs))
    given = options if options is not None else (a.options.values, b.options.values)
    peaks = [s.memory.plan.peak if s.memory is not None else None for s in (a, b)]
    return FilesDiff(
        Side(titles[0], "", a.graph, versions[0]), Side(titles[1], "", b.graph, versions[1]), m,
        changed_nodes(a.graph, b.graph, m, True), moved, stream_of, events_a, events_b, _offsets(a, b),
        (peaks[0], peaks[1]), _options(*given), different_texts(dict(versions[0]), dict(versions[1])),
        places_in_order(a.graph, b.graph, m),
    )  # fmt: skip


def _without_sync(m: Match, a: Snapshot, b: Snapshot) -> Match:
    """Send and Recv nodes are counted as events, not once more as nodes."""
    return replace(
        m,
        only_a=tuple(i for i in m.only_a if a.graph.node(i).op not in SYNC_OPS),
        only_b=tuple(j for j in m.only_b if b.graph.node(j).op not in SYNC_OPS),
    )


def _options(a: Mapping[str, str], b: Mapping[str, str]) -> tuple[Moved, ...]:
    """Unlike two files, two runs say all their options: one that is not set is a difference too."""
    keys = sorted({*a, *b})
    return tuple(Moved(k, key, a.get(key), b.get(key)) for k, key in enumerate(keys) if a.get(key) != b.get(key))


def _offsets(a: Snapshot, b: Snapshot) -> tuple[Moved, ...]:
    if a.memory is None or b.memory is None:
        return ()
    x, y = (
        {u.name: (u.id, o) for u, o in zip(s.memory.problem.buffers, s.memory.plan.offsets, strict=True)}
        if s.memory is not None
        else {}
        for s in (a, b)
    )
    return tuple(
        Moved(i, name, x[name][1], at) for name, (i, at) in y.items() if name in x and x[name][1] != at
    )  # fmt: skip

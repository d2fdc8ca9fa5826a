"""Exact difference of two snapshots: nodes, streams, engines, events with the rule that removed them, offsets."""

from __future__ import annotations

from dataclasses import dataclass

from ge_explorer.trace.content import same_content
from ge_explorer.trace.state import Event, RemovedEvent, Snapshot


@dataclass(frozen=True, slots=True)
class Moved:
    """Value of one thing before and after (None: it did not exist)."""

    id: int
    name: str
    before: int | str | None
    after: int | str | None


@dataclass(frozen=True, eq=False)
class Diff:
    """Everything that differs from ``a`` to ``b``. Node entries are ids of the side where the node exists.

    ``fused`` maps an added node to the removed nodes it was made from; ``moved`` are stream changes of nodes present on
    both sides or gaining their first stream; ``renumbered`` are events that only changed their GE id.
    """

    nodes_added: tuple[int, ...]
    nodes_removed: tuple[int, ...]
    nodes_changed: tuple[int, ...]
    fused: dict[int, tuple[int, ...]]
    engines: tuple[Moved, ...]
    clusters: tuple[int, int]
    reordered: int
    moved: tuple[Moved, ...]
    streams: tuple[int, int]
    events_added: tuple[Event, ...]
    events_removed: tuple[RemovedEvent, ...]
    renumbered: tuple[Moved, ...]
    activations: tuple[Moved, ...]
    offsets: tuple[Moved, ...]
    peak: tuple[int | None, int | None]

    @property
    def counts(self) -> dict[str, int]:
        """Number of entries per kind; only kinds that differ."""
        full = {
            "nodes_added": len(self.nodes_added),
            "nodes_removed": len(self.nodes_removed),
            "nodes_changed": len(self.nodes_changed),
            "engines": len(self.engines),
            "clusters": self.clusters[1] - self.clusters[0],
            "reordered": self.reordered,
            "moved": len(self.moved),
            "events_added": len(self.events_added),
            "events_removed": len(self.events_removed),
            "renumbered": len(self.renumbered),
            "activations": len(self.activations),
            "offsets": len(self.offsets),
        }
        return {k: v for k, v in full.items() if v}

    @property
    def empty(self) -> bool:
        """True when nothing differs."""
        return not self.counts and self.peak[0] == self.peak[1]


def diff_snapshots(a: Snapshot, b: Snapshot) -> Diff:
    """Difference from ``a`` to ``b``. Unchanged facets (shared objects) cost nothing."""
    before, after = set(a.graph.node_ids), set(b.graph.node_ids)
    added, removed = tuple(sorted(after - before)), tuple(sorted(before - after))
    changed: tuple[int, ...] = ()
    if a.graph is not b.graph:
        changed = tuple(i for i in sorted(before & after) if not same_content(a.graph.nodes[i], b.graph.nodes[i]))
    fused = {
        i: tuple(o for o in b.graph.node(i).origin if o in before and o not in after)
        for i in added
        if b.graph.node(i).origin
    }
    events_added, events_removed, renumbered = _events(a, b)
    pa, pb = (s.memory.plan.peak if s.memory else None for s in (a, b))
    return Diff(
        added, removed, changed, fused, _engines(a, b),
        (len(a.clusters.items) if a.clusters else 0, len(b.clusters.items) if b.clusters else 0),
        _reordered(a, b), _streams(a, b), (a.streams.count if a.streams else 0, b.streams.count if b.streams else 0),
        events_added, events_removed, renumbered, _activations(a, b), _offsets(a, b), (pa, pb),
    )  # fmt: skip


def _name(s: Snapshot, i: int) -> str:
    return s.graph.unique_names.get(i, f"#{i}")


def _streams(a: Snapshot, b: Snapshot) -> tuple[Moved, ...]:
    if a.streams is b.streams:
        return ()
    out = []
    for i in b.graph.node_ids:
        before = int(a.streams.node[i]) if a.streams is not None and i < a.streams.node.size else None
        after = int(b.streams.node[i]) if b.streams is not None and i < b.streams.node.size else None
        if (before if before is not None else -1) != (after if after is not None else -1):
            out.append(Moved(i, _name(b, i), before, after))
    return tuple(out)


def _engines(a: Snapshot, b: Snapshot) -> tuple[Moved, ...]:
    if a.placement is b.placement or b.placement is None:
        return ()
    out = []
    for i in b.graph.node_ids:
        before = a.placement.engine[i] if a.placement is not None and i < len(a.placement.engine) else None
        if before != b.placement.engine[i]:
            out.append(Moved(i, _name(b, i), before, b.placement.engine[i]))
    return tuple(out)


def _reordered(a: Snapshot, b: Snapshot) -> int:
    if a.sequence is b.sequence or b.sequence is None:
        return 0
    if a.sequence is None:
        return len(b.sequence)
    return sum(x != y for x, y in zip(a.sequence, b.sequence, strict=False)) + abs(len(a.sequence) - len(b.sequence))


def _events(a: Snapshot, b: Snapshot) -> tuple[tuple[Event, ...], tuple[RemovedEvent, ...], tuple[Moved, ...]]:
    if a.sync is b.sync:
        return (), (), ()
    ea = {e.uid: e for e in a.sync.events} if a.sync else {}
    eb = {e.uid: e for e in b.sync.events} if b.sync else {}
    rules = {r.event.uid: r for r in b.sync.removed} if b.sync else {}
    removed = tuple(rules.get(u, RemovedEvent(e, "not in the other step", "")) for u, e in ea.items() if u not in eb)
    renumbered = tuple(
        Moved(u, f"event {eb[u].id}", e.id, eb[u].id) for u, e in ea.items() if u in eb and eb[u].id != e.id
    )
    return tuple(e for u, e in eb.items() if u not in ea), removed, renumbered


def _activations(a: Snapshot, b: Snapshot) -> tuple[Moved, ...]:
    if a.sync is b.sync:
        return ()
    xa = dict(a.sync.active_streams) if a.sync else {}
    xb = dict(b.sync.active_streams) if b.sync else {}
    return tuple(
        Moved(i, _name(b, i), _list(xa.get(i)), _list(xb.get(i))) for i in sorted({*xa, *xb}) if xa.get(i) != xb.get(i)
    )


def _list(streams: tuple[int, ...] | None) -> str | None:
    return None if streams is None else " ".join(map(str, streams))


def _offsets(a: Snapshot, b: Snapshot) -> tuple[Moved, ...]:
    if a.memory is b.memory:
        return ()
    ma, mb = (
        {x.name: (x.id, o) for x, o in zip(s.memory.problem.buffers, s.memory.plan.offsets, strict=True)}
        if s.memory
        else {}
        for s in (a, b)
    )
    out = []
    for name in [*mb, *(n for n in ma if n not in mb)]:
        before, after = ma.get(name), mb.get(name)
        if (before and before[1]) != (after and after[1]) or (before is None) != (after is None):
            out.append(Moved((after or before or (0, 0))[0], name, before and before[1], after and after[1]))
    return tuple(out)

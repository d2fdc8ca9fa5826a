"""Our compilation of a dump's graph against what GE wrote into the dump: streams, events and offsets, node by node."""

from __future__ import annotations

from dataclasses import dataclass

from ge_explorer.loaders.report import LoadResult
from ge_explorer.text import Text
from ge_explorer.trace.compare_files import translation
from ge_explorer.trace.recorded import snapshot_of
from ge_explorer.trace.state import SYNC_OPS, Snapshot


@dataclass(frozen=True, slots=True)
class NodeRow:
    """One node: its stream in the dump and here. ``same`` allows for another numbering of the streams."""

    node: int
    name: str
    dump: int
    ours: int
    same: bool


@dataclass(frozen=True, slots=True)
class OffsetRow:
    """One output: offset in bytes in the dump and here."""

    tensor: int
    name: str
    dump: int
    ours: int


@dataclass(frozen=True, eq=False)
class Agreement:
    """Agreement of ours with a dump's own. Events are (sender, receiver) node ids of the dump's graph.

    ``stream_of`` translates the dump's stream numbers to ours. ``notes`` say what could not be compared and why.
    """

    streams: tuple[NodeRow, ...]
    stream_of: dict[int, int]
    events_both: tuple[tuple[int, int], ...]
    events_dump: tuple[tuple[int, int], ...]
    events_ours: tuple[tuple[int, int], ...]
    offsets: tuple[OffsetRow, ...]
    peak: tuple[int | None, int | None]
    names: dict[int, str]
    notes: tuple[Text, ...]

    @property
    def streams_equal(self) -> int:
        """Nodes on the same stream."""
        return sum(r.same for r in self.streams)

    @property
    def offsets_equal(self) -> int:
        """Outputs at the same offset."""
        return sum(r.dump == r.ours for r in self.offsets)

    @property
    def whole(self) -> bool:
        """True when everything that could be compared is equal, and something could be."""
        return (
            bool(self.streams or self.offsets)
            and self.streams_equal == len(self.streams)
            and self.offsets_equal == len(self.offsets)
            and not (self.events_dump or self.events_ours)
        )


def agree(result: LoadResult, final: Snapshot) -> Agreement:
    """Compare a loaded dump with the final state of its own compilation (``source_graph`` keeps the ids).

    InputError for a source that records nothing.
    """
    own = snapshot_of(result)
    g = result.graph
    names = g.unique_names
    notes: list[Text] = []
    there = [i for i in g.node_ids if i < final.graph.id_bound and final.graph.nodes[i] is not None]
    gone = len(g) - len(there) - sum(n.op in SYNC_OPS for n in g)
    if gone:
        notes.append(
            Text(
                "{n} nodes of the dump are folded or fused here and are not compared",
                "转储中有 {n} 个节点在此处被折叠或融合，不参与比较",
            ).format(n=gone)
        )
    rows, stream_of = _streams(own, final, there, names, notes)
    both, dump, ours = _events(own, final, notes)
    offsets = _offsets(result, final, names, notes)
    peaks = [s.memory.plan.peak if s.memory is not None else None for s in (own, final)]
    return Agreement(rows, stream_of, both, dump, ours, offsets, (peaks[0], peaks[1]), names, tuple(notes))


def _streams(
    own: Snapshot, final: Snapshot, there: list[int], names: dict[int, str], notes: list[Text]
) -> tuple[tuple[NodeRow, ...], dict[int, int]]:
    if own.streams is None or final.streams is None:
        notes.append(Text("the dump records no streams", "转储未记录流"))
        return (), {}
    ours = final.physical.node if final.physical is not None else final.streams.node
    # sources run nothing; dumps write 0 or -1 for them depending on the stage
    ids = [i for i in there if not own.graph.node(i).is_source and own.graph.node(i).op not in SYNC_OPS]
    pairs = [(int(own.streams.node[i]), int(ours[i])) for i in ids]
    stream_of = translation(pairs)
    return tuple(
        NodeRow(i, names[i], a, b, stream_of.get(a) == b) for i, (a, b) in zip(ids, pairs, strict=True)
    ), stream_of


Pairs = tuple[tuple[int, int], ...]


def _events(own: Snapshot, final: Snapshot, notes: list[Text]) -> tuple[Pairs, Pairs, Pairs]:
    if own.sync is None or final.sync is None:
        notes.append(Text("the dump records no events", "转储未记录事件"))
        return (), (), ()
    split = final.physical.sync.events if final.physical is not None else ()
    mine = [(e.send, e.recv) for e in (*final.sync.events, *split)]
    both, dump = [], []
    for pair in ((e.send, e.recv) for e in own.sync.events):
        if pair in mine:
            mine.remove(pair)
            both.append(pair)
        else:
            dump.append(pair)
    known = own.graph.id_bound
    return tuple(both), tuple(dump), tuple(p for p in mine if max(p) < known)


def _offsets(result: LoadResult, final: Snapshot, names: dict[int, str], notes: list[Text]) -> tuple[OffsetRow, ...]:
    recorded = result.recorded.offsets if result.recorded is not None else {}
    if not recorded or final.memory is None:
        notes.append(Text("the dump records no memory offsets", "转储未记录内存偏移"))
        return ()
    ours = {
        t: at + b.inside.get(t, 0)
        for b, at in zip(final.memory.problem.buffers, final.memory.plan.offsets, strict=True)
        for t in b.tensors
    }  # fmt: skip
    g = result.graph
    return tuple(
        OffsetRow(t, f"{names[g.tensor(t).producer]}:{g.tensor(t).index}", recorded[t], ours[t])
        for t in sorted(recorded)
        if t in ours
    )

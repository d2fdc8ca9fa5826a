"""Exact difference of two files: models, dumps of one compiler at two times, dumps of two versions.

Unlike two steps of a trace the files have no common ids, so nodes are matched first (match_files.py). Streams, events and
offsets are compared where both files record them; stream numbers may differ while the assignment is the same, and that is
said.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ge_explorer.errors import InputError
from ge_explorer.graph.constant import ConstantValue
from ge_explorer.graph.model import Graph
from ge_explorer.loaders.ge_version import stated_versions
from ge_explorer.loaders.report import LoadResult
from ge_explorer.trace.diff import Moved
from ge_explorer.trace.match_files import Match, match_nodes
from ge_explorer.trace.recorded import snapshot_of
from ge_explorer.trace.state import SYNC_OPS, Snapshot

NOISE = frozenset({"_gx_names", "_gx_format", "_gx_call"})
EventKey = tuple[str, str, str]
"""Sender, receiver, kind."""


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One field of a matched node: type, shape, dtype, attribute name, input, control."""

    field: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class NodeChange:
    """A node of both files whose content differs."""

    a: int
    b: int
    name: str
    fields: tuple[FieldChange, ...]


@dataclass(frozen=True, slots=True)
class Side:
    """What one of the files is."""

    source: str
    format: str
    graph: Graph
    versions: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, eq=False)
class FilesDiff:
    """Everything that differs from file ``a`` to file ``b``.

    ``moved`` are nodes whose stream differs after the numbers of ``a`` are translated by ``stream_of`` (stream of a -> stream of
    b, by the nodes they share); None where a file records no streams. ``events_a``, ``events_b`` are events of one file only.
    ``offsets`` are bytes per output name. ``options`` and ``versions`` are the differing texts.
    """

    a: Side
    b: Side
    match: Match
    changed: tuple[NodeChange, ...]
    moved: tuple[Moved, ...] | None
    stream_of: dict[int, int]
    events_a: tuple[EventKey, ...]
    events_b: tuple[EventKey, ...]
    offsets: tuple[Moved, ...]
    peak: tuple[int | None, int | None]
    options: tuple[Moved, ...]
    versions: tuple[Moved, ...]
    reordered: int

    @property
    def counts(self) -> dict[str, int]:
        """Entries per kind; only kinds that differ."""
        full = {
            "only_a": len(self.match.only_a), "only_b": len(self.match.only_b), "renamed": len(self.match.renamed),
            "merged": len(self.match.merged), "changed": len(self.changed), "reordered": self.reordered,
            "moved": len(self.moved or ()), "events_only_a": len(self.events_a), "events_only_b": len(self.events_b),
            "offsets": len(self.offsets), "options": len(self.options), "versions": len(self.versions),
        }  # fmt: skip
        return {k: v for k, v in full.items() if v}

    @property
    def empty(self) -> bool:
        """True when nothing differs."""
        return not self.counts and self.peak[0] == self.peak[1]


def diff_results(a: LoadResult, b: LoadResult) -> FilesDiff:
    """Difference of two loaded files."""
    m = match_nodes(a.graph, b.graph)
    sa, sb = _recorded(a), _recorded(b)
    to_b = dict(m.pairs)
    moved, stream_of = streams_apart(sa, sb, m)
    events_a, events_b = events_apart(sa, sb, to_b)
    peaks = tuple(s.memory.plan.peak if s is not None and s.memory is not None else None for s in (sa, sb))
    options = different_texts(*(r.recorded.options if r.recorded else {} for r in (a, b)))
    versions = tuple(stated_versions(r) for r in (a, b))
    return FilesDiff(
        Side(a.report.source, a.report.format, a.graph, versions[0]),
        Side(b.report.source, b.report.format, b.graph, versions[1]),
        m, changed_nodes(a.graph, b.graph, m, a.report.format == b.report.format), moved, stream_of, events_a, events_b,
        _offsets(a, b, m), (peaks[0], peaks[1]),
        options, different_texts(dict(versions[0]), dict(versions[1])), places_in_order(a.graph, b.graph, m),
    )  # fmt: skip


def _recorded(r: LoadResult) -> Snapshot | None:
    try:
        return snapshot_of(r) if r.recorded is not None else None
    except InputError:
        return None


# ---------------------------------------------------------------- nodes
def changed_nodes(a: Graph, b: Graph, m: Match, same_form: bool) -> tuple[NodeChange, ...]:
    """Matched nodes whose content differs. ``same_form``: both sides write all attributes."""
    to_b = dict(m.pairs)
    out = []
    for i, j in m.pairs:
        fields = _fields(a, b, i, j, to_b, same_form)
        if fields:
            out.append(NodeChange(i, j, b.unique_names[j], tuple(fields)))
    return tuple(out)


def _fields(a: Graph, b: Graph, i: int, j: int, to_b: dict[int, int], same_form: bool) -> list[FieldChange]:
    x, y = a.node(i), b.node(j)
    out = [FieldChange("type", x.op, y.op)] if x.op != y.op else []
    for k in range(max(len(x.outputs), len(y.outputs))):
        p = a.tensor(x.outputs[k]) if k < len(x.outputs) else None
        q = b.tensor(y.outputs[k]) if k < len(y.outputs) else None
        if p is None or q is None:
            out.append(FieldChange(f"output {k}", _there(p), _there(q)))
            continue
        if p.shape != q.shape:
            out.append(FieldChange(f"shape {k}", spell(p.shape), spell(q.shape)))
        if p.dtype != q.dtype:
            out.append(FieldChange(f"dtype {k}", spell(p.dtype), spell(q.dtype)))
    for k in range(max(len(x.inputs), len(y.inputs))):
        s, t = (_input(g, n.inputs, k) for g, n in ((a, x), (b, y)))
        known = (to_b.get(s[0], -1), s[1]) if s is not None else None
        if known != t:
            out.append(FieldChange(f"input {k}", _source(a, s), _source(b, t)))
    before = {to_b.get(c, -1) for c in x.control_in if a.node(c).op not in SYNC_OPS}
    after = {c for c in y.control_in if b.node(c).op not in SYNC_OPS}
    if before != after:
        out.append(FieldChange("control", str(len(x.control_in)), str(len(y.control_in))))
    # another form of dump leaves other attributes out: only what both write can differ
    for key in sorted(({*x.attrs, *y.attrs} if same_form else {*x.attrs} & {*y.attrs}) - NOISE):
        v, w = x.attrs.get(key), y.attrs.get(key)
        if v != w:
            out.append(FieldChange(f"attribute {key}", spell(v), spell(w)))
    return out


def _there(t: object) -> str:
    return "" if t is None else "there"


def _input(g: Graph, inputs: tuple[int | None, ...], k: int) -> tuple[int, int] | None:
    t = inputs[k] if k < len(inputs) else None
    return None if t is None else (g.tensor(t).producer, g.tensor(t).index)


def _source(g: Graph, end: tuple[int, int] | None) -> str:
    return "" if end is None else f"{g.unique_names[end[0]]}:{end[1]}"


def spell(value: Any) -> str:
    """Short text of an attribute, shape or type; "" for nothing, quotes for an empty text."""
    if value is None:
        return ""
    if value == "":
        return '""'
    if isinstance(value, ConstantValue):
        return f"{value.dtype}{list(value.shape)}"
    if isinstance(value, tuple):
        return "[" + ", ".join("?" if v is None else str(v) for v in value) + "]"
    return str(value)


def places_in_order(a: Graph, b: Graph, m: Match) -> int:
    """Matched nodes that stand elsewhere in their list, counted over what both files have."""
    place = {j: k for k, j in enumerate(b.walk())}
    order = {i: k for k, i in enumerate(a.walk())}
    mine = sorted(m.pairs, key=lambda p: order[p[0]])
    theirs = sorted(m.pairs, key=lambda p: place[p[1]])
    return sum(p != q for p, q in zip(mine, theirs, strict=True))


# ---------------------------------------------------------------- what dumps record
def streams_apart(
    sa: Snapshot | None, sb: Snapshot | None, m: Match
) -> tuple[tuple[Moved, ...] | None, dict[int, int]]:
    """(matched nodes on another stream after translation of the numbers, the translation); None without streams."""
    if sa is None or sb is None or sa.streams is None or sb.streams is None:
        return None, {}
    x, y = (
        {i: int(s.streams.node[i]) for i in s.graph.node_ids if i < s.streams.node.size} for s in (sa, sb) if s.streams
    )
    pairs = [(i, j, x.get(i, -1), y.get(j, -1)) for i, j in m.pairs]
    stream_of = translation([(s, t) for _, _, s, t in pairs])
    names = sb.graph.unique_names
    return tuple(Moved(j, names[j], s, t) for _, j, s, t in pairs if stream_of.get(s, s) != t), stream_of


def translation(pairs: list[tuple[int, int]]) -> dict[int, int]:
    """Stream numbers of the left to those of the right, one to one, the most shared nodes first. -1 stays -1."""
    shared: dict[tuple[int, int], int] = {}
    for p in pairs:
        if p[0] >= 0 and p[1] >= 0:
            shared[p] = shared.get(p, 0) + 1
    out: dict[int, int] = {-1: -1}
    used: set[int] = set()
    for s, t in sorted(shared, key=lambda p: (-shared[p], p[0] != p[1], p)):
        if s not in out and t not in used:
            out[s] = t
            used.add(t)
    return out


def events_apart(
    sa: Snapshot | None, sb: Snapshot | None, to_b: dict[int, int]
) -> tuple[tuple[EventKey, ...], tuple[EventKey, ...]]:
    """Events of ``sa`` only and of ``sb`` only, by sender, receiver and kind."""
    if sa is None or sb is None or sa.sync is None or sb.sync is None:
        return (), ()
    mine = [(to_b.get(e.send, -1 - e.send), to_b.get(e.recv, -1 - e.recv), e.kind) for e in sa.sync.events]
    theirs = [(e.send, e.recv, e.kind) for e in sb.sync.events]
    names_a, names_b = sa.graph.unique_names, sb.graph.unique_names
    left = list(theirs)
    gone: list[EventKey] = []
    for key, e in zip(mine, sa.sync.events, strict=True):
        if key in left:
            left.remove(key)
        else:
            gone.append((names_a[e.send], names_a[e.recv], e.kind))
    return tuple(gone), tuple((names_b[s], names_b[r], k) for s, r, k in left)


def _offsets(a: LoadResult, b: LoadResult, m: Match) -> tuple[Moved, ...]:
    if a.recorded is None or b.recorded is None or not (a.recorded.offsets and b.recorded.offsets):
        return ()
    x, y = a.recorded.offsets, b.recorded.offsets
    out = []
    for i, j in m.pairs:
        for k, (s, t) in enumerate(zip(a.graph.node(i).outputs, b.graph.node(j).outputs, strict=False)):
            if x.get(s) != y.get(t):
                out.append(Moved(t, f"{b.graph.unique_names[j]}:{k}", x.get(s), y.get(t)))
    return tuple(out)


def different_texts(a: Any, b: Any) -> tuple[Moved, ...]:
    """Entries of two mappings that differ; none where a side says nothing at all."""
    if not a or not b:  # one of the files does not say it
        return ()
    keys = sorted({*a, *b})
    return tuple(Moved(k, key, a.get(key), b.get(key)) for k, key in enumerate(keys) if a.get(key) != b.get(key))

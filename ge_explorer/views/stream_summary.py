"""GE's stream allocation summary: what ``GetStreamAllocationSummary`` tells a user about a compiled graph, field by field.

Source: compiler/graph/build/graph_compile_summary_impl.cc (CollectStreamInfosFromKnownGraph, …FromUnKnownGraph, ToStringInfo),
inc/external/ge/ge_graph_compile_summary.h. GE has a summary only after compiling; ours also describes earlier steps, where the
number of physical streams is unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ge_explorer.graph.model import Graph
from ge_explorer.text import Text
from ge_explorer.trace.state import SYNC_OPS, Snapshot
from ge_explorer.views.marks import plain

USER_LABEL = "_user_stream_label"
FOLLOWED = "used_stream_num"
FIELDS = (
    "logic_stream_id", "user_stream_label", "is_assigned_by_user_stream_pass", "attached_stream_ids", "physical_model_stream_num",
    "hccl_followed_stream_num",
)  # fmt: skip
"""Field names in the order of GE's text form."""


@dataclass(frozen=True, slots=True)
class StreamSummaryRow:
    """One logical stream. Field names are GE's. ``nodes`` are node ids in list order; those of an attached stream are its owners.

    ``physical_model_stream_num`` is None before the physical split; ``hccl_followed_stream_num`` sums, over the physical streams,
    the *smallest* number of follow streams any collective there uses (a load needs the largest).
    """

    logic_stream_id: int
    user_stream_label: str = ""
    is_assigned_by_user_stream_pass: bool = False
    attached_stream_ids: tuple[int, ...] = ()
    physical_model_stream_num: int | None = None
    hccl_followed_stream_num: int = 0
    nodes: tuple[int, ...] = ()

    def text(self) -> str:
        """GE's line, without its line break. An unknown number of physical streams is written ``unknown``."""
        physical = self.physical_model_stream_num
        values = (
            str(self.logic_stream_id),
            plain(self.user_stream_label) if self.user_stream_label else "",
            "true" if self.is_assigned_by_user_stream_pass else "false",
            "".join(f"{i} " for i in self.attached_stream_ids),
            "unknown" if physical is None else str(physical),
            str(self.hccl_followed_stream_num),
        )
        return ", ".join(f"{k}: {v}" for k, v in zip(FIELDS, values, strict=True)) + "."


@dataclass(frozen=True, slots=True)
class GraphStreams:
    """Rows of one model graph, ascending by stream. ``inner_only``: streams that only nodes of subgraphs use; GE lists none."""

    name: str
    known_shape: bool
    rows: tuple[StreamSummaryRow, ...]
    inner_only: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class StreamSummary:
    """The whole summary. ``node_names`` translates the rows' node ids; counts are GE's model attributes where they are known."""

    graphs: tuple[GraphStreams, ...]
    node_names: Mapping[int, str]
    stream_num: int
    event_num: int | None
    notify_num: int | None
    split: bool
    notes: tuple[Text, ...] = ()

    @property
    def rows(self) -> tuple[StreamSummaryRow, ...]:
        """Rows of all graphs, root first."""
        return tuple(r for g in self.graphs for r in g.rows)

    def text(self) -> str:
        """GE's text form, one line a stream; a heading per graph only where there are several."""
        lines: list[str] = []
        for g in self.graphs:
            if len(self.graphs) > 1:
                lines.append(f"{plain(g.name)}:")
            lines += [r.text() for r in g.rows]
        return "".join(f"{line}\n" for line in lines)

    def as_json(self) -> dict[str, Any]:
        """JSON-able: ``graphs`` name -> rows with GE's field names and node names."""
        return {
            "stream_num": self.stream_num,
            "event_num": self.event_num,
            "notify_num": self.notify_num,
            "physical": self.split,
            "graphs": {g.name: [self._row_json(r) for r in g.rows] for g in self.graphs},
            "notes": [{"en": t.en, "zh": t.zh} for t in self.notes],
        }

    def _row_json(self, r: StreamSummaryRow) -> dict[str, Any]:
        out = {k: getattr(r, k) for k in FIELDS}
        return {
            **out,
            "attached_stream_ids": list(r.attached_stream_ids),
            "nodes": [self.node_names[i] for i in r.nodes],
        }


def build_summary(s: Snapshot) -> StreamSummary:
    """Summary of a snapshot. Empty, with a note, while no stream is assigned."""
    if s.streams is None:
        return StreamSummary((), {}, 0, None, None, False, (Text("No stream is assigned yet.", "还没有分配流。"),))
    graphs = tuple(
        _unknown_graph(s, i) if s.graph.scope(i).dynamic else _known_graph(s, i) for i in model_scopes(s.graph)
    )
    sync = s.physical.sync if s.physical is not None else s.sync
    notes = []
    if s.physical is None and any(g.known_shape for g in graphs):
        notes.append(
            Text(
                "Before the physical split: the number of physical streams is not known.",
                "物理拆流之前：物理流数量未知。",
            )
        )
    for g in graphs:
        if g.inner_only:
            inner = ", ".join(map(str, g.inner_only[:10]))
            notes.append(
                Text(
                    f"GE's summary lists direct nodes only; streams {inner} are used by nodes of subgraphs and are missing.",
                    f"GE 的摘要只列直接节点；仅被子图节点使用的流 {inner} 不在其中。",
                )
            )
    return StreamSummary(
        graphs, s.graph.unique_names, s.streams.count if s.physical is None else s.physical.count,
        None if sync is None else sync.event_num, None if sync is None else sync.notify_num, s.physical is not None, tuple(notes),
    )  # fmt: skip


def model_scopes(graph: Graph) -> list[int]:
    """Scopes that are models of their own: the root, and every subgraph right under a graph of unknown shape."""
    out = [0]
    for scope in graph.scopes:
        if scope is None or scope.id == 0 or scope.parent < 0:
            continue
        if graph.scope(graph.node(scope.parent).scope).dynamic:
            out.append(scope.id)
    return out


# ---------------------------------------------------------------- one graph
def _known_graph(s: Snapshot, scope: int) -> GraphStreams:
    """Direct nodes by logical stream; physical streams are those of the same nodes (and of their attached streams)."""
    assert s.streams is not None
    rows = _Rows(s)
    real: dict[int, set[int]] = {}
    followed: dict[int, int] = {}
    for i in s.graph.scope(scope).nodes:
        logical = logical_stream(s, i)
        if logical < 0 or s.graph.node(i).op in SYNC_OPS:  # sync nodes have no _logic_stream_id
            continue
        rows.add(logical, i)
        rows.label(logical, i)
        place = _physical(s, i)
        main = logical if place is None else place
        real.setdefault(logical, set()).add(main)
        n = s.graph.node(i).attrs.get(FOLLOWED)
        if isinstance(n, int) and n > 0:
            followed[main] = min(n, followed.get(main, n))
        for attached, where in _attached(s, i):
            rows.attach(logical, attached, i)
            real.setdefault(attached, set()).add(where)
    for main, n in followed.items():
        owner = main if s.physical is None else _logic_of(s, main)
        if owner in rows.of:
            rows.change(owner, hccl_followed_stream_num=rows.of[owner].hccl_followed_stream_num + n)
    if s.physical is not None:
        for logical, parts in real.items():
            rows.change(logical, physical_model_stream_num=len(parts))
    listed = rows.done()
    known = {r.logic_stream_id for r in listed}
    inner = {logical_stream(s, i) for i in _inner_nodes(s.graph, scope)} - known - {-1}
    return GraphStreams(_name(s.graph, scope), True, listed, tuple(sorted(inner)))


def _unknown_graph(s: Snapshot, scope: int) -> GraphStreams:
    """Direct nodes by their stream; one physical stream each; collectives are not counted."""
    assert s.streams is not None
    rows = _Rows(s)
    for i in s.graph.scope(scope).nodes:
        stream = logical_stream(s, i)
        if stream < 0:
            continue
        rows.add(stream, i)
        rows.label(stream, i)
        for attached in s.streams.attached.get(i, ()):
            if attached >= 0:
                rows.attach(stream, attached, i)
    for stream in rows.of:
        rows.change(stream, physical_model_stream_num=1)
    return GraphStreams(_name(s.graph, scope), False, rows.done())


class _Rows:
    """Rows being filled, by stream."""

    def __init__(self, s: Snapshot) -> None:
        assert s.streams is not None
        self.s, self.custom = s, frozenset(s.streams.custom)
        self.of: dict[int, StreamSummaryRow] = {}
        self.nodes: dict[int, list[int]] = {}
        self.attached: dict[int, set[int]] = {}

    def add(self, stream: int, node: int) -> None:
        if stream not in self.of:
            self.of[stream] = StreamSummaryRow(stream, is_assigned_by_user_stream_pass=stream in self.custom)
        self.nodes.setdefault(stream, []).append(node)

    def label(self, stream: int, node: int) -> None:
        """The last node that has the attribute names the stream."""
        text = self.s.graph.node(node).attrs.get(USER_LABEL)
        if isinstance(text, str):
            self.change(stream, user_stream_label=text)

    def attach(self, main: int, attached: int, node: int) -> None:
        self.add(attached, node)
        self.attached.setdefault(main, set()).add(attached)

    def change(self, stream: int, **values: Any) -> None:
        self.of[stream] = replace(self.of[stream], **values)

    def done(self) -> tuple[StreamSummaryRow, ...]:
        return tuple(
            replace(
                self.of[k],
                nodes=tuple(self.nodes.get(k, ())),
                attached_stream_ids=tuple(sorted(self.attached.get(k, ()))),
            )
            for k in sorted(self.of)
        )


# ---------------------------------------------------------------- streams of a node
def logical_stream(s: Snapshot, node: int) -> int:
    """Logical stream of a node, -1 for none (nodes made after the split have none: no ``_logic_stream_id``)."""
    if s.streams is None or node >= s.streams.node.size:
        return -1
    return int(s.streams.node[node])


def _physical(s: Snapshot, node: int) -> int | None:
    if s.physical is None or node >= s.physical.node.size:
        return None
    return int(s.physical.node[node])


def _logic_of(s: Snapshot, physical: int) -> int:
    assert s.physical is not None
    return s.physical.logic_of[physical] if 0 <= physical < len(s.physical.logic_of) else -1


def _attached(s: Snapshot, node: int) -> Iterable[tuple[int, int]]:
    """(logical, physical) attached streams of a node; the same number twice before the split."""
    assert s.streams is not None
    if s.physical is None:
        return [(i, i) for i in s.streams.attached.get(node, ()) if i >= 0]
    return [(a, i) for i in s.physical.attached.get(node, ()) if (a := _logic_of(s, i)) >= 0]


def _inner_nodes(graph: Graph, scope: int) -> Iterable[int]:
    """Nodes of the subgraphs that belong to the same model as ``scope``."""
    stack = [graph.node(i).subgraphs for i in graph.scope(scope).nodes]
    seen: set[int] = set()
    while stack:
        for inner in stack.pop():
            if inner not in seen:
                seen.add(inner)
                for i in graph.scope(inner).nodes:
                    yield i
                    stack.append(graph.node(i).subgraphs)


def _name(graph: Graph, scope: int) -> str:
    return graph.name if scope == 0 else graph.scope(scope).name

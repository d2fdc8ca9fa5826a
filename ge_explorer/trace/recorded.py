"""Snapshots and traces from compiler dumps: what GE itself decided, in the same form as our own results.

``snapshot_of`` fills the facets a dump records; ``trace_of`` turns a folder of staged dumps into a trace whose steps are
the dumps, compared by the runner as any other step. Nothing is computed that the dump does not say, except the order of
buffers (needed to check its offsets).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from ge_explorer.errors import InputError
from ge_explorer.graph.edit import GraphEditor
from ge_explorer.graph.happens_before import DeadlockError
from ge_explorer.graph.model import Graph, IntArray
from ge_explorer.ids import Ref
from ge_explorer.loaders.ge_recorded import Recorded
from ge_explorer.loaders.plog_memory import plan_of_lines
from ge_explorer.loaders.report import LoadResult
from ge_explorer.loaders.staged import Stage
from ge_explorer.memory.bounds import serial_live
from ge_explorer.memory.model import MemoryPlan
from ge_explorer.memory.problem import build_problem
from ge_explorer.memory.sizes import aligned
from ge_explorer.text import Text
from ge_explorer.trace.passes import Chapter, Pass, PassContext, Rule
from ge_explorer.trace.pipeline import Pipeline
from ge_explorer.trace.runner import run_trace
from ge_explorer.trace.state import (
    FACETS,
    NO_STREAM,
    SYNC_OPS,
    Event,
    MemoryState,
    Options,
    Snapshot,
    StreamAssignment,
    SyncPlan,
    int_array,
)
from ge_explorer.trace.trace import Trace

STARTED = "active_stream_list"
DUMP = "dump"
"""Cause of an event that was read from a dump; GE does not write why it inserted it."""


def snapshot_of(result: LoadResult) -> Snapshot:
    """The state a dump or log records.

    Facets the source does not record stay None. ``order`` falls back to list order where ids are absent or doubled;
    streams are the ids as written (after the physical split where there was one). InputError for a source that is no dump.
    """
    r = result.recorded
    if r is None:
        raise InputError("this source records no compilation", where=result.report.source, got=result.report.format,
                         todo="Load a GE dump or log, or compile the graph.")  # fmt: skip
    g = result.graph
    sequence = tuple(g.walk())
    order = _order(g, sequence, r.order)
    streams = _streams(g, r)
    return Snapshot(
        g, Options.of(r.options), order, sequence, tuple(g.subgraph_order()), streams=streams, sync=_sync(r),
        memory=_log_memory(g, r) if r.buffers else _memory(g, r, sequence, order, streams),
    )  # fmt: skip


def source_graph(result: LoadResult) -> Graph:
    """The graph to compile. Send and Recv nodes of a dump are GE's result, not its input: they are taken out, with ids and
    all other edges kept, because a new compilation inserts its own (``snapshot_of`` shows them as events). So are the lists of
    streams that a node starts where the dump gives streams: they number the old ones.
    """
    g = result.graph
    if result.recorded is None:
        return g
    if result.recorded.streams:
        started = [n.id for n in g if STARTED in n.attrs]
        g = g.with_attrs({i: {STARTED: None} for i in started}) if started else g
    gone = [n.id for n in g if n.op in SYNC_OPS]
    if not gone:
        return g
    editor = GraphEditor(g)
    editor.remove_nodes(gone)
    return editor.freeze()


def _order(g: Graph, sequence: Sequence[int], given: Mapping[int, int]) -> IntArray:
    order = np.full(g.id_bound, -1, dtype=np.int64)
    ids = [given.get(i) for i in sequence]
    whole = None not in ids and len(set(ids)) == len(ids)
    for place, i in enumerate(sequence):
        own = ids[place]
        order[i] = own if whole and own is not None and 0 <= own < 2**31 else place
    return int_array(order)


def _streams(g: Graph, r: Recorded) -> StreamAssignment | None:
    if not r.streams:
        return None
    node = np.full(g.id_bound, NO_STREAM, dtype=np.int64)
    for i, s in r.streams.items():
        node[i] = s
    highest = max([*r.streams.values(), *(s for a in r.attached.values() for s in a)], default=-1)
    return StreamAssignment(int_array(node), next_stream=highest + 1, attached=r.attached)


def _sync(r: Recorded) -> SyncPlan | None:
    if not r.streams or not (r.events or r.active or "event_num" in r.model):
        return None
    events = tuple(
        Event(k, e.id, e.send, e.recv, e.send_stream, e.recv_stream, e.kind, DUMP) for k, e in enumerate(r.events)
    )
    return SyncPlan(
        events, active_streams=r.active, activated=frozenset(s for a in r.active.values() for s in a),
        next_uid=len(events), event_num=len({e.id for e in events if e.kind == "event"}),
        notify_num=len({e.id for e in events if e.kind == "notify"}),
    )  # fmt: skip


def _memory(
    g: Graph, r: Recorded, sequence: Sequence[int], order: IntArray, streams: StreamAssignment | None
) -> MemoryState | None:
    """Our buffers with the dump's offsets and sizes; None unless every buffer of the feature map has an offset."""
    if not r.offsets or streams is None:
        return None
    try:
        problem = build_problem(g, sequence, streams.node, order)
    except DeadlockError:
        return None
    offsets: list[int] = []
    buffers = []
    spare = {i: list(pairs) for i, pairs in r.workspace.items()}
    for b in problem.buffers:
        if b.kind == "workspace" and b.producers and spare.get(b.producers[0]):
            offset, size = spare[b.producers[0]].pop(0)
            sizes = [size]
        else:
            known = [t for t in b.tensors if t in r.offsets]
            if not known:
                return None
            offset = r.offsets[known[0]] - b.inside.get(known[0], 0)
            sizes = [r.sizes[t] + b.inside.get(t, 0) for t in b.tensors if t in r.sizes]
        offsets.append(offset)
        buffers.append(replace(b, size=aligned(max(sizes)), assumed=False) if sizes and max(sizes) > 0 else b)
    if not buffers:
        return None
    problem = replace(problem, buffers=tuple(buffers))
    peak = max(o + b.size for o, b in zip(offsets, buffers, strict=True))
    bound = serial_live(problem)
    return MemoryState(problem, MemoryPlan(tuple(offsets), peak, "GE", "dump"), bound.bytes, bound.name)


def _log_memory(g: Graph, r: Recorded) -> MemoryState | None:
    """Buffers of the root graph of a memory log."""
    name = g.root.name
    nodes = {(g.scope(n.scope).name, n.name): n.id for n in g}
    problem, plan = plan_of_lines([b for b in r.buffers if b.graph == name], nodes)
    if not problem.buffers:
        return None
    bound = serial_live(problem)
    return MemoryState(problem, plan, bound.bytes, bound.name)


# ---------------------------------------------------------------- folder of dumps
@dataclass(frozen=True)
class DumpStage(Pass):
    """A step that GE ran: its result is the dump. One subclass per stage, made by ``trace_of``."""

    name: ClassVar[str] = "dump-stage"
    title: ClassVar[Text] = Text("Dump")
    summary: ClassVar[Text] = Text("What GE wrote after this stage.", "GE 在该阶段之后写出的内容。")
    chapter: ClassVar[Chapter] = "optimise"
    reads: ClassVar[frozenset[str]] = frozenset({"options"})
    writes: ClassVar[frozenset[str]] = frozenset(FACETS) - {"options"}
    source: ClassVar[str] = "dump"
    rules: ClassVar[Mapping[str, Rule]] = MappingProxyType({DUMP: Rule(Text("recorded by GE", "由 GE 记录"), "dump")})
    recorded: ClassVar[Snapshot | None] = None
    missing: ClassVar[int] = 0

    def skip_reason(self, s: Snapshot, ctx: PassContext) -> Text | None:
        """A gap in the folder is a skipped step."""
        if not self.missing:
            return None
        return Text(f"{self.missing} dumps are not in the folder", f"文件夹中缺少 {self.missing} 个转储")

    def run(self, s: Snapshot, ctx: PassContext) -> Snapshot:
        """The recorded state; one decision per node whose stream changed."""
        after = self.recorded
        if after is None:
            return s
        if after.streams is not None:
            for i in after.graph.node_ids:
                now = int(after.streams.node[i])
                before = int(s.streams.node[i]) if s.streams is not None and i < len(s.streams.node) else None
                if now != before:
                    ctx.decide(Ref("node", i), "stream", before, now, DUMP)
        return after.evolve(options=s.options)


def trace_of(stages: Sequence[Stage]) -> Trace:
    """Trace of a folder of dumps (``load(folder).stages``): one step per dump, a skipped step per gap.

    A step is changed or unchanged by content. The first dump is also the initial state. InputError without stages.
    """
    if not stages:
        raise InputError("there are no stages", todo="Load a folder of dumps: load(folder).stages.")
    passes: list[Pass] = []
    names: set[str] = set()
    for stage in stages:
        if stage.missing_before:
            passes.append(_step(f"gap before {stage.name}", "gap", names, None, stage.missing_before, stage.name))
        passes.append(_step(stage.name, stage.name, names, snapshot_of(stage.result), 0, stage.name))
    options = next(
        (s.result.recorded.options for s in reversed(stages) if s.result.recorded and s.result.recorded.options), {}
    )
    return run_trace(stages[0].result.graph, Pipeline.of(passes), options)


def _step(label: str, title: str, names: set[str], recorded: Snapshot | None, missing: int, stage: str) -> Pass:
    slug = re.sub(r"[^a-z0-9]+", "-", label.lower()).strip("-") or "stage"
    base, k = slug, 1
    while slug in names:
        k += 1
        slug = f"{base}-{k}"
    names.add(slug)
    body: dict[str, Any] = {
        "__doc__": f"Stage {label}.", "name": slug, "title": Text(title, "缺口" if missing else ""), "ge_name": stage,
        "chapter": _chapter(stage), "recorded": recorded, "missing": missing,
    }  # fmt: skip
    made: type[Pass] = type(f"DumpStage_{len(names)}", (DumpStage,), body)
    return dataclass(frozen=True)(made)()


def _chapter(stage: str) -> Chapter:
    """Chapter of the strip a stage's name belongs to (optimize.md 1.1)."""
    lower = stage.lower()
    if "build" in lower and "before" not in lower:
        return "physical"
    return "partition" if "subgraph" in lower or "partition" in lower else "optimise"

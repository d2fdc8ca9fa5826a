"""Small states for the stream passes: clusters written by hand, or a graph that is partitioned."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from ge_explorer.graph.edit import GraphEditor
from ge_explorer.graph.model import Graph
from ge_explorer.passes.partition.second_partition import SecondPartition
from ge_explorer.passes.partition.topological_sort import TopologicalSort
from ge_explorer.passes.partition.user_stream_labels import UserStreamLabels
from ge_explorer.passes.streams.all_reduce_parallel import AllReduceParallel
from ge_explorer.passes.streams.assign_by_dependency import AssignByDependency
from ge_explorer.passes.streams.assign_by_label import AssignByLabel
from ge_explorer.passes.streams.independent_stream import IndependentStream
from ge_explorer.passes.streams.mde_group import MdeGroup
from ge_explorer.passes.streams.mini_dag import MiniDag
from ge_explorer.passes.streams.node_stream_update import NodeStreamUpdate
from ge_explorer.passes.streams.optimize_ineffective import OptimizeIneffective
from ge_explorer.passes.streams.parallel_group import ParallelGroup
from ge_explorer.passes.streams.refresh_streams import RefreshStreams
from ge_explorer.passes.streams.single_stream import SingleStream
from ge_explorer.passes.streams.skipped_engine import SkippedEngine
from ge_explorer.trace import Pipeline, Trace, run_trace
from ge_explorer.trace.passes import Pass, PassContext
from ge_explorer.trace.state import Cluster, Clusters, Placement, Snapshot, int_array

CHAIN: tuple[Pass, ...] = (
    SingleStream(), MdeGroup(), AssignByLabel(), IndependentStream(), AssignByDependency(), NodeStreamUpdate(),
    ParallelGroup(), AllReduceParallel(), SkippedEngine(), OptimizeIneffective(),
)  # fmt: skip
WHOLE: tuple[Pass, ...] = (*CHAIN, MiniDag(), RefreshStreams())
PARTITION: tuple[Pass, ...] = (UserStreamLabels(), TopologicalSort(), SecondPartition(), TopologicalSort())


@dataclass(frozen=True, eq=False)
class Given(Pass):
    """Puts stated facets into the snapshot."""

    name: ClassVar[str] = "given"
    reads: ClassVar[frozenset[str]] = frozenset({"graph"})
    writes: ClassVar[frozenset[str]] = frozenset({"placement", "clusters", "streams"})
    placement: Placement | None = None
    clusters: Clusters | None = None

    def run(self, s: Snapshot, ctx: PassContext) -> Snapshot:
        facets: dict[str, object] = {"placement": self.placement}
        if self.clusters is not None:
            facets["clusters"] = self.clusters
        return s.evolve(**facets)


Row = tuple[str, str, Sequence[str]]
"""(name, engine or "" for Data, producers)."""


def graph_of(rows: Sequence[Row], attrs: Mapping[str, Mapping[str, object]] | None, ops: Mapping[str, str]) -> Graph:
    e = GraphEditor.empty("g")
    ids: dict[str, int] = {}
    for name, engine, feeds in rows:
        op = ops.get(name, "Relu" if engine else "Data")
        ids[name] = e.add_node(
            name, op, inputs=[e.output(ids[f]) for f in feeds], outputs=1, attrs=(attrs or {}).get(name)
        )
    return e.freeze()


def by_clusters(
    rows: Sequence[Row],
    labels: Mapping[str, str] | None = None,
    user: Mapping[str, str] | None = None,
    parallel: int = 1,
    engines: Mapping[str, Mapping[str, object]] | None = None,
    options: Mapping[str, str] | None = None,
    attrs: Mapping[str, Mapping[str, object]] | None = None,
) -> Trace:
    """One cluster per row, in row order (a cluster is its only node)."""
    graph = graph_of(rows, attrs, {})
    names = [r[0] for r in rows]
    items = []
    for i, (name, engine, feeds) in enumerate(rows):
        succ = tuple(k for k, r in enumerate(rows) if name in r[2])
        items.append(
            Cluster(
                i,
                0,
                name,
                engine,
                (i,),
                (labels or {}).get(name, ""),
                (user or {}).get(name, ""),
                tuple(names.index(f) for f in feeds),
                succ,
                parallel,
            )
        )
    clusters = Clusters(tuple(items), {0: tuple(range(len(rows)))}, int_array(range(len(rows))))
    given = Given(Placement(tuple(r[1] for r in rows), ("NONE",) * len(rows)), clusters)
    every = {r[1]: {} for r in rows} | dict(engines or {})
    values = {"gx.engines": json.dumps(every), **(options or {})}
    return run_trace(graph, Pipeline.of([TopologicalSort(), given, *CHAIN]), values, strict=True)


def whole(
    rows: Sequence[Row],
    attrs: Mapping[str, Mapping[str, object]] | None = None,
    options: Mapping[str, str] | None = None,
    ops: Mapping[str, str] | None = None,
) -> Trace:
    """Partition, chain, automatic mode, renumbering; GE's engine table."""
    graph = graph_of(rows, attrs, ops or {})
    given = Given(Placement(tuple(r[1] for r in rows), ("NONE",) * len(rows)))
    return run_trace(graph, Pipeline.of([given, *PARTITION, *WHOLE]), options, strict=True)


def streams(trace: Trace, step: str | None = None) -> dict[str, int]:
    """Node name -> stream, at the end or after a step."""
    assert trace.failed is None, trace.failed.error
    s = trace.final if step is None else trace.step(step).after
    assert s.streams is not None
    return {n.name: int(s.streams.node[n.id]) for n in s.graph}


def cluster_streams(trace: Trace, step: str) -> list[int]:
    s = trace.step(step).after
    assert s.streams is not None
    return list(s.streams.cluster)

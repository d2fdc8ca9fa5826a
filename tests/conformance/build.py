"""Case -> Graph and Snapshot, shared by all stages."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from conformance.registry import Case
from ge_explorer.graph.edit import GraphEditor
from ge_explorer.graph.model import Graph
from ge_explorer.trace import Pipeline, Trace, run_trace
from ge_explorer.trace.passes import Pass, PassContext
from ge_explorer.trace.state import (
    FACETS,
    Cluster,
    Clusters,
    Options,
    Placement,
    Snapshot,
    StreamAssignment,
    int_array,
)

ENGINES_OPTION = "gx.engines"
SCALAR = ((), "float")
"""What an output is when the case gives no shape: GE's default descriptor, 4 bytes."""


def node_entries(case: Case) -> dict[str, Mapping[str, Any]]:
    """Name -> the node's JSON object, over all graphs of the case."""
    graphs = [case.graph, *case.graph.get("subgraphs", {}).values()]
    return {n["name"]: n for g in graphs for n in g.get("nodes", [])}


def build_graph(case: Case) -> Graph:
    """The graph of a case. Node ids count in traversal order; edges are created in the order listed."""
    g = case.graph
    graphs: dict[str, Mapping[str, Any]] = dict(g.get("subgraphs", {}))
    every = [g, *graphs.values()]
    used_in: dict[str, int] = {}
    used_out: dict[str, int] = {}
    for sub in every:
        for src, out, dst, into in sub.get("edges", []):
            used_out[src] = max(used_out.get(src, 0), out + 1)
            used_in[dst] = max(used_in.get(dst, 0), into + 1)
    name = str(g.get("name", "g"))
    e = GraphEditor.empty(name, dynamic=bool(g.get("dynamic", False)), attrs=g.get("attrs"))
    e.set_scope(0, attrs=g.get("attrs"))
    ids: dict[str, int] = {}

    def add(graph: Mapping[str, Any], scope: int) -> None:
        for n in graph.get("nodes", []):
            label = n["name"]
            outputs = max(int(n.get("outputs", 0)), used_out.get(label, 0))
            spec = (tuple(n["shape"]) if "shape" in n else SCALAR[0], n.get("dtype", SCALAR[1]))
            ids[label] = e.add_node(
                label, n["type"], inputs=[None] * max(int(n.get("inputs", 0)), used_in.get(label, 0)),
                outputs=[spec] * outputs, attrs=n.get("attrs"), scope=scope,
            )  # fmt: skip
            for index, attrs in n.get("output_attrs", {}).items():
                e.set_tensor(e.output(ids[label], int(index)), attrs=attrs)
            for inner in [*([n["subgraph"]] if "subgraph" in n else []), *n.get("subgraphs", [])]:
                sub = graphs[inner]
                add(
                    sub, e.add_scope(inner, ids[label], dynamic=bool(sub.get("dynamic", False)), attrs=sub.get("attrs"))
                )

    add(g, 0)
    for sub in every:
        for src, out, dst, into in sub.get("edges", []):
            e.connect(e.output(ids[src], out), ids[dst], into)
        for src, dst in sub.get("control", []):
            e.add_control(ids[src], ids[dst])
    return e.freeze()


def given_placement(case: Case, graph: Graph) -> Placement:
    """Engines as stated in the case; "" where it states none."""
    entries = node_entries(case)
    engines = ["" if n is None else str(entries[n.name].get("engine", "")) for n in graph.nodes]
    return Placement(tuple(engines), ("NONE",) * len(engines), ("given",) * len(engines))


def given_streams(case: Case, graph: Graph) -> StreamAssignment:
    """Streams before the step: as stated, else GE's default 0."""
    entries = node_entries(case)
    streams = [-1 if n is None else int(entries[n.name].get("stream", 0)) for n in graph.nodes]
    context = case.context
    return StreamAssignment(
        int_array(streams),
        next_stream=int(context.get("next_stream", 0)),
        main_count=int(context.get("main_stream_num", context.get("stream_num", -1))),
        attached={graph.by_name[k]: tuple(v) for k, v in attached_of(entries).items()},
    )


def attached_of(entries: Mapping[str, Mapping[str, Any]]) -> dict[str, list[int]]:
    """Node name -> attached streams given on input."""
    return {k: list(n["attached_streams"]) for k, n in entries.items() if n.get("attached_streams")}


def given_clusters(case: Case, graph: Graph) -> Clusters | None:
    """Clusters listed in the case, in the order given; None when the case has none."""
    rows = case.raw.get("clusters")
    if rows is None:
        return None
    engines = case.raw.get("engines", {})
    index = {c["name"]: i for i, c in enumerate(rows)}
    succ: list[list[int]] = [[] for _ in rows]
    for i, c in enumerate(rows):
        for p in c.get("inputs_from", []):
            succ[index[p]].append(i)
    of_node = [-1] * graph.id_bound
    items = []
    by_scope: dict[int, list[int]] = {s.id: [] for s in graph.scopes if s is not None}
    for i, c in enumerate(rows):
        members = tuple(graph.by_name[n] for n in c["nodes"])
        scope = graph.node(members[0]).scope if members else 0
        for m in members:
            of_node[m] = i
        by_scope[scope].append(i)
        items.append(
            Cluster(
                i,
                scope,
                c["name"],
                c["engine"],
                members,
                c.get("stream_label", ""),
                c.get("user_stream_label", ""),
                tuple(index[p] for p in c.get("inputs_from", [])),
                tuple(succ[i]),
                int(c.get("max_parallel", engines.get(c["engine"], {}).get("max_parallel", 1))),
            )
        )
    return Clusters(tuple(items), {k: tuple(v) for k, v in by_scope.items()}, int_array(of_node))


def given_options(case: Case) -> dict[str, str]:
    """GE options of the case, and its engine table as our ``gx.engines`` option."""
    options = dict(case.options)
    if case.raw.get("engines"):
        options[ENGINES_OPTION] = json.dumps(case.raw["engines"], sort_keys=True)
    return options


def build_snapshot(case: Case, graph: Graph | None = None) -> Snapshot:
    """Graph plus everything the case states: options, order by position or explicit id, engines, clusters, streams."""
    graph = build_graph(case) if graph is None else graph
    entries = node_entries(case)
    order = [-1] * graph.id_bound
    for position, i in enumerate(graph.walk()):
        order[i] = int(entries[graph.node(i).name].get("id", position))
    sequence = tuple(sorted(graph.walk(), key=lambda i: order[i]))
    return Snapshot(
        graph, Options.of(given_options(case)), int_array(order), sequence, tuple(graph.subgraph_order()),
        given_placement(case, graph), given_clusters(case, graph), given_streams(case, graph),
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class GivenState(Pass):
    """First step of a case: puts the stated facets (placement, clusters, streams …) into the snapshot."""

    name: ClassVar[str] = "given-state"
    reads: ClassVar[frozenset[str]] = frozenset({"graph"})
    writes: ClassVar[frozenset[str]] = frozenset(FACETS) - {"options"}
    state: Snapshot | None = None
    facets: tuple[str, ...] = ()

    def run(self, s: Snapshot, ctx: PassContext) -> Snapshot:
        """Copy the stated facets."""
        return s.evolve(**{f: getattr(self.state, f) for f in self.facets})


def run_case(state: Snapshot, facets: Iterable[str], passes: Iterable[Pass]) -> Trace:
    """Run passes through the real runner (contract checks on) from the stated facets."""
    pipeline = Pipeline.of([GivenState(state, tuple(facets)), *passes])
    return run_trace(state.graph, pipeline, dict(state.options.values), strict=True)


def by_node_name(graph: Graph, values: Iterable[int]) -> dict[str, int]:
    """Per-node array -> name mapping."""
    array = list(values)
    return {n.name: int(array[n.id]) for n in graph}

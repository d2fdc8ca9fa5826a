"""Small dynamic-shape graphs, and random ones, through the partition and all dynamic steps by the real runner."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hypothesis import strategies as st

from ge_explorer.graph.edit import GraphEditor
from ge_explorer.graph.model import Graph
from ge_explorer.passes.dynamic import DYNAMIC_STEPS
from ge_explorer.passes.dynamic.enable import ENABLE
from ge_explorer.passes.partition.mark_cv_parallel import MarkCvParallel
from ge_explorer.passes.partition.place_engines import PlaceEngines
from ge_explorer.passes.partition.second_partition import SecondPartition
from ge_explorer.passes.partition.topological_sort import TopologicalSort
from ge_explorer.passes.partition.user_stream_labels import UserStreamLabels
from ge_explorer.registry import Registry
from ge_explorer.trace import Pipeline, Trace, run_trace
from ge_explorer.trace.passes import Pass
from tests.property.graphs import graphs

STEPS: Registry[type[Pass]] = Registry("pass", dict(DYNAMIC_STEPS))
MODE = "ge.autoMultistreamParallelMode"
AI, VEC, CPU, HCCL, DSA = "AIcoreEngine", "VectorEngine", "DNN_VM_AICPU", "DNN_HCCL", "DSAEngine"
RTS, LOCAL = "DNN_VM_RTS", "DNN_VM_GE_LOCAL"
Row = tuple[str, str, Sequence[str]]
"""(name, engine or "" for Data, producers). The name ``out`` makes a NetOutput, ``const`` a Const."""


def passes() -> list[Pass]:
    """Partition as on the static path, then the dynamic steps in their order."""
    before: list[Pass] = [
        PlaceEngines(), UserStreamLabels(), TopologicalSort(), MarkCvParallel(), SecondPartition(), TopologicalSort(),
    ]  # fmt: skip
    return before + [STEPS.get(name)() for name, _ in DYNAMIC_STEPS]


def run(graph: Graph, options: Mapping[str, str] | None = None, *, on: bool = True) -> Trace:
    """All steps; the allocator switched on unless ``on`` is False."""
    values = {**({ENABLE: "1"} if on else {}), **(options or {})}
    return run_trace(graph, Pipeline.of(passes()), values, strict=True)


def graph_of(
    rows: Sequence[Row],
    attrs: Mapping[str, Mapping[str, object]] | None = None,
    ops: Mapping[str, str] | None = None,
    control: Sequence[tuple[str, str]] = (),
    *,
    dynamic: bool = True,
) -> Graph:
    e = GraphEditor.empty("g", dynamic=dynamic)
    ids: dict[str, int] = {}
    for name, engine, feeds in rows:
        op = (ops or {}).get(name, {"out": "NetOutput", "const": "Const"}.get(name, "Relu" if engine else "Data"))
        own = {"_gx_engine": engine} if engine else {}
        ids[name] = e.add_node(
            name, op, inputs=[e.output(ids[f]) for f in feeds], outputs=1, attrs={**own, **(attrs or {}).get(name, {})},
        )  # fmt: skip
    for a, b in control:
        e.add_control(ids[a], ids[b])
    return e.freeze()


def streams(trace: Trace, step: str | None = None) -> dict[str, int]:
    """Node name -> stream, at the end or after a step."""
    assert trace.failed is None, trace.failed.error
    s = trace.final if step is None else trace.step(step).after
    assert s.streams is not None
    return {n.name: int(s.streams.node[n.id]) for n in s.graph}


def events(trace: Trace) -> list[tuple[int, str, str]]:
    """(id, sender, receiver) at the end, by id."""
    s = trace.final
    assert s.sync is not None
    return sorted((e.id, s.graph.node(e.send).name, s.graph.node(e.recv).name) for e in s.sync.events)


@st.composite
def dynamic_graphs(draw: st.DrawFn, max_nodes: int = 25) -> Graph:
    """A random graph of unknown shapes; each subgraph is of unknown or known shapes."""
    graph = draw(graphs(max_nodes=max_nodes))
    e = GraphEditor(graph)
    e.set_scope(0, dynamic=True)
    for scope in graph.scopes:
        if scope is not None and scope.id:
            e.set_scope(scope.id, dynamic=draw(st.booleans()))
    return e.freeze()

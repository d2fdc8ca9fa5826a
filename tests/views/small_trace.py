"""A two-stream trace made by tiny passes written here, so that views are tested without the real passes."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

import numpy as np

from ge_explorer.errors import PassFailed
from ge_explorer.graph.builder import GraphBuilder
from ge_explorer.graph.model import Graph
from ge_explorer.ids import node
from ge_explorer.memory.model import Buffer, Lifetime, MemoryPlan, MemoryProblem
from ge_explorer.simulator.timeline import Gap, Timeline
from ge_explorer.text import Text
from ge_explorer.trace import Pipeline, Trace, run_trace
from ge_explorer.trace.passes import Pass, PassContext, Rule
from ge_explorer.trace.state import (
    Event,
    MemoryState,
    Placement,
    RemovedEvent,
    Snapshot,
    StreamAssignment,
    SyncPlan,
    int_array,
)

EVIL = '<img src=x onerror="window.pwned=1">'


def graph(name: str = "moe_small") -> Graph:
    """norm feeds two labelled operators (side) and three main ones; add joins. One name is hostile."""
    b = GraphBuilder(name)
    x = b.data("x", (256, 7168))
    norm = b.op("AddRmsNorm", x, name="post_norm")
    with b.label("22"):
        quant = b.op("DynamicQuant", norm, name="sh.quant", dtype="int8")
        down = b.op("QuantBatchMatmulV3", quant, norm, name=EVIL, dtype="float16")
    gate = b.op("MatMulV2", norm, name="gate")
    gmm = b.op("GroupedMatmul", gate, name="gmm1")
    return b.build(b.op("Add", gmm, down, name="add"))


SIDE = ("sh.quant", EVIL)


@dataclass(frozen=True)
class Place(Pass):
    name: ClassVar[str] = "place"
    title: ClassVar[Text] = Text("Engines", "引擎")
    summary: ClassVar[Text] = Text("Every operator gets an engine", "为每个算子选引擎")
    chapter: ClassVar = "partition"
    reads: ClassVar = frozenset({"graph"})
    writes: ClassVar = frozenset({"placement"})

    def run(self, s: Snapshot, ctx: PassContext) -> Snapshot:
        n = s.graph.id_bound
        core = tuple("AIC" if "Mat" in s.graph.node(i).op else "AIV" for i in range(n))
        return s.evolve(placement=Placement(("AIcoreEngine",) * n, core))


@dataclass(frozen=True)
class Nothing(Pass):
    name: ClassVar[str] = "nothing"
    title: ClassVar[Text] = Text("Parallel group", "并行组")
    summary: ClassVar[Text] = Text("Looks and leaves alone", "检查但不改动")
    chapter: ClassVar = "streams"
    reads: ClassVar = frozenset({"graph"})

    def run(self, s: Snapshot, ctx: PassContext) -> Snapshot:
        return s


@dataclass(frozen=True)
class NotNeeded(Nothing):
    name: ClassVar[str] = "not-needed"

    def skip_reason(self, s: Snapshot, ctx: PassContext) -> Text | None:
        return Text("no AllReduce here", "没有 AllReduce")


@dataclass(frozen=True)
class Assign(Pass):
    name: ClassVar[str] = "assign"
    title: ClassVar[Text] = Text("By label", "按标签")
    summary: ClassVar[Text] = Text("A label takes the next stream", "每个标签取下一条流")
    chapter: ClassVar = "streams"
    reads: ClassVar = frozenset({"graph", "placement"})
    writes: ClassVar = frozenset({"streams"})
    option_keys: ClassVar = frozenset({"ge.enableSingleStream"})
    source: ClassVar[str] = "compiler/graph/build/stream/logical_stream_allocator.cc AssignByLabelPass"
    rules: ClassVar = MappingProxyType(
        {
            "label": Rule(Text("First sight of a label takes the next stream", "标签首次出现取下一条流")),
            "main": Rule(Text("No label: the engine's own stream", "无标签：取引擎自己的流")),
        }
    )

    def run(self, s: Snapshot, ctx: PassContext) -> Snapshot:
        if ctx.option("ge.enableSingleStream") == "true":
            raise PassFailed(
                "Option ge.enableSingleStream is on, but operators carry stream labels",
                code="E10055",
                ge_status="PARAM_INVALID",
                where="sh.quant",
                todo="Remove the option or the labels.",
            )
        streams = [-1] * s.graph.id_bound
        for n in s.graph:
            if not n.is_source:
                side = n.name in SIDE
                streams[n.id] = 0 if side else 1
                rule = "label" if side else "main"
                ctx.decide(node(n.id), "streams", -1, streams[n.id], rule, [node(1)] if side else [])
        return s.evolve(streams=StreamAssignment(int_array(streams)))


@dataclass(frozen=True)
class PlanMemory(Pass):
    name: ClassVar[str] = "plan"
    title: ClassVar[Text] = Text("Plan memory", "内存规划")
    chapter: ClassVar = "memory"
    reads: ClassVar = frozenset({"graph", "streams"})
    writes: ClassVar = frozenset({"memory"})

    def run(self, s: Snapshot, ctx: PassContext) -> Snapshot:
        ids = [s.graph.by_name[n] for n in ("post_norm", "gate")]
        buffers = tuple(
            Buffer(k, f"{s.graph.unique_names[i]}:0", 3670016, s.graph.node(i).outputs, (i,), s.graph.succ[i], stream=1)
            for k, i in enumerate(ids)
        )
        life = tuple(Lifetime(k, 4294967295 if k else 5, {}, {}) for k in range(2))
        problem = MemoryProblem(buffers, (0, 0), life)
        return s.evolve(memory=MemoryState(problem, MemoryPlan((0, 3670016), 7340032, "first-fit"), 7340032))


@dataclass(frozen=True)
class Insert(Pass):
    name: ClassVar[str] = "insert"
    title: ClassVar[Text] = Text("Insert events", "插入事件")
    chapter: ClassVar = "events"
    reads: ClassVar = frozenset({"graph", "streams"})
    writes: ClassVar = frozenset({"sync"})

    def run(self, s: Snapshot, ctx: PassContext) -> Snapshot:
        at = s.graph.by_name
        pairs = [("post_norm", "sh.quant"), ("post_norm", EVIL), (EVIL, "add")]
        assert s.streams is not None
        of = s.streams.node
        events = tuple(Event(k, k, at[a], at[b], int(of[at[a]]), int(of[at[b]])) for k, (a, b) in enumerate(pairs))
        return s.evolve(sync=SyncPlan(events=events, next_uid=3, event_num=3))


@dataclass(frozen=True)
class Optimise(Pass):
    name: ClassVar[str] = "optimise"
    title: ClassVar[Text] = Text("Optimise events", "优化事件")
    chapter: ClassVar = "events"
    reads: ClassVar = frozenset({"graph", "streams", "sync"})
    writes: ClassVar = frozenset({"sync"})

    def run(self, s: Snapshot, ctx: PassContext) -> Snapshot:
        assert s.sync is not None
        gone = RemovedEvent(s.sync.events[1], "same sender, later on the stream", self.name, (0,))
        kept = (s.sync.events[0], s.sync.events[2])
        return s.evolve(sync=SyncPlan(events=kept, removed=(gone,), next_uid=3, event_num=2))


PIPELINE = Pipeline.of([Place(), Nothing(), NotNeeded(), Assign(), PlanMemory(), Insert(), Optimise()])


def trace(disabled: tuple[str, ...] = (), options: dict[str, str] | None = None, of: Graph | None = None) -> Trace:
    """Seven steps: place, nothing, not-needed, assign, plan, insert, optimise."""
    return run_trace(of or graph(), PIPELINE.with_disabled(disabled), options, strict=True)


def timeline(t: Trace) -> Timeline:
    """One task per operator, 10 us each, side stream waiting 10 us for its event."""
    s = t.final
    assert s.streams is not None
    at = s.graph.by_name
    rows = [("post_norm", 0), ("sh.quant", 10), (EVIL, 20), ("gate", 10), ("gmm1", 20), ("add", 30)]
    ids = [at[n] for n, _ in rows]
    start = np.array([1000 * b for _, b in rows], np.int64)
    cores = np.array([24, 8, 8, 16, 16, 0], np.int32)
    return Timeline(
        np.array(ids, np.int32), s.streams.node[ids], start, start + 10_000, cores, cores * 2, ("model",) * 6,
        (Gap(0, 0, 10_000, "event", 1, ids[0], 0),), (0, 3, 4, 5), "Ascend910B1", 24, 48,
    )  # fmt: skip


@dataclass(frozen=True)
class Result:
    """Figures of one strength."""

    makespan_ns: int
    overlap_pct: float | None
    verdict: str
    streams: int
    events: int
    peak: int | None


RESULTS = {
    "single": Result(199_200, None, "", 1, 0, 37224448),
    "C1": Result(169_600, 0.23, "partial", 2, 2, 43253760),
    "C2": Result(165_600, 0.62, "real", 2, 2, 43253760),
    "C3": None,
}


def serial(t: Trace, nodes: list[int], durations_us: list[int]) -> Timeline:
    """The given nodes one after the other on their streams' first one, no gaps."""
    assert t.final.streams is not None
    ends = np.cumsum(np.array(durations_us, np.int64) * 1000)
    zero = np.zeros(len(nodes), np.int32)
    return Timeline(
        np.array(nodes, np.int32), t.final.streams.node[nodes], np.concatenate([[0], ends[:-1]]), ends, zero, zero,
        ("model",) * len(nodes), (), tuple(range(len(nodes))), "Ascend910B1", 24, 48,
    )  # fmt: skip

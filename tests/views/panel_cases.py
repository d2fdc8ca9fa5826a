"""Small hand-made states for the picture models: nothing here depends on passes, planners or the simulator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import ClassVar

import numpy as np

from ge_explorer.device.profile_report import ProfileReport
from ge_explorer.graph.builder import GraphBuilder
from ge_explorer.graph.model import Graph
from ge_explorer.ids import event, node, stream
from ge_explorer.issue import Issue
from ge_explorer.memory.model import Buffer, Lifetime, MemoryPlan, MemoryProblem
from ge_explorer.simulator.timeline import Gap, Timeline
from ge_explorer.text import Text
from ge_explorer.trace.passes import Decision, Pass, Rule
from ge_explorer.trace.state import Event, MemoryState, RemovedEvent, Snapshot, StreamAssignment, SyncPlan, int_array
from ge_explorer.trace.trace import Step, Trace
from ge_explorer.views.palette import Identities, identify

HOSTILE = (
    "</script><img src=x onerror=1>",
    "end",
    "a\"b'c",
    "中文/算子:0",
    "1. list",
    "]]>--><b>",
    "`x`#35;",
    "subgraph",
)

# name, op, stream, (us start, us end), (aic, aiv), inputs
MOE = (
    ("post_norm", "AddRmsNorm", 1, (0.0, 4.4), (0, 48), ("x",)),
    ("gate", "MatMulV2", 1, (4.8, 13.6), (16, 0), ("post_norm",)),
    ("topk", "MoeGatingTopK", 1, (14.0, 20.2), (0, 32), ("gate",)),
    ("dispatch", "MoeDistributeDispatchV2", 1, (20.6, 42.0), (0, 32), ("post_norm", "topk")),
    ("gmm1", "GroupedMatmul", 1, (42.4, 96.4), (16, 32), ("dispatch",)),
    ("swiglu", "DequantSwigluQuant", 1, (96.8, 104.6), (0, 48), ("gmm1",)),
    ("memset", "MemSet", 1, (105.0, 107.0), (0, 48), ()),
    ("gmm2", "GroupedMatmul", 1, (107.4, 138.2), (24, 48), ("swiglu", "memset")),
    ("combine", "MoeDistributeCombineV2", 1, (138.6, 162.2), (0, 16), ("gmm2", "topk")),
    ("add", "Add", 1, (162.6, 165.6), (0, 48), ("combine", "sh.down")),
    ("sh.quant", "DynamicQuant", 0, (5.6, 9.6), (0, 16), ("post_norm",)),
    ("sh.gate_up", "QuantBatchMatmulV3", 0, (10.0, 47.0), (8, 16), ("sh.quant",)),
    ("sh.swiglu", "DequantSwigluQuant", 0, (47.4, 54.6), (0, 16), ("sh.gate_up",)),
    ("sh.down", "QuantBatchMatmulV3", 0, (55.0, 75.9), (8, 16), ("sh.swiglu",)),
)  # fmt: skip
_BYTES = {
    "post_norm": 7,
    "gate": 1,
    "dispatch": 28,
    "gmm1": 32,
    "swiglu": 6,
    "gmm2": 28,
    "sh.quant": 3.5,
    "sh.gate_up": 8,
    "sh.down": 7,
}


def _moe_graph() -> Graph:
    b = GraphBuilder("moe_hand_made")
    made = {"x": b.data("x", (256, 4096))}
    rows = {r[0]: r for r in MOE}

    def make(name: str) -> None:
        if name in made:
            return
        _, op, label, _, _, inputs = rows[name]
        for i in inputs:
            make(i)
        attrs = {} if label else {"_user_stream_label": "22"}
        made[name] = b.op(op, *(made[i] for i in inputs), name=name, shape=(256, 4096), attrs=attrs)

    for name in rows:
        make(name)
    return b.build(made["add"])


def moe_snapshot() -> Snapshot:
    """Two streams (GE 1 is main, 0 the labelled side), three inserted events of which one was removed, a memory plan."""
    g = _moe_graph()
    by = g.by_name
    streams = np.full(g.id_bound, -1, np.int32)
    order = np.arange(g.id_bound, dtype=np.int32)
    for name, _, s, *_rest in MOE:
        streams[by[name]] = s
    events = (
        Event(0, 0, by["post_norm"], by["sh.quant"], 1, 0),
        Event(2, 1, by["sh.down"], by["add"], 0, 1),
    )
    removed = (RemovedEvent(Event(1, 1, by["post_norm"], by["sh.swiglu"], 1, 0), "same-sender", "fake-events", (0,)),)
    sync = SyncPlan(events, removed, activated=frozenset({0}), active_streams={by["post_norm"]: (0,)}, event_num=2)
    return Snapshot(
        g, order=int_array(order), sequence=tuple(g.node_ids), streams=StreamAssignment(int_array(streams), next_stream=2),
        sync=sync, memory=_memory(g, streams),
    )  # fmt: skip


def _memory(g: Graph, streams: np.ndarray) -> MemoryState:
    by, names = g.by_name, [r[0] for r in MOE if r[0] in _BYTES]
    buffers, lives, offsets, at = [], [], [], 0
    for k, name in enumerate(names):
        i = by[name]
        readers = tuple(e.dst for e in g.data_out[i])
        own = int(streams[i])
        last = max((r for r in readers if streams[r] == own), default=i)
        away = {int(streams[r]): r for r in readers if streams[r] != own}
        free = {own: by["add"]} if name == "post_norm" else {}
        buffers.append(
            Buffer(k, f"{name}:0", int(_BYTES[name] * 2**20 / 2), (g.node(i).outputs[0],), (i,), readers, stream=own)
        )
        lives.append(Lifetime(i, max((i, *readers)), MappingProxyType({own: last, **away}), MappingProxyType(free)))
        offsets.append(at)
        at += buffers[-1].size
    problem = MemoryProblem(tuple(buffers), (0,) * len(buffers), tuple(lives))
    return MemoryState(problem, MemoryPlan(tuple(offsets), at, "stacked"), at // 2)


def moe_timeline(g: Graph) -> Timeline:
    """The times of MOE, every gap with its reason."""
    by = g.by_name
    ns = lambda x: round(x * 1000)  # noqa: E731
    gaps = []
    for s in (0, 1):
        rows = sorted((r for r in MOE if r[2] == s), key=lambda r: r[3])
        at = 0.0
        for r in rows:
            if r[3][0] > at:
                k = [x[0] for x in MOE].index(r[0])
                if r[0] == "sh.quant":
                    gaps.append(Gap(s, ns(at), ns(r[3][0]), "event", k, by["post_norm"], 0))
                else:
                    gaps.append(Gap(s, ns(at), ns(r[3][0]), "issue", k))
            at = r[3][1]
        if at < 165.6:
            gaps.append(Gap(s, ns(at), 165_600, "no_work"))
    column = lambda f, t: np.array([f(r) for r in MOE], dtype=t)  # noqa: E731
    return Timeline(
        column(lambda r: by[r[0]], np.int32), column(lambda r: r[2], np.int32), column(lambda r: ns(r[3][0]), np.int64),
        column(lambda r: ns(r[3][1]), np.int64), column(lambda r: r[4][0], np.int32), column(lambda r: r[4][1], np.int32),
        ("model",) * len(MOE), tuple(gaps), tuple(k for k, r in enumerate(MOE) if r[2] == 1), "Ascend910B1", 24, 48,
    )  # fmt: skip


@dataclass(frozen=True)
class FakeStreams(Pass):
    """Stands for the stream passes."""

    name: ClassVar[str] = "fake-streams"
    title: ClassVar[Text] = Text("By label", "按标签")
    rules: ClassVar = {
        "label": Rule(Text("First sight of a label takes the next stream.", "首次见到标签时取下一条流。"), "a/b.cc (F)")
    }


@dataclass(frozen=True)
class FakeEvents(Pass):
    """Stands for the event passes."""

    name: ClassVar[str] = "fake-events"
    title: ClassVar[Text] = Text("Insert events", "插入事件")
    chapter: ClassVar = "events"
    rules: ClassVar = {
        "same-sender": Rule(
            Text("same sender, later on the other stream", "同一发送者，对方流上更晚"),
            "compiler/graph/build/stream/stream_utils.cc",
        )
    }


def moe_trace() -> Trace:
    """Start, streams and memory, events."""
    full = moe_snapshot()
    bare = Snapshot(full.graph)
    middle = bare.evolve(order=full.order, streams=full.streams, memory=full.memory)
    up = full.graph.by_name["sh.gate_up"]
    decision = Decision(node(up), "streams", -1, 0, "label")
    one = Step(
        0,
        FakeStreams(),
        "changed",
        bare,
        middle,
        changed=("streams", "memory"),
        decisions=(decision,),
        name="fake-streams",
    )
    two = Step(1, FakeEvents(), "changed", middle, full, changed=("sync",), name="fake-events")
    return Trace(bare, (one, two))


@dataclass
class FakeSession:
    """What the panels read of a session."""

    trace: Trace
    timeline: Timeline
    graph: Graph
    options: dict[str, str] = field(default_factory=dict)
    chip: str = "Ascend910B1"
    strength: str = ""
    issues: tuple[Issue, ...] = ()
    plan: object = None
    disabled: frozenset[str] = frozenset()
    version: int = 0
    minimum: int | None = 2
    profile_report: ProfileReport | None = None

    @property
    def identities(self) -> Identities:
        return identify(self.trace)

    @property
    def strengths(self) -> dict[str, object]:
        return {}

    def minimum_events(self, s: Snapshot) -> int | None:
        return self.minimum if s.sync is not None else None


def moe_session() -> FakeSession:
    """Session of the hand-made MoE block with two findings."""
    trace = moe_trace()
    by = trace.final.graph.by_name
    issues = (
        Issue(
            "GX204",
            "warning",
            Text("post_norm:0 is held for the join.", "post_norm:0 为汇合而占用。"),
            (node(by["post_norm"]), stream(0)),
        ),
        Issue(
            "GX101",
            "error",
            Text("stream 0 is not joined", "流 0 未汇合"),
            (event(2),),
            Text("Add an event.", "加一个事件。"),
        ),
    )
    return FakeSession(trace, moe_timeline(trace.final.graph), trace.final.graph, issues=issues)


def hostile_snapshot(names: Sequence[str] = HOSTILE) -> Snapshot:
    """A chain whose names are markup, keywords and quotes; every second node on another stream."""
    b = GraphBuilder("hostile")
    x = b.data("x", (4, 4))
    for n in names:
        x = b.op("Relu", x, name=n, attrs={"_user_stream_label": n})
    g = b.build(x)
    streams = np.array([i % 2 if g.nodes[i] and not g.node(i).is_source else -1 for i in range(g.id_bound)], np.int32)
    edges = [
        (e.src, e.dst) for e in g.edges if streams[e.src] != streams[e.dst] and min(streams[e.src], streams[e.dst]) >= 0
    ]
    events = tuple(Event(k, k, a, c, int(streams[a]), int(streams[c])) for k, (a, c) in enumerate(edges))
    order = int_array(np.arange(g.id_bound))
    return Snapshot(g, order=order, streams=StreamAssignment(int_array(streams)), sync=SyncPlan(events))


def wide_snapshot(nodes: int, streams: int) -> Snapshot:
    """``nodes`` operators in layers of ten, dense data edges, spread over ``streams`` streams."""
    b = GraphBuilder("wide")
    layer = [b.data("x", (4, 4))]
    for k in range(nodes // 10):
        layer = [
            b.op(
                "AddN",
                *(layer[(j + d) % len(layer)] for d in range(min(3, len(layer)))),
                name=f"layers.{k % 40}.blk{k}.op_{j}",
            )
            for j in range(10)
        ]
    g = b.build(*layer)
    ids = np.array([i % streams if g.nodes[i] and not g.node(i).is_source else -1 for i in range(g.id_bound)], np.int32)
    return Snapshot(
        g, order=int_array(np.arange(g.id_bound)), streams=StreamAssignment(int_array(ids)), sync=SyncPlan()
    )

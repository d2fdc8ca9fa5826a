"""A page with the graph canvas alone on a stub model (no kernel, no network), and a trace like the mock-up's MoE layer."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from typing import Any, ClassVar

from ge_explorer.graph.builder import GraphBuilder
from ge_explorer.graph.model import Graph
from ge_explorer.text import Text
from ge_explorer.trace import Pipeline, Trace, run_trace
from ge_explorer.trace.passes import Pass, PassContext, Rule
from ge_explorer.trace.state import Event, Placement, RemovedEvent, Snapshot, StreamAssignment, SyncPlan, int_array
from ge_explorer.views.picture import GraphPicture, canvas_script

PAGE = """<!doctype html><html lang="en" data-theme="{theme}"><head><meta charset="utf-8"><title>graph canvas</title><style>
:root{{--jp-layout-color1:#fff;--jp-ui-font-color0:#000;--jp-brand-color1:#1976d2;
--jp-ui-font-family:Inter,"Noto Sans CJK SC",sans-serif}}
[data-theme=dark]{{--jp-layout-color1:#212121;--jp-ui-font-color0:#fff;--jp-brand-color1:#64b5f6;color-scheme:dark}}
body{{margin:0;background:var(--jp-layout-color1)}}</style></head><body><div id="app"></div><script type="module">
const canvas = await import("data:text/javascript;base64,{module}");
const bytes = Uint8Array.from(atob("{state}"), (c) => c.charCodeAt(0));
window.model = canvas.stubModel(JSON.parse(new TextDecoder().decode(bytes)));
window.unmount = canvas.default.render({{ model: window.model, el: document.getElementById("app") }});
</script></body></html>"""


def page(picture: GraphPicture, *, lang: str = "en", theme: str = "light", **traits: Any) -> str:
    """HTML of the page."""

    def code(text: str) -> str:
        return base64.b64encode(text.encode()).decode()

    state = {**picture.state_json(lang), **traits}
    return PAGE.format(theme=theme, module=code(canvas_script()), state=code(json.dumps(state)))


def moe() -> Graph:
    """One MoE layer: a shared expert (label 22) beside the routed experts, with weights."""
    b = GraphBuilder("moe_shared_expert")
    w = [b.const(f"w{i}", (64, 64)) for i in range(6)]
    x = b.data("x", (256, 7168))
    norm = b.op("AddRmsNorm", x, w[0], name="post_norm")
    gate = b.op("MatMulV2", norm, w[1], name="gate")
    topk = b.op("MoeGatingTopK", gate, name="topk")
    with b.label("22"):
        quant = b.op("DynamicQuant", norm, name="sh.quant")
        up = b.op("QuantBatchMatmulV3", quant, w[2], name="sh.gate_up")
        act = b.op("DequantSwigluQuant", up, name="sh.swiglu")
        down = b.op("QuantBatchMatmulV3", act, w[3], name="sh.down")
    dispatch = b.op("MoeDistributeDispatchV2", norm, topk, name="dispatch")
    gmm1 = b.op("GroupedMatmul", dispatch, w[4], name="gmm1")
    swiglu = b.op("DequantSwigluQuant", gmm1, name="swiglu")
    memset = b.op("MemSet", name="memset")
    gmm2 = b.op("GroupedMatmulFinalizeRouting", swiglu, w[5], name="gmm2", control=[memset])
    combine = b.op("MoeDistributeCombineV2", gmm2, topk, name="combine")
    return b.build(b.op("Add", combine, down, name="add"))


@dataclass(frozen=True)
class Assign(Pass):
    """Side stream (GE id 0) for labelled nodes, the rest on GE id 1."""

    name: ClassVar[str] = "assign"
    title: ClassVar[Text] = Text("By label", "按标签")
    summary: ClassVar[Text] = Text("Streams by label", "按标签分流")
    chapter: ClassVar = "streams"
    reads: ClassVar = frozenset({"graph"})
    writes: ClassVar = frozenset({"placement", "streams"})

    def run(self, s: Snapshot, ctx: PassContext) -> Snapshot:
        n = s.graph.id_bound
        nodes = [
            -1 if x.is_source else int("_user_stream_label" not in x.attrs and "sh." not in x.name) for x in s.graph
        ]
        return s.evolve(
            placement=Placement(("AIcoreEngine",) * n, ("AIC",) * n),
            streams=StreamAssignment(int_array(nodes), next_stream=2),
        )


@dataclass(frozen=True)
class Insert(Pass):
    """One event per data edge that crosses streams, plus one that the next pass removes."""

    name: ClassVar[str] = "insert"
    title: ClassVar[Text] = Text("Insert events", "插入事件")
    summary: ClassVar[Text] = Text("Events", "事件")
    chapter: ClassVar = "events"
    reads: ClassVar = frozenset({"graph", "streams"})
    writes: ClassVar = frozenset({"sync"})

    def run(self, s: Snapshot, ctx: PassContext) -> Snapshot:
        assert s.streams is not None
        node, g = s.streams.node, s.graph
        pairs = [(a, b) for a, b in g.dependencies if min(node[a], node[b]) >= 0 and node[a] != node[b]]
        pairs.insert(1, (g.node("post_norm").id, g.node("sh.gate_up").id))
        events = tuple(Event(k, k, a, b, int(node[a]), int(node[b])) for k, (a, b) in enumerate(pairs))
        return s.evolve(sync=SyncPlan(events))


@dataclass(frozen=True)
class Drop(Pass):
    """Removes the event with uid 1 and renumbers."""

    name: ClassVar[str] = "drop"
    title: ClassVar[Text] = Text("Optimise events", "优化事件")
    summary: ClassVar[Text] = Text("Events", "事件")
    chapter: ClassVar = "events"
    reads: ClassVar = frozenset({"sync"})
    writes: ClassVar = frozenset({"sync"})
    rules: ClassVar = {"by-send": Rule(Text("same sender", "同一发送者"))}

    def run(self, s: Snapshot, ctx: PassContext) -> Snapshot:
        assert s.sync is not None
        kept = [e for e in s.sync.events if e.uid != 1]
        events = tuple(Event(e.uid, k, e.send, e.recv, e.send_stream, e.recv_stream) for k, e in enumerate(kept))
        return s.evolve(sync=SyncPlan(events, (RemovedEvent(s.sync.events[1], "by-send", self.name),)))


def moe_trace() -> Trace:
    """Three steps: streams, events, one event removed."""
    return run_trace(moe(), Pipeline.of([Assign(), Insert(), Drop()]), strict=True)

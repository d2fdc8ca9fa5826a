"""Figures and sentences about a loaded GE dump."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

from ge_explorer.graph.model import Graph
from ge_explorer.loaders.ge_recorded import Recorded, RecordedEvent
from ge_explorer.loaders.ge_records import ModelRecord
from ge_explorer.text import Text

EVENT_ATTRS = ("event_id", "notify_id", "send_event_id_list", "recv_event_id_list")
LABEL_ATTRS = ("_stream_label", "_user_stream_label")


def with_events(recorded: Recorded, events: tuple[RecordedEvent, ...]) -> Recorded:
    """Copy with the events that were read back."""
    return replace(recorded, events=events)


def counts(model: ModelRecord, recorded: Recorded) -> dict[str, Any]:
    """Figures of the file as written (types with their prefix, carriers apart)."""
    ops = [op for g in model.graphs for op in g.ops]
    links = [link for op in ops for link in op.inputs if link is not None]
    # GE leaves out a zero, so an operator without a stream id counts as 0 (forms without streams say so themselves)
    streams = Counter(op.stream or 0 for op in ops)
    offsets = [o for op in ops for o in op.output_offsets]
    out: dict[str, Any] = {
        "format": model.format,
        "root_graph": model.graphs[0].name,
        "graphs": {g.name: len(g.ops) for g in model.graphs},
        "nodes_total": len(ops),
        "pseudo_subgraph_nodes": model.carriers,
        "op_types": dict(Counter(op.type for op in ops).most_common()),
        "stream_id_histogram": {str(s): n for s, n in sorted(streams.items())},
        "data_edges": sum(i >= 0 for _, i in links),
        "control_edges": sum(i < 0 for _, i in links),
        "ops_with_output_offsets": sum(bool(op.output_offsets) for op in ops),
        "max_output_offset": max(offsets, default=0),
        "ops_with_workspace": sum(bool(op.workspace) for op in ops),
        "event_attrs": sum(k in op.attrs for op in ops for k in EVENT_ATTRS),
        "stream_labels": sum(k in op.attrs for op in ops for k in LABEL_ATTRS),
        "model_attrs": dict(recorded.model),
        "events": len(recorded.events),
        "options": len(recorded.options),
    }
    return out | model.counts


def found(model: ModelRecord, graph: Graph, r: Recorded, c: dict[str, Any]) -> list[Text]:
    """What the dump holds."""
    out = [
        Text("{f}: {n} operators of {t} types in {g} graphs, {d} data and {k} control edges",
             "{f}：{g} 个图中有 {n} 个算子、{t} 种类型，{d} 条数据边、{k} 条控制边").format(
            f=model.format, n=c["nodes_total"], t=len(c["op_types"]), g=len(c["graphs"]), d=c["data_edges"],
            k=c["control_edges"])
    ]  # fmt: skip
    if r.streams:
        used = sorted({s for s in r.streams.values() if s >= 0})
        out.append(
            Text("stream ids: {n} streams in use ({s})", "流编号：使用了 {n} 条流（{s}）").format(
                n=len(used), s=", ".join(map(str, used[:12])) + (" …" if len(used) > 12 else "")
            )
        )
    if r.logic_streams:
        out.append(Text("logical stream ids from before the physical split", "物理切分之前的逻辑流编号").format())
    if r.events:
        kinds = Counter(e.kind for e in r.events)
        out.append(
            Text("{e} events and {n} notifies, read back from the Send and Recv nodes",
                 "从 Send 与 Recv 节点还原出 {e} 个事件、{n} 个 notify").format(e=kinds["event"], n=kinds["notify"])
        )  # fmt: skip
    if r.offsets:
        out.append(
            Text("memory offsets of {n} outputs and {w} workspaces", "{n} 个输出与 {w} 个 workspace 的内存偏移").format(
                n=len(r.offsets), w=sum(len(w) for w in r.workspace.values())
            )
        )
    if r.options:
        out.append(Text("{n} compile options", "{n} 个编译选项").format(n=len(r.options)))
    if model.carriers:
        out.append(
            Text("{n} nodes that only carry a subgraph became subgraphs", "{n} 个仅承载子图的节点已转为子图").format(
                n=model.carriers
            )
        )
    return out


def missing(model: ModelRecord, graph: Graph, r: Recorded) -> list[Text]:
    """What the dump does not say and what that means."""
    out: list[Text] = []
    ops = [op for g in model.graphs for op in g.ops]
    if model.format == "ge_readable":
        out.append(
            Text("control edges, streams, events, offsets, shapes and types: the readable form never holds them",
                 "控制边、流、事件、偏移、形状与数据类型：可读格式从不包含这些信息")
        )  # fmt: skip
    elif all(op.bare for op in ops):
        out.append(
            Text("streams, events, offsets, shapes and all attributes: this dump was made at DUMP_GE_GRAPH=3; use 1 or 2",
                 "流、事件、偏移、形状与全部属性：该转储由 DUMP_GE_GRAPH=3 生成；请改用 1 或 2")
        )  # fmt: skip
    elif not r.streams:
        out.append(
            Text("streams: no stream id is written, so the dump is from before streams were assigned (or all is on stream 0)",
                 "流：没有写入流编号，说明转储早于流分配（或全部在流 0 上）")
        )  # fmt: skip
    if r.streams and not r.events and len({s for s in r.streams.values() if s >= 0}) > 1:
        out.append(Text("events: there is no Send or Recv node", "事件：没有 Send 或 Recv 节点"))
    if not r.offsets and model.format != "ge_readable" and not all(op.bare for op in ops):
        out.append(Text("memory offsets", "内存偏移"))
    unknown = sum(t is not None and t.shape is None for t in graph.tensors)
    if unknown and not all(op.bare for op in ops) and model.format != "ge_readable":
        out.append(Text("shapes of {n} outputs", "{n} 个输出的形状").format(n=unknown))
    if model.links == "guessed" and len(model.graphs) > 1:
        out.append(
            Text("which operator owns which subgraph: this form does not say it; owners are taken from the names",
                 "子图归属：该格式未写明；按名称推断所属算子")
        )  # fmt: skip
    return out

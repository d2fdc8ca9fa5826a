"""dynamic-start: every node on stream 0, GE's default; options are read before anything is placed."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from ge_explorer.errors import PassFailed
from ge_explorer.ids import node
from ge_explorer.passes.dynamic.chain import DSA
from ge_explorer.passes.dynamic.enable import (
    AC_PARALLEL,
    ENABLE,
    OFF,
    ac_parallel,
    multi_stream_enabled,
)
from ge_explorer.passes.dynamic.scopes import MAIN_STREAM
from ge_explorer.text import Text
from ge_explorer.trace.passes import Pass, PassContext, Rule
from ge_explorer.trace.state import DynamicState, Snapshot, StreamAssignment, int_array

_DEFAULT = "graph_metadef/graph/ir/ir_meta.h: stream_id_"


@dataclass(frozen=True)
class DynamicStart(Pass):
    """All nodes start on stream 0 and stay there when the allocator is off.

    Rule:
    1. No stream was set before: every node has stream 0, the default of an operator description.
    2. Allocator on: ``ac_parallel_enable`` must be empty, 0 or 1, else E10001.

    GE source: ir_meta.h (the default), dynamic_stream_allocator.cc (AssignStreamsForDynamicShapeGraph), exact.
    Options: ``ENABLE_DYNAMIC_SHAPE_MULTI_STREAM`` (an environment variable of GE), ``ac_parallel_enable``.
    Example: without the variable: one stream, no event, whatever the engines.
    """

    name: ClassVar[str] = "dynamic-start"
    title: ClassVar[Text] = Text("All on 0", "起始流 0")
    summary: ClassVar[Text] = Text(
        "Every node of a dynamic-shape graph starts on stream 0.", "动态形状图的所有节点起始于流 0。"
    )
    reads: ClassVar[frozenset[str]] = frozenset({"graph", "streams", "dynamic"})
    writes: ClassVar[frozenset[str]] = frozenset({"streams", "dynamic"})
    option_keys: ClassVar[frozenset[str]] = frozenset({ENABLE, AC_PARALLEL})
    ge_name: ClassVar[str] = "AssignStreamsForDynamicShapeGraph"
    source: ClassVar[str] = f"{DSA}: DynamicStreamAllocator::AssignStreamsForDynamicShapeGraph"
    rules = MappingProxyType(
        {
            "default": Rule(Text("GE's default stream of every operator.", "算子的默认流。"), _DEFAULT),
            "off": Rule(
                Text("The allocator is off, so the default stays.", "分配器未开启，保持默认流。"),
                "compiler/graph/build/stream/stream_utils.cc: EnableDynamicShapeMultiStream",
            ),
        }
    )

    def requires(self, s: Snapshot) -> None:
        """PassFailed for a graph of known shapes: GE compiles it by the static path."""
        if not s.graph.root.dynamic:
            raise PassFailed(
                "these steps are for graphs of unknown shapes", ge_status="", where=f"graph {s.graph.name}",
                todo="Use the static steps, or load the model with unknown shapes.",
            )  # fmt: skip

    def run(self, s: Snapshot, ctx: PassContext) -> Snapshot:
        """Streams 0 where none were set, and empty maps. PassFailed E10001 for a bad ``ac_parallel_enable``."""
        on = multi_stream_enabled(ctx.option(ENABLE))
        if on:
            ac_parallel(ctx.option(AC_PARALLEL))
        ctx.status = "SUCCESS" if on else "NOT_CHANGED"
        if s.streams is not None:
            return s.evolve(dynamic=DynamicState())
        streams = [-1 if n is None else MAIN_STREAM for n in s.graph.nodes]
        for n in s.graph:
            note = None if on else OFF
            ctx.decide(node(n.id), "stream", None, MAIN_STREAM, "default" if on else "off", note=note)
        count = 0 if on else 1
        return s.evolve(
            streams=StreamAssignment(int_array(streams), next_stream=count, main_count=1), dynamic=DynamicState()
        )

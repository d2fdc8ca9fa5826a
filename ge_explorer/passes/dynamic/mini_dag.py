"""dynamic-mini-dag: the automatic modes on a dynamic-shape graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ge_explorer.passes.dynamic.enable import ENABLE, off_reason
from ge_explorer.passes.streams.dag.mode import KEY, mode_text, parse_mode
from ge_explorer.passes.streams.mini_dag import MiniDag
from ge_explorer.text import Text
from ge_explorer.trace.passes import PassContext
from ge_explorer.trace.state import Snapshot


@dataclass(frozen=True)
class DynamicMiniDag(MiniDag):
    """Spread every graph over at most N streams; the same pass as for known shapes.

    Rule:
    1. Runs on the root and on all subgraphs, those of known shapes included, ids counting on from the streams so far.
    2. Every node has a stream by now, so inputs and NetOutput take part; the next step puts them back on stream 0.

    GE source: dag_stream_allocator_pass.cc (RunMiniDAGStreamPass), called from dynamic_stream_allocator.cc (AssignStreams), exact.
    Options: ``ge.autoMultistreamParallelMode``; a root graph attribute of the same name wins. An illegal value fails with E10001.
    Example: data1→relu1→out, data2→relu2→out with LoadBalance:2: {data1, relu1, out} and {data2, relu2} (20 against 25).
    """

    name: ClassVar[str] = "dynamic-mini-dag"
    option_keys: ClassVar[frozenset[str]] = MiniDag.option_keys | {ENABLE}

    def skip_reason(self, s: Snapshot, ctx: PassContext) -> Text | None:
        """Allocator off, or no DAG mode. PassFailed (E10001) for an illegal mode."""
        return off_reason(s, ctx) or no_dag_mode(s, ctx)


def no_dag_mode(s: Snapshot, ctx: PassContext) -> Text | None:
    """Why streams are not spread automatically; None when they are."""
    text, from_graph = mode_text(s.graph, ctx.option(KEY))
    kind = parse_mode(text, from_graph=from_graph).kind
    if kind == "dag":
        return None
    if kind == "cv":
        return Text("mode cv works in the partition, not here", "cv 模式在切分阶段生效，不在此处")
    if kind == "default":
        return Text("the graph attribute says default, which switches it off", "图属性为 default，已关闭自动多流")
    return Text(f"{KEY} is not set", f"未设置 {KEY}")

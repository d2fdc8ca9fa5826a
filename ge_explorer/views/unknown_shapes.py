"""One sentence about a graph of unknown shape: why it is one, what GE does with it, and what changes that."""

from __future__ import annotations

from ge_explorer.text import Text
from ge_explorer.trace.state import Snapshot

ALLOCATOR = "ENABLE_DYNAMIC_SHAPE_MULTI_STREAM"
STARTS = "_gx_unknown_shape"
"""Graph attribute of the loaders: names of the nodes where unknown shapes start."""


def unknown_shapes(s: Snapshot) -> Text | None:
    """The sentence, or None for a graph of known shapes.

    Source: compiler/graph/partition/dynamic_shape_partition.cc, compiler/graph/build/stream/stream_utils.cc.
    """
    if not s.graph.root.dynamic:
        return None
    starts = s.graph.attrs.get(STARTS, ())
    names = ", ".join(n if len(n) <= 40 else n[:39] + "…" for n in starts[:3]) + (" …" if len(starts) > 3 else "")
    why = f"Shapes are unknown from {names} on" if starts else "Shapes are unknown"
    why_zh = f"自 {names} 起形状未知" if starts else "形状未知"
    if s.options.get(ALLOCATOR) == "1":
        return Text(
            f"{why}, so GE takes its dynamic way; {ALLOCATOR}=1 gives every engine its stream.",
            f"{why_zh}，GE 走动态形状流程；{ALLOCATOR}=1 使每个引擎一条流。",
        )
    fix = ", or give the input shapes (input_shapes=…, --input-shape) for the static way" if starts else ""
    fix_zh = "，或用 input_shapes=…（--input-shape）给定输入形状以走静态流程" if starts else ""
    return Text(
        f"{why}, so GE takes its dynamic way: every node is on stream 0. Set {ALLOCATOR}=1 for a stream per engine{fix}.",
        f"{why_zh}，GE 走动态形状流程：所有节点都在流 0。设置 {ALLOCATOR}=1 使每个引擎一条流{fix_zh}。",
    )

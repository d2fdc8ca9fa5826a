"""Words for the reasons that the planner records."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from ge_explorer.text import Text

WHY: Mapping[str, Text] = MappingProxyType(
    {
        "same-class": Text("a pooled block has exactly this size class", "池中有块恰好属于该大小档"),
        "no-offer-fits": Text("no block in the pool of this stream fits", "本流的池中没有合适的块"),
        "pool-empty": Text("the pool of this stream is empty", "本流的池为空"),
        "reuse-off": Text("memory reuse is switched off", "内存复用已关闭"),
        "no-reuse-here": Text("this operator or buffer is excluded from reuse", "该算子或缓冲区不参与复用"),
        "graph-input": Text("a graph input is written before the graph starts", "图输入在图开始之前就已写入"),
        "graph-output": Text("a graph output belongs to the user", "图输出归用户所有"),
        "type": Text("this operator type takes nobody's bytes", "该算子类型不占用他人的字节"),
        "reference-of-body-input": Text(
            "a reference of the input of a subgraph takes nobody's bytes", "对子图输入的引用不占用他人的字节"
        ),
        "resource": Text("a resource is never given away", "资源类张量从不转让"),
        "no-pre-reuse": Text("it must be live from the start", "必须从一开始就有效"),
        "group": Text(
            "it lies side by side with others and is placed after nesting", "需与其他张量相邻，嵌套之后再放置"
        ),
        "model-io": Text("it is a buffer of the user", "这是用户的缓冲区"),
        "merge": Text("alternatives of a merge come from different streams", "合并的各分支来自不同的流"),
        "same-symbol": Text("it is the same piece of memory as an earlier buffer", "与先前的缓冲区是同一块内存"),
        "reference-without-block": Text("it refers to memory outside this plan", "引用本规划之外的内存"),
        "last-reader": Text("the last reader is done", "最后一个读者已完成"),
        "done": Text("its operator is done and nobody reads it", "算子已完成且无人读取"),
        "after": Text("it begins after the larger block ends", "在较大的块结束之后开始"),
        "before": Text("it ends before the larger block begins", "在较大的块开始之前结束"),
        "between": Text("its buffers fit between those of the larger block", "其缓冲区正好落在较大块各缓冲区之间"),
        "other-batch": Text("another batch never runs at the same time", "另一个分档不会同时运行"),
        "meets-target": Text(
            "these buffers are alive together with the larger block and go on alone",
            "这些缓冲区与较大的块同时有效，因此单独成块",
        ),
        "size": Text("other size class", "大小档不同"),
        "batch": Text("other batch", "分档不同"),
        "kept-for-level-2": Text(
            "kept for nesting, so that the operators on the detour can share it", "留待嵌套，供绕行的算子共用"
        ),
        "not-reusable": Text("never given away", "从不转让"),
        "alive": Text("still alive, or not surely over", "仍然有效，或不能确定已结束"),
    }
)
"""Reason of a decision, or of a refused offer, in words."""

"""Blocks of well-known networks."""

from __future__ import annotations

from ge_explorer.examples.lesson import example
from ge_explorer.graph.builder import GraphBuilder, Value
from ge_explorer.graph.model import Graph
from ge_explorer.text import Text


@example(
    Text("Residual block", "残差块"),
    Text(
        "The shortcut keeps its input alive while the main path runs: three buffers live at the widest point. The 1x1 "
        "projection could run beside the main path, but one engine means one stream by default; ask for LoadBalance.",
        "捷径分支让输入在主路执行期间一直存活：最宽处同时有三块内存。1x1 投影可以与主路并行，但同引擎默认一条流；"
        "需要 LoadBalance 才会分开。",
    ),
    options={"ge.autoMultistreamParallelMode": "LoadBalance:2"},
)
def residual_block() -> Graph:
    """Bottleneck block of ResNet-50, stage 2, with projection shortcut."""
    b = GraphBuilder("residual_block")
    x = b.data("x", (1, 64, 56, 56))

    def conv(source: Value, name: str, inputs: int, outputs: int, kernel: int) -> Value:
        w = b.const(f"{name}_w", (outputs, inputs, kernel, kernel))
        pad = kernel // 2
        return b.op(
            "Conv2D",
            source,
            w,
            name=name,
            shape=(1, outputs, 56, 56),
            attrs={"strides": [1, 1, 1, 1], "pads": [pad] * 4},
        )

    y = b.op("Relu", conv(x, "reduce", 64, 64, 1), name="relu1")
    y = b.op("Relu", conv(y, "spatial", 64, 64, 3), name="relu2")
    y = conv(y, "expand", 64, 256, 1)
    shortcut = conv(x, "project", 64, 256, 1)
    return b.build(b.op("Relu", b.op("Add", y, shortcut, name="add"), name="out"))


@example(
    Text("Attention block", "注意力块"),
    Text(
        "Q, K and V come from one input and are independent: three matmuls that could overlap, though each alone can fill "
        "all cube cores. Reshapes run nothing (GE local) and take the stream of their neighbours.",
        "Q、K、V 由同一输入得出、互不依赖：三个矩阵乘可以并行，但每个都能占满全部 Cube 核。Reshape 不执行任何任务"
        "（GE 本地算子），跟随邻居的流。",
    ),
    options={"ge.autoMultistreamParallelMode": "LoadBalance:3"},
)
def attention_block() -> Graph:
    """Multi-head self attention, 32 heads of 128, written with separate matmuls and softmax."""
    b = GraphBuilder("attention_block")
    s, h, heads, d = 512, 4096, 32, 128
    x = b.data("x", (s, h))
    norm = b.op("RmsNorm", x, b.const("gamma", (h,)), name="norm", outputs=[((s, h), "float16"), ((s, 1), "float")])

    def head(name: str) -> Value:
        flat = b.op("MatMulV2", norm, b.const(f"w_{name}", (h, h)), name=name, shape=(s, h))
        split = b.op("Reshape", flat, name=f"{name}_heads", shape=(s, heads, d))
        return b.op("Transpose", split, name=f"{name}_t", shape=(heads, s, d), attrs={"perm": [1, 0, 2]})

    q, k, v = head("q"), head("k"), head("v")
    scores = b.op("BatchMatMulV2", q, k, name="scores", shape=(heads, s, s), attrs={"adj_x2": True})
    weights = b.op("SoftmaxV2", scores, name="softmax", attrs={"axes": [-1]})
    mixed = b.op("BatchMatMulV2", weights, v, name="mix", shape=(heads, s, d))
    back = b.op("Transpose", mixed, name="back", shape=(s, heads, d), attrs={"perm": [1, 0, 2]})
    flat = b.op("Reshape", back, name="flat", shape=(s, h))
    out = b.op("MatMulV2", flat, b.const("w_o", (h, h)), name="proj", shape=(s, h))
    return b.build(b.op("Add", out, x, name="add"))

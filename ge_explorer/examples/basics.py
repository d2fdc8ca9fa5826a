"""First steps: a chain, a fork, a diamond, and a cube branch beside a vector branch."""

from __future__ import annotations

from ge_explorer.examples.lesson import example
from ge_explorer.graph.builder import GraphBuilder
from ge_explorer.graph.model import Graph
from ge_explorer.text import Text


@example(
    Text("A plain chain", "一条直链"),
    Text(
        "Every node needs the one before it, so one stream is all there is to gain. No event, no parallelism, and the "
        "buffers of the first nodes are free again two steps later.",
        "每个节点都依赖前一个节点，一条流就是全部：没有事件，也没有并行；前面节点的内存在两步之后就能复用。",
    ),
)
def chain() -> Graph:
    """x -> MatMul -> Relu -> MatMul -> Softmax."""
    b = GraphBuilder("chain")
    x = b.data("x", (256, 1024))
    w1, w2 = b.const("w1", (1024, 4096)), b.const("w2", (4096, 1024))
    up = b.op("MatMulV2", x, w1, name="up", shape=(256, 4096))
    act = b.op("Relu", up, name="act")
    down = b.op("MatMulV2", act, w2, name="down", shape=(256, 1024))
    return b.build(b.op("SoftmaxV2", down, name="softmax", attrs={"axes": [-1]}))


@example(
    Text("Fork and join", "分叉与汇合"),
    Text(
        "Two branches start at one node and meet again. The user put the second branch on stream 1: GE allots a second "
        "stream and needs exactly two events, one at the fork and one at the join.",
        "两条分支从同一个节点出发又汇合。用户把第二条分支标到流 1：GE 分出第二条流，只需要两个事件，分叉处一个、汇"
        "合处一个。",
    ),
)
def fork_join() -> Graph:
    """A forks into C1 -> C2 (main) and B1 -> B2 (label 1); D joins."""
    b = GraphBuilder("fork_join")
    x, w = b.data("x", (1024, 1024)), b.const("w", (1024, 1024))
    a = b.op("Relu", x, name="A")
    with b.label("1"):
        b1 = b.op("MatMulV2", a, w, name="B1", shape=(1024, 1024))
        b2 = b.op("Relu", b1, name="B2")
    c1 = b.op("Sigmoid", a, name="C1")
    c2 = b.op("Tanh", c1, name="C2")
    return b.build(b.op("Add", c2, b2, name="D"))


@example(
    Text("Diamond with a long branch", "一长一短的菱形"),
    Text(
        "One branch has one node, the other six. By default everything stays on one stream (same engine). With "
        "LoadBalance:2 the long branch is worth a second stream; in a balanced diamond of single nodes it would not be.",
        "一条分支只有一个节点，另一条有六个。默认同引擎都在一条流上；设 LoadBalance:2 后，长分支值得单独一条流，而"
        "两边都只有一个节点的菱形则不值得。",
    ),
    options={"ge.autoMultistreamParallelMode": "LoadBalance:2"},
)
def diamond_long_branch() -> Graph:
    """Split at 'start': six matmuls against one activation, added at 'join'."""
    b = GraphBuilder("diamond_long_branch")
    x = b.data("x", (512, 2048))
    start = b.op("Relu", x, name="start")
    short = b.op("Sigmoid", start, name="short")
    y = start
    for k in range(1, 7):
        w = b.const(f"w{k}", (2048, 2048))
        y = b.op("MatMulV2", y, w, name=f"long{k}", shape=(512, 2048))
    return b.build(b.op("Mul", y, short, name="join"))


@example(
    Text("Cube beside vector", "Cube 与 Vector 并排"),
    Text(
        "A matmul branch and an elementwise branch use different cores of the same engine. GE keeps them on one stream "
        "unless the mode is cv, which moves vector work that can run beside cube work to its own stream.",
        "矩阵乘分支与逐元素分支用同一引擎的不同核。默认 GE 让它们同流；模式设为 cv 后，能与 Cube 并行的 Vector 任"
        "务会移到自己的流上。",
    ),
    options={"ge.autoMultistreamParallelMode": "cv"},
)
def two_branches_cv() -> Graph:
    """Cube chain and vector chain from one input."""
    b = GraphBuilder("two_branches_cv")
    x = b.data("x", (2048, 2048))
    w1, w2 = b.const("w1", (2048, 2048)), b.const("w2", (2048, 2048))
    start = b.op("Cast", x, name="start")
    cube = b.op("MatMulV2", start, w1, name="cube1", shape=(2048, 2048))
    cube = b.op("MatMulV2", cube, w2, name="cube2", shape=(2048, 2048))
    vector = b.op("Gelu", start, name="vec1")
    vector = b.op("SoftmaxV2", vector, name="vec2", attrs={"axes": [-1]})
    return b.build(b.op("Add", cube, vector, name="join"))

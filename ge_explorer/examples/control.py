"""Control flow: nodes that own subgraphs."""

from __future__ import annotations

from ge_explorer.examples.lesson import example
from ge_explorer.graph.builder import GraphBuilder
from ge_explorer.graph.model import Graph
from ge_explorer.text import Text


@example(
    Text("If with two branches", "两个分支的 If"),
    Text(
        "Each branch is a graph of its own; streams are given scope by scope, root first. Labels and jumps let one stream run "
        "the right branch: a switch reads the condition and jumps to a label, and both branches end at the same one. Only one "
        "branch runs on the device; the timeline counts both, one after the other.",
        "每个分支自成一张图；流按作用域分配，根图在先。标签与跳转让一条流执行正确的分支：LabelSwitch 读取条件并跳到标签处，"
        "两个分支在同一标签处结束。设备上只执行一个分支；时间轴把两个分支都计入，一个接一个。",
    ),
)
def control_flow_if() -> Graph:
    """A condition chooses between an expert matmul and a cheap activation."""
    b = GraphBuilder("control_flow_if")
    x, threshold = b.data("x", (256, 4096)), b.data("threshold", (), "float16")
    mean = b.op("ReduceMean", x, name="mean", shape=(), attrs={"axes": [0, 1]})
    big = b.op("Greater", mean, threshold, name="is_big", shape=(), dtype="bool")
    norm = b.op("Relu", x, name="norm")
    branch = b.op("If", big, norm, name="choose", shape=(256, 4096), dtype="float16")
    with b.subgraph(branch, "then_branch") as (inner,):
        up = b.op("MatMulV2", inner, b.const("w_up", (4096, 4096)), name="up", shape=(256, 4096))
        side = b.op("Sigmoid", inner, name="gate")
        b.outputs(b.op("Mul", up, side, name="gated"))
    with b.subgraph(branch, "else_branch") as (inner,):
        b.outputs(b.op("Tanh", inner, name="cheap"))
    return b.build(b.op("Add", branch, x, name="out"))


@example(
    Text("While loop", "While 循环"),
    Text(
        "A loop keeps its condition and its body as two subgraphs. How often the body runs is not in the graph, so "
        "durations hold for one pass through it.",
        "循环把条件和循环体存成两个子图。执行多少次不在图里，所以时长只按执行一次计算。",
    ),
)
def while_loop() -> Graph:
    """Power iteration: multiply and normalise until a counter runs out."""
    b = GraphBuilder("while_loop")
    count, limit = b.data("count", (), "int32"), b.data("limit", (), "int32")
    matrix, vector = b.data("matrix", (1024, 1024)), b.data("vector", (1024, 1))
    specs = [((), "int32"), ((), "int32"), ((1024, 1024), "float16"), ((1024, 1), "float16")]
    loop = b.op("While", count, limit, matrix, vector, name="loop", outputs=specs)
    with b.subgraph(loop, "cond") as (n, top, _, _v):
        b.outputs(b.op("Less", n, top, name="more", shape=(), dtype="bool"))
    with b.subgraph(loop, "body") as (n, top, m, v):
        step = b.op("Add", n, b.const("one", (), "int32"), name="next", shape=(), dtype="int32")
        product = b.op("MatMulV2", m, v, name="multiply", shape=(1024, 1))
        norm = b.op("LpNormV2", product, name="norm", shape=(1, 1), attrs={"p": 2.0})
        b.outputs(step, top, m, b.op("RealDiv", product, norm, name="scale", shape=(1024, 1)))
    return b.build(loop[3])

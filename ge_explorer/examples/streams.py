"""Streams and events: crossings, collectives, mixed engines, and a stream that is too long."""

from __future__ import annotations

from ge_explorer.examples.lesson import example
from ge_explorer.graph.builder import GraphBuilder, Value
from ge_explorer.graph.model import Graph
from ge_explorer.text import Text


@example(
    Text("Three streams that cross", "三条交叉的流"),
    Text(
        "Streams P and Q exchange results in both directions, and a third stream joins them. The pair that crosses keeps "
        "both events, although one follows from the other: GE looks at pairs of nodes, it does no transitive reduction. "
        "Renumbering goes by the sender's name.",
        "流 P 与流 Q 双向交换结果，第三条流再汇合它们。交叉的一对事件都会保留，尽管其中一个可由另一个推出：GE 只看"
        "节点对，不做传递归约。重编号按发送节点名排序。",
    ),
)
def three_stream_crossing() -> Graph:
    """A1, A2 on stream P, B1, B2 on stream Q, join on the default stream; A1 -> B2 and A2 -> B1 cross."""
    b = GraphBuilder("three_stream_crossing")
    z_in = b.op("Relu", b.data("x", (4096, 1024)), name="z_in")
    with b.label("P"):
        a1 = b.op("Sigmoid", z_in, name="A1")
        a2 = b.op("Tanh", a1, name="A2")
    with b.label("Q"):
        b1 = b.op("Mul", z_in, a2, name="B1")
        b2 = b.op("Add", b1, a1, name="B2")
    return b.build(b.op("Maximum", a2, b2, name="m_join"))


@example(
    Text("Training step with AllReduce", "带 AllReduce 的训练步"),
    Text(
        "The gradient of the last layer is ready first. Its AllReduce belongs to the collective engine, which always gets "
        "its own stream, so communication runs under the backward pass of the earlier layers. All collectives share one "
        "group and therefore one order.",
        "最后一层的梯度最先算完。AllReduce 属于集合通信引擎，总有自己的流，于是通信与前面各层的反向计算重叠。所有"
        "集合通信同属一组，因此有固定次序。",
    ),
    options={"ge.graphRunMode": "1"},
)
def training_step_allreduce() -> Graph:
    """Four dense layers forward and backward; every weight gradient is summed over the ranks and applied."""
    b = GraphBuilder("training_step_allreduce")
    x, target, rate = b.data("x", (512, 2048)), b.data("target", (512, 2048)), b.const("rate", (), "float16")
    weights = [b.op("Variable", name=f"w{k}", shape=(2048, 2048), dtype="float16") for k in range(1, 5)]
    acts = [x]
    for k, w in enumerate(weights, 1):
        acts.append(b.op("MatMulV2", acts[-1], w, name=f"fwd{k}", shape=(512, 2048)))
    grad = b.op("Sub", acts[-1], target, name="loss_grad")
    updates = []
    for k in range(4, 0, -1):
        dw = b.op("MatMulV2", acts[k - 1], grad, name=f"dw{k}", shape=(2048, 2048), attrs={"transpose_x1": True})
        comm = {
            "group": "hccl_world_group",
            "reduction": "sum",
            "fusion": 0,
            "_parallel_group": "hcom_op_1",
            "rank_size": 8,
        }
        total = b.op("HcomAllReduce", dw, name=f"allreduce{k}", attrs=comm)
        updates.append(b.op("ApplyGradientDescent", weights[k - 1], rate, total, name=f"update{k}", shape=(2048, 2048)))
        if k > 1:
            grad = b.op(
                "MatMulV2", grad, weights[k - 1], name=f"dx{k}", shape=(512, 2048), attrs={"transpose_x2": True}
            )
    return b.build(*updates)


@example(
    Text("Four kinds of engine", "四种引擎"),
    Text(
        "AI Core, AI CPU, the random-number unit DSA and the collective engine in one graph. Engines that may attach "
        "(AI CPU, RTS) share the stream of the node before them; DSA and HCCL get streams of their own.",
        "一张图里有 AI Core、AI CPU、随机数单元 DSA 和集合通信引擎。可依附的引擎（AI CPU、RTS）沿用前一节点的流；"
        "DSA 与 HCCL 有自己的流。",
    ),
)
def mixed_engines() -> Graph:
    """Dropout mask on DSA, unique ids on AI CPU, gather over ranks on HCCL, dense work on AI Core."""
    b = GraphBuilder("mixed_engines")
    x, ids = b.data("x", (2048, 4096)), b.data("ids", (2048,), "int64")
    table = b.const("table", (32000, 4096))
    count, seed, keep = (b.const(n, (), d) for n, d in (("count", "int64"), ("seed", "uint64"), ("keep", "float16")))
    bits = b.op("DSAGenBitMask", count, seed, keep, name="mask", shape=(2048 * 4096 // 8,), dtype="uint8")
    unique = b.op("Unique", ids, name="unique", outputs=[((2048,), "int64"), ((2048,), "int32")])
    rows = b.op("GatherV2", table, unique, name="rows", shape=(2048, 4096), dtype="float16")
    act = b.op("Gelu", x, name="act")
    dropped = b.op("DropOutDoMask", act, bits, keep, name="dropout", shape=(2048, 4096))
    comm = {"group": "hccl_world_group", "rank_size": 8, "_parallel_group": "hcom_op_1"}
    gathered = b.op("HcomAllGather", rows, name="gather", shape=(16384, 4096), attrs=comm)
    proj = b.op("MatMulV2", dropped, b.const("w", (4096, 4096)), name="proj", shape=(2048, 4096))
    scores = b.op("MatMulV2", proj, gathered, name="scores", shape=(2048, 16384), attrs={"transpose_x2": True})
    return b.build(scores, b.op("GatherV2", proj, unique[1], name="restore", shape=(2048, 4096)))


@example(
    Text("A stream that is too long", "任务过多的流"),
    Text(
        "The hardware takes only so many tasks per stream (1024 in the common case, 27 kept in reserve). Four hundred "
        "nodes of three tasks do not fit: the stream is split and an event ties the end of one part to the start of the "
        "next. Both parts start with the model, nobody has to activate them.",
        "硬件每条流的任务数有限（常见为 1024，另留 27 个）。四百个节点、每个三个任务放不下：流会被切开，前一段的末尾与"
        "后一段的开头用事件相连。两段都随模型启动，无需激活。",
    ),
    options={"gx.maxTasksPerStream": "1024"},
)
def needs_splitting(nodes: int | str = 400) -> Graph:
    """A generated unrolled loop: ``nodes`` elementwise steps in four repeating kinds."""
    b = GraphBuilder("needs_splitting")
    steps, bias = int(nodes), b.const("bias", (1024,))
    y: Value = b.data("x", (64, 1024))
    for k in range(steps):
        kind = ("Mul", "Add", "Tanh", "Sub")[k % 4]
        inputs = (y,) if kind == "Tanh" else (y, bias)
        y = b.op(kind, *inputs, name=f"step{k:03d}_{kind.lower()}", shape=(64, 1024))
    return b.build(y)


@example(
    Text("Unknown shapes", "动态 shape"),
    Text(
        "The batch size is not known. GE then has another allocator: one stream an engine for the whole model, numbered by the "
        "engine's cost, and only when ENABLE_DYNAMIC_SHAPE_MULTI_STREAM is 1; otherwise everything stays on stream 0. Events "
        "are lists on the nodes, nothing is split, and memory is planned while the model runs.",
        "batch 大小未知。此时 GE 使用另一套分配器：整个模型内每个引擎一条流，按引擎代价编号，且仅当 "
        "ENABLE_DYNAMIC_SHAPE_MULTI_STREAM 为 1 时生效，否则都在流 0。事件以列表形式挂在节点上，不做切分，内存在运行时规划。",
    ),
    options={"ENABLE_DYNAMIC_SHAPE_MULTI_STREAM": "1"},
)
def dynamic_batch() -> Graph:
    """A tower and a collective of unknown batch size, with an AICPU operator beside them."""
    b = GraphBuilder("dynamic_batch", dynamic=True)
    shape = (None, 1024)
    x = b.data("x", shape)
    w = b.const("w", (1024, 1024))
    hidden = b.op("MatMul", x, w, name="hidden", shape=shape)
    act = b.op("Relu", hidden, name="act", shape=shape)
    reduced = b.op("HcomAllReduce", hidden, name="reduce", shape=shape)
    picked = b.op("Unique", act, name="picked", shape=shape)
    both = b.op("Add", act, reduced, name="both", shape=shape)
    return b.build(b.op("Add", both, picked, name="result", shape=shape))
